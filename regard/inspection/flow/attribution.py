"""Attribution of each row to the input tokens by several methods, and how far the methods disagree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from regard.inspection.example import Example
from regard.inspection.flow import norms, rollout
from regard.inspection.heads import statistics
from regard.inspection.heads.importance import sentence_losses
from regard.inspection.heads.statistics import FloatArray, spearman
from regard.inspection.trace import AttentionTrace, Model, Trace, attention_sites
from regard.model.modules import evaluation_mode
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder

KINDS = ("encoder", "decoder", "cross")
NUM_PERMUTATIONS = 7
"""Random permutations of the weights, as the baseline that depth alone gives."""
LayerMatrices = Mapping[str, Sequence[Tensor]]
"""By kind, one matrix for each layer."""


@dataclass(frozen=True)
class Rollout:
    """Attention rollout through all layers: the share of each input token in each row."""

    encoder: Tensor
    """(S, S); of the decoder in a decoder-only model."""
    decoder: rollout.DecoderRollout | None
    """Of the decoder, through cross-attention to the source; None for an encoder-only model."""


@dataclass(frozen=True)
class FlowAnalysis:
    """Attention rollout and maximal flow of one sentence."""

    rollout: Rollout
    permuted_rollouts: list[Rollout]
    """The rollout with the weights of every row randomly permuted, several times."""
    max_flow: Tensor | None
    """(S, S); None if the sentence is too long."""
    max_flow_source: Tensor | None
    """(T, S); None if the sentence is too long, and for an encoder-only model."""
    mixing_ratios: dict[str, list[Tensor]]
    """By kind, one for each layer: the share of each token that comes from other tokens."""


def analyze_flow(trace: Trace) -> FlowAnalysis:
    """Rollout with measured mixing ratios, maximal flow with ratios of 0.5, and the ratios, of one sentence."""
    mean_weights = {kind: [attn.weights.mean(dim=0) for attn in trace.of_kind(kind)] for kind in KINDS}
    mixing_ratios = {kind: [norms.mixing_ratio(attn) for attn in trace.of_kind(kind)] for kind in KINDS}
    encoder, decoder_self, cross = (mean_weights[kind] for kind in KINDS)
    reading = encoder or decoder_self
    return FlowAnalysis(
        rollout=_compute_rollout(mean_weights, mixing_ratios),
        permuted_rollouts=[
            _compute_rollout(permuted_weights, mixing_ratios)
            for permuted_weights in _permute_weights(trace, mean_weights)
        ],
        max_flow=rollout.attention_flow(reading),
        max_flow_source=rollout.encoder_decoder_flow(encoder, decoder_self, cross) if cross else None,
        mixing_ratios={kind: ratios for kind, ratios in mixing_ratios.items() if ratios},
    )


def _compute_rollout(mean_weights: LayerMatrices, mixing_ratios: LayerMatrices) -> Rollout:
    kind = "encoder" if mean_weights["encoder"] else "decoder"  # of a decoder-only model
    encoder = rollout.attention_rollout(mean_weights[kind], mixing_ratios[kind])
    if not mean_weights["cross"]:
        return Rollout(encoder, None)
    ratios = list(zip(mixing_ratios["decoder"], mixing_ratios["cross"], strict=True))
    return Rollout(
        encoder, rollout.encoder_decoder_rollout(encoder, mean_weights["decoder"], mean_weights["cross"], ratios)
    )


def _permute_weights(trace: Trace, mean_weights: LayerMatrices) -> Iterator[LayerMatrices]:
    """The mean weights with every row randomly permuted, independently for each layer.

    The diagonal of self-attention stays in place: rollout takes it from the measured ratio, and not from the weight.
    """
    permuted_weights: dict[str, list[Tensor]] = {}  # by kind (layers, permutations, Tq, Tk)
    for kind in KINDS:
        attns = trace.of_kind(kind)
        permutations = (
            statistics.random_permutations(_non_self_mask(attns[0]), NUM_PERMUTATIONS * len(attns)).chunk(len(attns))
            if attns
            else ()
        )
        permuted_weights[kind] = [
            w.expand(NUM_PERMUTATIONS, -1, -1).gather(2, permutation.to(w.device))
            for w, permutation in zip(mean_weights[kind], permutations, strict=True)
        ]
    for index in range(NUM_PERMUTATIONS):
        yield {kind: [layer[index] for layer in layers] for kind, layers in permuted_weights.items()}


def _non_self_mask(attn: AttentionTrace) -> Tensor:
    """The attention mask without the diagonal of self-attention: (Tq, Tk)."""
    attn_mask = attn.attn_mask.cpu()
    return attn_mask if attn.site.kind == "cross" else attn_mask & ~torch.eye(len(attn_mask), dtype=torch.bool)


def attention_gradients(model: Model, example: Example) -> dict[str, Tensor]:
    """|∂L/∂w| of every weight (H, Tq, Tk), by attention; empty for an encoder-only model, which has no loss."""
    if not isinstance(model, EncoderDecoder):
        return {}
    attn_sites = attention_sites(model)
    taps = [f"{site.path}.weights" for site in attn_sites]
    with evaluation_mode(model), torch.enable_grad(), record(model, *taps) as activations:
        loss = sentence_losses(model, [example]).sum()
        gradients = torch.autograd.grad(loss, [activations[tap] for tap in taps])
    return {site.name: gradient[0].detach().abs() for site, gradient in zip(attn_sites, gradients, strict=True)}


def gradient_times_attention(trace: Trace, gradients_by_site: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """|w · ∂L/∂w| of every weight (H, Tq, Tk), by attention.  Hao et al. 2021."""
    return {name: trace.attentions[name].weights * gradient for name, gradient in gradients_by_site.items()}


@dataclass(frozen=True)
class AttributionMatrices:
    """One matrix for each method: target rows by source tokens, or within an encoder-only model."""

    weights: Tensor
    norms: Tensor
    rollout: Tensor
    flow: Tensor | None
    """None if the sentence is too long."""
    gradient: Tensor | None
    """None for an encoder-only model."""


METHODS = tuple(method.name for method in fields(AttributionMatrices))


def attribution_matrices(
    trace: Trace, flow_analysis: FlowAnalysis, gradient: Mapping[str, Tensor]
) -> AttributionMatrices:
    """Attribute rows to tokens by every method, averaged over heads and layers."""
    decoder_rollout = flow_analysis.rollout.decoder
    attns = trace.of_kind("cross") or trace.of_kind("encoder") or trace.of_kind("decoder")
    gradients = [gradient[attn.site.name].mean(dim=0) for attn in attns if attn.site.name in gradient]
    return AttributionMatrices(
        weights=torch.stack([attn.weights.mean(dim=0) for attn in attns]).mean(dim=0),
        norms=torch.stack([norms.key_contributions(attn).norm(dim=-1) for attn in attns]).mean(dim=0),
        rollout=flow_analysis.rollout.encoder if decoder_rollout is None else decoder_rollout.source,
        flow=flow_analysis.max_flow if decoder_rollout is None else flow_analysis.max_flow_source,
        gradient=torch.stack(gradients).mean(dim=0) if gradients else None,
    )


def method_correlations(matrices: AttributionMatrices) -> FloatArray:
    """Spearman correlation of every two methods, mean over rows; NaN where one is missing: (5, 5)."""
    table = np.full((len(METHODS), len(METHODS)), math.nan)
    tensors: list[Tensor | None] = [getattr(matrices, name) for name in METHODS]
    rows_by_method = [None if tensor is None else tensor.double().numpy() for tensor in tensors]
    for a, first in enumerate(rows_by_method):
        for b, second in enumerate(rows_by_method):
            if first is not None and second is not None:
                correlations = [spearman(x, y) for x, y in zip(first, second, strict=True)]
                valid = [value for value in correlations if not math.isnan(value)]
                table[a, b] = sum(valid) / len(valid) if valid else math.nan
    return table
