"""Rotary position embeddings."""

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model.positions import Rotary

ORDINARY, OWN, BASE = "with positions 0, 1, 2 …", "where each sentence has positions of its own", "with another base"
Many = list[Observation]


def rotary(x: Tensor, position_ids: Tensor, base: float = 10_000.0) -> Tensor:
    """Each pair of dimensions (t, t + K/2) of a query or key is rotated by the angle p / base^(2t/K).  Su et al. 2021.

    x (B, H, T, K), position_ids p (B or 1, T) -> (B, H, T, K). The pair (a, b) becomes (a cos - b sin, a sin + b cos).
    K is even. The pairs are halves apart, as in LLaMA.
    """
    return Rotary(x.shape[-1], base).rotate(x, position_ids)


def plain(x: Tensor, position_ids: Tensor, base: float = 10_000.0) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    K = x.shape[-1]
    t = torch.arange(K // 2, dtype=torch.float64)
    positions = position_ids.double()
    angle = positions[:, None, :, None] / base ** (2 * t / K)
    a, b = x[..., : K // 2], x[..., K // 2 :]
    first = a * angle.cos() - b * angle.sin()
    second = a * angle.sin() + b * angle.cos()
    return torch.cat((first, second), dim=-1).to(x.dtype)


MISTAKES = edits(
    plain,
    (
        "rotates in the other direction",
        "- b * angle.sin()",
        "+ b * angle.sin()",
        "a * angle.sin() +",
        "-a * angle.sin() +",
    ),
    ("adds both products of a pair, which is no rotation", "- b * angle.sin()", "+ b * angle.sin()"),
    (
        "exchanges sine and cosine",
        "a * angle.cos() - b * angle.sin()",
        "a * angle.sin() - b * angle.cos()",
        "second = a * angle.sin() + b * angle.cos()",
        "second = a * angle.cos() + b * angle.sin()",
    ),
    (
        "takes neighboring dimensions for pairs",
        "x[..., : K // 2], x[..., K // 2 :]",
        "x[..., ::2], x[..., 1::2]",
        "torch.cat((first, second), dim=-1)",
        "torch.stack((first, second), dim=-1).flatten(-2)",
    ),
    (
        "takes neighboring dimensions for pairs, and returns the first of all pairs before the second",
        "x[..., : K // 2], x[..., K // 2 :]",
        "x[..., ::2], x[..., 1::2]",
    ),
    ("forgets the 2 in the exponent", "2 * t / K", "t / K"),
    ("counts dimensions instead of pairs", "2 * t / K", "4 * t / K"),
    ("rotates all pairs by the same angle", "2 * t / K", "0 * t"),
    ("multiplies by the power of the base instead of dividing", "/ base **", "* base **"),
    ("counts positions from 1", "position_ids.double()", "position_ids.double() + 1"),
    ("takes 0, 1, 2 … for the positions", "position_ids.double()", "torch.arange(x.shape[2])[None].double()"),
    ("takes the positions of the first sentence for all", "position_ids.double()", "position_ids[:1].double()"),
    ("takes 10000 for the base", "/ base **", "/ 10_000 **"),
    ("rotates the first half of the pairs alone", "angle = positions", "angle = (t < K / 4) * positions"),
    (
        "rotates by the number of the head, too",
        "angle = positions[:, None, :, None]",
        "angle = (positions[:, None, :, None] + torch.arange(x.shape[1])[:, None, None])",
    ),
    (
        "leaves the second of each pair alone",
        "second = a * angle.sin() + b * angle.cos()",
        "second = b + 0 * a * angle",
    ),
    (
        "adds the sines and cosines instead of rotating",
        "a * angle.cos() - b * angle.sin()",
        "a + angle.sin()",
        "second = a * angle.sin() + b * angle.cos()",
        "second = b + angle.cos()",
    ),
    ("changes its input in place", "K = x.shape[-1]", "K = x.mul_(2).shape[-1]\n    x = x / 2"),
    ("detaches the first half from the gradient", "a, b = x[..., : K // 2]", "a, b = x[..., : K // 2].detach()"),
    ("exchanges heads and tokens in what it returns", "dim=-1).to(x.dtype)", "dim=-1).to(x.dtype).transpose(1, 2)"),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {ORDINARY: [], OWN: [], BASE: []}
    for B, H, T, K in ((1, 1, 2, 2), (1, 2, 3, 4), (2, 3, 5, 8)):
        x = draw.normal(B, H, T, K)
        kinds[ORDINARY].append({"x": x, "position_ids": torch.arange(T)[None]})
        kinds[OWN].append({"x": x, "position_ids": draw.integers(3, 50, B, T)})
        kinds[BASE].append({"x": x, "position_ids": draw.integers(3, 50, B, T), "base": 100.0})
    return kinds


def _position_0(rotate: CheckedFunction, x: Inputs) -> Many:
    return [Observation(rotate(**{**x, "position_ids": x["position_ids"] * 0}), x["x"], "result")]


def _lengths(rotate: CheckedFunction, x: Inputs) -> Many:
    return [Observation(rotate(**x).norm(dim=-1), x["x"].norm(dim=-1), "lengths")]


def _distance_alone(rotate: CheckedFunction, x: Inputs) -> Many:
    here, there = (rotate(**{**x, "position_ids": x["position_ids"] + shift}) for shift in (0, 7))
    return [Observation(there @ there.mT, here @ here.mT, "scores")]


def _twice(rotate: CheckedFunction, x: Inputs) -> Many:
    once = rotate(**x).to(x["x"].dtype)
    twice = rotate(**{**x, "x": once})
    return [Observation(twice, rotate(**{**x, "position_ids": 2 * x["position_ids"]}), "result")]


ROTARY = Assignment(
    rotary,
    outputs=("result (B, H, T, K)",),
    steps=(
        "angle p / base^(2t/K) for each position and each pair t = 0 … K/2 - 1: (B or 1, 1, T, K/2)",
        "a, b = the first and the second half of the dimensions",
        "the halves of the result: a cos - b sin, and a sin + b cos",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a tensor (B, H, T, K)", ORDINARY, OWN),
        Truth("position 0 is not rotated", (ORDINARY,), _position_0),
        Truth("no vector changes its length", (ORDINARY, OWN), _lengths),
        Truth("the score of two positions depends on their distance alone", (ORDINARY, OWN), _distance_alone),
        Truth("to rotate twice is to rotate by twice the position", (ORDINARY, OWN), _twice),
        leaves_inputs_alone(ORDINARY),
        equals_reference("the results for positions 0, 1, 2 …", ORDINARY),
        equals_reference("the results for other positions", OWN),
        equals_reference("the results with another base", BASE),
        gradients_equal_reference(ORDINARY, OWN),
    ),
    mistakes=MISTAKES,
    shapes=(Rotary.rotate,),
)
