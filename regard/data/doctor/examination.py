"""One pass over the pairs of a split."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.doctor.checks import PairCheck
from regard.data.doctor.diagnosis import DataFinding, FindingExample
from regard.data.doctor.kinds import FINDING_KINDS, Action
from regard.data.doctor.overlap import Overlap, RepeatFinder
from regard.data.doctor.repeats import BitSet
from regard.data.doctor.settings import DoctorSettings
from regard.files import open_regular
from regard.formats import Pair, read_pairs
from regard.formats.registry import FORMATS
from regard.formats.xliff import SUFFIXES as XLIFF
from regard.progress import stage, track

PairDetail = Callable[[str, str], str]
NON_LINE_SUFFIXES = frozenset({".gz", ".jsonl", ".po", ".pot", ".tmx", *XLIFF})


@dataclass(frozen=True)
class PairStream:
    """Pairs that can be read several times."""

    read: Callable[[], Iterable[Pair]]
    files: tuple[Path, ...] = ()
    """The files of the pairs, for checks of the files themselves."""

    @classmethod
    def from_files(cls, paths: Sequence[str | Path]) -> "PairStream":
        """The pairs of files whose format needs no further options; otherwise pass a `read` of your own."""
        files = tuple(Path(path) for path in paths)
        return cls(lambda: read_pairs(files), files)


class FindingTally:
    """Count and first examples of each kind of finding."""

    def __init__(self, max_examples: int, details: Mapping[str, PairDetail]) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[FindingExample]] = {}
        self._max_examples, self._details = max_examples, details

    def add(self, name: str, pair: Pair) -> None:
        self.counts[name] += 1
        if self.counts[name] <= self._max_examples:
            detail = self._details.get(name, _no_detail)
            self.add_example(name, FindingExample.from_pair(pair, detail(pair.source, pair.target)))

    def add_example(self, name: str, example: FindingExample) -> None:
        self._examples.setdefault(name, []).append(example)

    def build_findings(self, split: str, settings: DoctorSettings, totals: Mapping[str, int]) -> list[DataFinding]:
        """The findings in the order of FINDING_KINDS."""
        return [
            DataFinding(
                kind,
                split,
                settings.action_for(kind, split),
                self.counts[name],
                totals[kind.unit],
                tuple(self._examples.get(name, ())),
            )
            for name, kind in FINDING_KINDS.items()
            if self.counts[name]
        ]


@dataclass(frozen=True)
class ExaminationResult:
    """The result of one pass over a split."""

    tally: FindingTally
    dropped_pairs: BitSet
    pairs_read: int


def examine(
    stream: PairStream,
    split: str,
    checks: Mapping[str, PairCheck],
    details: Mapping[str, PairDetail],
    settings: DoctorSettings,
    overlap: Overlap,
) -> ExaminationResult:
    """Apply every check to every pair: first those that drop, in the order of FINDING_KINDS, then the others.

    A dropped pair is counted once, for the first reason to drop it, so that the counts of dropped pairs add up. A pair
    that remains is counted for every finding.
    """
    tally, dropped_pairs = FindingTally(settings.examples, details), BitSet()
    table = [(name, checks[name], _is_dropped(name, split, settings)) for name in FINDING_KINDS if name in checks]
    table.sort(key=lambda row: not row[2])
    repeats = RepeatFinder(settings, overlap if split == "train" else None)
    pairs_read = 0
    try:
        for index, pair in enumerate(track(stream.read(), f"examining {split}")):
            source, target = pair.source, pair.target
            for name, check, is_dropped in table:
                if check(source, target):
                    tally.add(name, pair)
                    if is_dropped:
                        dropped_pairs.add(index)
                        break
            else:
                repeats.add(pair, index)
            pairs_read = index + 1
        examples: dict[int, list[tuple[str, str]]] = {}
        with stage(f"finding duplicates in {split}"):
            for name, repeated in repeats.find().items():
                indices = repeated.indices - dropped_pairs
                tally.counts[name] += len(indices)
                for index in indices.first(settings.examples):
                    examples.setdefault(index, []).append((name, repeated.details.get(index, "")))
                if _is_dropped(name, split, settings):
                    dropped_pairs = dropped_pairs | indices
        _add_examples(tally, examples, stream)
    finally:
        repeats.close()
    return ExaminationResult(tally, dropped_pairs, pairs_read)


def select_line_files(files: Sequence[Path]) -> list[Path]:
    """The files with one sentence per line; the end of a compressed one is not visible."""
    return [
        path
        for path in files
        if path.suffix not in NON_LINE_SUFFIXES and not FORMATS.find(path.suffix.lower()) and path.is_file()
    ]


def find_unterminated(files: Iterable[Path]) -> list[Path]:
    """The files whose last line has no line feed."""
    return [path for path in files if _lacks_line_feed(path)]


def _lacks_line_feed(path: Path) -> bool:
    with open_regular(path) as file:
        size = file.seek(0, 2)
        if not size:
            return False
        file.seek(size - 1)
        return file.read(1) != b"\n"


def _no_detail(source: str, target: str) -> str:
    return ""


def _is_dropped(name: str, split: str, settings: DoctorSettings) -> bool:
    return settings.action_for(FINDING_KINDS[name], split) is Action.DROPPED


def _add_examples(tally: FindingTally, examples: Mapping[int, Sequence[tuple[str, str]]], stream: PairStream) -> None:
    """Read the stream again up to the last index: storing the texts would take memory, storing indices does not."""
    if not examples:
        return
    last = max(examples)
    for index, pair in enumerate(stream.read()):
        for name, detail in examples.get(index, ()):
            tally.add_example(name, FindingExample.from_pair(pair, detail))
        if index == last:
            return
