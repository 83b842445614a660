"""Look into a model: what it attends to while it reads and writes, as plain numbers for pages, figures and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.data.batch import collate
from regard.data.corpora import word_spans
from regard.inspection.example import Example, TokenizedText
from regard.inspection.flow import decompose, norms
from regard.inspection.flow.attribution import (
    METHODS,
    FlowAnalysis,
    analyze_flow,
    attention_gradients,
    attribution_matrices,
    gradient_times_attention,
    method_correlations,
)
from regard.inspection.flow.rollout import mean_total_variation
from regard.inspection.heads.alignment import extract_links, format_pharaoh, merge_subwords, merge_subwords_by_span
from regard.inspection.heads.patterns import NO_ROLE_LETTER, ROLE_LETTERS
from regard.inspection.heads.roles import AttentionStatistics, HeadAnalysis
from regard.inspection.trace import AttentionTrace, Trace, cross_attention_weights, trace_forward
from regard.jobs.look.compare_attention import ReferenceAttention, compute_divergences
from regard.jobs.look.faithfulness import measure_faithfulness
from regard.jobs.look.heads import HeadTable, role_letter
from regard.jobs.look.inspected_run import InspectedRun
from regard.report import Table, Value
from regard.run import Run
from regard.tasks.translate import Translator
from regard.training import log

BATCH_SIZE = 64
OPTIONAL_MEASURES = ("signed", "then", "change")
"""What stands in the last columns of a head's table, where it is known."""
CAVEATS = (
    "A weight says where a head looks, not that the output depends on it: see cost of removal.",
    "Roles are measured on a corpus; a sentence may be an exception, and a head may do several things.",
    "Removing one head at a time hides what heads do for each other.",
)


@dataclass(frozen=True)
class CrossAttentionMatrix:
    """Cross-attention averaged over all layers and heads, by pieces and by words."""

    source_tokens: list[str]
    target_tokens: list[str]
    token_weights: Tensor  # (target pieces with eos, source pieces with eos)
    source_words: list[str]
    target_words: list[str]
    word_weights: Tensor  # (target words, source words)


def compute_cross_attention(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> list[CrossAttentionMatrix]:
    """What was looked at when each source is translated as its target."""
    matrices = []
    for start in range(0, len(sources), BATCH_SIZE):
        matrices += _compute_cross_attention_batch(
            translator, sources[start : start + BATCH_SIZE], targets[start : start + BATCH_SIZE]
        )
    return matrices


def _compute_cross_attention_batch(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> list[CrossAttentionMatrix]:
    source_tokenizer, target_tokenizer = translator.tokenizers.source, translator.tokenizers.target
    source_ids, target_ids = source_tokenizer.encode(sources), target_tokenizer.encode(targets)
    weights = cross_attention_weights(translator.model, collate(source_ids, target_ids))
    matrices = []
    for i, all_heads in enumerate(weights):
        mean = all_heads.float().mean(dim=(0, 1)).cpu()  # (layers, H, T, S) -> (T, S)
        spans = (word_spans(sources[i]), word_spans(targets[i]))
        token_spans = (
            source_tokenizer.spans(sources[i], source_ids[i]),
            target_tokenizer.spans(targets[i], target_ids[i]),
        )
        matrices.append(
            CrossAttentionMatrix(
                source_tokens=[*source_tokenizer.convert_ids_to_tokens(source_ids[i]), "</s>"],
                target_tokens=[*target_tokenizer.convert_ids_to_tokens(target_ids[i]), "</s>"],
                token_weights=mean,
                source_words=[sources[i][a:b] for a, b in spans[0]],
                target_words=[targets[i][a:b] for a, b in spans[1]],
                word_weights=merge_subwords_by_span(mean, *token_spans, word_spans=spans)
                if spans[0] and spans[1]
                else torch.zeros(0, 0),
            )
        )
    return matrices


def build_look_data(
    inspected_run: InspectedRun,
    example: Example,
    table: HeadTable | None = None,
    means: decompose.CorpusMeans | None = None,
    reference: ReferenceAttention | None = None,
) -> dict[str, Any]:
    """Everything that a page shows of one sentence, as plain numbers and arrays: see docs/look_contract.md."""
    model_trace, model = trace_forward(inspected_run.model, example), inspected_run.model
    weight_gradients = attention_gradients(model, example)
    attention_flow = analyze_flow(model_trace)
    side_names = {"encoder": ("source", "source"), "decoder": ("read", "read"), "cross": ("target", "source")}
    traces_by_kind = {kind: attention_traces for kind in side_names if (attention_traces := model_trace.of_kind(kind))}
    sides = {"source": example.source, "target": example.target, "read": example.decoder_input}
    m = inspected_run.config.model
    position_configs = {"encoder": m.encoder.positions or m.positions, "decoder": m.decoder.positions or m.positions}
    return {
        "version": 1,
        "run": inspected_run.run.folder.resolve().name,
        "architecture": m.architecture,
        "norm": m.norm,
        "positions": {
            stack: position_config.kind
            for stack, position_config in position_configs.items()
            if stack in traces_by_kind
        },
        "pruned": list(m.pruned),
        "sides": {name: _side_data(side) for name, side in sides.items() if side is not None},
        "kinds": {
            kind: _kind_data(
                inspected_run, model_trace, side_names[kind], attention_traces, (weight_gradients, table, means)
            )
            | _reference_data(attention_traces, reference)
            for kind, attention_traces in traces_by_kind.items()
        },
        "against": None
        if reference is None
        else {"name": reference.name, "moved": compute_divergences(list(model_trace.attentions.values()), reference)},
        "flow": _flow_data(model_trace, attention_flow, gradient_times_attention(model_trace, weight_gradients)),
        "corpus": {
            "sentences": len(table.examples) if table else 0,
            "costed": table.ablation_sentences if table else 0,
            "what": table.corpus_name if table else "",
            "baseline": "the same model with random weights",
        },
        "alignment": _alignment_data(model_trace, table),
        "history": read_head_history(inspected_run.run),
        "caveats": list(CAVEATS),
    }


def compute_common_means(
    inspected_run: InspectedRun, examples: Sequence[Example], max_examples: int = 50
) -> decompose.CorpusMeans:
    """What tokens have in common over some sentences: what position and content are told apart by."""
    return decompose.compute_corpus_means(
        inspected_run.model, [trace_forward(inspected_run.model, example) for example in examples[:max_examples]]
    )


def read_head_history(run: Run) -> list[dict[str, Any]]:
    """What was measured of heads through training, with the letter of each one's role then."""
    records = list(log.read(run.head_history)) if run.head_history.exists() else []
    for record in records:
        for head_record in record["heads"].values():
            head_record["letter"] = ROLE_LETTERS.get(head_record["role"], NO_ROLE_LETTER)
    return records


def flatten_arrays(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of `look_data` by flat names, for an NPZ file: cross.2.weights, flow.source …"""
    flat: dict[str, Any] = {}
    for kind, kind_data in data["kinds"].items():
        for measure in ("weights", "scores", "value_norms", "norms", "signed", "gradient", "then", "change"):
            for layer, array in enumerate(kind_data.get(measure) or ()):
                flat[f"{kind}.{layer}.{measure}"] = array
        for layer, (values, shares) in enumerate(
            zip(kind_data["terms"]["values"], kind_data["terms"]["shares"], strict=True)
        ):
            if values is not None:
                flat[f"{kind}.{layer}.terms"], flat[f"{kind}.{layer}.shares"] = values, shares
        flat[f"{kind}.apart"] = kind_data["apart"]
    flat["flow.disagreement"] = data["flow"]["disagreement"]["correlation"]
    flat |= {f"flow.{name}": array for name, array in data["flow"].items() if isinstance(array, np.ndarray)}
    for name, side in data["sides"].items():
        flat[f"pieces.{name}"] = np.array(side["pieces"])
    return flat


def tabulate_head(data: Mapping[str, Any], kind: str, layer: int, head_index: int) -> Table:
    """One head as a table: a row for each query and key that it may look at."""
    kind_data = data["kinds"][kind]
    queries, keys = (data["sides"][kind_data[side]]["pieces"] for side in ("rows", "columns"))
    term_values = kind_data["terms"]["values"][layer]
    names = kind_data["terms"]["names"] if term_values is not None else ()
    rows: list[dict[str, Value]] = []
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            score = float(kind_data["scores"][layer][head_index, i, j])
            if math.isnan(score):
                continue
            terms = term_values[head_index, :, i, j].tolist() if names else ()
            rows.append(
                {
                    "query": i,
                    "key": j,
                    "from": query,
                    "to": key,
                    "weight": float(kind_data["weights"][layer][head_index, i, j]),
                    "score": score,
                    "norm": float(kind_data["norms"][layer][head_index, i, j]),
                    **dict(zip(names, terms, strict=True)),
                    **{
                        measure: float(kind_data[measure][layer][head_index, i, j])
                        for measure in OPTIONAL_MEASURES
                        if measure in kind_data
                    },
                }
            )
    return Table.from_rows(rows)


def _side_data(side: TokenizedText) -> dict[str, Any]:
    return {
        "text": side.text,
        "pieces": list(side.tokens),
        "word": list(side.word_ids),
        "words": list(side.words),
        "special": list(side.special_tokens_mask),
    }


def _kind_data(
    inspected_run: InspectedRun,
    model_trace: Trace,
    sides: tuple[str, str],
    attention_traces: Sequence[AttentionTrace],
    measurements: tuple[Mapping[str, Tensor], HeadTable | None, decompose.CorpusMeans | None],
) -> dict[str, Any]:
    weight_gradients, table, means = measurements
    gradient = gradient_times_attention(model_trace, weight_gradients)
    terms = [
        decompose.decompose_scores(inspected_run.model, model_trace, attention_trace, means)
        if decompose.can_decompose(attention_trace, means)
        else None
        for attention_trace in attention_traces
    ]
    divergences, faithfulness = measure_faithfulness(
        inspected_run.model, model_trace, attention_traces, terms, weight_gradients, perturb=table is not None
    )
    kind = attention_traces[0].site.kind
    data: dict[str, Any] = {
        "rows": sides[0],
        "columns": sides[1],
        "causal": kind == "decoder",
        "weights": [_to_numpy(attention_trace.weights) for attention_trace in attention_traces],
        "scores": [
            _to_numpy(_mask_with_nan(attention_trace.scores, decompose.head_attn_mask(attention_trace)))
            for attention_trace in attention_traces
        ],
        "value_norms": [_to_numpy(norms.value_norms(attention_trace)) for attention_trace in attention_traces],
        "norms": [_to_numpy(norms.value_weighted_norms(attention_trace)) for attention_trace in attention_traces],
        "signed": [_to_numpy(norms.signed_shares(attention_trace)) for attention_trace in attention_traces],
        "terms": {
            "names": list(decompose.TERM_NAMES),
            "values": [
                score_terms and _to_numpy(_mask_with_nan(score_terms.grouped_terms, score_terms.attn_mask[:, None]))
                for score_terms in terms
            ],
            "shares": [
                score_terms and _to_numpy(decompose.term_shares(score_terms.grouped_terms, score_terms.attn_mask))
                for score_terms in terms
            ],
        },
        "gradient": [_to_numpy(gradient[attention_trace.site.name]) for attention_trace in attention_traces]
        if gradient
        else None,
        "heads": [
            [_head_data(head, table) | {"trust": faithfulness[str(head)]} for head in attention_trace.site.heads]
            for attention_trace in attention_traces
        ],
        "apart": divergences.astype(np.float32),
    }
    if kind != "cross":
        data["toeplitz"] = [
            decompose.toeplitz_r2(attention_trace).astype(np.float32) for attention_trace in attention_traces
        ]
    return data


def _reference_data(attention_traces: Sequence[AttentionTrace], reference: ReferenceAttention | None) -> dict[str, Any]:
    """What the same heads looked at in another model, and what has changed since."""
    if reference is None:
        return {}
    reference_weights = [reference.weights_for(attention_trace) for attention_trace in attention_traces]
    change = [
        attention_trace.weights - weights
        for attention_trace, weights in zip(attention_traces, reference_weights, strict=True)
    ]
    return {
        "then": [_to_numpy(matrix) for matrix in reference_weights],
        "change": [_to_numpy(matrix) for matrix in change],
    }


def _head_data(head: Head, table: HeadTable | None) -> dict[str, Any]:
    facts = next((candidate for candidate in table.facts if candidate.head == head), None) if table else None
    head_data: dict[str, Any] = {"name": str(head), "layer": head.layer, "head": head.number}
    best, runner_up = (facts.best, facts.runner_up) if facts else (None, None)
    cost = table.costs.get(head) if table else None
    return head_data | {
        "role": facts.role.name if facts and facts.role else None,
        "letter": role_letter(facts) if facts else NO_ROLE_LETTER,
        "best": best.name if best else None,
        "lift": best.lift if best else None,
        "by_sentence": best.macro_lift if best else None,
        "low": best.low if best else None,
        "high": best.high if best else None,
        "argmax": best.argmax_rate if best else None,
        "baseline": best.baseline if best else None,
        "runner_up": runner_up.name if runner_up else None,
        "runner_up_lift": runner_up.lift if runner_up else None,
        "margin": facts.margin if facts else None,
        **(facts.statistics._asdict() if facts else dict.fromkeys(AttentionStatistics._fields)),
        "importance": table.importance.get(head) if table else None,
        "cost": cost.cost if cost else None,
        "cost_low": cost.low if cost else None,
        "cost_high": cost.high if cost else None,
        "aer": table.error_rate(head) if table else None,
        "copying": facts.copying_score if facts else None,
        "note": facts.describe() if facts else "heads were not measured",
        "evidence": _evidence_data(head, facts, table) if facts and table else [],
    }


def _evidence_data(head: Head, facts: HeadAnalysis, table: HeadTable) -> list[dict[str, Any]]:
    evidence_data = []
    kind = "cross" if head.kind == "cross" else head.stack
    for item in table.find_evidence(facts):
        example = table.examples[item.example_index]
        evidence_data.append(
            {
                "which": item.rank,
                "lift": item.lift,
                "rows": list(example.query_labels(kind).tokens),
                "columns": list(example.key_tokens(kind).tokens),
                "weights": _to_numpy(table.evidence_weights[head, item.example_index]),
            }
        )
    return evidence_data


def _flow_data(model_trace: Trace, attention_flow: FlowAnalysis, gradient: Mapping[str, Tensor]) -> dict[str, Any]:
    encoder, cross = attention_flow.rollout.encoder, attention_flow.rollout.decoder
    encoder_baselines = [baseline.encoder for baseline in attention_flow.permuted_rollouts]
    data: dict[str, Any] = {"encoder": _to_numpy(encoder), "beyond": _to_numpy(encoder - _mean(encoder_baselines))}
    data["contrast"] = {"encoder": _row_contrast(encoder, encoder_baselines)}
    if cross is not None:
        cross_baselines = [
            baseline.decoder for baseline in attention_flow.permuted_rollouts if baseline.decoder is not None
        ]
        source_baselines = [baseline.source for baseline in cross_baselines]
        data["contrast"]["cross"] = _row_contrast(cross.source, source_baselines)
        data |= {
            "source": _to_numpy(cross.source),
            "target": _to_numpy(cross.target),
            "source_share": _to_numpy(cross.source_share),
            "beyond_source": _to_numpy(cross.source - _mean(source_baselines)),
            "beyond_target": _to_numpy(cross.target - _mean([baseline.target for baseline in cross_baselines])),
            "max_flow_source": None
            if attention_flow.max_flow_source is None
            else _to_numpy(attention_flow.max_flow_source),
        }
    return data | {
        "max_flow": None if attention_flow.max_flow is None else _to_numpy(attention_flow.max_flow),
        "mixing": {
            kind: [_to_numpy(ratio) for ratio in ratios] for kind, ratios in attention_flow.mixing_ratios.items()
        },
        "disagreement": {
            "names": list(METHODS),
            "correlation": method_correlations(attribution_matrices(model_trace, attention_flow, gradient)).astype(
                np.float32
            ),
        },
    }


def _row_contrast(rolled: Tensor, baselines: Sequence[Tensor]) -> list[float]:
    """How differently rows come about, in truth and by chance."""
    return [mean_total_variation(rolled), sum(map(mean_total_variation, baselines)) / len(baselines)]


def _mean(matrices: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(matrices)).mean(dim=0)


def _alignment_data(model_trace: Trace, table: HeadTable | None) -> dict[str, Any]:
    """What the best head of cross-attention aligns in this sentence."""
    if not model_trace.of_kind("cross") or table is None or table.aligners is None:
        return {"best": None, "links": [], "pharaoh": "", "aer": None}
    best, alignment = table.aligners.best
    attention_trace, example = model_trace.attentions[best.attention_name], model_trace.example
    assert example.target is not None
    weights = attention_trace.weights[attention_trace.site.heads.index(best)].float()
    links = sorted(extract_links(merge_subwords(weights, example.target, example.source)))
    return {
        "best": str(best),
        "links": [list(pair) for pair in links],
        "pharaoh": format_pharaoh(links),
        "aer": alignment.counts.aer if table.aligners.judged_by_gold else None,
    }


def _mask_with_nan(x: Tensor, attn_mask: Tensor) -> Tensor:
    return x.masked_fill(~attn_mask, math.nan)


def _to_numpy(x: Tensor) -> Any:
    return x.detach().float().cpu().numpy()
