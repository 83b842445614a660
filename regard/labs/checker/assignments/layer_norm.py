"""Layer normalization."""

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, gradients_equal_reference, leaves_inputs_alone, returns
from regard.model.layers import LayerNorm

ORDINARY, CONSTANT, TINY = "on ordinary inputs", "for a token whose numbers are all alike", "with tiny numbers"
Many = list[Observation]


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + ε) · weight + bias, for each token by itself.  Ba et al. 2016.

    x (B, T, D), weight (D,), bias (D,) -> (B, T, D). The variance divides by D.
    """
    norm = LayerNorm(x.shape[-1], epsilon)
    return torch.func.functional_call(norm, {"weight": weight, "bias": bias}, (x,))


def plain(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
    """The equation written out, which known mistakes are edits of."""
    dims = -1
    mean = x.mean(dim=dims, keepdim=True)
    centered = x - mean
    variance = (centered * centered).mean(dim=dims, keepdim=True)
    normed = centered / (variance + epsilon).sqrt()
    return normed * weight + bias


MISTAKES = edits(
    plain,
    (
        "divides the variance by D - 1",
        "(centered * centered).mean(dim=dims, keepdim=True)",
        "x.var(dim=dims, keepdim=True)",
    ),
    ("adds ε outside of the root", "(variance + epsilon).sqrt()", "(variance.sqrt() + epsilon)"),
    ("has no ε", "(variance + epsilon)", "variance"),
    ("adds ε² instead of ε", "variance + epsilon", "variance + epsilon**2"),
    ("normalizes over the tokens instead of the dimensions", "dims = -1", "dims = -2"),
    ("normalizes over tokens and dimensions together", "dims = -1", "dims = (-2, -1)"),
    ("normalizes over the batch", "dims = -1", "dims = 0"),
    ("does not subtract the mean (RMSNorm)", "x - mean", "x"),
    ("subtracts the mean for the variance alone", "normed = centered /", "normed = x /"),
    ("divides by the variance instead of its root", "(variance + epsilon).sqrt()", "(variance + epsilon)"),
    ("leaves out the weight", "normed * weight", "normed"),
    ("leaves out the bias", " * weight + bias", " * weight"),
    ("multiplies by 1 + weight", "normed * weight", "normed * (1 + weight)"),
    ("adds the bias before the weight", "normed * weight + bias", "(normed + bias) * weight"),
    (
        "detaches mean and variance from the gradient",
        "x - mean",
        "x - mean.detach()",
        "(variance +",
        "(variance.detach() +",
    ),
    ("changes its input in place", "x - mean", "x.sub_(mean)"),
    ("forgets the batch", "return normed", "normed = normed[0]\n    return normed"),
)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {ORDINARY: [], CONSTANT: [], TINY: []}
    for B, T, D in ((1, 2, 3), (2, 3, 5), (3, 5, 7)):
        weights = {"weight": draw.normal(D), "bias": draw.normal(D)}
        kinds[ORDINARY].append({"x": draw.normal(B, T, D) * 2 + 1, **weights})
        constant = draw.normal(B, T, 1).expand(B, T, D).round(decimals=1).clone()
        kinds[CONSTANT].append({"x": constant, **weights})
        kinds[TINY].append({"x": draw.normal(B, T, D) * 1e-3, **weights, "epsilon": 1e-4})
    return kinds


def _plain_weights(x: Inputs) -> dict[str, Tensor]:
    return {"weight": torch.ones_like(x["weight"]), "bias": torch.zeros_like(x["bias"])}


def _moments(layer_norm: CheckedFunction, x: Inputs) -> Many:
    result = layer_norm(**{**x, **_plain_weights(x), "x": x["x"] * 1e3})
    mean, variance = result.mean(dim=-1), result.var(dim=-1, unbiased=False)
    return [
        Observation(mean, torch.zeros_like(mean), "means"),
        Observation(variance, torch.ones_like(variance), "variances"),
    ]


def _each_alone(layer_norm: CheckedFunction, x: Inputs) -> Many:
    return [Observation(layer_norm(**x)[:1, :1], layer_norm(**{**x, "x": x["x"][:1, :1]}), "the first token")]


def _shift(layer_norm: CheckedFunction, x: Inputs) -> Many:
    return [Observation(layer_norm(**{**x, "x": x["x"] + 4}), layer_norm(**x), "result")]


def _scale(layer_norm: CheckedFunction, x: Inputs) -> Many:
    small = {**x, "epsilon": 1e-12}
    return [Observation(layer_norm(**{**small, "x": x["x"] * 4}), layer_norm(**small), "result")]


def _bias_alone(layer_norm: CheckedFunction, x: Inputs) -> Many:
    result = layer_norm(**x)
    return [Observation(result, x["bias"].to(result.dtype).expand_as(result), "result")]


LAYER_NORM = Assignment(
    layer_norm,
    outputs=("result (B, T, D)",),
    steps=(
        "mean (B, T, 1) over the dimensions of each token",
        "variance (B, T, 1): the mean of (x - mean)²",
        "normalized = (x - mean) / √(variance + ε)",
        "normalized · weight + bias",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a tensor (B, T, D)", ORDINARY),
        Truth("each token is normalized by itself", (ORDINARY,), _each_alone),
        Truth("with weight 1 and bias 0, a token has mean 0 and variance 1", (ORDINARY,), _moments),
        Truth("a constant that is added to a token does not matter", (ORDINARY,), _shift),
        Truth("a factor of a token does not matter, if ε is next to nothing", (ORDINARY,), _scale),
        Truth("of a token whose numbers are all alike, the bias remains", (CONSTANT,), _bias_alone),
        leaves_inputs_alone(ORDINARY),
        equals_reference("the results", ORDINARY),
        equals_reference("the results for tiny numbers, where ε counts,", TINY),
        gradients_equal_reference(ORDINARY, TINY),
    ),
    mistakes=MISTAKES,
)
