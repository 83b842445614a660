"""Embedding models compared on one test set: correlation with its similarities, or ranks of its positives."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.errors import DataError, FormatError
from regard.formats import read_lines
from regard.formats.related import RelatedColumns, RelatedTexts, read_related_texts
from regard.formats.related.reader import parse_similarity
from regard.jobs.label_comparison import LabelComparison, LabelSystem
from regard.jobs.tasks.embedding.evaluation import PairScoring, SimilarityScoring, choose_scoring
from regard.jobs.tasks.open_predictor import open_predictor
from regard.metrics.labels import LabelTest
from regard.progress import track


def compare_embeddings(systems: Mapping[str, Path], files: Sequence[str], columns: RelatedColumns) -> LabelComparison:
    """Runs, and files of similarities with one for each pair, scored on pairs and tested against the first system."""
    examples = list(track(read_related_texts(files, columns), "reading pairs"))
    scoring = choose_scoring(examples)
    values = {name: _measure(path, scoring, len(examples)) for name, path in systems.items()}
    baseline, *others = values
    tests = scoring.compare(np.array(values[baseline]), {name: values[name] for name in others})
    measures = dict.fromkeys(measure for results in tests.values() for measure in results)
    return LabelComparison(
        Path(files[0]).name.partition(".")[0],
        [f"{example.text} / {example.positive}" for example in examples],
        [(_describe_gold(example),) for example in examples],
        [LabelSystem(name, [(f"{one:.4g}",) for one in row], scoring.score(row)) for name, row in values.items()],
        {measure: {name: _negate(tests[name][measure]) for name in others} for measure in measures},
        "pairs",
    )


def _measure(path: Path, scoring: PairScoring, num_pairs: int) -> list[float]:
    """The cosines, or the ranks, of a run; the cosines of a file."""
    if path.is_dir():
        return [pair.value for pair in scoring.measure(open_predictor(path, "embed", "auto"))]
    if not isinstance(scoring, SimilarityScoring):
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
