"""One set of pairs, looked at once from beginning to end."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.doctor.checks import Finds
from regard.data.doctor.diagnosis import Example, Finding
from regard.data.doctor.kinds import KINDS, Action
from regard.data.doctor.repeats import Bits, Repeats
from regard.data.doctor.settings import Settings
from regard.formats import Pair, read_pairs
from regard.formats.xliff import ENDINGS as XLIFF

Detail = Callable[[str, str], str]
OTHER_FILES = frozenset({".gz", ".jsonl", ".po", ".pot", ".tmx", *XLIFF})


@dataclass(frozen=True)
class Stream:
    """Pairs that can be read again and again."""

    read: Callable[[], Iterable[Pair]]
    files: tuple[Path, ...] = ()
    """Where the pairs come from, for what can only be seen in the files."""

    @classmethod
    def of(cls, paths: Sequence[str | Path]) -> "Stream":
        """The pairs of files, where the files say it all; otherwise hand in a `read` of your own."""
        files = tuple(Path(path) for path in paths)
        return cls(lambda: read_pairs(files), files)


class Tally:
    """Counts, and the first examples, of each kind."""

    def __init__(self, examples: int, details: Mapping[str, Detail]) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, list[Example]] = {}
        self._most, self._details = examples, details

    def add(self, name: str, pair: Pair) -> None:
        self.counts[name] += 1
        if self.counts[name] <= self._most:
            detail = self._details.get(name, _no_detail)
            self.show(name, Example.of(pair, detail(pair.source, pair.target)))

    def show(self, name: str, example: Example) -> None:
        self._examples.setdefault(name, []).append(example)

    def findings(self, where: str, settings: Settings, among: Mapping[str, int]) -> list[Finding]:
        """In the order of the table."""
        return [
            Finding(
                kind,
                where,
                settings.action(kind, where),
                self.counts[name],
                among[kind.of],
                tuple(self._examples.get(name, ())),
            )
            for name, kind in KINDS.items()
            if self.counts[name]
        ]


@dataclass(frozen=True)
class Examined:
    """What one reading of a set brought."""

    tally: Tally
    dropped: Bits
    read: int


def examine(
    stream: Stream, where: str, checks: Mapping[str, Finds], details: Mapping[str, Detail], settings: Settings
) -> Examined:
    """Put every check to every pair, in the order of the table.

    The first reason to drop a pair is the only one that is counted, so that the counts of what was dropped add up; a
    pair that stays is counted under all that was found.
    """
    tally, dropped = Tally(settings.examples, details), Bits()
    table = [(name, checks[name], _drops(name, where, settings)) for name in KINDS if name in checks]
    repeats = Repeats(settings.scratch)
    read = 0
    try:
        for at, pair in enumerate(stream.read()):
            source, target = pair.source, pair.target
            for name, finds, drops in table:
                if finds(source, target):
                    tally.add(name, pair)
                    if drops:
                        dropped.add(at)
                        break
            else:
                repeats.add(source, target, at)
            read = at + 1
        for name, places in zip(("duplicate", "variant"), repeats.found(), strict=True):
            tally.counts[name] = len(places)
            _show(tally, name, places.first(settings.examples), stream)
            if _drops(name, where, settings):
                dropped = dropped | places
    finally:
        repeats.close()
    return Examined(tally, dropped, read)


def line_files(files: Sequence[Path]) -> list[Path]:
    """Those in which a line is a sentence; a packed one does not show how it ends."""
    return [path for path in files if path.suffix not in OTHER_FILES and path.is_file()]


def unended(files: Iterable[Path]) -> list[Path]:
    """The files of lines whose last line does not end."""
    return [path for path in files if _lacks_line_feed(path)]


def _lacks_line_feed(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if not size:
            return False
        file.seek(size - 1)
        return file.read(1) != b"\n"


def _no_detail(source: str, target: str) -> str:
    return ""


def _drops(name: str, where: str, settings: Settings) -> bool:
    return settings.action(KINDS[name], where) is Action.DROPPED


def _show(tally: Tally, name: str, places: Sequence[int], stream: Stream) -> None:
    """Read again as far as the last of the places: kept texts would fill the memory, their places do not."""
    wanted = set(places)
    if not wanted:
        return
    last = max(wanted)
    for at, pair in enumerate(stream.read()):
        if at in wanted:
            tally.show(name, Example.of(pair))
        if at == last:
            return
