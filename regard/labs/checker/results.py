"""What a check says: of a function, and of a submission."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.labs.checker.comparison import Difference

PRINTED_LINES = 3


@dataclass(frozen=True)
class Counterexample:
    """The smallest inputs that break a truth."""

    kind: str
    """What is special about the inputs."""
    sizes: str
    difference: Difference | None = None
    problem: str = ""
    """Where there is nothing to compare: what was raised, or returned in its place."""

    def lines(self) -> list[str]:
        lines = [f"smallest counter-example, {self.kind}: {self.sizes}"]
        if self.difference is not None:
            width = len(self.difference.where)
            lines += [f"expected {self.difference.where}: {self.difference.expected}"]
            lines += [f"{'returned':8} {'':{width}}  {self.difference.returned}"]
        return lines + ([self.problem] if self.problem else [])


@dataclass(frozen=True)
class CheckResult:
    """One function of a student's file, checked."""

    assignment: str
    passed: tuple[str, ...] = ()
    """The truths that hold, in the order of the assignment."""
    failed: tuple[str, ...] = ()
    """The truths that do not; the first comes with a counter-example."""
    counterexample: Counterexample | None = None
    mistake: str = ""
    """The known mistake that it makes, as a sentence; empty if it makes none, or an unknown one."""
    precision: str = ""
    problem: str = ""
    """Why the check did not come to an end, as that the function runs forever."""
    printed: str = ""
    """The beginning of what it printed."""

    @property
    def points(self) -> int:
        """One for each truth that holds."""
        return len(self.passed)

    @property
    def possible_points(self) -> int:
        return len(self.passed) + len(self.failed)

    @property
    def is_correct(self) -> bool:
        return not self.failed and not self.problem

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.problem:
            return f"{self.assignment}: {self.problem}{'' if self.problem.endswith('?') else '.'}"
        if self.is_correct:
            return f"{self.assignment}: all {self.possible_points} truths hold, {self.precision}."
        return (
            f"{self.assignment}: {self.points} of {self.possible_points} truths hold; the first that does not: "
            f"{self.failed[0]}."
        )

    def lines(self) -> list[str]:
        """The result for people, up to the first truth that does not hold."""
        lines = [self.sentence]
        if self.problem:
            return lines + self._printed_lines()
        first_failed = self.failed[:1]
        lines += [f"  ✓ {truth}" for truth in self.passed]
        lines += [f"  ✗ {truth}" for truth in first_failed]
        if self.counterexample is not None:
            lines += [f"      {line}" for line in self.counterexample.lines()]
        lines += [f"  ✗ {truth}" for truth in self.failed[1:]]
        lines += [f"  {self.mistake}"] if self.mistake else []
        return lines + self._printed_lines()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "points": self.points, "of": self.possible_points, "sentence": self.sentence}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "CheckResult":
        """The result that `as_dict` wrote."""
        example = values["counterexample"]
        if example is not None:
            difference = None if example["difference"] is None else Difference(**example["difference"])
            example = Counterexample(**{**example, "difference": difference})
        return cls(
            values["assignment"],
            tuple(values["passed"]),
            tuple(values["failed"]),
            example,
            values["mistake"],
            values["precision"],
            values["problem"],
            values["printed"],
        )

    def _printed_lines(self) -> list[str]:
        printed = [line for line in self.printed.split("\n") if line]
        more = ["  …"] if len(printed) > PRINTED_LINES else []
        return [f"  it printed: {line}" for line in printed[:PRINTED_LINES]] + more


@dataclass(frozen=True)
class Grade:
    """One function of a submission; a submission that cannot be checked has one with the reason."""

    submission: str
    function: str
    points: int
    possible_points: int
    first_failed: str
    """The first truth that does not hold, or why nothing could be checked."""
    mistake: str

    def as_dict(self) -> dict[str, str | int]:
        """The columns of a table of grades."""
        return {
            "submission": self.submission,
            "function": self.function,
            "points": self.points,
            "of": self.possible_points,
            "first failed": self.first_failed,
            "mistake": self.mistake,
        }


def grade_results(submission: str, results: Sequence[CheckResult]) -> tuple[Grade, ...]:
    """The grades of a submission whose file could be loaded."""
    return tuple(
        Grade(
            submission,
            one.assignment,
            one.points,
            one.possible_points,
            one.problem or (one.failed[0] if one.failed else ""),
            one.mistake,
        )
        for one in results
    )
