"""What each head is for: the pattern it follows best, how surely, and what else it might be.

A score without a chance level is no finding. So every pattern has one lift over chance, an interval over sentences, the
same lift in a model with random weights, and a runner-up; and a head has a role only where all of these agree.
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
from regard.model.transformer import EncoderDecoder

MIN_LIFT = 0.35  # lift below which no role is told
BASELINE_MARGIN = (
    0.15  # by how much the interval must stand above that of random weights, which differ from draw to draw
)
NEAR_BEST_RATIO = 0.75  # of the largest lift: a more specific role that reaches so much of it is preferred
OFFSET_MARGIN = 0.10  # by how much a grammatical role must beat a fixed distance.  Voita et al. 2019
NUM_PROBES, PROBE_LENGTH = 12, 11
BASELINE_SENTENCES = 64


@dataclass(frozen=True)
class RoleScore:
    """How well a head follows one pattern."""

    name: str
    lift: float
    """Over all rows of the corpus: the micro-average, to which the interval belongs."""
    low: float | None
    """None, as the other end: the pattern is in too few sentences to tell, or is none of sentences."""
    high: float | None
    macro_lift: float | None
    """The macro-average: the lift of each sentence, averaged. Far from `lift`: long sentences are otherwise."""
    argmax_rate: float | None
    """How often its largest weight is on the pattern; None for what is no pattern."""
    baseline: float | None
    """The same lift in the model with random weights; None where it was not asked, or could not be."""
    is_reliable: bool
    """Whether it stands above chance, above random weights and, for grammar, above a fixed distance."""

    def format_interval(self) -> str:
        """The interval in words."""
        if self.name == "copy":
            return "by its weights"
        if self.low is None or self.high is None:
            return "too few sentences for an interval"
        return f"{self.low:.2f} to {self.high:.2f}"


class AttentionStatistics(NamedTuple):
    """How a head spreads its weights: means over rows, then over sentences."""

    entropy: float
    """Nats."""
    normalized_entropy: float | None
    """Entropy as a share of what even weights would have; None where no row had a choice."""
    effective_keys: float
    confidence: float
    mean_distance: float | None
    """None, as its deviation, in cross-attention, where places are not on one axis."""
    distance_std: float | None
    """The root of the distance's variance within a row, mean over rows."""


@dataclass(frozen=True)
class HeadAnalysis:
    """What is known of a head on a corpus."""

    head: Head
    statistics: AttentionStatistics
    roles: tuple[RoleScore, ...]
    """Every pattern that could be measured, largest lift first; last what the head would do with what it looks at."""

    @property
    def role(self) -> RoleScore | None:
        """The most specific of the roles that are sure and nearly the best; copying only where no pattern is sure."""
        reliable_roles = [role for role in self.roles if role.is_reliable]
        reliable_roles = [role for role in reliable_roles if role.name != "copy"] or reliable_roles
        if not reliable_roles:
            return None
        near_best = [role for role in reliable_roles if role.lift >= NEAR_BEST_RATIO * reliable_roles[0].lift]
        return min(near_best, key=lambda role: ROLE_ORDER.index(role.name))

    @property
    def best(self) -> RoleScore | None:
        """The role, or where none is sure the pattern with the largest lift."""
        return self.role or (self.roles[0] if self.roles else None)

    @property
    def runner_up(self) -> RoleScore | None:
        """The next best pattern."""
        return next((role for role in self.roles if role is not self.best), None)

    @property
    def margin(self) -> float | None:
        """How far the role is ahead; below 0 where a pattern that contains it fits even better."""
        best, runner_up = self.best, self.runner_up
        return None if best is None or runner_up is None else best.lift - runner_up.lift

    @property
    def copying_score(self) -> float | None:
        """From -1, suppresses what it looks at, to 1, repeats it; None where what is read is another vocabulary."""
        return next((role.lift for role in self.roles if role.name == "copy"), None)

    def describe(self) -> str:
        """One sentence for people."""
        best, runner_up = self.best, self.runner_up
        if best is None:
            return "nothing could be measured"
        description = f"{best.name}, lift {best.lift:.2f} ({best.format_interval()})"
        runner_up_text = f", runner-up {runner_up.name} {runner_up.lift:.2f}" if runner_up else ""
        return (description if best.is_reliable else f"no sure role; nearest {description}") + runner_up_text


@dataclass(frozen=True)
class EvidenceSentence:
    """Which sentences follow a head's pattern best, middling and worst."""

    rank: str
    example_index: int
    lift: float


@dataclass(frozen=True)
class PatternFitTable:
    """How well the heads of each attention follow each pattern in each sentence."""

    by_site: dict[str, dict[str, PatternFit]]
    statistics: dict[str, FloatArray]
    """(H, 6) as in `Spread`; NaN where there is none."""


def analyze_heads(
    model: Model,
    examples: Sequence[Example],
    random_model: Model | None = None,
    counts: TokenCounts | None = None,
    pattern_fits: PatternFitTable | None = None,
    joint_vocab: bool = True,
) -> list[HeadAnalysis]:
    """Every head of a model on these sentences; `random` is the same model before it was trained.

    `joint`: both sides share one vocabulary, so that a head that reads a source word could write it.
    """
    counts = counts or TokenCounts.from_examples(examples)
    pattern_fits = pattern_fits or fit_all_patterns(model, examples, counts)
    baseline = (
        None
        if random_model is None
        else fit_all_patterns(random_model, _subsample(examples, BASELINE_SENTENCES), counts)
    )
    copy_roles = copying_roles(model, random_model, joint_vocab)
    analyses: list[HeadAnalysis] = []
    for site in attention_sites(model):
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
    """What random weights make of a pattern, by head of an attention."""

    lift: FloatArray | None
    """None: nobody asked, or the pattern was in none of the sentences."""
    upper_bound: FloatArray
    """What a lift may be by luck; infinite where that is not known, so that nothing stands above it."""


def random_baseline(name: str, site: AttentionSite, model: Model, baseline: PatternFitTable | None) -> RandomBaseline:
    """The lift of a pattern in the heads of an attention with random weights, and the most that it may be by luck.

    That most is over all layers, since random weights differ from one to the next: a scheme of positions may look
    nearby by itself (ALiBi does), each head by its own slope, a little more here and a little less there.
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
            baseline.by_site[other_site.name][name].bootstrap_interval() if other_site.kind == site.kind else None
        )
        if interval is not None:
            for head_id, high in zip(other_site.attention.head_ids, interval[1].tolist(), strict=True):
                upper_bounds[head_id] = max(high, upper_bounds.get(head_id, high))
    return RandomBaseline(
        pattern_fit.lift(), np.array([upper_bounds.get(head_id, math.inf) for head_id in site.attention.head_ids])
    )


def copying_roles(model: Model, random_model: Model | None, joint_vocab: bool) -> dict[Head, RoleScore]:
    """Whether each head would repeat what it looks at; a matter of weights, so that no sentence has a part in it."""
    scores, baseline_scores = (
        _copying_scores(model, joint_vocab),
        {} if random_model is None else _copying_scores(random_model, joint_vocab),
    )
    thresholds = {site.name: max_random_copying(model, site, joint_vocab) for site in attention_sites(model)}
    return {
        head: RoleScore(
            "copy",
            value,
            None,
            None,
            None,
            None,
            baseline_scores.get(head),
            value >= max(MIN_LIFT, thresholds[head.attention_name]),
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
    """About so many of the sentences, from all parts of the corpus alike: some parts may know more than others."""
    return examples[:: max(1, len(examples) // count)]


def fit_all_patterns(model: Model, examples: Sequence[Example], counts: TokenCounts) -> PatternFitTable:
    """Every pattern in every attention, sentence by sentence; what needs random tokens on random tokens."""
    probe_examples = repeated_random_probes(
        _vocab_size(model), NUM_PROBES, PROBE_LENGTH, isinstance(model, EncoderDecoder)
    )
    fits_by_site: dict[str, dict[str, list[PatternFit]]] = {site.name: {} for site in attention_sites(model)}
    statistics_by_site: dict[str, list[FloatArray]] = {site.name: [] for site in attention_sites(model)}
    for group, is_probe in ((examples, False), (probe_examples, True)):
        for example, attn_weights in zip(group, attention_weights(model, group), strict=True):
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
    """The sentences that fit a head's pattern best, middling and worst."""
    lifts = fit.sentence_lifts()[:, head_index]
    order = [int(i) for i in np.argsort(-lifts) if not math.isnan(lifts[i])]
    if not order:
        return []
    indices_by_rank = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    return [EvidenceSentence(rank, i, float(lifts[i])) for rank, i in indices_by_rank.items()]


def make_attn_mask(kind: str, num_queries: int, num_keys: int) -> Pattern:
    """Which keys may be looked at where there is no padding: a decoder sees what is before it."""
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
    """How heads (H, Tq, Tk) spread their weights in one sentence; a causal first row says nothing: (H, 6)."""
    attn_mask = torch.from_numpy(make_attn_mask(kind, *w.shape[1:]))
    rows, attn_mask = (w[:, 1:], attn_mask[1:]) if kind == "decoder" and w.shape[1] > 1 else (w, attn_mask)
    word_rows = (
        rows[:, :-1] if query_labels.special_tokens_mask[-1] and rows.shape[1] > 1 else rows
    )  # the end is no word.  Voita et al. 2019
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
    """The mean over sentences (sentences, H, 6) that know a number; NaN where none does."""
    valid = ~np.isnan(sentences)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(valid, sentences, 0).sum(axis=0) / valid.sum(axis=0))


def _score_roles(
    name: str, fit: PatternFit, site: AttentionSite, examples: Sequence[Example], baseline: RandomBaseline
) -> list[RoleScore]:
    """One pattern in all heads of an attention; none where it never said anything."""
    if not fit.rows.sum():
        return []
    lift, interval, argmax_rate = fit.lift(), fit.bootstrap_interval(), fit.argmax_rate()
    min_argmax_rate = OFFSET_MARGIN + best_offset_accuracy(examples, name, site.kind) if name in RELATIONS else 0.0
    nan_column = np.full(len(lift), math.nan)
    low, high = (nan_column, nan_column) if interval is None else interval
    baseline_lift = nan_column if baseline.lift is None else baseline.lift
    reliable = (
        (lift >= MIN_LIFT) & (low > baseline.upper_bound + BASELINE_MARGIN) & (argmax_rate >= min_argmax_rate)
    )  # nothing is above what is unknown
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
    """Numbers, None where there is none."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _vocab_size(model: Model) -> int:
    return min(module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding))
