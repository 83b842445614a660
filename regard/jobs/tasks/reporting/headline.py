"""The sentence that the report of a run begins with: whether its model works, by its scores, or why it does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.baselines import OpponentResult
from regard.jobs.tasks.task_metric import ReportWords
from regard.metrics import Score
from regard.report import Headline

MAX_P = 0.05


@dataclass(frozen=True)
class Rival:
    """What a score is compared with in a headline."""

    name: str
    score: Score
    differs: bool = True
    """Whether the model differs from it, as far as that was tested."""
    kind: str = ""
    """What it is, where its name is long."""


@dataclass(frozen=True)
class ScoredSet:
    """What a model was scored on."""

    name: str
    count: int
    examples: str = ""
    """What they are, if not what the task calls them."""

    def describe(self, examples: str) -> str:
        """The number of examples, and whether they had a part in training."""
        noun = self.examples or examples
        if self.name == "dev":
            return f"{self.count:,} dev {noun} (which selected the weights)"
        return f"{self.count:,} held-out {noun}"


@dataclass(frozen=True)
class LearningOutcome:
    """Why a model does not work, and whether it was trained long enough to tell."""

    failure: str
    """Empty if it works."""
    steps: int
    had_steps_to_learn: bool


def write_headline(
    words: ReportWords, score: Score, scored_set: ScoredSet, rival: Rival | None, outcome: LearningOutcome
) -> Headline:
    """The main score on a set beside its rival; of a model that has not learned, the reason."""
    hint = " (lower is better)" if score.lower_is_better else ""
    result = f"{score.name} {score.format_margin(score.digits)}{hint} on {scored_set.describe(words.examples)}"
    if outcome.failure and not outcome.had_steps_to_learn:
        steps = f"{outcome.steps:,} step{'s' * (outcome.steps != 1)}"
        reason = f"because it was trained for {steps} only: {outcome.failure}"
        return Headline(f"Has not learned to {words.ability} yet: {result}, {reason}.", "bad")
    if outcome.failure:
        return Headline(f"Has not learned to {words.ability}: {result}, because {outcome.failure}.", "bad")
    if rival is None:
        return Headline(f"{words.works}: {result}.", "good")
    gap = score.value - rival.score.value
    distance = f"{abs(gap):.{score.digits}f} {'above' if gap > 0 else 'below'} {rival.name}"
    kind = rival.kind or rival.name
    if not rival.differs:
        value = f"{rival.name}, has {rival.score.value:.{score.digits}f}"
        return Headline(f"{words.works}, but not significantly better or worse than {kind}: {result}; {value}.")
    if score.is_better_than(rival.score):
        return Headline(f"{words.works}: {result}, {distance}.", "good")
    return Headline(f"{words.works}, but worse than {kind}: {result}, {distance}.")


def find_rival(scores: Mapping[str, Score], opponents: Sequence[OpponentResult], measure: str) -> Rival | None:
    """The best cheap opponent by a measure; None where none has it."""
    scored = [one for one in opponents if measure in one.scores]
    if not scored:
        return None
    best = scored[0]
    for one in scored[1:]:
        best = one if one.scores[measure].is_better_than(best.scores[measure]) else best
    test = best.tests.get(measure)
    differs = test is None or max(test.p_bootstrap, test.p_randomized) < MAX_P
    return Rival(f"the best cheap opponent, {best.name}", best.scores[measure], differs, "a cheap opponent")
