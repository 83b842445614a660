"""The role of each head: the pattern it follows best, with confidence interval and runner-up.

A score without a chance level is no finding. So every pattern has a lift over chance, an interval over sentences and
the lift of a model with random weights; a head has a role only if its lift is reliably above both baselines.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.inspection.example import Example, TokenizedText
from regard.inspection.heads import statistics
from regard.inspection.heads.copying import max_random_copying, ov_copying_scores
from regard.inspection.heads.patterns import (
    PROBE_ROLES,
    RELATIONS,
    ROLE_ORDER,
    Pattern,
    TokenCounts,
    best_offset_accuracy,
    build_patterns,
    repeated_random_probes,
)
from regard.inspection.heads.statistics import FloatArray, PatternFit
from regard.inspection.trace import AttentionSite, Model, attention_sites, attention_weights
from regard.model.single_stack import EncoderOnly
from regard.progress import stage, track

MIN_LIFT = 0.35  # lift below which no role is assigned
BASELINE_MARGIN = 0.15  # minimum of the interval's lower end above the random weights, which vary between draws
NEAR_BEST_RATIO = 0.75  # of the largest lift: a more specific role that reaches this share is preferred
OFFSET_MARGIN = 0.10  # of a grammatical role above the best fixed distance.  Voita et al. 2019
NUM_PROBES, PROBE_LENGTH = 12, 11
BASELINE_SENTENCES = 64


@dataclass(frozen=True)
class RoleScore:
    """How well a head follows one pattern."""

    name: str
    lift: float
    """The micro-average over all rows of the corpus, to which the interval belongs."""
    low: float | None
    """95% confidence interval; None, as `high`, if too few sentences have the pattern, and for copying."""
    high: float | None
    macro_lift: float | None
    """The macro-average over sentences. Far from `lift` if long sentences differ from short ones."""
    argmax_rate: float | None
    """Share of rows whose largest weight is on the pattern; None for copying."""
    baseline: float | None
    """The lift of the model with random weights; None if it was not measured, or could not be."""
    is_reliable: bool
    """Whether it is above chance, above random weights and, for grammatical roles, above a fixed distance."""

    def format_interval(self) -> str:
        """The interval in words."""
        if self.name == "copy":
            return "by its weights"
        if self.low is None or self.high is None:
            return "too few sentences for an interval"
        return f"{self.low:.2f} to {self.high:.2f}"


class AttentionStatistics(NamedTuple):
    """Statistics of a head's weights: means over rows, then over sentences."""

    entropy: float
    """Nats."""
    normalized_entropy: float | None
    """Entropy divided by that of uniform weights; None if no row has more than one key."""
    effective_keys: float
    confidence: float
    mean_distance: float | None
    """None, as `distance_std`, in cross-attention, whose positions are of two sequences."""
    distance_std: float | None
    """Standard deviation of the distance within a row, mean over rows."""


@dataclass(frozen=True)
class HeadAnalysis:
    """The roles and statistics of a head on a corpus."""

    head: Head
    statistics: AttentionStatistics
    roles: tuple[RoleScore, ...]
    """Every pattern that could be measured, largest lift first; copying is last."""

    @property
    def role(self) -> RoleScore | None:
        """The most specific of the reliable roles near the best; copying only if no pattern is reliable."""
        reliable_roles = [role for role in self.roles if role.is_reliable]
        reliable_roles = [role for role in reliable_roles if role.name != "copy"] or reliable_roles
        if not reliable_roles:
            return None
        near_best = [role for role in reliable_roles if role.lift >= NEAR_BEST_RATIO * reliable_roles[0].lift]
        return min(near_best, key=lambda role: ROLE_ORDER.index(role.name))

    @property
    def best(self) -> RoleScore | None:
        """The role, or if none is reliable the pattern with the largest lift."""
        return self.role or (self.roles[0] if self.roles else None)

    @property
    def runner_up(self) -> RoleScore | None:
        """The next best pattern."""
        return next((role for role in self.roles if role is not self.best), None)

    @property
    def margin(self) -> float | None:
        """Lift above the runner-up; below 0 if a more general pattern fits even better."""
        best, runner_up = self.best, self.runner_up
        return None if best is None or runner_up is None else best.lift - runner_up.lift

    @property
    def copying_score(self) -> float | None:
        """From -1 (suppresses the tokens attended to) to 1 (copies them); None if the vocabularies differ."""
        return next((role.lift for role in self.roles if role.name == "copy"), None)

    def describe(self) -> str:
        """A one-line description."""
        best, runner_up = self.best, self.runner_up
        if best is None:
            return "nothing could be measured"
        description = f"{best.name}, lift {best.lift:.2f} ({best.format_interval()})"
        runner_up_text = f", runner-up {runner_up.name} {runner_up.lift:.2f}" if runner_up else ""
        return (description if best.is_reliable else f"no reliable role; nearest {description}") + runner_up_text


@dataclass(frozen=True)
class EvidenceSentence:
    """A sentence with the lift of a head's pattern in it."""

    rank: str
    """best, median or worst"""
    example_index: int
    lift: float


@dataclass(frozen=True)
class PatternFitTable:
    """The fit of the heads of each attention to each pattern, sentence by sentence."""

    by_site: dict[str, dict[str, PatternFit]]
    """By the name of the attention and of the pattern."""
    statistics: dict[str, FloatArray]
    """(H, 6) in the order of `AttentionStatistics`; NaN where undefined."""


def analyze_heads(
    model: Model,
    examples: Sequence[Example],
    random_model: Model | None = None,
    counts: TokenCounts | None = None,
    pattern_fits: PatternFitTable | None = None,
    joint_vocab: bool = True,
) -> list[HeadAnalysis]:
    """Analyze every head of a model on these sentences; `random_model` is the same model with random weights.

    `joint_vocab`: both sides share one vocabulary, so that a head may copy source tokens to the output.
    """
    counts = counts or TokenCounts.from_examples(examples)
    pattern_fits = pattern_fits or fit_all_patterns(model, examples, counts)
    baseline = (
        None
        if random_model is None
        else fit_all_patterns(random_model, _subsample(examples, BASELINE_SENTENCES), counts)
    )
    with stage("measuring copying"):
        copy_roles = copying_roles(model, random_model, joint_vocab)
    analyses: list[HeadAnalysis] = []
    for site in track(attention_sites(model), "scoring roles"):
        roles = {
            name: _score_roles(name, pattern_fit, site, examples, random_baseline(name, site, model, baseline))
            for name, pattern_fit in pattern_fits.by_site[site.name].items()
        }
        for h, head in enumerate(site.heads):
            head_roles = sorted((role[h] for role in roles.values() if role), key=lambda role: -role.lift)
            head_roles += [copy_roles[head]] if head in copy_roles else []
            analyses.append(
                HeadAnalysis(
                    head,
                    AttentionStatistics._make(_none_if_nan(pattern_fits.statistics[site.name][h])),
                    tuple(head_roles),
                )
            )
    return analyses


@dataclass(frozen=True)
class RandomBaseline:
    """The fit of a pattern with random weights, by head of an attention."""

    lift: FloatArray | None
    """None if there is no random model, or no sentence has the pattern."""
    upper_bound: FloatArray
    """The largest lift by chance; infinite where unknown, so that no lift is above it."""


def random_baseline(name: str, site: AttentionSite, model: Model, baseline: PatternFitTable | None) -> RandomBaseline:
    """The lift of a pattern in the heads of an attention with random weights, and its upper bound.

    The bound is the maximum over layers, since random weights differ between them: a position encoding may be local by
    itself (ALiBi is, by the slope of each head), more in one layer and less in another.
    """
    heads = site.attention.heads
    if baseline is None:
        return RandomBaseline(None, np.zeros(heads))
    pattern_fit = baseline.by_site[site.name].get(name)
    if pattern_fit is None or not pattern_fit.rows.sum():
        return RandomBaseline(None, np.full(heads, math.inf))
    upper_bounds: dict[int, float] = {}
    for other_site in attention_sites(model):
        interval = (
            baseline.by_site[other_site.name][name].confidence_interval() if other_site.kind == site.kind else None
        )
        if interval is not None:
            for head_id, high in zip(other_site.attention.head_ids, interval[1].tolist(), strict=True):
                upper_bounds[head_id] = max(high, upper_bounds.get(head_id, high))
    return RandomBaseline(
        pattern_fit.lift(), np.array([upper_bounds.get(head_id, math.inf) for head_id in site.attention.head_ids])
    )


def copying_roles(model: Model, random_model: Model | None, joint_vocab: bool) -> dict[Head, RoleScore]:
    """The copying score of each head as a role; it depends on the weights alone, not on sentences."""
    scores = _copying_scores(model, joint_vocab)
    baseline_scores = {} if random_model is None else _copying_scores(random_model, joint_vocab)
    thresholds = {site.name: max_random_copying(model, site, joint_vocab) for site in attention_sites(model)}
    return {
        head: RoleScore(
            name="copy",
            lift=value,
            low=None,
            high=None,
            macro_lift=None,
            argmax_rate=None,
            baseline=baseline_scores.get(head),
            is_reliable=value >= max(MIN_LIFT, thresholds[head.attention_name]),
        )
        for head, value in scores.items()
    }


def _copying_scores(model: Model, joint_vocab: bool) -> dict[Head, float]:
    site_scores = ((site.heads, ov_copying_scores(model, site, joint_vocab)) for site in attention_sites(model))
    return {
        head: value
        for heads, scores in site_scores
        for head, value in zip(heads, scores, strict=True)
        if not math.isnan(value)
    }


def _subsample(examples: Sequence[Example], count: int) -> Sequence[Example]:
    """About `count` sentences at regular intervals: parts of a corpus may differ in their annotation."""
    return examples[:: max(1, len(examples) // count)]


def fit_all_patterns(model: Model, examples: Sequence[Example], counts: TokenCounts) -> PatternFitTable:
    """Fit every pattern in every attention, sentence by sentence; PROBE_ROLES on repeated random tokens."""
    probe_examples = repeated_random_probes(
        _vocab_size(model), NUM_PROBES, PROBE_LENGTH, not isinstance(model, EncoderOnly)
    )
    fits_by_site: dict[str, dict[str, list[PatternFit]]] = {site.name: {} for site in attention_sites(model)}
    statistics_by_site: dict[str, list[FloatArray]] = {site.name: [] for site in attention_sites(model)}
    for group, is_probe in ((examples, False), (probe_examples, True)):
        weights = attention_weights(model, group)
        for example, attn_weights in track(zip(group, weights, strict=True), "fitting patterns", len(group)):
            patterns_by_kind = {
                kind: build_patterns(example, kind, counts) for kind in {site.kind for site in attention_sites(model)}
            }
            for site in attention_sites(model):
                _add_sentence(
                    site,
                    example,
                    attn_weights[site.name],
                    patterns_by_kind[site.kind],
                    fits_by_site[site.name],
                    is_probe,
                )
                if not is_probe:
                    statistics_by_site[site.name].append(
                        _sentence_statistics(attn_weights[site.name], site.kind, example.query_labels(site.kind))
                    )
    joined_fits = {
        site: {name: PatternFit.concat(fit_list) for name, fit_list in fits_by_pattern.items()}
        for site, fits_by_pattern in fits_by_site.items()
    }
    return PatternFitTable(joined_fits, {site: _nan_mean(np.stack(rows)) for site, rows in statistics_by_site.items()})


def find_evidence(fit: PatternFit, head_index: int) -> list[EvidenceSentence]:
    """The sentences with the best, median and worst fit of a pattern."""
    lifts = fit.sentence_lifts()[:, head_index]
    order = [int(i) for i in np.argsort(-lifts) if not math.isnan(lifts[i])]
    if not order:
        return []
    indices_by_rank = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    return [EvidenceSentence(rank, i, float(lifts[i])) for rank, i in indices_by_rank.items()]


def make_attn_mask(kind: str, num_queries: int, num_keys: int) -> Pattern:
    """The mask of a sentence without padding: causal for a decoder."""
    full_mask = np.ones((num_queries, num_keys), dtype=bool)
    return np.tril(full_mask) if kind == "decoder" else full_mask


def _add_sentence(
    site: AttentionSite,
    example: Example,
    w: Tensor,
    sentence_patterns: dict[str, Pattern],
    fits_by_pattern: dict[str, list[PatternFit]],
    is_probe: bool,
) -> None:
    """Add one sentence of one attention to the lists of its patterns."""
    attn_mask = make_attn_mask(site.kind, len(example.query_tokens(site.kind)), len(example.key_tokens(site.kind)))
    for name, pattern in sentence_patterns.items():
        if (name in PROBE_ROLES) == is_probe:
            fits_by_pattern.setdefault(name, []).append(statistics.fit_pattern(w, pattern, attn_mask))
    if not is_probe:
        fits_by_pattern.setdefault("vertical", []).append(statistics.fit_vertical(w, attn_mask))


def _sentence_statistics(w: Tensor, kind: str, query_labels: TokenizedText) -> FloatArray:
    """Statistics of weights (H, Tq, Tk) in one sentence, without the first causal row, which has one key: (H, 6)."""
    attn_mask = torch.from_numpy(make_attn_mask(kind, *w.shape[1:]))
    rows, attn_mask = (w[:, 1:], attn_mask[1:]) if kind == "decoder" and w.shape[1] > 1 else (w, attn_mask)
    # Confidence is measured without eos.  Voita et al. 2019
    word_rows = rows[:, :-1] if query_labels.special_tokens_mask[-1] and rows.shape[1] > 1 else rows
    entropies = statistics.entropy(rows)
    nan_column = entropies.new_full((len(w),), math.nan)
    columns = (
        entropies.mean(dim=-1),
        statistics.normalized_entropy(rows, attn_mask).nanmean(dim=-1),
        entropies.exp().mean(dim=-1),
        statistics.confidence(word_rows).mean(dim=-1),
        nan_column if kind == "cross" else statistics.mean_distance(w)[:, -rows.shape[1] :].mean(dim=-1),
        nan_column if kind == "cross" else statistics.distance_variance(w).sqrt()[:, -rows.shape[1] :].mean(dim=-1),
    )
    return np.asarray(torch.stack(columns, dim=1).double().numpy())


def _nan_mean(sentences: FloatArray) -> FloatArray:
    """The mean over sentences (sentences, H, 6), ignoring NaN; NaN where all are."""
    valid = ~np.isnan(sentences)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(valid, sentences, 0).sum(axis=0) / valid.sum(axis=0))


def _score_roles(
    name: str, fit: PatternFit, site: AttentionSite, examples: Sequence[Example], baseline: RandomBaseline
) -> list[RoleScore]:
    """The score of one pattern for each head of an attention; empty if the pattern never occurs."""
    if not fit.rows.sum():
        return []
    lift, interval, argmax_rate = fit.lift(), fit.confidence_interval(), fit.argmax_rate()
    min_argmax_rate = OFFSET_MARGIN + best_offset_accuracy(examples, name, site.kind) if name in RELATIONS else 0.0
    nan_column = np.full(len(lift), math.nan)
    low, high = (nan_column, nan_column) if interval is None else interval
    baseline_lift = nan_column if baseline.lift is None else baseline.lift
    # Without an interval `low` is NaN, and an unknown baseline is infinite: neither is reliable.
    reliable = (lift >= MIN_LIFT) & (low > baseline.upper_bound + BASELINE_MARGIN) & (argmax_rate >= min_argmax_rate)
    macro_lift = fit.macro_lift().tolist()
    columns = [
        lift.tolist(),
        _none_if_nan(low),
        _none_if_nan(high),
        macro_lift,
        argmax_rate.tolist(),
        _none_if_nan(baseline_lift),
        reliable.tolist(),
    ]
    return [RoleScore(name, *row) for row in zip(*columns, strict=True)]


def _none_if_nan(values: FloatArray) -> list[float | None]:
    """Values as a list, None for NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _vocab_size(model: Model) -> int:
    return min(module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding))
