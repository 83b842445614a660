"""What the doctor found, for programs and for people."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import Any

from regard.data.doctor.kinds import Action, Kind
from regard.data.doctor.repeats import Bits
from regard.errors import DataError
from regard.formats import Pair

CLIP = 160
SHOWN = 3


@dataclass(frozen=True)
class Example:
    """One place where something was found; long texts are clipped."""

    note: str
    source: str = ""
    target: str = ""
    detail: str = ""

    @classmethod
    def of(cls, pair: Pair, detail: str = "") -> "Example":
        return cls(pair.note, clip(pair.source), clip(pair.target), detail)


def clip(text: str) -> str:
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


@dataclass(frozen=True)
class Finding:
    """How often one kind of thing was found in one set, where, and what was done about it."""

    kind: Kind
    where: str
    """train, dev or test."""
    action: Action
    count: int
    among: int
    """Pairs, or files, that were looked at."""
    examples: tuple[Example, ...]

    @property
    def share(self) -> float:
        return self.count / self.among if self.among else 0.0

    def line(self) -> str:
        """What, how many, where, what was done, and how to have it otherwise."""
        places = ", ".join(_place(example) for example in self.examples[:SHOWN])
        rest = ", …" * (self.count > SHOWN < len(self.examples))
        at = f" ({places}{rest})" if places else ""
        of = self.kind.of if self.count != 1 else self.kind.of.removesuffix("s")
        amount = f"{self.count:,} {of}, {_percent(self.share)}"
        return f"{self.where}: {self.kind.name}: {amount}: {self.kind.what}{at}. {self._advice()}"

    def _advice(self) -> str:
        name, remedy = self.kind.name, self.kind.remedy
        if self.action is Action.REFUSED:
            return f'Refused: {remedy}; or add "{name}" to data.keep to train all the same.'
        if self.action is Action.DROPPED:
            other = "take it out of data.drop" if self.kind.action is Action.NOTED else f'add "{name}" to data.keep'
            return f"Dropped; to keep them, {other}."
        drop = f'; or add "{name}" to data.drop' if self.where == "train" and self.kind.droppable else ""
        return f"Kept; to mend it, {remedy}{drop}."

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind.name,
            "set": self.where,
            "action": self.action.value,
            "count": self.count,
            "among": self.among,
            "what": self.kind.what,
            "why": self.kind.why,
            "remedy": self.kind.remedy,
            "examples": [{k: v for k, v in vars(example).items() if v} for example in self.examples],
        }


@dataclass(frozen=True)
class Counted:
    """How many pairs a set has, and how many remain."""

    where: str
    read: int
    kept: int
    source: str
    """What most source sentences look like; "" if it cannot be told."""
    target: str


@dataclass(frozen=True)
class Diagnosis:
    """All findings, refused before dropped before noted; and the pairs that remain."""

    findings: tuple[Finding, ...]
    sets: tuple[Counted, ...]
    dropped: Mapping[str, Bits] = field(repr=False, compare=False)
    """For each set the places of the pairs to leave out: one bit a pair."""

    @property
    def pairs_read(self) -> int:
        return self._set("train").read

    @property
    def pairs_kept(self) -> int:
        return self._set("train").kept

    @property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.action is Action.REFUSED)

    def require_trainable(self) -> None:
        """Raise if something was found that must be mended first."""
        if self.refused:
            raise DataError("\n".join(finding.line() for finding in self.refused))
        if not self._set("train").kept:
            why = [finding.line() for finding in self.findings if finding.action is Action.DROPPED]
            raise DataError("\n".join(["no pair is left to train on:", *why]))

    def clean(self, pairs: Iterable[Pair], where: str = "train") -> Iterator[Pair]:
        """The pairs that remain, in their order. They must be the same ones that were examined."""
        expected, dropped = self._set(where).read, self.dropped[where]
        seen = 0
        for seen, pair in zip(numbers(1), pairs, strict=False):
            if seen - 1 not in dropped:
                yield pair
        if seen != expected:
            raise DataError(f"{where}: {expected:,} pairs were examined, now there are {seen:,}; examine them again")

    def lines(self) -> list[str]:
        """The diagnosis for people: a line for each set, then one for each finding."""
        heads = [f"{s.where}: {s.read:,} pairs read, {s.kept:,} kept" + _languages(s) for s in self.sets]
        return heads + [finding.line() for finding in self.findings]

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis for programs."""
        return {
            "refused": bool(self.refused),
            "sets": [vars(counted) for counted in self.sets],
            "findings": [finding.as_dict() for finding in self.findings],
        }

    def _set(self, where: str) -> Counted:
        return next(counted for counted in self.sets if counted.where == where)


def _place(example: Example) -> str:
    return f"{example.note}: {example.detail}" if example.detail else example.note


def _languages(counted: Counted) -> str:
    if not (counted.source or counted.target):
        return ""
    return f"; looks like {counted.source or 'unknown'} to {counted.target or 'unknown'}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or not share else "below 0.1%"
