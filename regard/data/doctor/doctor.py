"""The doctor: checks the corpora of a run before training."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType

from regard.data.doctor.checks import (
    PAIR_CHECKS,
    LanguageCheck,
    LengthRatioCheck,
    MaxLengthCheck,
    PairCheck,
    describe_placeholder_difference,
)
from regard.data.doctor.diagnosis import DataFinding, Diagnosis, FindingExample, SplitSummary
from regard.data.doctor.examination import (
    ExaminationResult,
    PairDetail,
    PairStream,
    examine,
    find_unterminated,
    select_line_files,
)
from regard.data.doctor.kinds import Action
from regard.data.doctor.language_id import expect_language, identify_language, known_code
from regard.data.doctor.overlap import Overlap
from regard.data.doctor.profile import MAX_PAIRS, CorpusProfile, profile_corpus
from regard.data.doctor.settings import DoctorSettings
from regard.languages import are_variants

MAX_IDENTICAL_FRACTION = 0.5
"""Share of identical pairs above which copying is taken for the task of the corpus."""
_SEVERITY = tuple(Action)


@dataclass(frozen=True)
class Doctor:
    """Examines training, dev and test pairs.

    Everything is read as a stream, and memory is bounded: see `repeats` and `near_duplicates`; dev and test add about
    a kilobyte for each of their sources. The training pairs are read at most three times: the head for a profile, all
    of them, and again as far as the examples of duplicates.

    Unequal line counts and bytes that are not UTF-8 raise FormatError while files are read.
    """

    settings: DoctorSettings = field(default_factory=DoctorSettings)

    def examine(self, train: PairStream, dev: PairStream | None = None, test: PairStream | None = None) -> Diagnosis:
        """Check all pairs; nothing is changed. `Diagnosis.clean` returns the pairs that remain."""
        held_out = {name: stream for name, stream in (("dev", dev), ("test", test)) if stream}
        overlap = Overlap(
            {name: stream.read() for name, stream in held_out.items()}, keep_blank="blank" in self.settings.keep
        )
        profile = profile_corpus(train.read())
        expected = _Direction(
            known_code(self.settings.source) if self.settings.source else profile.source,
            known_code(self.settings.target) if self.settings.target else profile.target,
        )
        dataset_checks = [_DatasetCheck("train", train, profile, expected, self.settings)]
        dataset_checks += [
            _DatasetCheck(name, stream, profile_corpus(stream.read()), expected, self.settings)
            for name, stream in held_out.items()
        ]
        results = {check.split: check.examine(overlap) for check in dataset_checks}
        findings = [finding for check in dataset_checks for finding in check.build_findings(results[check.split])]
        dropped_pairs = {name: result.dropped_pairs for name, result in results.items()}
        return Diagnosis(
            tuple(sorted(findings, key=lambda finding: _SEVERITY.index(finding.action))),
            tuple(check.summarize(results[check.split]) for check in dataset_checks),
            MappingProxyType(dropped_pairs),
            tuple(code for code in (self.settings.source, self.settings.target) if code and not known_code(code)),
        )


@dataclass(frozen=True)
class _Direction:
    """The codes of the source and target languages; "" if unknown."""

    source: str
    target: str

    def contradicts(self, other: "_Direction") -> tuple[bool, bool]:
        """The sides on which both directions are known and differ."""
        sides = ((self.source, other.source), (self.target, other.target))
        source, target = (bool(one and two) and not are_variants(one, two) for one, two in sides)
        return source, target

    def swapped(self) -> "_Direction":
        return _Direction(self.target, self.source)


class _DatasetCheck:
    """One split: its profile, the expected languages, and the checks that follow from them."""

    def __init__(
        self, split: str, stream: PairStream, profile: CorpusProfile, expected: _Direction, settings: DoctorSettings
    ) -> None:
        self.split, self.stream, self.profile = split, stream, profile
        extra_keep = (
            frozenset({"identical"}) if profile.identical_fraction > MAX_IDENTICAL_FRACTION else frozenset[str]()
        )
        self.settings = replace(settings, keep=settings.keep | extra_keep)
        self.detected_direction = _Direction(profile.source, profile.target)
        self.mismatches = expected.contradicts(self.detected_direction)
        self.swapped = all(self.mismatches) and expected.swapped().contradicts(self.detected_direction) == (
            False,
            False,
        )
        # A file in the wrong language is one finding; its sentences are then checked against the detected language.
        self.direction = _Direction(
            self.detected_direction.source if self.mismatches[0] else expected.source,
            self.detected_direction.target if self.mismatches[1] else expected.target,
        )

    def examine(self, overlap: Overlap) -> ExaminationResult:
        checks, details = self._build_checks()
        if self.split == "train":
            checks = {**checks, "overlap": overlap.is_held_out}
            return examine(self.stream, self.split, checks, details, self.settings, overlap)
        # Train is examined first, so `overlap` has recorded which of the held-out sources it contains.
        checks = {**checks, "overlap": overlap.is_in_train, "near_overlap": overlap.is_near_train}
        if self.split == "test":
            checks["shared"] = overlap.is_in_dev
        details = {**details, "near_overlap": overlap.describe_near_train}
        return examine(self.stream, self.split, checks, details, self.settings, overlap)

    def build_findings(self, result: ExaminationResult) -> list[DataFinding]:
        tally = result.tally
        if any(self.mismatches):
            name = "swapped" if self.swapped else "mislabeled"
            tally.counts[name] = result.pairs_read
            for example in self._language_examples():
                tally.add_example(name, example)
        files = select_line_files(self.stream.files)
        unterminated_files = find_unterminated(files)
        tally.counts["no_newline"] = len(unterminated_files)
        for path in unterminated_files:
            tally.add_example("no_newline", FindingExample(str(path)))
        return tally.build_findings(self.split, self.settings, {"pairs": result.pairs_read, "files": len(files)})

    def summarize(self, result: ExaminationResult) -> SplitSummary:
        return SplitSummary(
            self.split,
            result.pairs_read,
            result.pairs_read - len(result.dropped_pairs),
            self.profile.source,
            self.profile.target,
        )

    def _build_checks(self) -> tuple[Mapping[str, PairCheck], Mapping[str, PairDetail]]:
        language = LanguageCheck(expect_language(self.direction.source), expect_language(self.direction.target))
        profile_checks: dict[str, PairCheck] = {
            "ratio": LengthRatioCheck(self.settings.ratio, self.profile.length_ratio),
            "long": MaxLengthCheck(self.settings.max_chars),
            "language": language,
        }
        return {**PAIR_CHECKS, **profile_checks}, {
            "language": language.describe,
            "placeholder": describe_placeholder_difference,
        }

    def _language_examples(self) -> list[FindingExample]:
        """The first pairs in the detected languages."""
        examples = (
            FindingExample.from_pair(
                pair,
                f"source looks like {self.detected_direction.source}, target like {self.detected_direction.target}",
            )
            for pair in islice(self.stream.read(), MAX_PAIRS)
            if identify_language(pair.source) == self.detected_direction.source
            and identify_language(pair.target) == self.detected_direction.target
        )
        return list(islice(examples, self.settings.examples))
