"""The doctor: reads the corpora of a training run before anyone trains, and says what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from regard.data.doctor.checks import PLAIN, Finds, Language, Long, Overlap, Ratio, unlike
from regard.data.doctor.diagnosis import Counted, Diagnosis, Example, Finding
from regard.data.doctor.examination import Detail, Examined, Stream, examine, line_files, unended
from regard.data.doctor.kinds import Action
from regard.data.doctor.language_id import agree, expect, guess, label
from regard.data.doctor.profile import LAST, Survey, survey
from regard.data.doctor.repeats import digest
from regard.data.doctor.settings import Settings

MOST_COPIED = 0.5
"""Share of identical pairs above which copying is what the corpus is about."""
_SEVERITY = tuple(Action)


@dataclass(frozen=True)
class Doctor:
    """Examines training, dev and test pairs.

    Everything is read as a stream, and memory stays flat: see `repeats` for the bound; dev and test add about a
    hundred bytes for each of their sources. The training pairs are read at most three times: the head, all of them,
    and again as far as the examples of what came twice.

    Unequal line counts and bytes that are not UTF-8 come from the formats as FormatError, and are let through.
    """

    settings: Settings = field(default_factory=Settings)

    def examine(self, train: Stream, dev: Stream | None = None, test: Stream | None = None) -> Diagnosis:
        """Look at all pairs; nothing is changed. `Diagnosis.clean` gives the pairs that remain."""
        held = {name: stream for name, stream in (("dev", dev), ("test", test)) if stream}
        marks = {name: frozenset(digest(pair.source) for pair in stream.read()) for name, stream in held.items()}
        overlap = Overlap(frozenset().union(*marks.values()), marks.get("dev", frozenset()))
        usual = survey(train.read())
        wanted = _Direction(
            label(self.settings.source) if self.settings.source else usual.source,
            label(self.settings.target) if self.settings.target else usual.target,
        )
        wards = [_Ward("train", train, usual, wanted, self.settings)]
        wards += [_Ward(name, stream, survey(stream.read()), wanted, self.settings) for name, stream in held.items()]
        done = {ward.name: ward.examine(overlap) for ward in wards}
        findings = [finding for ward in wards for finding in ward.findings(done[ward.name])]
        dropped = {name: examined.dropped for name, examined in done.items()}
        return Diagnosis(
            tuple(sorted(findings, key=lambda finding: _SEVERITY.index(finding.action))),
            tuple(ward.counted(done[ward.name]) for ward in wards),
            MappingProxyType(dropped),
        )


@dataclass(frozen=True)
class _Direction:
    """The labels of the languages translated between; "" where one is not known."""

    source: str
    target: str

    def contradicts(self, other: "_Direction") -> tuple[bool, bool]:
        """On which sides two directions are both known and not the same."""
        sides = ((self.source, other.source), (self.target, other.target))
        source, target = (bool(one and two) and not agree(one, two) for one, two in sides)
        return source, target

    def swapped(self) -> "_Direction":
        return _Direction(self.target, self.source)


class _Ward:
    """One set: what is usual in it, what was wanted, and what follows for its examination."""

    def __init__(self, name: str, stream: Stream, usual: Survey, wanted: _Direction, settings: Settings) -> None:
        self.name, self.stream, self.usual = name, stream, usual
        copying = frozenset({"identical"}) if usual.copied > MOST_COPIED else frozenset[str]()
        self.settings = replace(settings, keep=settings.keep | copying)
        self.found = _Direction(usual.source, usual.target)
        self.wrong = wanted.contradicts(self.found)
        self.swapped = all(self.wrong) and wanted.swapped().contradicts(self.found) == (False, False)
        # A file in the wrong language is one finding; its single sentences are judged by what the file is.
        self.direction = _Direction(
            self.found.source if self.wrong[0] else wanted.source,
            self.found.target if self.wrong[1] else wanted.target,
        )

    def examine(self, overlap: Overlap) -> Examined:
        checks, details = self._checks()
        if self.name == "train":
            return examine(self.stream, self.name, {**checks, "overlap": overlap}, details, self.settings)
        # Training comes first, so by now it is known which of the held-out sources it holds.
        more: dict[str, Finds] = {"seen": overlap.was_met}
        if self.name == "test":
            more["shared"] = overlap.in_dev
        return examine(self.stream, self.name, {**checks, **more}, details, self.settings)

    def findings(self, done: Examined) -> list[Finding]:
        tally = done.tally
        if any(self.wrong):
            name = "swapped" if self.swapped else "mislabelled"
            tally.counts[name] = done.read
            for example in self._looks():
                tally.show(name, example)
        files = line_files(self.stream.files)
        open_ended = unended(files)
        tally.counts["no_newline"] = len(open_ended)
        for path in open_ended:
            tally.show("no_newline", Example(str(path)))
        return tally.findings(self.name, self.settings, {"pairs": done.read, "files": len(files)})

    def counted(self, done: Examined) -> Counted:
        return Counted(self.name, done.read, done.read - len(done.dropped), self.usual.source, self.usual.target)

    def _checks(self) -> tuple[Mapping[str, Finds], Mapping[str, Detail]]:
        language = Language(expect(self.direction.source), expect(self.direction.target))
        more: dict[str, Finds] = {
            "ratio": Ratio(self.settings.ratio, self.usual.ratio),
            "long": Long(self.settings.longest),
            "language": language,
        }
        return {**PLAIN, **more}, {"language": language.detail, "placeholder": unlike}

    def _looks(self) -> list[Example]:
        """The first pairs that look like the languages found."""
        shown = (
            Example.of(pair, f"source looks like {self.found.source}, target like {self.found.target}")
            for pair in islice(self.stream.read(), LAST)
            if guess(pair.source) == self.found.source and guess(pair.target) == self.found.target
        )
        return list(islice(shown, self.settings.examples))
