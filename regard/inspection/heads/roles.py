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
from regard.inspection.example import Example, Side
from regard.inspection.heads import statistics
from regard.inspection.heads.copying import by_luck, ov_copying
from regard.inspection.heads.patterns import ON_PROBES, ORDER, RELATIONS, Counts, Pattern, best_offset, patterns, probes
from regard.inspection.heads.statistics import Fit, Numbers
from regard.inspection.trace import Model, Site, sites, weights
from regard.model.transformer import EncoderDecoder

SURE = 0.35  # lift below which no role is told
CLEAR = 0.15  # by how much the interval must stand above that of random weights, which differ from draw to draw
NEARLY = 0.75  # of the largest lift: a more specific role that reaches so much of it is preferred
MORE_THAN_AN_OFFSET = 0.10  # by how much a grammatical role must beat a fixed distance.  Voita et al. 2019
PROBES, PROBE_LENGTH = 12, 11
BASELINE_SENTENCES = 64


@dataclass(frozen=True)
class Role:
    """How well a head follows one pattern."""

    name: str
    lift: float
    """Over all rows of the corpus: the micro-average, to which the interval belongs."""
    low: float | None
    """None, as the other end: the pattern is in too few sentences to tell, or is none of sentences."""
    high: float | None
    by_sentence: float | None
    """The macro-average: the lift of each sentence, averaged. Far from `lift`: long sentences are otherwise."""
    argmax: float | None
    """How often its largest weight is on the pattern; None for what is no pattern."""
    baseline: float | None
    """The same lift in the model with random weights; None where it was not asked, or could not be."""
    sure: bool
    """Whether it stands above chance, above random weights and, for grammar, above a fixed distance."""

    def spread(self) -> str:
        """The interval in words."""
        if self.name == "copy":
            return "by its weights"
        if self.low is None or self.high is None:
            return "too few sentences for an interval"
        return f"{self.low:.2f} to {self.high:.2f}"


class Spread(NamedTuple):
    """How a head spreads its weights: means over rows, then over sentences."""

    entropy: float
    """Nats."""
    evenness: float | None
    """Entropy as a share of what even weights would have; None where no row had a choice."""
    effective_keys: float
    confidence: float
    distance: float | None
    """None, as its deviation, in cross-attention, where places are not on one axis."""
    deviation: float | None
    """The root of the distance's variance within a row, mean over rows."""


@dataclass(frozen=True)
class HeadFacts:
    """What is known of a head on a corpus."""

    head: Head
    numbers: Spread
    roles: tuple[Role, ...]
    """Every pattern that could be measured, largest lift first; last what the head would do with what it looks at."""

    @property
    def role(self) -> Role | None:
        """The most specific of the roles that are sure and nearly the best; copying only where no pattern is sure."""
        sure = [role for role in self.roles if role.sure]
        sure = [role for role in sure if role.name != "copy"] or sure
        if not sure:
            return None
        near = [role for role in sure if role.lift >= NEARLY * sure[0].lift]
        return min(near, key=lambda role: ORDER.index(role.name))

    @property
    def best(self) -> Role | None:
        """The role, or where none is sure the pattern with the largest lift."""
        return self.role or (self.roles[0] if self.roles else None)

    @property
    def runner_up(self) -> Role | None:
        """The next best pattern."""
        return next((role for role in self.roles if role is not self.best), None)

    @property
    def margin(self) -> float | None:
        """How far the role is ahead; below 0 where a pattern that contains it fits even better."""
        best, other = self.best, self.runner_up
        return None if best is None or other is None else best.lift - other.lift

    @property
    def copying(self) -> float | None:
        """From -1, suppresses what it looks at, to 1, repeats it; None where what is read is another vocabulary."""
        return next((role.lift for role in self.roles if role.name == "copy"), None)

    def note(self) -> str:
        """One sentence for people."""
        best, other = self.best, self.runner_up
        if best is None:
            return "nothing could be measured"
        told = f"{best.name}, lift {best.lift:.2f} ({best.spread()})"
        beside = f", runner-up {other.name} {other.lift:.2f}" if other else ""
        return (told if best.sure else f"no sure role; nearest {told}") + beside


@dataclass(frozen=True)
class Evidence:
    """Which sentences follow a head's pattern best, middling and worst."""

    which: str
    example: int
    lift: float


@dataclass(frozen=True)
class Fits:
    """How well the heads of each attention follow each pattern in each sentence."""

    by_site: dict[str, dict[str, Fit]]
    numbers: dict[str, Numbers]
    """(H, 6) as in `Spread`; NaN where there is none."""


def head_facts(
    model: Model,
    examples: Sequence[Example],
    random: Model | None = None,
    counts: Counts | None = None,
    found: Fits | None = None,
    joint: bool = True,
) -> list[HeadFacts]:
    """Every head of a model on these sentences; `random` is the same model before it was trained.

    `joint`: both sides share one vocabulary, so that a head that reads a source word could write it.
    """
    counts = counts or Counts.of(examples)
    found = found or fits(model, examples, counts)
    baseline = None if random is None else fits(random, _some(examples, BASELINE_SENTENCES), counts)
    copies = copying(model, random, joint)
    facts: list[HeadFacts] = []
    for site in sites(model):
        roles = {
            name: _roles(name, one, site, examples, at_random(name, site, model, baseline))
            for name, one in found.by_site[site.name].items()
        }
        for h, head in enumerate(site.heads):
            own = sorted((role[h] for role in roles.values() if role), key=lambda role: -role.lift)
            own += [copies[head]] if head in copies else []
            facts.append(HeadFacts(head, Spread._make(_known(found.numbers[site.name][h])), tuple(own)))
    return facts


@dataclass(frozen=True)
class AtRandom:
    """What random weights make of a pattern, by head of an attention."""

    lift: Numbers | None
    """None: nobody asked, or the pattern was in none of the sentences."""
    most: Numbers
    """What a lift may be by luck; infinite where that is not known, so that nothing stands above it."""


def at_random(name: str, site: Site, model: Model, baseline: Fits | None) -> AtRandom:
    """The lift of a pattern in the heads of an attention with random weights, and the most that it may be by luck.

    That most is over all layers, since random weights differ from one to the next: a scheme of positions may look
    nearby by itself (ALiBi does), each head by its own slope, a little more here and a little less there.
    """
    heads = site.attention.heads
    if baseline is None:
        return AtRandom(None, np.zeros(heads))
    own = baseline.by_site[site.name].get(name)
    if own is None or not own.rows.sum():
        return AtRandom(None, np.full(heads, math.inf))
    most: dict[int, float] = {}
    for other in sites(model):
        interval = baseline.by_site[other.name][name].interval() if other.kind == site.kind else None
        if interval is not None:
            for number, high in zip(other.attention.head_ids, interval[1].tolist(), strict=True):
                most[number] = max(high, most.get(number, high))
    return AtRandom(own.lift(), np.array([most.get(number, math.inf) for number in site.attention.head_ids]))


def copying(model: Model, random: Model | None, joint: bool) -> dict[Head, Role]:
    """Whether each head would repeat what it looks at; a matter of weights, so that no sentence has a part in it."""
    own, base = _copying(model, joint), {} if random is None else _copying(random, joint)
    luck = {site.name: by_luck(model, site, joint) for site in sites(model)}
    return {
        head: Role("copy", value, None, None, None, None, base.get(head), value >= max(SURE, luck[head.attention_name]))
        for head, value in own.items()
    }


def _copying(model: Model, joint: bool) -> dict[Head, float]:
    every = ((site.heads, ov_copying(model, site, joint)) for site in sites(model))
    return {
        head: value for heads, own in every for head, value in zip(heads, own, strict=True) if not math.isnan(value)
    }


def _some(examples: Sequence[Example], count: int) -> Sequence[Example]:
    """About so many of the sentences, from all parts of the corpus alike: some parts may know more than others."""
    return examples[:: max(1, len(examples) // count)]


def fits(model: Model, examples: Sequence[Example], counts: Counts) -> Fits:
    """Every pattern in every attention, sentence by sentence; what needs random tokens on random tokens."""
    asked = probes(_vocabulary(model), PROBES, PROBE_LENGTH, isinstance(model, EncoderDecoder))
    parts: dict[str, dict[str, list[Fit]]] = {site.name: {} for site in sites(model)}
    numbers: dict[str, list[Numbers]] = {site.name: [] for site in sites(model)}
    for group, probing in ((examples, False), (asked, True)):
        for example, looks in zip(group, weights(model, group), strict=True):
            every = {kind: patterns(example, kind, counts) for kind in {site.kind for site in sites(model)}}
            for site in sites(model):
                _one(site, example, looks[site.name], every[site.kind], parts[site.name], probing)
                if not probing:
                    numbers[site.name].append(_numbers(looks[site.name], site.kind, example.named(site.kind)))
    joined = {site: {name: Fit.join(list_) for name, list_ in own.items()} for site, own in parts.items()}
    return Fits(joined, {site: _mean(np.stack(rows)) for site, rows in numbers.items()})


def evidence(fit: Fit, h: int) -> list[Evidence]:
    """The sentences that fit a head's pattern best, middling and worst."""
    lifts = fit.by_sentence()[:, h]
    order = [int(i) for i in np.argsort(-lifts) if not math.isnan(lifts[i])]
    if not order:
        return []
    chosen = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    return [Evidence(which, i, float(lifts[i])) for which, i in chosen.items()]


def keep_of(kind: str, rows: int, columns: int) -> Pattern:
    """Which keys may be looked at where there is no padding: a decoder sees what is before it."""
    every = np.ones((rows, columns), dtype=bool)
    return np.tril(every) if kind == "decoder" else every


def _one(
    site: Site, example: Example, w: Tensor, every: dict[str, Pattern], parts: dict[str, list[Fit]], probing: bool
) -> None:
    """Add one sentence of one attention to the lists of its patterns."""
    keep = keep_of(site.kind, len(example.rows(site.kind)), len(example.columns(site.kind)))
    for name, pattern in every.items():
        if (name in ON_PROBES) == probing:
            parts.setdefault(name, []).append(statistics.fit(w, pattern, keep))
    if not probing:
        parts.setdefault("vertical", []).append(statistics.vertical(w, keep))


def _numbers(w: Tensor, kind: str, named: Side) -> Numbers:
    """How heads (H, Tq, Tk) spread their weights in one sentence; a causal first row says nothing: (H, 6)."""
    keep = torch.from_numpy(keep_of(kind, *w.shape[1:]))
    rows, keep = (w[:, 1:], keep[1:]) if kind == "decoder" and w.shape[1] > 1 else (w, keep)
    words = rows[:, :-1] if named.special[-1] and rows.shape[1] > 1 else rows  # the end is no word.  Voita et al. 2019
    e = statistics.entropy(rows)
    nothing = e.new_full((len(w),), math.nan)
    columns = (
        e.mean(dim=-1),
        statistics.evenness(rows, keep).nanmean(dim=-1),
        e.exp().mean(dim=-1),
        statistics.confidence(words).mean(dim=-1),
        nothing if kind == "cross" else statistics.distance(w)[:, -rows.shape[1] :].mean(dim=-1),
        nothing if kind == "cross" else statistics.distance_variance(w).sqrt()[:, -rows.shape[1] :].mean(dim=-1),
    )
    return np.asarray(torch.stack(columns, dim=1).double().numpy())


def _mean(sentences: Numbers) -> Numbers:
    """The mean over sentences (sentences, H, 6) that know a number; NaN where none does."""
    known = ~np.isnan(sentences)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, sentences, 0).sum(axis=0) / known.sum(axis=0))


def _roles(name: str, fit: Fit, site: Site, examples: Sequence[Example], random: AtRandom) -> list[Role]:
    """One pattern in all heads of an attention; none where it never said anything."""
    if not fit.rows.sum():
        return []
    lift, interval, argmax = fit.lift(), fit.interval(), fit.argmax()
    least = MORE_THAN_AN_OFFSET + best_offset(examples, name, site.kind) if name in RELATIONS else 0.0
    unknown = np.full(len(lift), math.nan)
    low, high = (unknown, unknown) if interval is None else interval
    base = unknown if random.lift is None else random.lift
    sure = (lift >= SURE) & (low > random.most + CLEAR) & (argmax >= least)  # nothing is above what is unknown
    each = fit.by_sentence_mean().tolist()
    columns = [lift.tolist(), _known(low), _known(high), each, argmax.tolist(), _known(base), sure.tolist()]
    return [Role(name, *row) for row in zip(*columns, strict=True)]


def _known(values: Numbers) -> list[float | None]:
    """Numbers, None where there is none."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def _vocabulary(model: Model) -> int:
    return min(module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding))
