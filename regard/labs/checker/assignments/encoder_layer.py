"""A layer of the encoder: self-attention and feed-forward, each inside a residual with a norm."""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.assignments import multi_head_attention as heads_of
from regard.labs.checker.assignments.multi_head_attention import Weights
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model import masks
from regard.model.attention import Attention
from regard.model.layers import EncoderLayer, FeedForward, LayerNorm, PostNorm, PreNorm, Residual
from regard.model.positions import Positions

POST, PRE, MASKED = "with the norm after the sum", "with the norm first", "with a mask"
EPSILON = 1e-5
Many = list[Observation]


def encoder_layer(
    x: Tensor, weights: dict[str, Tensor], heads: int, attn_mask: Tensor | None = None, norm_first: bool = False
) -> Tensor:
    """x = norm(x + self_attention(x)), then norm(x + feed_forward(x)).  Vaswani et al. 2017, section 3.1.

    With norm_first: x = x + self_attention(norm(x)), then x + feed_forward(norm(x)).

    x (B, T, D) -> (B, T, D); attn_mask (True = may attend) broadcasts to (B, H, T, T). Weights by name: those of
    multi-head attention (self_attn.q_proj.weight …), feed_forward.up.weight (F, D) and .bias (F,),
    feed_forward.down.weight (D, F) and .bias (D,) with a ReLU between, and of the norms self_attn_residual.norm.weight
    and .bias, feed_forward_residual.norm.weight and .bias (D,), with ε = 1e-5. There is no dropout.
    """
    layer = _build(x.shape[-1], heads, len(weights["feed_forward.up.weight"]), norm_first)
    position_ids = masks.position_ids_of(x[..., 0])
    return torch.func.functional_call(layer, weights, (x, attn_mask, position_ids))


@functools.cache
def _build(dim: int, heads: int, ffn: int, norm_first: bool) -> EncoderLayer:
    """A layer whose own weights are never used."""
    attention, feed_forward = Attention(dim, heads, Positions()), FeedForward(dim, ffn, F.relu, bias=True, dropout=0.0)
    return EncoderLayer(attention, feed_forward, make_residuals(2, dim, norm_first))


def make_residuals(count: int, dim: int, norm_first: bool) -> list[Residual]:
    """Residuals of one kind."""
    kind = {True: PreNorm, False: PostNorm}[norm_first]
    return [kind(LayerNorm(dim, EPSILON), 0.0) for _ in range(count)]


def attend(x: Tensor, source: Tensor, weights: Weights, name: str, heads: int, attn_mask: Tensor | None) -> Tensor:
    """Multi-head attention with the weights of this name."""
    own = {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}
    return heads_of.plain(x, source, own, heads, attn_mask)


def feed_forward(x: Tensor, weights: Weights) -> Tensor:
    inner = F.relu(F.linear(x, weights["feed_forward.up.weight"], weights["feed_forward.up.bias"]))
    return F.linear(inner, weights["feed_forward.down.weight"], weights["feed_forward.down.bias"])


def norm(x: Tensor, weights: Weights, name: str) -> Tensor:
    """The norm of the residual of this name."""
    weight, bias = (weights[f"{name}_residual.norm.{part}"] for part in ("weight", "bias"))
    return F.layer_norm(x, weight.shape, weight, bias, EPSILON)


def plain(x: Tensor, weights: Weights, heads: int, attn_mask: Tensor | None = None, norm_first: bool = False) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    first, second = "self_attn", "feed_forward"
    if norm_first:
        h = norm(x, weights, first)
        x = x + attend(h, h, weights, "self_attn", heads, attn_mask)
        return x + feed_forward(norm(x, weights, second), weights)
    summed = x + attend(x, x, weights, "self_attn", heads, attn_mask)
    x = norm(summed, weights, first)
    return norm(x + feed_forward(x, weights), weights, second)


MISTAKES = edits(
    plain,
    ("always has the norm after the sum", "if norm_first:", "if False:"),
    ("always has the norm first", "if norm_first:", "if True:"),
    ("with the norm first, normalizes the skip connection, too", "x = x + attend(h", "x = h + attend(h"),
    (
        "with the norm first, normalizes the skip connection of the feed-forward, too",
        "return x + feed_forward(norm(x, weights, second), weights)",
        "return norm(x, weights, second) + feed_forward(norm(x, weights, second), weights)",
    ),
    (
        "has no residual around self-attention",
        "x = x + attend(h",
        "x = attend(h",
        "summed = x + attend(x",
        "summed = attend(x",
    ),
    (
        "has no residual around the feed-forward",
        "return x + feed_forward(",
        "return feed_forward(",
        "norm(x + feed_forward(x, weights)",
        "norm(feed_forward(x, weights)",
    ),
    (
        "has the same norm twice, the first",
        'first, second = "self_attn", "feed_forward"',
        'first = second = "self_attn"',
    ),
    (
        "exchanges the two norms",
        'first, second = "self_attn", "feed_forward"',
        'second, first = "self_attn", "feed_forward"',
    ),
    (
        "normalizes what attention returns instead of the sum",
        "x = norm(summed, weights, first)",
        "x = x + norm(summed - x, weights, first)",
    ),
    (
        "has no norm after the feed-forward",
        "return norm(x + feed_forward(x, weights), weights, second)",
        "return x + feed_forward(x, weights)",
    ),
    ("has no norm after self-attention", "x = norm(summed, weights, first)", "x = summed"),
    ("with the norm first, normalizes the queries alone", "attend(h, h, ", "attend(h, x, "),
    ("with the norm first, normalizes keys and values alone", "attend(h, h, ", "attend(x, h, "),
    ("with the norm first, has no norm before the feed-forward", "norm(x, weights, second), weights)", "x, weights)"),
    (
        "ignores the mask",
        'attend(h, h, weights, "self_attn", heads, attn_mask)',
        'attend(h, h, weights, "self_attn", heads, None)',
        'attend(x, x, weights, "self_attn", heads, attn_mask)',
        'attend(x, x, weights, "self_attn", heads, None)',
    ),
    (
        "has the feed-forward beside self-attention, not after it",
        "x + feed_forward(norm(x, weights, second), weights)",
        "x + feed_forward(h, weights)",
        "norm(x + feed_forward(x, weights), weights, second)",
        "norm(x + feed_forward(x - x + norm(x, weights, first), weights), weights, second)",
    ),
    (
        "adds the input of the layer to the feed-forward as well",
        "x = norm(summed, weights, first)\n",
        "x = norm(summed, weights, first) + x\n",
    ),
    ("changes x in place", "summed = x + attend(x", "summed = x; summed += attend(x.clone()"),
    (
        "returns the states of the first sentence alone",
        "return norm(x + feed_forward(x, weights), weights, second)",
        "return norm(x + feed_forward(x, weights), weights, second)[0]",
    ),
)


def layer_weights(draw: Draws, dim: int, ffn: int, attentions: tuple[str, ...]) -> Weights:
    """Random weights of a layer with attentions of these names, by name."""
    weights: Weights = {}
    for name in attentions:
        weights |= heads_of.attention_weights(draw, dim, f"{name}.")
    weights |= {"feed_forward.up.weight": draw.normal(ffn, dim), "feed_forward.up.bias": draw.normal(ffn)}
    weights |= {"feed_forward.down.weight": draw.normal(dim, ffn), "feed_forward.down.bias": draw.normal(dim)}
    for name in (*attentions, "feed_forward"):
        weights |= {f"{name}_residual.norm.{part}": draw.normal(dim) for part in ("weight", "bias")}
    return weights


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {POST: [], PRE: [], MASKED: []}
    for B, T, heads, K, ffn in ((1, 2, 1, 2, 3), (2, 3, 2, 3, 5), (2, 5, 3, 2, 7)):
        weights = layer_weights(draw, heads * K, ffn, ("self_attn",))
        inputs = {"x": draw.normal(B, T, heads * K), "weights": weights, "heads": heads}
        mask = draw.mask(B, 1, T, T)
        mask[0, 0, 0, -1] = False
        kinds[POST].append(inputs)
        kinds[PRE].append({**inputs, "norm_first": True})
        kinds[MASKED] += [{**inputs, "attn_mask": mask}, {**inputs, "attn_mask": mask, "norm_first": True}]
    return kinds


def without(weights: Weights, *names: str) -> Weights:
    """The weights with those of some sublayers as 0, so that these return 0."""
    return {key: value * 0 if key.startswith(names) else value for key, value in weights.items()}


def _silent(layer: CheckedFunction, x: Inputs) -> Many:
    weights = without(x["weights"], "self_attn.out_proj", "feed_forward.down")
    return [Observation(layer(**{**x, "weights": weights}), x["x"], "result")]


def _order(layer: CheckedFunction, x: Inputs) -> Many:
    return [Observation(layer(**{**x, "x": x["x"].roll(1, 1)}), layer(**x).roll(1, 1), "result")]


def _self_alone(layer: CheckedFunction, x: Inputs) -> Many:
    T = x["x"].shape[1]
    masked = layer(**{**x, "attn_mask": torch.eye(T, dtype=torch.bool)[None, None]})
    return [Observation(masked[:, :1], layer(**{**x, "x": x["x"][:, :1]}), "the first token")]


def _moments(layer: CheckedFunction, x: Inputs) -> Many:
    """With a weight of 1 and a bias of 0, what the last norm returns has mean 0."""
    last = "feed_forward_residual.norm."
    weights = {key: w * 0 + key.endswith("weight") if key.startswith(last) else w for key, w in x["weights"].items()}
    means = layer(**{**x, "weights": weights}).mean(dim=-1)
    return [Observation(means, torch.zeros_like(means), "means")]


ENCODER_LAYER = Assignment(
    encoder_layer,
    outputs=("result (B, T, D)",),
    steps=(
        "attention of x to itself; its queries, keys and values come from norm(x) with norm_first",
        "add x; then the norm, unless norm_first",
        "down(relu(up(x))), for each token by itself; of norm(x) with norm_first",
        "add its input; then the norm, unless norm_first",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a tensor (B, T, D)", POST, PRE, MASKED),
        Truth("with the norm first, sublayers that return 0 leave the input as it is", (PRE,), _silent),
        Truth("with the norm after the sum, the result is normalized", (POST,), _moments),
        Truth("tokens in another order have the same results in that order", (POST, PRE), _order),
        Truth("a token that may attend to itself alone might as well be alone", (POST, PRE), _self_alone),
        leaves_inputs_alone(POST, PRE),
        equals_reference("the results with the norm after the sum", POST),
        equals_reference("the results with the norm first", PRE),
        equals_reference("the results with a mask", MASKED),
        gradients_equal_reference(POST, PRE, MASKED),
    ),
    mistakes=MISTAKES,
    shapes=(Attention._split_heads, FeedForward.forward),
)
