"""Scaled dot-product attention."""

import math

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model import attention

ORDINARY, MASKED, EMPTY = "on ordinary inputs", "with a mask", "where a query may attend to nothing"
BIASED, ALL, LARGE = "with a bias", "with a mask and a bias", "with large scores"
MASKED_KINDS = (MASKED, ALL, EMPTY)
Many = list[Observation]


def attend(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / √K + bias) v, and the weights.  Vaswani et al. 2017, equation 1.

    q (B, H, Tq, K), k (B, H, Tk, K), v (B, H, Tk, K); attn_mask (True = may attend) and bias broadcast to
    (B, H, Tq, Tk). Returns the output (B, H, Tq, K) and the weights (B, H, Tq, Tk). The weight of a key that a query
    may not attend to is exactly 0, and a query that may attend to none has an output of 0.
    """
    output, weights = attention.attend(q, k, v, attn_mask, bias)
    return output, weights


def plain(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The equation written out, which known mistakes are edits of."""
    K = q.shape[-1]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    scores = scores / math.sqrt(K)
    added = torch.zeros_like(scores) if bias is None else bias
    mask = torch.ones_like(scores, dtype=torch.bool) if attn_mask is None else attn_mask
    scores = scores + added
    scores = scores.masked_fill(~mask, -math.inf)
    highest = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    powers = torch.exp(scores - highest)
    total = powers.sum(dim=-1, keepdim=True)
    weights = powers / total.masked_fill(total == 0, 1.0)
    return weights @ v, weights


MISTAKES = edits(
    plain,
    ("returns the output without the weights", "return weights @ v, weights", "return weights @ v"),
    ("returns the weights before the output", "return weights @ v, weights", "return weights, weights @ v"),
    ("does not divide by √K", "scores / math.sqrt(K)", "scores"),
    ("divides by K instead of √K", "math.sqrt(K)", "K"),
    ("multiplies by √K instead of dividing by it", "scores / math.sqrt(K)", "scores * math.sqrt(K)"),
    ("divides by the root of the number of keys", "math.sqrt(K)", "math.sqrt(k.shape[-2])"),
    ("divides by √(H·K), the root of the model's width", "math.sqrt(K)", "math.sqrt(K * q.shape[1])"),
    (
        "takes the softmax over the queries",
        "scores.amax(dim=-1,",
        "scores.amax(dim=-2,",
        "powers.sum(dim=-1,",
        "powers.sum(dim=-2,",
    ),
    (
        "takes no softmax",
        "torch.exp(scores - highest)",
        "scores.nan_to_num(neginf=0.0)",
        "powers / total.masked_fill(total == 0, 1.0)",
        "powers",
    ),
    ("inverts the mask", "masked_fill(~mask", "masked_fill(mask"),
    ("ignores the mask", "scores.masked_fill(~mask, -math.inf)", "scores"),
    (
        "sets masked weights to 0 after the softmax, so that the others no longer sum to 1",
        "scores.masked_fill(~mask, -math.inf)",
        "scores",
        "return weights @ v, weights",
        "return weights * mask @ v, weights * mask",
    ),
    ("adds the mask to the scores as 0 and 1", "scores.masked_fill(~mask, -math.inf)", "scores + mask.to(scores)"),
    ("sets masked scores to 0 before the softmax", "-math.inf)", "0.0)"),
    ("ignores the bias", "scores = scores + added", "pass"),
    ("divides the bias by √K as well", "scores + added", "scores + added / math.sqrt(K)"),
    ("adds the bias after the softmax", "scores + added", "scores", "total == 0, 1.0)", "total == 0, 1.0) + added"),
    ("subtracts the bias", "scores + added", "scores - added"),
    ("takes keys for values", "weights @ v", "weights @ k"),
    ("compares queries with values", 'bhqk", q, k)', 'bhqk", q, v)'),
    ("returns NaN for a query that may attend to nothing", "total.masked_fill(total == 0, 1.0)", "total"),
    (
        "attends uniformly where a query may attend to nothing",
        "scores.masked_fill(~mask, -math.inf)",
        "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
    ),
    (
        "adds -1e9 to masked scores, so that a query that may attend to nothing attends as if there were no mask",
        "scores.masked_fill(~mask, -math.inf)",
        "scores + -1e9 * (~mask)",
    ),
    ("overflows with large scores: the largest is not subtracted", "scores - highest", "scores"),
    ("sees the keys by their place, in reverse order", "scores = scores / ", "scores = scores.flip(-1) / "),
    (
        "changes its queries in place",
        "scores / math.sqrt(K)",
        "torch.einsum('bhqd,bhkd->bhqk', q.div_(math.sqrt(K)), k)",
    ),
    (
        "detaches the weights from the gradient",
        "weights = powers / total.masked_fill(total == 0, 1.0)",
        "weights = (powers / total.masked_fill(total == 0, 1.0)).detach()",
    ),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    sizes = ((1, 1, 1, 2, 2), (1, 2, 3, 2, 3), (2, 3, 5, 7, 11))  # B, H, Tq, Tk, K
    kinds: dict[str, list[Inputs]] = {kind: [] for kind in (ORDINARY, MASKED, EMPTY, BIASED, ALL, LARGE)}
    for B, H, Tq, Tk, K in sizes:
        qkv = {"q": draw.normal(B, H, Tq, K), "k": draw.normal(B, H, Tk, K), "v": draw.normal(B, H, Tk, K)}
        mask, bias = draw.mask(B, 1, Tq, Tk), draw.normal(H, Tq, Tk)
        mask[0, 0, 0, -1] = False  # so that the smallest hides something, too
        empty = mask.clone()
        empty[0, 0, -1] = False
        # Whole numbers, far apart: no precision decides, only whether exp overflows.
        large = {"q": draw.integers(1, 9, B, H, Tq, 4) * 1e3, "k": draw.integers(1, 9, B, H, Tk, 4) * 1e3}
        kinds[ORDINARY].append(qkv)
        kinds[MASKED].append({**qkv, "attn_mask": mask})
        kinds[EMPTY].append({**qkv, "attn_mask": empty})
        kinds[BIASED].append({**qkv, "bias": bias})
        kinds[ALL].append({**qkv, "attn_mask": mask, "bias": bias})
        kinds[LARGE].append({**{name: x.double() for name, x in large.items()}, "v": draw.normal(B, H, Tk, 4)})
    return kinds


def _sums(attend: CheckedFunction, x: Inputs) -> Many:
    sums = attend(**x)[1].sum(dim=-1)
    return [Observation(sums, torch.ones_like(sums), "sums of the weights")]


def _output(attend: CheckedFunction, x: Inputs) -> Many:
    output, weights = attend(**x)
    return [Observation(output, weights.to(x["v"].dtype) @ x["v"], "output")]


def _hidden(attend: CheckedFunction, x: Inputs) -> Many:
    weights = attend(**x)[1]
    hidden = weights.masked_fill(x["attn_mask"].expand_as(weights), 0.0)
    return [Observation(hidden, torch.zeros_like(hidden), "masked weights")]


def _empty(attend: CheckedFunction, x: Inputs) -> Many:
    output, weights = attend(**x)
    return [Observation(row[0, :, -1], torch.zeros_like(row[0, :, -1]), "result") for row in (output, weights)]


def _zero_query(attend: CheckedFunction, x: Inputs) -> Many:
    output = attend(**{**x, "q": torch.zeros_like(x["q"])})[0]
    return [Observation(output, x["v"].mean(dim=-2, keepdim=True).expand_as(output), "output")]


def _key_order(attend: CheckedFunction, x: Inputs) -> Many:
    rolled = {"k": x["k"].roll(1, -2), "v": x["v"].roll(1, -2)}
    return [Observation(attend(**{**x, **rolled})[0], attend(**x)[0], "output")]


def _constant(attend: CheckedFunction, x: Inputs) -> Many:
    return [Observation(attend(**{**x, "bias": x["bias"] + 3.0})[1], attend(**x)[1], "weights")]


def _twice_as_wide(attend: CheckedFunction, x: Inputs) -> Many:
    twice = {name: torch.cat((x[name], x[name]), dim=-1) / 2**0.25 for name in ("q", "k")}
    v = torch.cat((x["v"], x["v"]), dim=-1)
    return [Observation(attend(**{**x, **twice, "v": v})[1], attend(**x)[1], "weights")]


ATTEND = Assignment(
    attend,
    outputs=("output (B, H, Tq, K)", "weights (B, H, Tq, Tk)"),
    steps=(
        "scores = q kᵀ / √K: every query with every key",
        "scores = scores + bias, if there is one",
        "where the mask is False, a score that becomes a weight of 0",
        "weights = softmax of the scores over the keys; 0 for a query that may attend to nothing",
        "output = weights v",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("an output (B, H, Tq, K) and weights (B, H, Tq, Tk)", ORDINARY, MASKED, BIASED, ALL),
        Truth("the weights of each query sum to 1", (ORDINARY, MASKED, BIASED, ALL), _sums),
        Truth("the output is the sum of the values, weighted", (ORDINARY, MASKED), _output),
        Truth("a query of 0 attends to all keys alike", (ORDINARY,), _zero_query),
        Truth("the order of keys and values does not matter", (ORDINARY,), _key_order),
        Truth("a constant that is added to the bias does not matter", (BIASED, ALL), _constant),
        Truth("with (q, q) / 2^¼ and (k, k) / 2^¼ it attends as with q and k", (ORDINARY,), _twice_as_wide),
        Truth("a masked key has a weight of exactly 0", (MASKED, ALL), _hidden, exact=True),
        Truth(
            "a query that may attend to nothing has weights and an output of exactly 0", (EMPTY,), _empty, exact=True
        ),
        equals_reference("output and weights with scores of a million", LARGE),
        leaves_inputs_alone(ORDINARY, ALL),
        equals_reference("output and weights", ORDINARY, MASKED, BIASED, ALL, EMPTY),
        gradients_equal_reference(ORDINARY, ALL, EMPTY),
    ),
    mistakes=MISTAKES,
    shapes=(attention.score,),
)
