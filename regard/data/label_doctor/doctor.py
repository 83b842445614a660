"""The doctor for labeled text: what would spoil training, or flatter its scores."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from regard.data.doctor import Action, DataFinding, Diagnosis, FindingExample, SplitSummary
from regard.data.doctor.diagnosis import clip
from regard.data.doctor.kinds import check_names, decide_action
from regard.data.doctor.repeats import BitSet, digest
from regard.data.label_doctor.kinds import LABEL_KINDS
from regard.data.label_doctor.parts import PartIndex
from regard.data.label_doctor.views import ExampleView
from regard.data.normalization import hash_source
from regard.data.tag_schemes import PLAIN
from regard.progress import track

MIN_CLASS_TEXTS = 5
DOMINANT_SHARE = 0.9
_SEVERITY = tuple(Action)


@dataclass(frozen=True)
class LabelStream:
    """Labeled examples that can be read several times."""

    read: Callable[[], Iterable[ExampleView]]
    scheme: str = ""
    """How the tags of sentences mark spans; unset: whole texts are labeled."""


@dataclass(frozen=True)
class LabelDoctor:
    """Examines labeled training, dev and test texts.

    Of every text its hash is held in memory, of dev and test the words, too.
    """

    keep: frozenset[str] = frozenset()
    """Kinds of findings that are only counted, although they are dropped or refused by default."""
    drop: frozenset[str] = frozenset()
    """Kinds of findings to drop, although they are only counted by default."""
    examples: int = 5

    def __post_init__(self) -> None:
        serious = [kind.name for kind in LABEL_KINDS.values() if kind.action is not Action.NOTED]
        mild = [kind.name for kind in LABEL_KINDS.values() if kind.action is Action.NOTED and kind.droppable]
        check_names(self.keep, "data.keep", serious, LABEL_KINDS)
        check_names(self.drop, "data.drop", mild, LABEL_KINDS)

    def examine(self, train: LabelStream, dev: LabelStream | None = None, test: LabelStream | None = None) -> Diagnosis:
        """Check all texts; nothing is changed."""
        held_out = {name: stream for name, stream in (("dev", dev), ("test", test)) if stream}
        texts = {name: [view.text for view in stream.read()] for name, stream in held_out.items()}
        shared = _SharedTexts({name: frozenset(map(hash_source, known)) for name, known in texts.items()})
        parts = PartIndex(text for known in texts.values() for text in known)
        splits = [_Split("train", self, shared, parts), *(_Split(name, self, shared, parts) for name in held_out)]
        for split, stream in zip(splits, (train, *held_out.values()), strict=True):
            split.examine(stream)
        classes = splits[0].class_counts
        findings = [finding for split in splits for finding in split.build_findings(classes)]
        return Diagnosis(
            tuple(sorted(findings, key=lambda finding: _SEVERITY.index(finding.action))),
            tuple(split.summarize() for split in splits),
            MappingProxyType({split.name: split.dropped for split in splits}),
            unit="texts",
        )


@dataclass
class _SharedTexts:
    """The texts of dev and test as hashes, and those of them that train has."""

    hashes: Mapping[str, frozenset[int]]
    in_train: set[int] = field(default_factory=set)

    def is_held_out(self, text_hash: int) -> bool:
        is_held_out = any(text_hash in hashes for hashes in self.hashes.values())
        if is_held_out:
            self.in_train.add(text_hash)
        return is_held_out


class _Split:
    """One split: what is counted while it is read, and the findings that follow from the counts."""

    def __init__(self, name: str, doctor: LabelDoctor, shared: _SharedTexts, parts: PartIndex) -> None:
        self.name, self.dropped, self.class_counts = name, BitSet(), Counter[str]()
        self._doctor, self._shared, self._parts = doctor, shared, parts
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[FindingExample]] = defaultdict(list)
        self._answers: dict[bytes, tuple[str, ...]] = {}
        self._class_examples: dict[str, ExampleView] = {}
        self._num_read, self._scheme = 0, ""

    def examine(self, stream: LabelStream) -> None:
        self._scheme = stream.scheme
        for index, view in enumerate(track(stream.read(), f"examining {self.name}")):
            self._num_read = index + 1
            if any(self._action(kind) is Action.DROPPED for kind in self._find_kinds(view)):
                self.dropped.add(index)

    def build_findings(self, train_classes: Mapping[str, int]) -> list[DataFinding]:
        """The findings in the order of LABEL_KINDS."""
        if self.name == "train":
            self._check_classes()
        else:
            self._check_held_out_classes(train_classes)
        totals = {"texts": self._num_read, "classes": len(self.class_counts)}
        return [
            DataFinding(
                kind, self.name, self._action(name), self._counts[name], totals[kind.unit], tuple(self._examples[name])
            )
            for name, kind in LABEL_KINDS.items()
            if self._counts[name]
        ]

    def summarize(self) -> SplitSummary:
        count = len(self.class_counts)
        description = f"{count:,} {'class' if count == 1 else 'classes'}"
        if self._scheme:
            description = f"{count:,} {'type' if count == 1 else 'types'} of spans, tagged by {self._scheme}"
        if self._scheme == PLAIN:
            description = f"{count:,} tags"
        return SplitSummary(self.name, self._num_read, self._num_read - len(self.dropped), "", "", description)

    def _find_kinds(self, view: ExampleView) -> list[str]:
        """Record the findings of one text; their kinds. What is dropped is counted once."""
        text_hash = hash_source(view.text)
        for kind, is_true in (
            ("blank", not view.text.strip()),
            ("unlabeled", not view.answer),
            ("overlap", self._is_shared(text_hash)),
        ):
            if is_true:
                self._add(kind, view)
                if self._action(kind) is Action.DROPPED:
                    return [kind]
        kinds = self._find_repeats(view)
        if view.broken_tags:
            kinds.append("broken_tags")
            self._add("broken_tags", view, view.broken_tags)
        if self.name == "train":
            self._parts.add_longer(view.text, view.location)
        elif location := self._parts.find(view.text):
            self._add("part", view, f"part of {location}")
        for label in view.classes:
            self.class_counts[label] += 1
            self._class_examples.setdefault(label, view)
        return kinds

    def _is_shared(self, text_hash: int) -> bool:
        return self._shared.is_held_out(text_hash) if self.name == "train" else text_hash in self._shared.in_train

    def _find_repeats(self, view: ExampleView) -> list[str]:
        """Texts are compared as they are: “Apple” and “apple” may have different answers."""
        text_digest = digest(view.text)
        earlier = self._answers.get(text_digest)
        self._answers.setdefault(text_digest, view.answer)
        if earlier is None:
            return []
        kind = "duplicate" if earlier == view.answer else "contradiction"
        self._add(kind, view, "" if kind == "duplicate" else f"earlier: {clip(', '.join(earlier))}")
        return [kind]

    def _check_classes(self) -> None:
        if len(self.class_counts) == 1 and not self._scheme:  # spans of one type differ from the words outside
            self._add_class("single_class", next(iter(self.class_counts)))
        by_name: dict[str, list[str]] = defaultdict(list)
        for label in self.class_counts:
            by_name["".join(label.split()).casefold()].append(label)
        for labels in by_name.values():
            frequent, *others = sorted(labels, key=lambda one: -self.class_counts[one])
            for label in others:
                self._add_class("similar_classes", label, f"{label!r} and {frequent!r}")
        for label, count in self.class_counts.items():
            if count < MIN_CLASS_TEXTS:
                self._add_class("tiny_class", label, f"{label!r}: {count}")
        label, count = max(self.class_counts.items(), key=lambda item: item[1], default=("", 0))
        if not self._scheme and len(self.class_counts) > 1 and count > DOMINANT_SHARE * self.class_counts.total():
            self._counts["dominant_class"] = count
            self._examples["dominant_class"].append(self._example(label, f"{label!r}"))

    def _check_held_out_classes(self, train_classes: Mapping[str, int]) -> None:
        for label in self.class_counts:
            if label not in train_classes:
                self._add_class("unseen_class", label, f"{label!r}: {self.class_counts[label]} texts")
        for label in train_classes:
            if label not in self.class_counts:
                self._counts["missing_class"] += 1
                if len(self._examples["missing_class"]) < self._doctor.examples:
                    self._examples["missing_class"].append(FindingExample("", detail=f"{label!r}"))

    def _add(self, kind: str, view: ExampleView, detail: str = "") -> None:
        self._counts[kind] += 1
        if len(self._examples[kind]) < self._doctor.examples:
            example = FindingExample(view.location, clip(view.text), ", ".join(view.classes), detail)
            self._examples[kind].append(example)

    def _add_class(self, kind: str, label: str, detail: str = "") -> None:
        self._counts[kind] += 1
        if len(self._examples[kind]) < self._doctor.examples:
            self._examples[kind].append(self._example(label, detail or f"{label!r}"))

    def _example(self, label: str, detail: str) -> FindingExample:
        view = self._class_examples[label]
        return FindingExample(view.location, clip(view.text), ", ".join(view.classes), detail)

    def _action(self, kind: str) -> Action:
        return decide_action(LABEL_KINDS[kind], self.name, self._doctor.keep, self._doctor.drop)
