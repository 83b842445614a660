"""A study in words. Every sentence is computed from the trials; what the trials cannot say is not said."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, stdev

from regard.metrics import Test
from regard.report import pareto
from regard.tuning.analysis.effects import blocks, changed, many, places, rank_correlation, stands_out, tried
from regard.tuning.analysis.luck import Chance, shuffled
from regard.tuning.measure import Measured
from regard.tuning.results import Result, ranking
from regard.tuning.study import METRIC_NAMES, Study, short, written

FEW = 10  # trials below which importances are a hint
CLEARLY = 0.9  # of a cost: what is hardly less is none
RISE = 0.02  # nats that dev must have risen above its lowest for a turn to count
ENDED = ("complete", "stopped", "failed")
STATES = {
    "stopped": "stopped early as weak",
    "failed": "failed",
    "running": "still running",
    "interrupted": "interrupted",
    "waiting": "not begun",
}
ABOUT = ("model.layers", "model.dim", "model.heads", "model.dropout")
WORDS = {"model.layers": "depth", "model.dim": "width", "model.heads": "heads", "model.dropout": "dropout"}


@dataclass(frozen=True)
class Curve:
    """One run over time: where it stood, and the losses there."""

    at: Sequence[float]
    train: Sequence[float]
    dev: Sequence[float]


@dataclass(frozen=True)
class Evidence:
    """All that the words are made of."""

    study: Study
    results: Sequence[Result]
    curves: Mapping[int, Curve] = field(default_factory=dict)
    """By the number of the trial, at its looks at dev."""
    unit: str = "steps"
    """What the curves are drawn over."""
    tests: Mapping[int, Test] = field(default_factory=dict)
    """By the number of the trial: against the best one, on the dev sentences, or by seeds where there are several."""
    importance: Mapping[str, float] = field(default_factory=dict)

    @property
    def ranked(self) -> list[Result]:
        return ranking(self.study, self.results)


def analysis(seen: Evidence) -> list[str]:
    """Paragraphs, each about one question."""
    parts = [
        overview(seen),
        failures(seen),
        noise(seen),
        overfitting(seen),
        *effects(seen),
        weights(seen),
        advice(seen),
    ]
    return [part for part in parts if part]


def overview(seen: Evidence) -> str:
    ranked, all_ = seen.ranked, seen.results
    states = [result.state for result in all_]
    told = f"{_count(len(all_), 'trial')}: {states.count('complete')} trained to the end"
    for state, words in STATES.items():
        told += f", {states.count(state)} {words}" if states.count(state) else ""
    if not ranked:
        return f"{told}. {nothing_works(seen)}, so there is no ranking."
    best, worst = ranked[0], ranked[-1]
    told += f". Best on dev: {_name(best)} with {_score(seen, best)}"
    gap = abs((best.value or 0.0) - (worst.value or 0.0))
    if worst is not best and _shown(gap):
        told += f"; the weakest that works is {_name(worst)} with {_score(seen, worst)}, {gap:.2f} away"
    elif worst is not best:
        told += "; all others that work score the same"
    return told + "."


def nothing_works(seen: Evidence) -> str:
    """Why there is no best trial: none has ended, or none of those that have ended works."""
    states = [result.state for result in seen.results]
    if not any(state in ENDED for state in states):
        return "None has come to its end"
    whole = all(state in ENDED for state in states)
    return "None of them is a model that works" if whole else "None of those that have ended is a model that works"


def failures(seen: Evidence) -> str:
    """Collapsed models by name, with the reason; failed trials too."""
    told = [f"{_capital(_name(r))} collapsed: {r.collapsed}. It is not ranked." for r in seen.results if r.collapsed]
    told += [f"{_capital(_name(r))} failed: {r.reason}" for r in seen.results if r.state == "failed" and r.reason]
    return " ".join(told)


def noise(seen: Evidence) -> str:
    """Which differences are significant, and which are noise."""
    ranked = seen.ranked
    if len(ranked) < 2:
        return ""
    best, seeds = ranked[0], seen.study.seeds > 1
    tested = [(result, seen.tests[result.number]) for result in ranked[1:] if result.number in seen.tests]
    how, what = ("Welch's t over seeds", "seeds") if seeds else ("paired bootstrap", "sentences")
    words = [(f"{_name(r)} ({_gap(t, 2 if seeds else 1)})", t.significant) for r, t in tested]
    apart, close = ([text for text, real in words if real is wanted] for wanted in (True, False))
    told = []
    if apart:
        many = f"{len(apart)} of the {len(tested)} others that were tested, {apart[0]} the best of them"
        which = _list(apart) if len(apart) <= 5 else many
        told.append(f"By dev {_tested_by(seen)}, significantly different from {_name(best)} ({how}): {which}.")
    if close:
        between = f"the difference in {_tested_by(seen)} between {_name(best)} and {_list(close)}"
        told.append(f"Noise, as far as these {what} can tell: {between}.")
    spread = _seed_spread(seen)
    if spread is not None:
        told.append(f"Between seeds of one combination the score varies by ± {spread:.2f}.")
    else:
        told.append("Every combination was trained with one seed, so what another seed would change is not known.")
    return " ".join(told)


def _gap(test: Test, digits: int) -> str:
    """How far from the best, and what luck has to do with it."""
    return f"{test.difference:+.{digits}f}, {test.chance(3)}" if test.differing != 0 else "the same translations"


def _tested_by(seen: Evidence) -> str:
    """What the tests are of: the metric of the seeds, or BLEU of the sentences."""
    return METRIC_NAMES[seen.study.metric if seen.study.seeds > 1 else "bleu"]


def turning_point(curve: Curve) -> tuple[float, float] | None:
    """Where dev was lowest and how far it rose after, if it rose while training fell; None if it did not."""
    if len(curve.dev) < 3:
        return None
    low = min(range(len(curve.dev)), key=lambda n: curve.dev[n])
    rise = curve.dev[-1] - curve.dev[low]
    falls = curve.train[-1] < curve.train[low]
    return (curve.at[low], rise) if low < len(curve.dev) - 1 and rise > RISE and falls else None


def overfitting(seen: Evidence) -> str:
    """Where dev turns while training falls."""
    turned, steady = [], []
    for result in seen.results:
        curve = seen.curves.get(result.number)
        if curve is None or len(curve.dev) < 3 or result.collapsed or result.state not in ENDED:
            continue
        found = turning_point(curve)
        if found is None:
            steady.append(_name(result))
        else:
            turned.append(
                f"{_name(result)} from {_at(found[0], seen.unit)} on (dev loss rises by {found[1]:.2f} to the end, "
                f"training loss falls to {curve.train[-1]:.2f})"
            )
    told = []
    if turned:
        told.append(f"Overfitting, dev loss turning up while training loss falls: {_list(turned[:8])}.")
        if len(turned) > 8:
            told.append(f"So do {len(turned) - 8} more.")
    if steady and len(steady) <= 8:
        told.append(f"No overfitting by the end of {_list(steady)}.")
    elif steady:
        told.append(f"No overfitting by the end of {'the other' if turned else 'any of the'} {len(steady)}.")
    return " ".join(told)


def effects(seen: Evidence) -> list[str]:
    """What each setting did, by means over all trials that share a value."""
    ranked = seen.ranked
    names = dict.fromkeys(name for result in ranked for name in result.point)
    order = [name for name in ABOUT if name in names] + [name for name in names if name not in ABOUT]
    return [told for name in order if (told := _effect(seen, ranked, name))]


def _effect(seen: Evidence, ranked: Sequence[Result], name: str) -> str:
    trials, values = tried(ranked, name)
    if len(values) < 2:
        return ""
    if many(values):
        return _correlation(seen, WORDS.get(name, short(name)), places(trials, name))
    groups = {value: [r.value for r in trials if r.point[name] == value and r.value is not None] for value in values}
    means = {value: mean(scores) for value, scores in groups.items()}
    listed = ", ".join(f"{written(v)}: {m:.2f}{_n(groups[v])}" for v, m in means.items())
    metric, up = METRIC_NAMES[seen.study.metric], seen.study.up
    told = f"{_capital(WORDS.get(name, short(name)))} ({name}), mean dev {metric} by value: {listed}. "
    worst, best = sorted(means, key=lambda v: means[v] if up else -means[v])[:: len(means) - 1]
    gap = abs(means[best] - means[worst])
    if not _shown(gap):
        return f"{told}No difference between the best and the worst."
    others = changed(trials, name, best, worst)
    unclear = others or any(isinstance(value, str | bool) for value in values)
    trend = "" if unclear else f"{_trend(list(means.values()), up)}, "
    told += f"Best at {written(best)}; {trend}{gap:.2f} between the best and the worst"
    told += f"; {_verdict(shuffled(blocks(trials, name)), bool(others))}."
    if others:
        together = _list([short(other) for other in others])
        told += f" Between these two it changed together with {together}: what each of them did cannot be told apart."
    return told


def _shown(gap: float) -> bool:
    """Whether a gap is more than the digits that are shown can hide."""
    return round(gap, 2) > 0


def _verdict(chance: Chance, mixed: bool) -> str:
    if not chance.tells:
        return "these are too few trials to hold it against luck"
    often = f"luck alone puts them so far apart in {_percent(chance.p)} of cases"
    if not chance.stands_out:
        return f"{often}, so that may be noise"
    return f"{often}, so {'it is more than luck' if mixed else 'it is an effect'}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _correlation(seen: Evidence, word: str, points: Sequence[tuple[float, float]]) -> str:
    """How a score goes with a number that never repeats."""
    rho, limit = rank_correlation(points)
    rho *= 1 if seen.study.up else -1
    how = "more of it was better" if rho > 0 else "less of it was better"
    verdict = how if abs(rho) > limit else "no trend that stands out from noise"
    ends = (min(p[0] for p in points), max(p[0] for p in points))
    told = f"{_capital(word)} from {written(ends[0])} to {written(ends[1])}: {verdict}"
    return f"{told} (rank correlation {rho:+.2f}, noise up to ± {limit:.2f})."


def weights(seen: Evidence) -> str:
    if not seen.importance:
        return ""
    order = sorted(seen.importance, key=lambda name: -seen.importance[name])
    listed = ", ".join(f"{short(name)} {seen.importance[name]:.0%}" for name in order)
    rest = 1 - sum(seen.importance.values())
    left = f"; {rest:.0%} none of them explains by itself" if rest >= 0.005 else ""
    hint = ""
    if len(seen.ranked) < FEW:
        hint = f" From {_count(len(seen.ranked), 'trial')} that is a hint, no more."
    elif not any(stands_out(seen.ranked, name) for name in order):
        hint = " Nothing that a setting did stands out from luck, so that is a hint, no more."
    return f"Share of the variation that each setting explains (fANOVA): {listed}{left}.{hint}"


def advice(seen: Evidence) -> str:
    """What to take for quality, for size and for speed."""
    ranked = [result for result in seen.ranked if result.first is not None]
    if not ranked:
        return f"Nothing to pick: {nothing_works(seen)[0].lower()}{nothing_works(seen)[1:]}."
    best = ranked[0]
    told = f"For quality take {_name(best)}: {_score(seen, best)}, {_cost(best)}."
    level = [r for r in ranked if r is best or (r.number in seen.tests and not seen.tests[r.number].significant)]
    return told + "".join(_wished(seen, ranked, level, wish) for wish in WISHES)


@dataclass(frozen=True)
class _Wish:
    """What else somebody may want of a model."""

    name: str
    most: str
    cost: Callable[[Measured], float | None]
    """The less the better; None where it is not known."""


WISHES = (
    _Wish("size", "smallest", lambda one: float(one.parameters)),
    _Wish("speed", "fastest to translate", lambda one: one.decoding),
)


def _wished(seen: Evidence, ranked: Sequence[Result], level: Sequence[Result], wish: _Wish) -> str:
    """Which one to take for a wish: one that is as good as the best, else the one that has most of it."""
    costs = {r.number: cost for r in ranked if r.first is not None and (cost := wish.cost(r.first)) is not None}
    best, known = ranked[0], [r for r in ranked if r.number in costs]
    if best.number not in costs or len(known) < 2:
        return ""
    light = min((r for r in level if r.number in costs), key=lambda r: costs[r.number])
    front = [known[n] for n in pareto([(costs[r.number], r.value or 0.0) for r in known], seen.study.up)]
    if costs[light.number] < CLEARLY * costs[best.number]:
        equal = f"no significant difference in {_tested_by(seen)}"
        return f" For {wish.name} take {_name(light)}: {_score(seen, light)}, {equal}, {_cost(light)}."
    if costs[front[0].number] < CLEARLY * costs[best.number]:
        most = front[0]
        gap = abs((best.value or 0.0) - (most.value or 0.0))
        worse = f"{gap:.2f} worse" if _shown(gap) else "no worse"
        told = f" For {wish.name} take {_name(most)}, the {wish.most}: {_score(seen, most)}, {worse}"
        return f"{told}, {_cost(most)}."
    return f" None is clearly the {wish.most} instead, so take it for {wish.name} as well."


def _cost(result: Result) -> str:
    one = result.first
    assert one is not None
    told = f"{one.parameters / 1e6:.1f} million parameters, {one.minutes:.1f} minutes of training"
    return told if one.decoding is None else f"{told}, {1000 * one.decoding:.1f} ms to translate a sentence"


def _seed_spread(seen: Evidence) -> float | None:
    """The scatter between seeds, pooled over combinations."""
    variances = [stdev(r.values) ** 2 for r in seen.ranked if len(r.values) > 1]
    return math.sqrt(mean(variances)) if variances else None


def _trend(means: Sequence[float], up: bool) -> str:
    gains = [b - a if up else a - b for a, b in pairwise(means)]
    if len(means) == 2:
        return "the larger value is better" if gains[0] > 0 else "the smaller value is better"
    if all(gain > 0 for gain in gains):
        return "more is better throughout"
    return "less is better throughout" if all(gain < 0 for gain in gains) else "no steady trend"


def _score(seen: Evidence, result: Result) -> str:
    """The dev score, with ± where something is known of it: between seeds, or of the sentences."""
    value = result.value or 0.0
    name = METRIC_NAMES[seen.study.metric]
    if len(result.values) > 1:
        return f"dev {name} {value:.2f} ± {stdev(result.values):.2f} over {len(result.values)} seeds"
    score = result.first.scores.get(seen.study.metric) if result.first else None
    if score and "low" in score:
        return f"dev {name} {value:.2f} ± {(score['high'] - score['low']) / 2:.2f}"
    return f"dev {name} {value:.3f}"


def _name(result: Result) -> str:
    return result.name if not result.name.isdigit() else f"trial {result.name}"


def _at(place: float, unit: str) -> str:
    return f"{unit[:-1] if unit.endswith('s') else unit} {place:,.0f}" if unit == "steps" else f"{place:.1f} {unit}"


def _n(scores: Sequence[float]) -> str:
    return f" (n = {len(scores)})" if len(scores) > 1 else ""


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _list(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
