"""The data of a look page: what a model attends to in one sentence."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.files import resolve
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
from regard.inspection.heads.alignment import extract_links, format_pharaoh, merge_subwords
from regard.inspection.heads.patterns import NO_ROLE_LETTER, ROLE_LETTERS
from regard.inspection.heads.roles import HeadAnalysis
from regard.inspection.trace import AttentionTrace, Trace, trace_forward
from regard.jobs.look.compare_attention import ReferenceAttention, compute_divergences
from regard.jobs.look.faithfulness import measure_faithfulness
from regard.jobs.look.heads import HeadTable, find_trained_aligners, role_letter
from regard.jobs.look.inspected_run import InspectedRun
from regard.jobs.train.head_history import HeadSnapshot, read_head_history
from regard.progress import stage, track
from regard.report.look.data import (
    AlignmentData,
    AttentionData,
    CorpusSummary,
    EvidenceMatrix,
    FlowData,
    HeadData,
    HeadFaithfulness,
    HeadHistoryPoint,
    HistoryRecord,
    LookData,
    MethodAgreement,
    ReferenceDivergence,
    RowContrast,
    SentenceSide,
    TermArrays,
)
from regard.report.look.quantized import Array
from regard.run import Run

SIDES = {"encoder": ("source", "source"), "decoder": ("decoder_input", "decoder_input"), "cross": ("target", "source")}
"""The sides of queries and keys of each kind of attention."""
WEIGHT_CAVEAT = "A weight shows where a head attends, not that the output depends on it"
ROLE_CAVEAT = "Roles are measured on a corpus; a sentence may be an exception, and a head may have several roles."
COST_CAVEAT = "Removing one head at a time hides redundancy between heads."


def build_look_data(
    inspected_run: InspectedRun,
    example: Example,
    table: HeadTable | None = None,
    means: decompose.CorpusMeans | None = None,
    reference: ReferenceAttention | None = None,
) -> LookData:
    """Everything that a page shows of one sentence: see docs/reference/look_data.md."""
    model_trace = trace_forward(inspected_run.model, example)
    weight_gradients = attention_gradients(inspected_run.model, example)
    sides = {"source": example.source, "target": example.target, "decoder_input": example.decoder_input}
    builder = _AttentionDataBuilder(inspected_run, model_trace, weight_gradients, table, means, reference)
    return LookData(
        run=resolve(inspected_run.run.folder).name,
        pruned=list(inspected_run.config.model.pruned),
        sides={name: _side_data(side) for name, side in sides.items() if side is not None},
        kinds={kind: builder.build(kind, traces) for kind in SIDES if (traces := model_trace.of_kind(kind))},
        reference=None
        if reference is None
        else ReferenceDivergence(reference.name, compute_divergences(list(model_trace.attentions.values()), reference)),
        flow=_flow_data(model_trace, gradient_times_attention(model_trace, weight_gradients)),
        corpus=_corpus_summary(table) if table else None,
        alignment=_alignment_data(model_trace, table),
        history=_history_data(inspected_run.run),
        caveats=list_caveats(table),
    )


def list_caveats(table: HeadTable | None) -> list[str]:
    """What a reader must know of the measures that the page has."""
    if table is None:
        return [f"{WEIGHT_CAVEAT}."]
    if not table.costs:
        return [f"{WEIGHT_CAVEAT}.", ROLE_CAVEAT]
    return [f"{WEIGHT_CAVEAT}: see Cost of removal.", ROLE_CAVEAT, COST_CAVEAT]


def compute_common_means(inspected_run: InspectedRun, examples: Sequence[Example]) -> decompose.CorpusMeans:
    """The means over these sentences that separate position from content."""
    traces = (
        trace_forward(inspected_run.model, example)
        for example in track(examples, "averaging positions and contents", len(examples))
    )
    return decompose.compute_corpus_means(inspected_run.model, traces)


def _history_data(run: Run) -> list[HistoryRecord]:
    """The statistics and roles of all heads over training; empty where none were recorded."""
    return [
        HistoryRecord(entry.step, {name: _history_point(snapshot) for name, snapshot in entry.heads.items()})
        for entry in read_head_history(run.head_history)
    ]


def _history_point(snapshot: HeadSnapshot) -> HeadHistoryPoint:
    return HeadHistoryPoint(
        entropy=snapshot.entropy,
        confidence=snapshot.confidence,
        role=snapshot.role,
        letter=ROLE_LETTERS.get(snapshot.role or "", NO_ROLE_LETTER),
        lift=snapshot.lift,
    )


def _side_data(side: TokenizedText) -> SentenceSide:
    return SentenceSide(side.text, side.tokens, side.word_ids, side.words, side.special_tokens_mask, side.word_groups())


def _corpus_summary(table: HeadTable) -> CorpusSummary:
    baseline = "the same model with random weights"
    return CorpusSummary(table.corpus_name, len(table.examples), table.ablation_sentences, baseline)


class _AttentionDataBuilder:
    """Builds the data of each kind of attention in one sentence."""

    def __init__(
        self,
        inspected_run: InspectedRun,
        model_trace: Trace,
        weight_gradients: Mapping[str, Tensor],
        table: HeadTable | None,
        means: decompose.CorpusMeans | None,
        reference: ReferenceAttention | None,
    ):
        self.model, self.model_trace, self.weight_gradients = inspected_run.model, model_trace, weight_gradients
        self.table, self.means, self.reference = table, means, reference
        self.trained_aligners = find_trained_aligners(inspected_run.run)

    def build(self, kind: str, traces: Sequence[AttentionTrace]) -> AttentionData:
        gradient = gradient_times_attention(self.model_trace, self.weight_gradients)
        terms = [
            decompose.decompose_scores(self.model, self.model_trace, trace, self.means)
            if decompose.can_decompose(trace, self.means)
            else None
            for trace in traces
        ]
        divergences, faithfulness = measure_faithfulness(
            self.model, self.model_trace, traces, terms, self.weight_gradients, perturb=self.table is not None
        )
        rows, columns = SIDES[kind]
        reference = [self.reference.weights_for(trace) for trace in traces] if self.reference else None
        return AttentionData(
            rows=rows,
            columns=columns,
            causal=kind == "decoder",
            weights=[_to_numpy(trace.weights) for trace in traces],
            scores=[_to_numpy(_mask_with_nan(trace.scores, decompose.head_attn_mask(trace))) for trace in traces],
            value_norms=[_to_numpy(norms.value_norms(trace)) for trace in traces],
            norms=[_to_numpy(norms.value_weighted_norms(trace)) for trace in traces],
            output_share=[_to_numpy(norms.signed_shares(trace)) for trace in traces],
            terms=_term_arrays(terms),
            gradient=[_to_numpy(gradient[trace.site.name]) for trace in traces] if gradient else None,
            reference_weights=None if reference is None else [_to_numpy(weights) for weights in reference],
            weight_difference=None
            if reference is None
            else [_to_numpy(trace.weights - weights) for trace, weights in zip(traces, reference, strict=True)],
            head_divergence=divergences.astype(np.float32),
            toeplitz=None if kind == "cross" else [decompose.toeplitz_r2(trace).astype(np.float32) for trace in traces],
            heads=[
                [_head_data(head, faithfulness[head], self.table, head in self.trained_aligners) for head in layer]
                for layer in (trace.site.heads for trace in traces)
            ],
        )


def _term_arrays(terms: Sequence[decompose.ScoreTerms | None]) -> TermArrays:
    return TermArrays(
        names=list(decompose.TERM_NAMES),
        values=[
            None if t is None else _to_numpy(_mask_with_nan(t.grouped_terms, t.known_mask[:, None])) for t in terms
        ],
        shares=[None if t is None else _to_numpy(t.shares) for t in terms],
        known_positions=[None if t is None else (t.known_queries, t.known_keys) for t in terms],
    )


def _head_data(head: Head, faithfulness: HeadFaithfulness, table: HeadTable | None, trained: bool) -> HeadData:
    facts = next((candidate for candidate in table.facts if candidate.head == head), None) if table else None
    if table is None or facts is None:
        return HeadData(str(head), head.layer, head.number, faithfulness, trained_to_align=trained)
    best, runner_up, cost = facts.best, facts.runner_up, table.costs.get(head)
    return HeadData(
        str(head),
        head.layer,
        head.number,
        faithfulness,
        role=facts.role.name if facts.role else None,
        letter=role_letter(facts),
        best=best.name if best else None,
        lift=best.lift if best else None,
        low=best.low if best else None,
        high=best.high if best else None,
        macro_lift=best.macro_lift if best else None,
        argmax_rate=best.argmax_rate if best else None,
        baseline=best.baseline if best else None,
        runner_up=runner_up.name if runner_up else None,
        runner_up_lift=runner_up.lift if runner_up else None,
        margin=facts.margin,
        **facts.statistics._asdict(),
        importance=table.importance.get(head),
        cost=cost.cost if cost else None,
        cost_low=cost.low if cost else None,
        cost_high=cost.high if cost else None,
        aer=table.error_rate(head),
        trained_to_align=trained,
        copying=facts.copying_score,
        note=facts.describe(),
        evidence=_evidence(head, facts, table),
    )


def _evidence(head: Head, facts: HeadAnalysis, table: HeadTable) -> list[EvidenceMatrix]:
    kind = "cross" if head.kind == "cross" else head.stack
    evidence = []
    for item in table.find_evidence(facts):
        example = table.examples[item.example_index]
        rows, columns = example.query_labels(kind), example.key_tokens(kind)
        weights = _to_numpy(table.evidence_weights[head, item.example_index])
        evidence.append(EvidenceMatrix(item.rank, item.lift, columns.text, rows.tokens, columns.tokens, weights))
    return evidence


def _flow_data(model_trace: Trace, gradient: Mapping[str, Tensor]) -> FlowData:
    with stage("analyzing the flow"):
        flow = analyze_flow(model_trace)
    encoder, decoder = flow.rollout.encoder, flow.rollout.decoder
    encoder_baselines = [baseline.encoder for baseline in flow.permuted_rollouts]
    reading = "encoder" if model_trace.of_kind("encoder") else "decoder"  # of a decoder-only model
    contrast = {reading: _row_contrast(encoder, encoder_baselines)}
    decoder_arrays: dict[str, Array] = {}
    if decoder is not None:
        baselines = [baseline.decoder for baseline in flow.permuted_rollouts if baseline.decoder is not None]
        source_baselines = [baseline.source for baseline in baselines]
        contrast["cross"] = _row_contrast(decoder.source, source_baselines)
        decoder_arrays = {
            "source": _to_numpy(decoder.source),
            "target": _to_numpy(decoder.target),
            "source_share": _to_numpy(decoder.source_share),
            "above_chance_source": _to_numpy(decoder.source - _mean(source_baselines)),
            "above_chance_target": _to_numpy(decoder.target - _mean([baseline.target for baseline in baselines])),
        }
    return FlowData(
        encoder=_to_numpy(encoder),
        above_chance=_to_numpy(encoder - _mean(encoder_baselines)),
        contrast=contrast,
        mixing={kind: [_to_numpy(ratio) for ratio in ratios] for kind, ratios in flow.mixing_ratios.items()},
        agreement=_method_agreement(model_trace, flow, gradient),
        max_flow=None if flow.max_flow is None else _to_numpy(flow.max_flow),
        max_flow_source=None if flow.max_flow_source is None else _to_numpy(flow.max_flow_source),
        **decoder_arrays,
    )


def _method_agreement(model_trace: Trace, flow: FlowAnalysis, gradient: Mapping[str, Tensor]) -> MethodAgreement:
    correlations = method_correlations(attribution_matrices(model_trace, flow, gradient))
    return MethodAgreement(list(METHODS), correlations.astype(np.float32))


def _row_contrast(rollout: Tensor, baselines: Sequence[Tensor]) -> RowContrast:
    chance = sum(map(mean_total_variation, baselines)) / len(baselines)
    return RowContrast(mean_total_variation(rollout), chance)


def _mean(matrices: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(matrices)).mean(dim=0)


def _alignment_data(model_trace: Trace, table: HeadTable | None) -> AlignmentData | None:
    """The alignment of this sentence by the best head of cross-attention."""
    if not model_trace.of_kind("cross") or table is None or table.aligners is None:
        return None
    best, _ = table.aligners.best
    attention_trace, example = model_trace.attentions[best.attention_name], model_trace.example
    assert example.target is not None
    weights = attention_trace.weights[attention_trace.site.heads.index(best)].float()
    links = sorted(extract_links(merge_subwords(weights, example.target, example.source)))
    trained = table.trained_aligners
    untrained = table.aligners.best_without(table.trained_aligners)
    return AlignmentData(
        best=str(best),
        links=links,
        pharaoh=format_pharaoh(links),
        aer=table.error_rate(best),
        trained=str(best) if best in trained else ", ".join(map(str, trained)) or None,
        best_untrained=str(untrained[0]) if untrained else None,
        best_untrained_aer=table.error_rate(untrained[0]) if untrained else None,
    )


def _mask_with_nan(x: Tensor, attn_mask: Tensor) -> Tensor:
    return x.masked_fill(~attn_mask, math.nan)


def _to_numpy(x: Tensor) -> Array:
    array: Array = x.detach().float().cpu().numpy()
    return array
