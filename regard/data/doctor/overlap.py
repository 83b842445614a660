"""Sources that train shares with dev and test: the same ones, and those that are nearly the same.

One definition for every split. Two sources are the same if they are after `normalize_source`, as when Regard itself
holds out dev and test; they are nearly the same if they are near-duplicates and not the same. Pairs that are dropped
for another reason are in no split, so they overlap with nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from regard.data.doctor.checks import blank
from regard.data.doctor.near_duplicates import (
    MAX_CHARS,
    HeldOutIndex,
    NearDuplicateFinder,
    Sketches,
    sketch_texts,
)
from regard.data.doctor.repeats import BitSet, DuplicateFinder
from regard.data.doctor.settings import DoctorSettings
from regard.data.normalization import hash_source, normalize_source
from regard.formats import Pair

BUFFER_SIZE = 1 << 13


@dataclass(frozen=True)
class _NearSource:
    """A source of train that is nearly the same as one of dev or test."""

    text: str
    location: str


class Overlap:
    """The sources of dev and test, and which of them train has.

    Train is examined first, and records what it shares with dev and test; then these are examined.
    """

    def __init__(self, held_out: Mapping[str, Iterable[Pair]], keep_blank: bool = False) -> None:
        self._split_hashes: dict[str, set[int]] = {}
        texts: dict[int, tuple[str, str]] = {}
        for split, pairs in held_out.items():
            hashes = self._split_hashes.setdefault(split, set())
            for pair in pairs:
                text = normalize_source(pair.source)
                if text and (keep_blank or not blank(pair.source, pair.target)):  # blank pairs are dropped
                    hashes.add(source_hash := hash_source(text))
                    texts.setdefault(source_hash, (split, text))
        self._hashes, self._splits = list(texts), [split for split, _ in texts.values()]
        self._known = frozenset(texts)
        self._index = HeldOutIndex([text for _, text in texts.values()])
        self._in_train: set[int] = set()
        self._near_train: dict[int, _NearSource] = {}

    def is_held_out(self, source: str, target: str) -> bool:
        """Whether dev or test has the source of a training pair; records that train has it."""
        if not self._known or (source_hash := hash_source(source)) not in self._known:
            return False
        self._in_train.add(source_hash)
        return True

    def is_in_train(self, source: str, target: str) -> bool:
        return hash_source(source) in self._in_train

    def is_in_dev(self, source: str, target: str) -> bool:
        return hash_source(source) in self._split_hashes.get("dev", ())

    def is_near_train(self, source: str, target: str) -> bool:
        source_hash = hash_source(source)
        return source_hash in self._near_train and source_hash not in self._in_train

    def describe_near_train(self, source: str, target: str) -> str:
        """The source of train that a source of dev or test is nearly the same as."""
        near = self._near_train[hash_source(source)]
        return f"train has “{near.text}” ({near.location})"

    def find_near(self, pairs: Sequence[Pair], texts: Sequence[str], sketches: Sketches) -> dict[int, str]:
        """The training pairs, by number, that are nearly the same as one of dev or test, with what that one is."""
        near: dict[int, str] = {}
        if not self._known:
            return near
        for number, held_out in enumerate(self._index.find(texts, sketches)):
            if held_out is None or hash_source(pairs[number].source) in self._known:
                continue
            self._near_train.setdefault(
                self._hashes[held_out], _NearSource(_clip(pairs[number].source), pairs[number].location)
            )
            near[number] = f"{self._splits[held_out]} has “{_clip(self._index.texts[held_out])}”"
        return near


@dataclass(frozen=True)
class Repeated:
    """The pairs of a finding that needs all pairs, with a detail for those that are shown."""

    indices: BitSet
    details: Mapping[int, str] = field(default_factory=dict)


class RepeatFinder:
    """Collects the pairs of a split that remain, and finds those that repeat others, exactly or nearly."""

    def __init__(self, settings: DoctorSettings, overlap: Overlap | None) -> None:
        self._duplicates = DuplicateFinder(settings.scratch)
        self._near_duplicates = NearDuplicateFinder(settings.scratch)
        self._overlap, self._max_details = overlap, settings.examples
        self._buffer: list[tuple[int, Pair, str]] = []
        self._near_overlap, self._near_overlap_details = BitSet(), dict[int, str]()

    def add(self, pair: Pair, index: int) -> None:
        self._duplicates.add(pair.source, pair.target, index)
        self._buffer.append((index, pair, normalize_source(pair.source[: 2 * MAX_CHARS])[:MAX_CHARS]))
        if len(self._buffer) == BUFFER_SIZE:
            self._flush()

    def find(self) -> dict[str, Repeated]:
        """The repeated pairs by the name of their finding; one that repeats a pair exactly is no near-duplicate."""
        self._flush()
        duplicates, variants = self._duplicates.find()
        near_duplicates, details = BitSet(), dict[int, str]()
        exact = duplicates | variants
        for near in self._near_duplicates.find():
            if near.index not in exact:
                near_duplicates.add(near.index)
                if len(details) < 2 * self._max_details:
                    details[near.index] = f"earlier: “{_clip(near.earlier_text)}”"
        return {
            "near_overlap": Repeated(self._near_overlap, self._near_overlap_details),
            "duplicate": Repeated(duplicates),
            "variant": Repeated(variants),
            "near_duplicate": Repeated(near_duplicates, details),
        }

    def close(self) -> None:
        self._duplicates.close()
        self._near_duplicates.close()

    def _flush(self) -> None:
        if not self._buffer:
            return
        indices, pairs, texts = zip(*self._buffer, strict=True)
        self._buffer = []
        sketches = sketch_texts(texts)
        self._near_duplicates.add(texts, sketches, indices)
        for number, detail in self._overlap.find_near(pairs, texts, sketches).items() if self._overlap else ():
            self._near_overlap.add(indices[number])
            if len(self._near_overlap_details) < self._max_details:
                self._near_overlap_details[indices[number]] = detail


def _clip(text: str, max_chars: int = 80) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
