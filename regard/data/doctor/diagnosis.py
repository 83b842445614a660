"""The findings of the doctor, as text and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import TYPE_CHECKING, Any, TypeVar

from regard.data.doctor.kinds import FINDING_KINDS, Action, FindingKind
from regard.data.doctor.repeats import BitSet
from regard.errors import DataError
from regard.files import Count, check_shape
from regard.formats import Pair

if TYPE_CHECKING:
    from regard.report import Table

MAX_EXAMPLE_CHARS = 160
Item = TypeVar("Item")
"""A pair, or a labeled text."""
EXAMPLES_IN_LINE = 3
SINGULAR_UNITS = {"pairs": "pair", "files": "file", "texts": "text", "classes": "class"}


@dataclass(frozen=True)
class FindingExample:
    """One location of a finding; long texts are truncated."""

    note: str = ""
    source: str = ""
    target: str = ""
    detail: str = ""

    @classmethod
    def from_pair(cls, pair: Pair, detail: str = "") -> "FindingExample":
        return cls(pair.location, clip(pair.source), clip(pair.target), detail)


def clip(text: str) -> str:
    return text if len(text) <= MAX_EXAMPLE_CHARS else text[: MAX_EXAMPLE_CHARS - 1] + "…"


@dataclass(frozen=True)
class DataFinding:
    """How often one kind of problem was found in one split, where, and what was done about it."""

    kind: FindingKind
    split: str
    """train, dev or test."""
    action: Action
    count: int
    total: int
    """Number of pairs, or files, that were checked."""
    examples: tuple[FindingExample, ...]

    @property
    def fraction(self) -> float:
        return self.count / self.total if self.total else 0.0

    @property
    def amount(self) -> str:
        """The count with its unit: 3 pairs, 1 class."""
        unit = self.kind.unit if self.count != 1 else SINGULAR_UNITS[self.kind.unit]
        return f"{self.count:,} {unit}"

    def format_line(self) -> str:
        """One line: the kind, count, locations, the action that was taken, and how to change it."""
        locations = ", ".join(_format_location(example) for example in self.examples[:EXAMPLES_IN_LINE])
        ellipsis = ", …" * (self.count > EXAMPLES_IN_LINE < len(self.examples))
        suffix = f" ({locations}{ellipsis})" if locations else ""
        amount = f"{self.amount}, {_format_percent(self.fraction)}"
        return f"{self.split}: {self.kind.name}: {amount}: {self.kind.summary}{suffix}. {self.format_advice()}"

    def format_advice(self) -> str:
        """What was done about it, and how to change that."""
        name, remedy = self.kind.name, self.kind.remedy
        if self.action is Action.REFUSED:
            return f'Refused: {remedy}; or add "{name}" to data.keep to train anyway.'
        if self.action is Action.DROPPED:
            other = (
                f'remove "{name}" from data.drop' if self.kind.action is Action.NOTED else f'add "{name}" to data.keep'
            )
            return f"Dropped; to keep them, {other}."
        drop = f'add "{name}" to data.drop' if self.split == "train" and self.kind.droppable else ""
        if not remedy:
            return f"Kept; usually harmless; {drop} to drop it." if drop else "Kept; usually harmless."
        return f"Kept. To fix it: {remedy}; or {drop}." if drop else f"Kept. To fix it: {remedy}."

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind.name,
            "split": self.split,
            "action": self.action.value,
            "count": self.count,
            "total": self.total,
            "summary": self.kind.summary,
            "explanation": self.kind.explanation,
            "remedy": self.kind.remedy,
            "examples": [{k: v for k, v in vars(example).items() if v} for example in self.examples],
        }


@dataclass(frozen=True)
class SplitSummary:
    """How many pairs a split has, and how many remain."""

    split: str
    pairs_read: Count
    pairs_kept: Count
    source: str
    """Language of most source sentences; "" if it is unknown."""
    target: str
    description: str = ""
    """What else is known of the split, such as its number of classes."""


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """All findings, refused before dropped before noted, and the pairs, or texts, to drop."""

    findings: tuple[DataFinding, ...]
    splits: tuple[SplitSummary, ...]
    dropped_pairs: Mapping[str, BitSet] = field(repr=False, compare=False)
    """For each split the indices of the pairs to drop: one bit a pair."""
    unknown_codes: tuple[str, ...] = ()
    """The codes of languages that cannot be identified: the language of their side is not checked."""
    unit: str = "pairs"
    """What a corpus consists of: pairs of sentences, or labeled texts."""

    @property
    def pairs_read(self) -> int:
        return self._summary_of("train").pairs_read

    @property
    def pairs_kept(self) -> int:
        return self._summary_of("train").pairs_kept

    @property
    def refused_findings(self) -> tuple[DataFinding, ...]:
        return tuple(finding for finding in self.findings if finding.action is Action.REFUSED)

    def require_trainable(self) -> None:
        """Raise an error if there are findings that must be fixed before training."""
        if self.refused_findings:
            raise DataError("\n".join(finding.format_line() for finding in self.refused_findings))
        if not self._summary_of("train").pairs_kept:
            reasons = [finding.format_line() for finding in self.findings if finding.action is Action.DROPPED]
            raise DataError("\n".join([f"no {self.unit} remain to train on:", *reasons]))

    def clean(self, pairs: Iterable[Item], split: str = "train") -> Iterator[Item]:
        """The pairs that remain, in their order. `pairs` must be those that were examined."""
        expected, dropped_pairs = self._summary_of(split).pairs_read, self.dropped_pairs[split]
        num_pairs = 0
        for num_pairs, pair in zip(numbers(1), pairs, strict=False):
            if num_pairs - 1 not in dropped_pairs:
                yield pair
        if num_pairs != expected:
            raise DataError(
                f"{split}: {expected:,} {self.unit} were examined, now there are {num_pairs:,}; examine them again"
            )

    def describe_unknown_codes(self) -> str:
        """That the language of a side is not checked; empty if both are."""
        codes = _join([f"“{code}”" for code in self.unknown_codes])
        if not codes:
            return ""
        subject = "is no code of a language" if len(self.unknown_codes) == 1 else "are no codes of languages"
        return (
            f"{codes} {subject} that can be identified (as en and fr are), so the language of that side is not checked."
        )

    def describe_overlap(self) -> str:
        """What train shares with dev and test, and what becomes of it; empty if there is neither dev nor test."""
        held_out = [summary.split for summary in self.splits if summary.split != "train"]
        if not held_out:
            return ""
        item = "source" if self.unit == "pairs" else SINGULAR_UNITS[self.unit]
        near_text = "".join(
            f" {relation}: {_join([_count_items(finding, item) for finding in findings])}."
            for relation, findings in (
                (f"Nearly the same as a {item} of train", self._find("near_overlap", held_out)),
                (f"Part of a longer {item} of train, which flatters the scores", self._find("part", held_out)),
            )
            if findings
        )
        (*train,) = self._find("overlap", ["train"])
        if not train:
            return (
                f"No {item} of {_join(held_out, 'or')} occurs in train (compared without case and blanks).{near_text}"
            )
        pairs = (
            f"the training {SINGULAR_UNITS[self.unit]} with them is"
            if train[0].count == 1
            else f"the {train[0].count:,} training {self.unit} with them are"
        )
        outcome = (
            f"{pairs} dropped, so that none of these {item}s is trained on"
            if train[0].action is Action.DROPPED
            else f"{pairs} kept, so that their scores measure memorization"
        )
        shared = _join([_count_items(finding, item) for finding in self._find("overlap", held_out)])
        return f"Train shares {shared} (compared without case and blanks): {outcome}.{near_text}"

    def describe_split(self, summary: SplitSummary) -> str:
        """How much of a split was read and kept, and what is known of it."""
        unit = SINGULAR_UNITS[self.unit] if summary.pairs_read == 1 else self.unit
        counts = f"{summary.split}: {summary.pairs_read:,} {unit} read, {summary.pairs_kept:,} kept"
        return counts + (f"; {summary.description}" if summary.description else "") + _format_languages(summary)

    def format_lines(self) -> list[str]:
        """The diagnosis as text: a line for each split, the overlap of train with dev and test, then the findings."""
        return [
            *map(self.describe_split, self.splits),
            *filter(None, (self.describe_unknown_codes(), self.describe_overlap())),
            *(finding.format_line() for finding in self.findings),
        ]

    def as_table(self) -> "Table":
        """One row for each finding."""
        from regard.report import Table  # with all that draws, which training does not need

        return Table.from_rows(
            {
                "split": finding.split,
                "finding": finding.kind.name,
                "count": finding.count,
                "share": f"{_format_percent(finding.fraction)} of {finding.kind.unit}",
                "action": finding.action.value,
                "summary": finding.kind.summary,
                "locations": ", ".join(example.note for example in finding.examples[:EXAMPLES_IN_LINE]),
            }
            for finding in self.findings
        )

    def __repr__(self) -> str:
        counts = f"{self.pairs_kept:,} of {self.pairs_read:,} {self.unit} kept"
        return f"<Diagnosis: {counts}, {len(self.findings)} findings>"

    def __str__(self) -> str:
        return "\n".join(self.format_lines())

    def _repr_html_(self) -> str:
        from regard.report import Paragraph, TableView, render_fragment

        texts = [*map(self.describe_split, self.splits), self.describe_unknown_codes(), self.describe_overlap()]
        headers = [Paragraph(text) for text in texts if text]
        table = [TableView(self.as_table())] if self.findings else [Paragraph("No findings.")]
        return render_fragment([*headers, *table])

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON values."""
        return {
            "refused": bool(self.refused_findings),
            "unknown_codes": list(self.unknown_codes),
            "overlap": self.describe_overlap(),
            "unit": self.unit,
            "splits": [vars(summary) for summary in self.splits],
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], kinds: Mapping[str, FindingKind] = FINDING_KINDS) -> "Diagnosis":
        """A diagnosis that was stored as JSON, with findings of these kinds; which pairs to drop is not stored."""
        stored = check_shape(table, _StoredDiagnosis)
        findings = (
            DataFinding(kinds[one.kind], one.split, Action(one.action), one.count, one.total, one.examples)
            for one in stored.findings
            if one.kind in kinds
        )
        return cls(tuple(findings), stored.splits, {}, stored.unknown_codes, stored.unit)

    def _find(self, kind: str, splits: Iterable[str]) -> list[DataFinding]:
        """The findings of a kind in some splits, in the order of the splits."""
        return [
            finding
            for split in splits
            for finding in self.findings
            if (finding.kind.name, finding.split) == (kind, split)
        ]

    def _summary_of(self, split: str) -> SplitSummary:
        return next(summary for summary in self.splits if summary.split == split)


def _count_items(finding: DataFinding, item: str) -> str:
    return f"{finding.count:,} of {finding.total:,} {finding.split} {item}s"


def _join(texts: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(texts)


@dataclass(frozen=True)
class _StoredFinding:
    kind: str
    split: str
    action: Action
    count: Count
    total: Count
    examples: tuple[FindingExample, ...]


@dataclass(frozen=True)
class _StoredDiagnosis:
    """The shape of doctor.json."""

    findings: tuple[_StoredFinding, ...]
    splits: tuple[SplitSummary, ...]
    unknown_codes: tuple[str, ...] = ()
    unit: str = "pairs"


def _format_location(example: FindingExample) -> str:
    return ": ".join(filter(None, (example.note, example.detail)))


def _format_languages(summary: SplitSummary) -> str:
    if not (summary.source or summary.target):
        return ""
    return f"; detected languages: {summary.source or 'unknown'} to {summary.target or 'unknown'}"


def _format_percent(fraction: float) -> str:
    return f"{fraction:.1%}" if fraction >= 0.001 or not fraction else "below 0.1%"
