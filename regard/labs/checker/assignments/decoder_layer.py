"""A layer of the decoder: self-attention, cross-attention and feed-forward, each inside a residual with a norm."""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.assignments.encoder_layer import (
    attend,
    feed_forward,
    layer_weights,
    make_residuals,
    norm,
    without,
)
from regard.labs.checker.assignments.multi_head_attention import Weights
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model import masks
from regard.model.attention import Attention
from regard.model.layers import DecoderLayer, EncoderOutput, FeedForward
from regard.model.positions import Positions

POST, PRE, MASKED = "with the norm after the sum", "with the norm first", "with masks"
ATTENTIONS = ("self_attn", "cross_attn")
Many = list[Observation]


def decoder_layer(
    x: Tensor,
    source: Tensor,
    weights: dict[str, Tensor],
    heads: int,
    attn_mask: Tensor | None = None,
    source_mask: Tensor | None = None,
    norm_first: bool = False,
) -> Tensor:
    """x = norm(x + self_attention(x)), x = norm(x + cross_attention(x, source)), then norm(x + feed_forward(x)).

    With norm_first: x = x + f(norm(x)) for each of the three. Vaswani et al. 2017, section 3.1. The source is the
    encoder's output: it is not normalized here, and cross-attention takes its keys and values from it.

    x (B, T, D), source (B, S, D) -> (B, T, D). True = may attend: attn_mask broadcasts to (B, H, T, T) and is for
    self-attention (the causal mask is handed in here), source_mask broadcasts to (B, H, T, S) and is for
    cross-attention. Weights by name, as those of the encoder layer, with cross_attn.q_proj.weight … and
    cross_attn_residual.norm.weight and .bias beside them; ε = 1e-5. There is no dropout.
    """
    layer = _build(x.shape[-1], heads, len(weights["feed_forward.up.weight"]), norm_first)
    q_ids, k_ids = (masks.position_ids_of(states[..., 0]) for states in (x, source))
    everything = torch.ones(1, 1, 1, source.shape[1], dtype=torch.bool)
    encoder_output = EncoderOutput(source, everything if source_mask is None else source_mask, k_ids)
    return torch.func.functional_call(layer, weights, (x, attn_mask, q_ids, encoder_output))


@functools.cache
def _build(dim: int, heads: int, ffn: int, norm_first: bool) -> DecoderLayer:
    """A layer whose own weights are never used."""
    self_attn, cross_attn = (Attention(dim, heads, Positions()) for _ in ATTENTIONS)
    feed_forward = FeedForward(dim, ffn, F.relu, bias=True, dropout=0.0)
    return DecoderLayer(self_attn, cross_attn, feed_forward, make_residuals(3, dim, norm_first))


def plain(
    x: Tensor,
    source: Tensor,
    weights: Weights,
    heads: int,
    attn_mask: Tensor | None = None,
    source_mask: Tensor | None = None,
    norm_first: bool = False,
) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    before = norm if norm_first else _nothing
    after = _nothing if norm_first else norm
    h = before(x, weights, "self_attn")
    x = after(x + attend(h, h, weights, "self_attn", heads, attn_mask), weights, "self_attn")
    h = before(x, weights, "cross_attn")
    x = after(x + attend(h, source, weights, "cross_attn", heads, source_mask), weights, "cross_attn")
    h = before(x, weights, "feed_forward")
    return after(x + feed_forward(h, weights), weights, "feed_forward")


def _nothing(x: Tensor, weights: Weights, name: str) -> Tensor:
    return x


SELF_LINE = 'x = after(x + attend(h, h, weights, "self_attn", heads, attn_mask), weights, "self_attn")'
CROSS_LINE = 'x = after(x + attend(h, source, weights, "cross_attn", heads, source_mask), weights, "cross_attn")'
MISTAKES = edits(
    plain,
    (
        "always has the norm after the sum",
        "norm if norm_first else _nothing",
        "_nothing",
        "_nothing if norm_first else norm",
        "norm",
    ),
    (
        "always has the norm first",
        "norm if norm_first else _nothing",
        "norm",
        "_nothing if norm_first else norm",
        "_nothing",
    ),
    (
        "has the norms before and after",
        "norm if norm_first else _nothing",
        "norm",
        "_nothing if norm_first else norm",
        "norm",
    ),
    ("has no norms", "norm if norm_first else _nothing", "_nothing", "_nothing if norm_first else norm", "_nothing"),
    ("has no cross-attention", CROSS_LINE, 'x = after(x, weights, "cross_attn")'),
    ("has no self-attention", SELF_LINE, 'x = after(x, weights, "self_attn")'),
    ("has no residual around cross-attention", "x + attend(h, source", "attend(h, source"),
    ("has no residual around self-attention", "x + attend(h, h", "attend(h, h"),
    ("has no residual around the feed-forward", "x + feed_forward", "feed_forward"),
    (
        "attends to the source before it attends to itself",
        SELF_LINE,
        "pass",
        CROSS_LINE,
        f'{CROSS_LINE}\n    h = before(x, weights, "self_attn")\n    {SELF_LINE}',
    ),
    ("takes the weights of self-attention for cross-attention", '"cross_attn", heads', '"self_attn", heads'),
    ("normalizes the source", "attend(h, source, ", 'attend(h, norm(source, weights, "cross_attn"), '),
    ("ignores the mask of self-attention", "heads, attn_mask)", "heads, None)"),
    ("ignores the mask of cross-attention", "heads, source_mask)", "heads, None)"),
    (
        "with the norm first, normalizes the skip connections, too",
        "x + attend(h, h",
        "h + attend(h, h",
        "x + attend(h, source",
        "h + attend(h, source",
        "x + feed_forward(h",
        "h + feed_forward(h",
    ),
    (
        "takes one norm for all three sublayers",
        'weights, "cross_attn")\n    x',
        'weights, "self_attn")\n    x',
        'source_mask), weights, "cross_attn")',
        'source_mask), weights, "self_attn")',
        'h = before(x, weights, "feed_forward")',
        'h = before(x, weights, "self_attn")',
        'feed_forward(h, weights), weights, "feed_forward")',
        'feed_forward(h, weights), weights, "self_attn")',
    ),
    (
        "has a causal mask of its own, even where none is handed in",
        "heads, attn_mask)",
        "heads, masks.causal_mask(x.shape[1]) & (True if attn_mask is None else attn_mask))",
    ),
    (
        "takes the queries of cross-attention from the input of the layer",
        'h = before(x, weights, "self_attn")',
        'h = before(x, weights, "self_attn")\n    old = x',
        "attend(h, source",
        'attend(before(old, weights, "cross_attn"), source',
    ),
    ("changes x in place", 'h = before(x, weights, "self_attn")', 'h = before(x.mul_(1.5), weights, "self_attn")'),
    (
        "lets a token know the mean of the sentence",
        "x + feed_forward(h, weights)",
        "x + feed_forward(h, weights) + x.mean(dim=1, keepdim=True)",
    ),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {POST: [], PRE: [], MASKED: []}
    for B, T, S, heads, K, ffn in ((1, 2, 3, 1, 2, 3), (2, 3, 5, 2, 2, 7)):
        weights = layer_weights(draw, heads * K, ffn, ATTENTIONS)
        states = {"x": draw.normal(B, T, heads * K), "source": draw.normal(B, S, heads * K)}
        inputs = {**states, "weights": weights, "heads": heads}
        source_mask = draw.mask(B, 1, 1, S)
        source_mask[0, 0, 0, -1] = False
        both = {"attn_mask": masks.causal_mask(T)[None, None], "source_mask": source_mask}
        kinds[POST].append(inputs)
        kinds[PRE].append({**inputs, "norm_first": True})
        kinds[MASKED] += [{**inputs, **both}, {**inputs, **both, "norm_first": True}]
    return kinds


def _silent(layer: CheckedFunction, x: Inputs) -> Many:
    weights = without(x["weights"], "self_attn.out_proj", "cross_attn.out_proj", "feed_forward.down")
    return [Observation(layer(**{**x, "weights": weights}), x["x"], "result")]


def _prefix(layer: CheckedFunction, x: Inputs) -> Many:
    """With a causal mask, a token does not know the next one: step by step is as all at once."""
    mask = masks.causal_mask(x["x"].shape[1])[None, None]
    first = layer(**{**x, "x": x["x"][:, :-1], "attn_mask": mask[..., :-1, :-1]})
    return [Observation(layer(**{**x, "attn_mask": mask})[:, :-1], first, "all tokens but the last")]


def _target_order(layer: CheckedFunction, x: Inputs) -> Many:
    return [Observation(layer(**{**x, "x": x["x"].roll(1, 1)}), layer(**x).roll(1, 1), "result")]


def _source_order(layer: CheckedFunction, x: Inputs) -> Many:
    return [Observation(layer(**{**x, "source": x["source"].roll(1, 1)}), layer(**x), "result")]


def _hidden_source(layer: CheckedFunction, x: Inputs) -> Many:
    mask = torch.ones(1, 1, 1, x["source"].shape[1], dtype=torch.bool)
    mask[..., -1] = False
    shorter = layer(**{**x, "source": x["source"][:, :-1]})
    return [Observation(layer(**{**x, "source_mask": mask}), shorter, "result")]


DECODER_LAYER = Assignment(
    decoder_layer,
    outputs=("result (B, T, D)",),
    steps=(
        "attention of x to itself with attn_mask, inside a residual with its norm",
        "attention of x to the source with source_mask, inside a residual with its norm",
        "down(relu(up(x))), inside a residual with its norm",
        "a residual is norm(x + f(x)), and x + f(norm(x)) with norm_first",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a tensor (B, T, D)", POST, PRE, MASKED),
        Truth("with the norm first, sublayers that return 0 leave the input as it is", (PRE,), _silent),
        Truth("the order of the source does not matter", (POST, PRE), _source_order),
        Truth(
            "without a mask, target tokens in another order have the same results in that order", (POST,), _target_order
        ),
        Truth("with a causal mask, a token does not depend on those after it", (POST, PRE), _prefix),
        Truth("a masked token of the source might as well not be there", (POST, PRE), _hidden_source),
        leaves_inputs_alone(POST, PRE),
        equals_reference("the results with the norm after the sum", POST),
        equals_reference("the results with the norm first", PRE),
        equals_reference("the results with masks", MASKED),
        gradients_equal_reference(POST, PRE, MASKED),
    ),
    mistakes=(
        *MISTAKES,
        *edits(
            plain,
            (
                "adds the places of the source's tokens to it",
                "attend(h, source, ",
                "attend(h, source + torch.arange(source.shape[1])[:, None].to(source), ",
            ),
            (
                "returns the first token alone",
                'return after(x + feed_forward(h, weights), weights, "feed_forward")',
                'return after(x + feed_forward(h, weights), weights, "feed_forward")[:, 0]',
            ),
        ),
    ),
    shapes=(Attention._split_heads, FeedForward.forward),
)
