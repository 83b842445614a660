"""The sinusoidal table of positions."""

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, leaves_inputs_alone, returns
from regard.model.positions import sinusoid

ORDINARY, HALVES, ODD = "for ordinary positions", "with the sines before the cosines", "with an odd width"
FAR, BASE = "for positions far away", "with another base"
Many = list[Observation]


def plain(position_ids: Tensor, dim: int, base: float = 10_000.0, halves: bool = False) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    positions = position_ids.double()
    waves = []
    for i in range((dim + 1) // 2):
        exponent = 2 * i / dim
        angle = positions / base**exponent
        waves += [angle.sin(), angle.cos()]
    table = torch.stack(waves, dim=-1)
    if halves:
        table = torch.cat((table[..., ::2], table[..., 1::2]), dim=-1)
    return table[..., :dim]


MISTAKES = edits(
    plain,
    ("takes i for the dimension instead of the pair", "2 * i / dim", "4 * i / dim"),
    ("forgets the 2 in the exponent", "2 * i / dim", "i / dim"),
    (
        "uses another frequency for the cosine of a pair",
        "angle.cos()]",
        "(positions / base ** ((2 * i + 1) / dim)).cos()]",
    ),
    (
        "divides the exponent by D - 2, so that the last wave is the slowest of all",
        "2 * i / dim",
        "2 * i / max(dim - 2, 1)",
    ),
    ("always has the sines before the cosines", "if halves:", "if True:"),
    ("never has the sines before the cosines", "if halves:", "if False:"),
    ("has the cosine before the sine", "[angle.sin(), angle.cos()]", "[angle.cos(), angle.sin()]"),
    ("counts positions from 1", "position_ids.double()", "position_ids.double() + 1"),
    (
        "takes 0, 1, 2 … for the positions",
        "position_ids.double()",
        "torch.arange(position_ids.shape[-1]).double().expand(position_ids.shape)",
    ),
    ("multiplies the base by the exponent", "base**exponent", "max(base * exponent, 1)"),
    (
        "multiplies by the power of the base instead of dividing",
        "positions / base**exponent",
        "positions * base**exponent",
    ),
    ("takes 10000 for the base", "base**exponent", "10_000**exponent"),
    ("measures angles in turns of a circle", "positions / base", "6.283185307179586 * positions / base"),
    ("has sines in place of the cosines", "angle.cos()", "angle.sin()"),
    ("forgets positions beyond 512", "position_ids.double()", "position_ids.double() % 512"),
    ("returns a number more for an odd width", "table[..., :dim]", "table"),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    return {
        ORDINARY: [
            {"position_ids": torch.arange(2), "dim": 2},
            {"position_ids": torch.arange(5), "dim": 6},
            {"position_ids": draw.integers(1, 60, 3, 7), "dim": 14},
        ],
        HALVES: [{"position_ids": draw.integers(1, 60, n), "dim": dim, "halves": True} for n, dim in ((2, 4), (5, 14))],
        ODD: [{"position_ids": draw.integers(1, 60, n), "dim": dim} for n, dim in ((2, 3), (5, 7))],
        FAR: [{"position_ids": draw.integers(600, 3000, n), "dim": dim} for n, dim in ((2, 4), (5, 6))],
        BASE: [{"position_ids": draw.integers(1, 60, n), "dim": dim, "base": 500.0} for n, dim in ((2, 4), (5, 6))],
    }


def _norms(sinusoid: CheckedFunction, x: Inputs) -> Many:
    norms = sinusoid(**x).square().sum(dim=-1)
    return [Observation(norms, torch.full_like(norms, x["dim"] / 2), "squared lengths")]


def _position_0(sinusoid: CheckedFunction, x: Inputs) -> Many:
    vector = sinusoid(**{**x, "position_ids": torch.zeros(1, dtype=torch.long)})
    return [Observation(vector, torch.tensor([[0.0, 1.0]]).repeat(1, x["dim"] // 2), "position 0")]


def _each_alone(sinusoid: CheckedFunction, x: Inputs) -> Many:
    positions = x["position_ids"]
    alone = sinusoid(**{**x, "position_ids": positions[..., -1:]})
    return [Observation(sinusoid(**x)[..., -1:, :], alone, "the last position")]


def _distance_alone(sinusoid: CheckedFunction, x: Inputs) -> Many:
    table, moved = (sinusoid(**{**x, "position_ids": x["position_ids"] + shift}) for shift in (0, 11))
    return [Observation(moved @ moved.mT, table @ table.mT, "products")]


def _first_pair(sinusoid: CheckedFunction, x: Inputs) -> Many:
    pair = sinusoid(**x)[..., :2]
    angle = x["position_ids"].double()
    return [Observation(pair, torch.stack((angle.sin(), angle.cos()), dim=-1), "the first pair")]


SINUSOID = Assignment(
    sinusoid,
    outputs=("positions (…, T, D)",),
    steps=(
        "for each pair t = 0, 1, … of dimensions: angle = p / base^(2t/D)",
        "dimension 2t is the sine of the angle, dimension 2t + 1 its cosine",
        "with halves: first the sines of all pairs, then the cosines of all pairs",
        "an odd D ends with a sine",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a vector of width D for each position, for odd D too", ORDINARY, ODD),
        Truth("position 0 is 0, 1, 0, 1 …", (ORDINARY,), _position_0),
        Truth("all vectors have the length √(D/2)", (ORDINARY, FAR), _norms),
        Truth("a position has the same vector wherever it stands", (ORDINARY, FAR), _each_alone),
        Truth(
            "the product of two vectors depends on the distance of their positions alone", (ORDINARY,), _distance_alone
        ),
        Truth("the first pair is the sine and the cosine of the position", (ORDINARY, ODD), _first_pair),
        leaves_inputs_alone(ORDINARY),
        equals_reference("the vectors", ORDINARY, ODD),
        equals_reference("the vectors with another base", BASE),
        equals_reference("the vectors of positions in the thousands", FAR),
        equals_reference("the vectors with halves", HALVES),
    ),
    mistakes=(
        *MISTAKES,
        *edits(plain, ("changes the positions in place", "position_ids.double()", "position_ids.mul_(2).double() / 2")),
    ),
    differentiable=False,
    shapes=(sinusoid,),
)
