"""Comparison of systems on one test set: runs, and files of translations by any other system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.decode import BeamSearch
from regard.errors import DataError, FormatError
from regard.evaluation import Evaluation, evaluate
from regard.formats import Pair, read_lines, read_pairs
from regard.hardware import configure_cpu
from regard.jobs.evaluate import evaluate_translator
from regard.jobs.load import load
from regard.jobs.tasks.comparison import name_set, name_systems
from regard.metrics import PairedTestResult, paired_tests
from regard.metrics.significance import PairedTestKind
from regard.progress import track
from regard.report import Paragraph, Table, TableView, render_fragment
from regard.run import Run, open_run
from regard.tuning.measure import (
    SCORED_METRICS,
    RunFacts,
    RunSummary,
    summarize_training,
)

P_VALUES = (
    "p_bootstrap",
    "p_randomized",
    "p_bootstrap_uncorrected",
    "p_randomized_uncorrected",
    "sacrebleu_p_bootstrap",
    "sacrebleu_p_randomized",
)
"""The p-values of a comparison as JSON: the first two are corrected for several systems, and decide."""


@dataclass(frozen=True)
class System(RunFacts):
    """A system with its translations and scores."""

    name: str
    evaluation: Evaluation
    run: Run | None = None
    summary: RunSummary | None = None
    """Cost of its training; None for a file of translations."""

    @property
    def translations(self) -> list[str]:
        return [sentence.translation for sentence in self.evaluation.sentences]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Systems side by side; every test is against the first one, the baseline."""

    name: str
    pairs: Sequence[Pair]
    systems: Sequence[System]
    bootstrap: Mapping[str, Mapping[str, PairedTestResult]] = field(default_factory=dict)
    randomized: Mapping[str, Mapping[str, PairedTestResult]] = field(default_factory=dict)

    @property
    def baseline(self) -> System:
        return self.systems[0]

    def as_table(self) -> Table:
        """One row for each system and metric, with p-values against the baseline."""
        return Table.from_rows(
            {"system": system, "metric": metric}
            | {name: values.get(name) for name in ("value", "low", "high", *P_VALUES, "signature")}
            for system, metrics in self.as_dict().items()
            for metric, values in metrics.items()
        )

    def __str__(self) -> str:
        return str(self.as_table().select("system", "metric", "value", "low", "high", "p_bootstrap", "p_randomized"))

    def __repr__(self) -> str:
        names = ", ".join(system.name for system in self.systems)
        return f"<Comparison of {names} on {len(self.pairs):,} sentences>"

    def _repr_html_(self) -> str:
        sentences = f"{len(self.pairs):,} sentences; every test is against {self.baseline.name}."
        return render_fragment([TableView(self.as_table()), Paragraph(sentences)])

    def as_dict(self) -> dict[str, Any]:
        """System -> metric -> value, interval, signature and p-values against the baseline."""
        return {
            system.name: {
                name: system.evaluation.scores[name].as_dict() | self._p_values(system, name) for name in SCORED_METRICS
            }
            for system in self.systems
        }

    def _p_values(self, system: System, metric: str) -> dict[str, float | None]:
        """The p-values of a system by one metric: those that verdicts follow, each alone, and sacreBLEU's own."""
        if system.name not in self.bootstrap:
            return {}
        tests = (self.bootstrap[system.name][metric], self.randomized[system.name][metric])
        values = (
            *(test.decisive_p for test in tests),
            *(test.p for test in tests),
            *(test.sacrebleu_p for test in tests),
        )
        return dict(zip(P_VALUES, values, strict=True))


def compare_files(
    paths: Sequence[Path], files: Sequence[str], search: BeamSearch | None = None, device: str = "auto"
) -> Comparison:
    """Translate, score and test; nothing is written into the runs."""
    if not files:
        raise DataError("no test pairs: give them with --on test.en test.fr")
    configure_cpu(0)
    source, target = _languages(paths)
    pairs = list(track(read_pairs(files, source, target), "reading pairs"))
    name = name_set(files)
    candidates = [
        (path, system_name, _read_translations(path, pairs, files[-1]))
        for path, system_name in zip(paths, name_systems(paths), strict=True)
    ]
    systems = [
        _evaluate_translations(system_name, pairs, lines, target)
        if lines is not None
        else _evaluate_run(path, system_name, pairs, search, device, target)
        for path, system_name, lines in track(candidates, "evaluating systems")
    ]
    return compare_systems(name, pairs, systems)


def compare_systems(name: str, pairs: Sequence[Pair], systems: Sequence[System]) -> Comparison:
    """Test systems that are already scored."""
    if len(systems) < 2:
        return Comparison(name, pairs, systems)
    translations = {system.name: system.translations for system in systems}
    references = [pair.target for pair in pairs]
    kinds: tuple[PairedTestKind, ...] = ("bs", "ar")
    tests = {
        kind: paired_tests(translations, references, kind, tokenization=systems[0].evaluation.tokenization)
        for kind in track(kinds, "testing significance")
    }
    return Comparison(name, pairs, systems, tests["bs"], tests["ar"])


def _languages(paths: Sequence[Path]) -> tuple[str, str]:
    """The languages of the first run; some file formats need them."""
    for path in paths:
        if path.is_dir():
            data = open_run(path).load_config().data
            return data.source, data.target
    return "", ""


def _read_translations(path: Path, pairs: Sequence[Pair], reference: str) -> list[str] | None:
    """The lines of a file of translations, None for a run; both are checked before anything is translated."""
    if path.is_dir():
        open_run(path)
        return None
    if not path.exists():
        raise FormatError(f"{path}: no such run or file; compare takes run folders and files of translations")
    lines = list(read_lines(path))
    if len(lines) != len(pairs):
        raise FormatError(
            f"{path} has {len(lines)} lines, {reference} has {len(pairs)} pairs; a file of translations has one line "
            f"for each pair, which may be empty"
        )
    return lines


def _evaluate_translations(name: str, pairs: Sequence[Pair], lines: Sequence[str], language: str) -> System:
    return System(name, evaluate(lambda _: list(lines), pairs, metrics=SCORED_METRICS, language=language))


def _evaluate_run(
    path: Path, name: str, pairs: Sequence[Pair], search: BeamSearch | None, device: str, language: str
) -> System:
    run = open_run(path)
    evaluation = evaluate_translator(run, load(path, device), pairs, search, SCORED_METRICS, language=language)
    return System(name, evaluation, run, summarize_training(run, evaluation))


def largest_differences(comparison: Comparison, system: System, max_count: int) -> list[int]:
    """The indices of the sentences whose chrF differs most from that of the baseline."""
    sentence_pairs = zip(comparison.baseline.evaluation.sentences, system.evaluation.sentences, strict=True)
    gaps = [abs(other.chrf - baseline.chrf) for baseline, other in sentence_pairs]
    order = sorted(range(len(gaps)), key=lambda n: -gaps[n])
    return [n for n in order[:max_count] if gaps[n] > 0]
