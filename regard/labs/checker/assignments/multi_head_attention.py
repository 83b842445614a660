"""Multi-head attention: projections, heads side by side, the output projection."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model import masks
from regard.model.attention import Attention
from regard.model.positions import Positions

SELF, CROSS, MASKED = "when a sequence attends to itself", "when it attends to another sequence", "with a mask"
ONE_HEAD = "with one head"
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
Weights = dict[str, Tensor]
Many = list[Observation]


def multi_head_attention(
    x: Tensor, source: Tensor, weights: dict[str, Tensor], heads: int, attn_mask: Tensor | None = None
) -> Tensor:
    """concat(head 1 … head H) W_Oᵀ, where head h attends with its own K = D/H dimensions.  Vaswani et al. 2017, 3.2.2.

    x (B, Tq, D) asks, source (B, Tk, D) is attended to; attn_mask (True = may attend) broadcasts to (B, H, Tq, Tk).
    Weights by name, as nn.Linear has them (y = x Wᵀ + b): q_proj.weight, k_proj.weight, v_proj.weight and
    out_proj.weight (D, D), and q_proj.bias … out_proj.bias (D,). Head h has the dimensions h·K to (h+1)·K - 1.
    Returns (B, Tq, D).
    """
    attention = _build(x.shape[-1], heads)
    return torch.func.functional_call(
        attention, {f"attention.{n}": w for n, w in weights.items()}, (x, source, attn_mask)
    )


@functools.cache
def _build(dim: int, heads: int) -> "_Attend":
    """An attention whose own weights are never used."""
    return _Attend(Attention(dim, heads, Positions()))


class _Attend(nn.Module):
    """An attention as one function of two sequences."""

    def __init__(self, attention: Attention):
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, source: Tensor, attn_mask: Tensor | None) -> Tensor:
        q_ids, k_ids = (masks.position_ids_of(states[..., 0]) for states in (x, source))
        return self.attention(x, self.attention.project_kv(source, k_ids), attn_mask, q_ids)


def plain(x: Tensor, source: Tensor, weights: Weights, heads: int, attn_mask: Tensor | None = None) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    D = x.shape[-1]
    K = D // heads
    q = F.linear(x, weights["q_proj.weight"], weights["q_proj.bias"])
    k = F.linear(source, weights["k_proj.weight"], weights["k_proj.bias"])
    v = F.linear(source, weights["v_proj.weight"], weights["v_proj.bias"])
    q, k, v = (one.unflatten(-1, (heads, K)).transpose(1, 2) for one in (q, k, v))
    scores = q @ k.mT / math.sqrt(K)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -1e9)
    attended = scores.softmax(dim=-1) @ v
    merged = attended.transpose(1, 2).flatten(2)
    return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])


MISTAKES = edits(
    plain,
    (
        "splits heads by a reshape to (B, H, T, K) without a transpose, which mixes tokens with dimensions",
        "one.unflatten(-1, (heads, K)).transpose(1, 2)",
        "one.reshape(len(one), heads, -1, K)",
    ),
    (
        "gives head h each H-th dimension",
        "one.unflatten(-1, (heads, K)).transpose(1, 2)",
        "one.unflatten(-1, (K, heads)).permute(0, 3, 1, 2)",
        "attended.transpose(1, 2).flatten(2)",
        "attended.permute(0, 2, 3, 1).flatten(2)",
    ),
    ("merges the heads without a transpose", "attended.transpose(1, 2).flatten(2)", "attended.reshape(x.shape)"),
    ("merges the heads in reverse order", "attended.transpose(1, 2)", "attended.flip(1).transpose(1, 2)"),
    ("divides by √D instead of √K", "math.sqrt(K)", "math.sqrt(D)"),
    ("does not divide by √K", "k.mT / math.sqrt(K)", "k.mT"),
    (
        "has no output projection",
        'return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])',
        "return merged",
    ),
    ("has one head for any number of heads", "K = D // heads", "heads, K = 1, D"),
    (
        "takes keys and values from x instead of the source",
        "D = x.shape[-1]",
        "D, source = x.shape[-1], x.new_zeros(source.shape).add(x.mean(1, True)) if x.shape != source.shape else x",
    ),
    (
        "takes the queries from the source",
        "q = F.linear(x, weights",
        "q = F.linear(source[:, torch.arange(x.shape[1]) % source.shape[1]], weights",
    ),
    (
        "multiplies by W instead of Wᵀ",
        'F.linear(x, weights["q_proj.weight"]',
        'F.linear(x, weights["q_proj.weight"].T',
        'F.linear(source, weights["k_proj.weight"]',
        'F.linear(source, weights["k_proj.weight"].T',
        'weights["v_proj.weight"]',
        'weights["v_proj.weight"].T',
        'weights["out_proj.weight"]',
        'weights["out_proj.weight"].T',
    ),
    (
        "leaves out the biases of queries, keys and values",
        'weights["q_proj.bias"]',
        "None",
        'weights["k_proj.bias"]',
        "None",
        'weights["v_proj.bias"]',
        "None",
    ),
    ("leaves out the bias of the output projection", 'weights["out_proj.bias"]', "None"),
    ("exchanges keys and values", "(q, k, v))", "(q, v, k))"),
    (
        "exchanges queries and keys",
        'weights["q_proj.weight"], weights["q_proj.bias"]',
        'weights["k_proj.weight"], weights["k_proj.bias"]',
        'source, weights["k_proj.weight"], weights["k_proj.bias"]',
        'source, weights["q_proj.weight"], weights["q_proj.bias"]',
    ),
    ("takes the softmax over the queries", "softmax(dim=-1)", "softmax(dim=-2)"),
    ("ignores the mask", "scores.masked_fill(~attn_mask, -1e9)", "scores"),
    ("inverts the mask", "~attn_mask", "attn_mask"),
    (
        "adds the input to the result (the residual belongs to the layer)",
        "return F.linear(merged",
        "return x + F.linear(merged",
    ),
    ("changes x in place", "D = x.shape[-1]", "D = x.mul_(2).div_(4).shape[-1]\n    x = x * 2"),
    (
        "returns the states of each head, not merged",
        'return F.linear(merged, weights["out_proj.weight"], weights["out_proj.bias"])',
        "return attended",
    ),
)


def attention_weights(draw: Draws, dim: int, prefix: str = "") -> Weights:
    """Random weights of an attention, by name."""
    matrices = {f"{prefix}{name}.weight": draw.normal(dim, dim) for name in PROJECTIONS}
    return {**matrices, **{f"{prefix}{name}.bias": draw.normal(dim) for name in PROJECTIONS}}


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {kind: [] for kind in (ONE_HEAD, SELF, CROSS, MASKED)}
    for B, Tq, Tk, heads, K in ((1, 2, 3, 2, 2), (2, 3, 5, 2, 3), (3, 7, 5, 3, 2)):
        x, source, weights = (
            draw.normal(B, Tq, heads * K),
            draw.normal(B, Tk, heads * K),
            attention_weights(draw, heads * K),
        )
        mask = draw.mask(B, 1, Tq, Tk)
        mask[0, 0, 0, -1] = False
        kinds[ONE_HEAD].append({"x": x, "source": x, "weights": weights, "heads": 1})
        kinds[SELF].append({"x": x, "source": x, "weights": weights, "heads": heads})
        kinds[CROSS].append({"x": x, "source": source, "weights": weights, "heads": heads})
        kinds[MASKED].append({**kinds[CROSS][-1], "attn_mask": mask})
    return kinds


def _token_order(attend: CheckedFunction, x: Inputs) -> Many:
    rolled = {name: x[name].roll(1, 1) for name in ("x", "source")}
    return [Observation(attend(**{**x, **rolled}), attend(**x).roll(1, 1), "result")]


def _rows_alone(attend: CheckedFunction, x: Inputs) -> Many:
    return [Observation(attend(**x)[:, :1], attend(**{**x, "x": x["x"][:, :1]}), "the first token")]


def _hidden_keys(attend: CheckedFunction, x: Inputs) -> Many:
    mask = torch.ones(1, 1, 1, x["source"].shape[1], dtype=torch.bool)
    mask[..., -1] = False
    shorter = {**x, "source": x["source"][:, :-1]}
    return [Observation(attend(**x, attn_mask=mask), attend(**shorter), "result")]


def _value_bias(attend: CheckedFunction, x: Inputs) -> Many:
    """The weights of values as 0: the biases remain, for any weights of attention."""
    weights = {**x["weights"], "v_proj.weight": torch.zeros_like(x["weights"]["v_proj.weight"])}
    expected = F.linear(weights["v_proj.bias"], weights["out_proj.weight"], weights["out_proj.bias"])
    result = attend(**{**x, "weights": weights})
    return [Observation(result, expected.expand_as(result), "result")]


def _heads_apart(attend: CheckedFunction, x: Inputs) -> Many:
    """Only the first head reaches the output: the queries of the others do not matter."""
    K = x["x"].shape[-1] // x["heads"]
    out, q = x["weights"]["out_proj.weight"].clone(), x["weights"]["q_proj.weight"].clone()
    out[:, K:] = 0
    first = {**x["weights"], "out_proj.weight": out}
    q[K:] = 0
    changed = {**first, "q_proj.weight": q}
    return [Observation(attend(**{**x, "weights": changed}), attend(**{**x, "weights": first}), "result")]


MULTI_HEAD_ATTENTION = Assignment(
    multi_head_attention,
    outputs=("result (B, Tq, D)",),
    steps=(
        "q = x W_qᵀ + b_q, k and v likewise of the source",
        "split D into H heads of K dimensions: (B, T, D) -> (B, T, H, K) -> (B, H, T, K)",
        "each head: softmax(q kᵀ / √K) v, with the mask",
        "put the heads side by side again: (B, H, Tq, K) -> (B, Tq, H, K) -> (B, Tq, D)",
        "the output projection",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a tensor (B, Tq, D)", ONE_HEAD, SELF, CROSS, MASKED),
        Truth("tokens in another order have the same results in that order", (ONE_HEAD, SELF), _token_order),
        Truth("the result of a query does not depend on the other queries", (CROSS,), _rows_alone),
        Truth("where all values are their bias, so is what is attended to", (ONE_HEAD, SELF, CROSS), _value_bias),
        Truth("a head does not depend on the queries of the others", (SELF, CROSS), _heads_apart),
        Truth("a masked key might as well not be there", (CROSS,), _hidden_keys),
        leaves_inputs_alone(SELF, MASKED),
        equals_reference("the results of one head", ONE_HEAD),
        equals_reference("the results", SELF, CROSS),
        equals_reference("the results with a mask", MASKED),
        gradients_equal_reference(SELF, MASKED),
    ),
    mistakes=MISTAKES,
    shapes=(Attention.forward, Attention._split_heads),
)
