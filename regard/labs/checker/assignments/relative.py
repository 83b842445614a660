"""Scores by distance: ALiBi's penalties, and learned embeddings of clipped distances."""

import math

import torch
from torch import Tensor, nn

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model.positions import ALiBi, Relative

ORDINARY, OTHER, OWN = "for powers of two", "for other numbers of heads", "with positions of their own"
NEAR, FAR = "within the largest distance", "beyond the largest distance"
Many = list[Observation]


def alibi_bias(q_position_ids: Tensor, k_position_ids: Tensor, heads: int) -> Tensor:
    """-m |j - i| for the query at position i and the key at position j; a slope m for each head.  Press et al. 2022.

    q_position_ids (B, Tq), k_position_ids (B, Tk) -> (B, H, Tq, Tk). The slopes of H heads are 2^(-8h/H), h = 1 … H, if
    H is a power of two. Otherwise P is the largest power of two below H: the slopes are those of P heads, then every
    second of those of 2P heads (h = 1, 3, 5 …) as far as needed.
    """
    return ALiBi(heads).bias(torch.zeros((), dtype=torch.float64), q_position_ids, k_position_ids)


def plain_alibi_bias(q_position_ids: Tensor, k_position_ids: Tensor, heads: int) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    P = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * h / P) for h in range(1, P + 1)]
    slopes += [2 ** (-8 * h / (2 * P)) for h in range(1, 2 * P, 2)][: heads - P]
    distance = (k_position_ids[:, None, :] - q_position_ids[:, :, None]).abs()
    m = torch.tensor(slopes, dtype=torch.float64)[:, None, None]
    return -m * distance[:, None]


def make_positions(draw: Draws) -> dict[str, list[Inputs]]:
    def inputs(rows: int, queries: int, keys: int, heads: int, own: bool) -> Inputs:
        q_ids = draw.integers(3, 30, rows, queries) if own else torch.arange(queries).expand(rows, -1)
        k_ids = draw.integers(3, 30, rows, keys) if own else torch.arange(keys).expand(rows, -1)
        return {"q_position_ids": q_ids, "k_position_ids": k_ids, "heads": heads}

    return {
        ORDINARY: [inputs(1, 2, 2, 2, False), inputs(1, 3, 2, 4, False), inputs(2, 5, 7, 8, False)],
        OTHER: [inputs(1, 2, 2, 3, False), inputs(1, 3, 2, 5, False), inputs(2, 5, 7, 7, False)],
        OWN: [inputs(1, 2, 3, 2, True), inputs(2, 3, 5, 4, True)],
    }


def _neutral(bias: CheckedFunction, x: Inputs) -> Many:
    diagonal = bias(**{**x, "k_position_ids": x["q_position_ids"]}).diagonal(dim1=-2, dim2=-1)
    return [Observation(diagonal, torch.zeros_like(diagonal), "bias of a token's own position")]


def _negative(bias: CheckedFunction, x: Inputs) -> Many:
    values = bias(**x)
    return [Observation(values.clamp(min=0), torch.zeros_like(values), "bias above 0")]


def _both_sides(bias: CheckedFunction, x: Inputs) -> Many:
    swapped = bias(**{**x, "q_position_ids": x["k_position_ids"], "k_position_ids": x["q_position_ids"]})
    return [Observation(swapped.mT, bias(**x), "bias")]


def _first_slope(bias: CheckedFunction, x: Inputs) -> Many:
    values = bias(q_position_ids=torch.tensor([[1]]), k_position_ids=torch.tensor([[0]]), heads=x["heads"])
    P = 2 ** math.floor(math.log2(x["heads"]))
    return [Observation(values[:, 0], torch.full_like(values[:, 0], -(2 ** (-8 / P))), "bias of the first head")]


def _moved_positions(bias: CheckedFunction, x: Inputs) -> Many:
    moved = {name: x[name] + 5 for name in ("q_position_ids", "k_position_ids")}
    return [Observation(bias(**{**x, **moved}), bias(**x), "bias")]


ALIBI_BIAS = Assignment(
    alibi_bias,
    outputs=("bias (B, H, Tq, Tk)",),
    steps=(
        "a slope for each head",
        "distance |j - i| of each query and key: (B, Tq, Tk)",
        "-slope · distance, with a dimension for the heads: (B, H, Tq, Tk)",
    ),
    make_inputs=make_positions,
    truths=(
        returns("a bias (B, H, Tq, Tk)", ORDINARY, OTHER),
        Truth("a token's own position has a bias of 0", (ORDINARY,), _neutral),
        Truth("no bias is above 0", (ORDINARY, OWN), _negative),
        Truth("left and right are alike", (ORDINARY, OWN), _both_sides),
        Truth("the same shift of all positions does not matter", (ORDINARY, OWN), _moved_positions),
        Truth("the first head falls by 2^(-8/H) a position, H a power of two", (ORDINARY,), _first_slope),
        leaves_inputs_alone(ORDINARY, OWN),
        equals_reference("the biases for powers of two", ORDINARY),
        equals_reference("the biases for positions of their own", OWN),
        equals_reference("the biases for other numbers of heads", OTHER),
    ),
    mistakes=edits(
        plain_alibi_bias,
        ("rewards distance: the sign is wrong", "-m * distance", "m * distance"),
        ("begins with a slope of 1: heads count from 0", "for h in range(1, P + 1)", "for h in range(P)"),
        ("has the same slope for all heads", "-8 * h / P", "-8 / P"),
        ("has slopes 2^(-h), which is right for 8 heads alone", "-8 * h / P", "-h"),
        ("has the slopes in reverse order", "for h in range(1, P + 1)", "for h in range(P, 0, -1)"),
        ("takes the plain formula for any number of heads", "P = 2 ** math.floor(math.log2(heads))", "P = heads"),
        ("takes the next slopes of 2P heads instead of every second", "range(1, 2 * P, 2)", "range(1, 2 * P)"),
        ("puts the additional slopes first", "slopes += [2 **", "slopes[:0] = [2 **"),
        ("squares the distance", ".abs()", ".square()"),
        ("has no absolute value: keys on the right are rewarded", ".abs()", ".neg()"),
        ("punishes the left side alone", ".abs()", ".neg().clamp(min=0)"),
        ("counts the distance from 1", ".abs()", ".abs() + 1"),
        (
            "takes 0, 1, 2 … for the positions",
            "(k_position_ids[:, None, :] - q_position_ids[:, :, None])",
            "((k_position_ids * 0 + torch.arange(k_position_ids.shape[1]))[:, None, :]"
            " - torch.arange(q_position_ids.shape[1])[:, None])",
        ),
        (
            "multiplies with the position of the key instead of the distance",
            "(k_position_ids[:, None, :] - q_position_ids[:, :, None])",
            "(k_position_ids[:, None, :] - 0 * q_position_ids[:, :, None])",
        ),
        ("changes the positions in place", "- q_position_ids[:, :, None]", "- q_position_ids.add_(1)[:, :, None] + 1"),
        ("has the heads last", "-m * distance[:, None]", "(-m * distance[:, None]).permute(0, 2, 3, 1)"),
    ),
    differentiable=False,
)


def relative_bias(q: Tensor, table: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
    """q · a[clip(j - i)] / √K for the query at position i and the key at position j.  Shaw et al. 2018.

    q (B, H, Tq, K), q_position_ids (B or 1, Tq), k_position_ids (B or 1, Tk) -> (B, H, Tq, Tk). The table a (2m+1, K)
    has a row for each distance from -m to m, in this order; distances beyond are clipped to -m or m.
    """
    relative = Relative(table.shape[1], len(table) // 2)
    bias = _Bias(relative)
    return torch.func.functional_call(bias, {"relative.keys": table}, (q, q_position_ids, k_position_ids))


class _Bias(nn.Module):
    """The bias of a scheme as the one function of a module."""

    def __init__(self, relative: Relative):
        super().__init__()
        self.relative = relative

    def forward(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        return self.relative.bias(q, q_position_ids, k_position_ids)


def plain_relative_bias(q: Tensor, table: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    m, K = len(table) // 2, q.shape[-1]
    distance = k_position_ids[:, None, :] - q_position_ids[:, :, None]
    rows = distance.clamp(-m, m) + m
    a = table[rows].expand(len(q), -1, -1, -1)
    return torch.einsum("bhqd,bqkd->bhqk", q, a) / math.sqrt(K)


def make_relative(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {kind: [] for kind in (NEAR, FAR, OWN)}
    for B, H, Tq, Tk, K in ((1, 1, 2, 2, 2), (2, 3, 3, 5, 7)):
        q = draw.normal(B, H, Tq, K)
        ids = {"q_position_ids": torch.arange(Tq)[None], "k_position_ids": torch.arange(Tk)[None]}
        own = {"q_position_ids": draw.integers(3, 15, B, Tq), "k_position_ids": draw.integers(3, 15, B, Tk)}
        kinds[NEAR].append({"q": q, "table": draw.normal(2 * Tk + 1, K), **ids})
        kinds[FAR].append(
            {"q": q, "table": draw.normal(2 * (Tk // 2) + 1, K), **ids, "k_position_ids": ids["k_position_ids"] * 3}
        )
        kinds[OWN].append({"q": q, "table": draw.normal(7, K), **own})
    return kinds


def _zero_query(bias: CheckedFunction, x: Inputs) -> Many:
    values = bias(**{**x, "q": x["q"] * 0})
    return [Observation(values, torch.zeros_like(values), "bias")]


def _double_query(bias: CheckedFunction, x: Inputs) -> Many:
    return [Observation(bias(**{**x, "q": 2 * x["q"]}), 2 * bias(**x), "bias")]


def _alike(bias: CheckedFunction, x: Inputs) -> Many:
    """Where all rows of the table are alike, no distance matters."""
    values = bias(**{**x, "table": x["table"][:1].expand_as(x["table"]).clone()})
    return [Observation(values, values[..., :1].expand_as(values), "bias")]


def _ends(bias: CheckedFunction, x: Inputs) -> Many:
    far = {"q_position_ids": torch.tensor([[50]]), "k_position_ids": torch.tensor([[0, 9, 91, 100]])}
    values = bias(**{**x, **far, "q": x["q"][:, :, :1]})
    return [Observation(values[..., 1::2], values[..., ::2], "bias of far keys")]


RELATIVE_BIAS = Assignment(
    relative_bias,
    outputs=("bias (B, H, Tq, Tk)",),
    steps=(
        "distance j - i of each query and key: (B or 1, Tq, Tk)",
        "clip it to -m … m, and add m: the row of the table",
        "the product of each query with the rows of its keys, divided by √K",
    ),
    make_inputs=make_relative,
    truths=(
        returns("a bias (B, H, Tq, Tk)", NEAR),
        Truth("a query of 0 has a bias of 0", (NEAR,), _zero_query),
        Truth("twice the query has twice the bias", (NEAR,), _double_query),
        Truth("where all rows of the table are alike, distance does not matter", (NEAR,), _alike),
        Truth("beyond the largest distance, all keys of a side are alike", (NEAR,), _ends),
        Truth("the same shift of all positions does not matter", (NEAR, OWN), _moved_positions),
        leaves_inputs_alone(NEAR),
        equals_reference("the biases within the largest distance", NEAR),
        equals_reference("the biases beyond it", FAR),
        equals_reference("the biases for positions of their own", OWN),
        gradients_equal_reference(NEAR, OWN),
    ),
    mistakes=edits(
        plain_relative_bias,
        (
            "takes i - j for the distance",
            "k_position_ids[:, None, :] - q_position_ids[:, :, None]",
            "q_position_ids[:, :, None] - k_position_ids[:, None, :]",
        ),
        ("clips one distance too early", "clamp(-m, m)", "clamp(1 - m, m - 1)"),
        (
            "does not clip on the left",
            "clamp(-m, m) + m",
            "clamp(max=m) + m",
            "table[rows]",
            "table[rows % len(table)]",
        ),
        (
            "wraps far distances around instead of clipping them",
            "distance.clamp(-m, m) + m",
            "(distance + m) % len(table)",
        ),
        (
            "does not add m, so that negative distances come from the end of the table",
            "clamp(-m, m) + m",
            "clamp(-m, m)",
        ),
        ("takes the absolute distance", "distance.clamp(-m, m)", "distance.abs().clamp(-m, m)"),
        ("does not divide by √K", " / math.sqrt(K)", ""),
        ("divides by K instead of √K", "math.sqrt(K)", "K"),
        (
            "takes the row by the position of the key",
            "- q_position_ids[:, :, None]",
            "- 0 * q_position_ids[:, :, None]",
        ),
        (
            "takes 0, 1, 2 … for the positions",
            "k_position_ids[:, None, :] - q_position_ids[:, :, None]",
            "(torch.arange(k_position_ids.shape[1]) - torch.arange(q_position_ids.shape[1])[:, None])[None]",
        ),
        (
            "normalizes the query",
            '"bhqd,bqkd->bhqk", q,',
            '"bhqd,bqkd->bhqk", torch.nn.functional.normalize(q, dim=-1),',
        ),
        ("adds the row to the product as it is", "return torch", "return a.sum(-1)[:, None] + torch"),
        ("leaves out the query", '"bhqd,bqkd->bhqk", q,', '"bhqd,bqkd->bhqk", torch.ones_like(q),'),
        ("detaches the table from the gradient", "table[rows]", "table.detach()[rows]"),
        ("changes the query in place", 'bhqk", q, a) / math.sqrt(K)', 'bhqk", q.div_(math.sqrt(K)), a)'),
        ("has the queries last", "->bhqk", "->bhkq"),
    ),
)
