"""Faithfulness of each head's weights on the displayed sentence."""

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from regard.config import Head
from regard.inspection.flow.decompose import ScoreTerms, head_attn_mask
from regard.inspection.heads import faithfulness
from regard.inspection.heads.statistics import FloatArray
from regard.inspection.trace import AttentionTrace, Model, Trace
from regard.model.transformer import EncoderDecoder
from regard.progress import track
from regard.report.look.data import HeadFaithfulness


def measure_faithfulness(
    model: Model,
    model_trace: Trace,
    attention_traces: Sequence[AttentionTrace],
    terms: Sequence[ScoreTerms | None],
    weight_gradients: Mapping[str, Tensor],
    perturb: bool,
) -> tuple[FloatArray, dict[Head, HeadFaithfulness]]:
    """The divergence of every two heads of one kind, and the faithfulness of each head.

    `perturb` also permutes and levels the weights of each head, which takes several forward passes per head.
    """
    divergences = faithfulness.head_divergences(attention_traces)
    names = [str(head) for attention_trace in attention_traces for head in attention_trace.site.heads]
    by_head: dict[Head, HeadFaithfulness] = {}
    layers = track(zip(attention_traces, terms, strict=True), "perturbing heads", len(attention_traces))
    for attention_trace, score_terms in layers:
        attn_mask, weight_gradient = head_attn_mask(attention_trace), weight_gradients.get(attention_trace.site.name)
        position_divergences = (
            None if score_terms is None else faithfulness.position_divergence(attention_trace, score_terms)
        )
        perturbations = (
            faithfulness.perturb_heads(model, model_trace.example, attention_trace)
            if perturb and isinstance(model, EncoderDecoder)
            else None
        )
        for h, head in enumerate(attention_trace.site.heads):
            row = len(by_head)
            most_similar = _most_similar_head(divergences, row)
            by_head[head] = HeadFaithfulness(
                most_similar_head=None if most_similar is None else names[most_similar],
                most_similar_divergence=None if most_similar is None else float(divergences[row, most_similar]),
                position_divergence=None if position_divergences is None else _none_if_nan(position_divergences[h]),
                gradient_correlation=None
                if weight_gradient is None
                else faithfulness.rank_correlation(attention_trace.weights[h], weight_gradient[h], attn_mask[h]),
                permutation_tvd=None if perturbations is None else perturbations[h].permutation_tvd,
                uniform_loss_increase=None if perturbations is None else perturbations[h].uniform_loss_increase,
            )
    return divergences, by_head


def _most_similar_head(divergences: FloatArray, head: int) -> int | None:
    candidates = [other for other, value in enumerate(divergences[head]) if other != head and not math.isnan(value)]
    return min(candidates, key=lambda other: float(divergences[head, other]), default=None)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
