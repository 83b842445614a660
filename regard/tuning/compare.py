"""Several systems on one test set: runs, or files of translations, so that any other system can join."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from regard.data.unigram import unigram_loss
from regard.decode import BeamSearch
from regard.errors import DataError, FormatError
from regard.evaluation import METRICS, Evaluation, evaluate
from regard.formats import Pair, read_lines, read_pairs
from regard.jobs.evaluate import as_dict, evaluate_translator
from regard.jobs.load import load
from regard.jobs.train.prepare import tokenize_corpora
from regard.metrics import PairedTestResult, paired_tests
from regard.run import Run, open_run
from regard.training import log
from regard.tuning.measure import RunSummary, count_parameters, summarize_run

SCORED_METRICS = {name: METRICS[name] for name in ("bleu", "chrf", "ter")}
LENGTH_BUCKETS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 10_000))
"""Words of the source, from and to."""
MIN_BUCKET_SENTENCES = 5  # sentences that a bucket of lengths needs to be scored


@dataclass(frozen=True)
class System:
    """What one system wrote, and what is known of it."""

    name: str
    evaluation: Evaluation
    run: Run | None = None
    summary: RunSummary | None = None
    """What it cost; unknown where only its translations are."""

    @cached_property
    def parameters(self) -> int | None:
        """Of its weights, where it is a run."""
        return count_parameters(self.run) if self.run else None

    @property
    def translations(self) -> list[str]:
        return [sentence.translation for sentence in self.evaluation.sentences]

    @property
    def collapse_reason(self) -> str:
        return self.summary.collapse_reason if self.summary else ""


@dataclass(frozen=True)
class Comparison:
    """Systems side by side; every test is against the first."""

    name: str
    pairs: Sequence[Pair]
    systems: Sequence[System]
    bootstrap: Mapping[str, Mapping[str, PairedTestResult]] = field(default_factory=dict)
    randomized: Mapping[str, Mapping[str, PairedTestResult]] = field(default_factory=dict)

    @property
    def baseline(self) -> System:
        return self.systems[0]


def compare(
    paths: Sequence[Path], files: Sequence[str], search: BeamSearch | None = None, device: str = "auto"
) -> Comparison:
    """Translate, score and test; the runs are left as they are."""
    if not files:
        raise DataError("nothing to compare on: give the test pairs with --on test.en test.fr")
    source, target = _languages(paths)
    pairs = list(read_pairs(files, source, target))
    name = Path(files[0]).name.partition(".")[0]
    candidates = [
        (path, own, _read_translations(path, pairs, files[-1]))
        for path, own in zip(paths, _system_names(paths), strict=True)
    ]
    systems = [
        _evaluate_run(path, own, pairs, search, device) if lines is None else _evaluate_translations(own, pairs, lines)
        for path, own, lines in candidates
    ]
    return compare_systems(name, pairs, systems)


def compare_systems(name: str, pairs: Sequence[Pair], systems: Sequence[System]) -> Comparison:
    """A comparison of what was already scored."""
    if len(systems) < 2:
        return Comparison(name, pairs, systems)
    translations = {system.name: system.translations for system in systems}
    references = [pair.target for pair in pairs]
    tests = {kind: paired_tests(translations, references, kind) for kind in ("bs", "ar")}
    return Comparison(name, pairs, systems, tests["bs"], tests["ar"])


def _languages(paths: Sequence[Path]) -> tuple[str, str]:
    """The languages of the first run, which some formats need to be read."""
    for path in paths:
        if path.is_dir():
            data = open_run(path).load_config().data
            return data.source, data.target
    return "", ""


def _system_names(paths: Sequence[Path]) -> list[str]:
    """Each system by the last part of its path, or by the whole where two would be alike."""
    for n, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:n]]:
            raise DataError(f"{path}: given twice; a system is not compared with itself")
    base_names = [path.resolve().name for path in paths]
    return [name if base_names.count(name) == 1 else str(path) for name, path in zip(base_names, paths, strict=True)]


def _read_translations(path: Path, pairs: Sequence[Pair], reference: str) -> list[str] | None:
    """What a file of translations holds, None for a run: known to fit before anybody translates."""
    if path.is_dir():
        open_run(path)
        return None
    if not path.exists():
        raise FormatError(f"{path}: no such run or file; compare takes run folders and files of translations")
    lines = list(read_lines(path))
    if len(lines) != len(pairs):
        raise FormatError(
            f"{path} has {len(lines)} lines, {reference} has {len(pairs)} pairs; a file of translations has one line "
            f"for each, an empty one where there is none"
        )
    return lines


def _evaluate_translations(name: str, pairs: Sequence[Pair], lines: Sequence[str]) -> System:
    return System(name, evaluate(lambda _: list(lines), pairs, metrics=SCORED_METRICS))


def _evaluate_run(path: Path, name: str, pairs: Sequence[Pair], search: BeamSearch | None, device: str) -> System:
    run = open_run(path)
    evaluation = evaluate_translator(load(path, device), pairs, search, SCORED_METRICS)
    return System(name, evaluation, run, summarize_training(run, evaluation))


def summarize_training(run: Run, evaluation: Evaluation) -> RunSummary | None:
    """What a run cost and whether it works, where its log says so; an imported run has none."""
    if not run.log.exists() or not any(record["kind"] == "step" for record in log.read(run.log)):
        return None
    unigram = None
    if run.tokens_manifest.exists():
        data = tokenize_corpora(run, run.load_config())
        unigram = unigram_loss(data.train.target_ids, data.dev.target_ids, data.tokenizers.target.vocab_size)
    return summarize_run(run, as_dict(evaluation), unigram)


def largest_differences(comparison: Comparison, system: System, max_count: int) -> list[int]:
    """The sentences whose chrF differs most from that of the first system, either way."""
    sentence_pairs = zip(comparison.baseline.evaluation.sentences, system.evaluation.sentences, strict=True)
    gaps = [abs(two.chrf - one.chrf) for one, two in sentence_pairs]
    order = sorted(range(len(gaps)), key=lambda n: -gaps[n])
    return [n for n in order[:max_count] if gaps[n] > 0]


def length_ratio(system: System) -> float:
    """Words written for each word of the references."""
    sentences = system.evaluation.sentences
    return sum(len(s.translation.split()) for s in sentences) / max(1, sum(len(s.reference.split()) for s in sentences))
