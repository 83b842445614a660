"""Embedding models compared on one test set: correlation with its similarities, or ranks of its positives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.config import Config
from regard.errors import DataError, FormatError
from regard.formats import read_lines
from regard.formats.related import RelatedTexts
from regard.formats.related.reader import parse_similarity
from regard.jobs.tasks.comparison import ComparedSystem, TaskComparison, name_set
from regard.jobs.tasks.embedding.evaluation import PairScoring, SimilarityScoring, choose_scoring
from regard.jobs.tasks.embedding.prepare import RETRIEVAL_METRIC, SIMILARITY_METRIC, read_files
from regard.jobs.tasks.registry import open_predictor
from regard.metrics.labels import LabelTest
from regard.progress import track
from regard.run import Run


def compare_embeddings(
    systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
) -> TaskComparison:
    """Runs, and files of similarities with one for each pair, scored on pairs and tested against the first system."""
    examples = list(track(read_files(files, config), "reading pairs"))
    if not examples:
        raise DataError(f"{' '.join(files)}: has no pairs to compare with")
    scoring = choose_scoring(examples)
    has_similarities = isinstance(scoring, SimilarityScoring)
    read = {
        name: _read_similarities(path, has_similarities, len(examples))
        for name, path in systems.items()
        if not path.is_dir()
    }
    values = {name: read[name] if name in read else _measure(path, scoring, device) for name, path in systems.items()}
    baseline, *others = values
    tests = scoring.compare(np.array(values[baseline]), {name: values[name] for name in others})
    measures = dict.fromkeys(measure for results in tests.values() for measure in results)
    return TaskComparison(
        name_set(files),
        [f"{example.text} / {example.positive}" for example in examples],
        [(_describe_gold(example),) for example in examples],
        [_score(name, systems[name], row, scoring) for name, row in track(values.items(), "scoring")],
        SIMILARITY_METRIC if has_similarities else RETRIEVAL_METRIC,
        "pairs",
        {measure: {name: _negate(tests[name][measure]) for name in others} for measure in measures},
        has_errors=not has_similarities,
    )


def _score(name: str, path: Path, values: Sequence[float], scoring: PairScoring) -> ComparedSystem:
    answers = [(f"{value:.4g}",) for value in values]
    return ComparedSystem(name, answers, scoring.score(values), {}, Run(path) if path.is_dir() else None)


def _measure(folder: Path, scoring: PairScoring, device: str) -> list[float]:
    """The cosines, or the ranks, of a run."""
    return [pair.value for pair in scoring.measure(open_predictor(folder, "embed", device))]


def _read_similarities(path: Path, has_similarities: bool, num_pairs: int) -> list[float]:
    if not has_similarities:
        raise DataError(f"{path}: is a file; the pairs have no similarities that its own could be compared with")
    lines = [line for line in read_lines(path) if line.strip()]
    if len(lines) != num_pairs:
        raise FormatError(f"{path}: has {len(lines):,} similarities for {num_pairs:,} pairs; expected one for each")
    return [parse_similarity(line.strip(), f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def _describe_gold(example: RelatedTexts) -> str:
    return "1" if example.similarity is None else f"{example.similarity:g}"


def _negate(test: LabelTest) -> LabelTest:
    """The difference from the baseline, not that of the baseline."""
    return replace(test, difference=-test.difference)
