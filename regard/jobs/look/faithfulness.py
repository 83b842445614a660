"""What of a page may be trusted: each head's weights put to the test on the sentence that is shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from regard.inspection.flow.decompose import ScoreTerms, head_attn_mask
from regard.inspection.heads import faithfulness
from regard.inspection.heads.statistics import FloatArray
from regard.inspection.trace import AttentionTrace, Model, Trace
from regard.model.transformer import EncoderDecoder


def measure_faithfulness(
    model: Model,
    model_trace: Trace,
    attention_traces: Sequence[AttentionTrace],
    terms: Sequence[ScoreTerms | None],
    weight_gradients: Mapping[str, Tensor],
    perturb: bool,
) -> tuple[FloatArray, dict[str, dict[str, Any]]]:
    """How far apart the heads of one kind look, and what is known of each by its name: see docs/look_contract.md."""
    divergences = faithfulness.head_divergences(attention_traces)
    names = [str(head) for attention_trace in attention_traces for head in attention_trace.site.heads]
    by_head: dict[str, dict[str, Any]] = {}
    for attention_trace, score_terms in zip(attention_traces, terms, strict=True):
        position_divergences, attn_mask = (
            None if score_terms is None else faithfulness.position_divergence(attention_trace, score_terms),
            head_attn_mask(attention_trace),
        )
        perturbations = (
            faithfulness.perturb_heads(model, model_trace.example, attention_trace)
            if perturb and isinstance(model, EncoderDecoder)
            else None
        )
        for h, head in enumerate(attention_trace.site.heads):
            most_similar = _most_similar_head(divergences, len(by_head))
            weight_gradient = weight_gradients.get(attention_trace.site.name)
            by_head[str(head)] = {
                "twin": None if most_similar is None else names[most_similar],
                "twin_apart": None if most_similar is None else float(divergences[len(by_head), most_similar]),
                "places_apart": None if position_divergences is None else float(position_divergences[h]),
                "gradient": None
                if weight_gradient is None
                else faithfulness.rank_correlation(attention_trace.weights[h], weight_gradient[h], attn_mask[h]),
                "shuffled": None if perturbations is None else perturbations[h].permutation_tvd,
                "even": None if perturbations is None else perturbations[h].uniform_loss_increase,
            }
    return divergences, by_head


def _most_similar_head(divergences: FloatArray, head: int) -> int | None:
    """The head that looks most like this one."""
    candidates = [other for other in range(len(divergences)) if other != head]
    return min(candidates, key=lambda other: float(divergences[head, other]), default=None)
