"""Systems of one task compared on one test set: scores, intervals, and paired tests against the first one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.baselines.scoring import Answer
from regard.errors import DataError, FormatError
from regard.files import resolve
from regard.metrics import Score
from regard.metrics.labels import Confusion, LabelTest, compare_with_baseline
from regard.metrics.labels.statistics import CountedScore
from regard.progress import track
from regard.report import Table
from regard.run import Run


def join_answer(number: int, answer: Answer) -> str:
    """The parts of an answer, for any text."""
    return " ".join(answer)


@dataclass(frozen=True)
class ComparedSystem:
    """What a run or a file of predictions answers, and how good that is."""

    name: str
    answers: Sequence[Answer]
    """Of each example: its predicted labels or tags; of a language model, how well it is predicted."""
    scores: Mapping[str, Score]
    counted: Mapping[str, CountedScore]
    """The scores that are tested."""
    run: Run | None = None
    """None for a file of predictions."""
    confusion: Confusion | None = None
    """Where every text has one label."""
    parts: Table | None = None
    """The scores of each class, or of each type of spans."""


@dataclass(frozen=True, repr=False)
class TaskComparison:
    """Systems side by side; every test is against the first one, the baseline."""

    name: str
    texts: Sequence[str]
    gold: Sequence[Answer]
    """Of each text; empty where nothing is labeled."""
    systems: Sequence[ComparedSystem]
    decisive: str
    """The measure that ranks."""
    units: str
    """What the texts are: texts, sentences, documents …"""
    tests: Mapping[str, Mapping[str, LabelTest]] = field(default_factory=dict)
    """Measure -> system -> test."""
    part_title: str = ""
    """What `parts` of the systems are about."""
    notes: tuple[str, ...] = ()
    """What a reader of the scores must know."""
    describe: Callable[[int, Answer], str] = join_answer
    """The answer to the text of this number as people read it."""
    has_errors: bool = True
    """Whether an answer is right or wrong: a number that correlates with another is neither."""

    @property
    def baseline(self) -> ComparedSystem:
        return self.systems[0]

    @property
    def best(self) -> ComparedSystem:
        """The system with the best value of the measure that decides."""
        best = self.baseline
        for system in self.systems[1:]:
            best = system if system.scores[self.decisive].is_better_than(best.scores[self.decisive]) else best
        return best

    def as_dict(self) -> dict[str, Any]:
        """System -> measure -> value, interval, signature and p-values against the baseline."""
        return {
            system.name: {
                name: score.as_dict() | self._p_values(name, system.name) for name, score in system.scores.items()
            }
            for system in self.systems
        }

    def __repr__(self) -> str:
        names = ", ".join(system.name for system in self.systems)
        return f"<TaskComparison of {names} on {len(self.texts):,} {self.units}>"

    def __str__(self) -> str:
        return "\n".join(f"{system.name}: {score}" for system in self.systems for score in system.scores.values())

    def _p_values(self, measure: str, system: str) -> dict[str, float]:
        test = self.tests.get(measure, {}).get(system)
        return {"p_bootstrap": test.p_bootstrap, "p_randomized": test.p_randomized} if test else {}


def compare_with_first(systems: Sequence[ComparedSystem]) -> dict[str, dict[str, LabelTest]]:
    """Every system against the first one, by each of the measures that are tested."""
    if len(systems) < 2:
        return {}
    tests = {}
    for measure, baseline in track(systems[0].counted.items(), "testing significance"):
        counted = {system.name: system.counted[measure] for system in systems}
        counts = {name: one.counts for name, one in counted.items()}
        differing = {name: one.count_differing(baseline) for name, one in counted.items()}
        tests[measure] = compare_with_baseline(counts, differing, baseline.measure)
    return tests


def name_systems(paths: Sequence[Path]) -> list[str]:
    """The last part of each path, or the whole path if two systems would have the same name."""
    for n, path in enumerate(paths):
        if resolve(path) in [resolve(other) for other in paths[:n]]:
            raise DataError(f"{path}: given twice; a system cannot be compared with itself")
    base_names = [resolve(path).name for path in paths]
    return [name if base_names.count(name) == 1 else str(path) for name, path in zip(base_names, paths, strict=True)]


def name_set(files: Sequence[str]) -> str:
    """The name of a test set: that of its first file."""
    return Path(files[0]).name.partition(".")[0]


def require_systems(paths: Sequence[Path]) -> None:
    """Refuse what is neither a run nor a file, before anything is predicted."""
    for path in paths:
        if not path.exists():
            raise FormatError(f"{path}: no such run or file; compare takes run folders and files of predictions")


def require_length(name: str, count: int, expected: int, units: str) -> None:
    """Refuse a file that has not one prediction for each example."""
    if count != expected:
        raise FormatError(
            f"{name} has {count:,} predictions, but the test set has {expected:,} {units} with labels; expected one "
            f"for each"
        )
