"""Summarizers, and files of summaries, compared on documents."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.config import Config
from regard.errors import DataError
from regard.formats import read_lines
from regard.formats.summaries import SummarizedDocument
from regard.jobs.tasks.comparison import ComparedSystem, TaskComparison, compare_with_first, name_set, require_length
from regard.jobs.tasks.registry import open_predictor
from regard.jobs.tasks.summarization.evaluation import SummaryPredictor, SummaryScoring
from regard.jobs.tasks.summarization.files import count_values
from regard.jobs.tasks.summarization.prepare import read_files
from regard.metrics.summaries import NAMES
from regard.progress import track
from regard.run import Run, open_run

DECISIVE = "rouge2"


def compare_summarizers(
    systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
) -> TaskComparison:
    """Runs, and files with a summary on each line, scored on documents and tested against the first system."""
    documents = list(track(read_files(files, config), "reading documents"))
    if not documents:
        raise DataError(f"{' '.join(files)}: has no documents to compare with")
    read = {name: list(read_lines(path)) for name, path in systems.items() if not path.is_dir()}
    for name, lines in read.items():
        require_length(name, len(lines), len(documents), "documents")
    summaries = {
        name: read[name] if name in read else _summarize(path, documents, device) for name, path in systems.items()
    }
    scoring = SummaryScoring.of(documents, config.data.source, config.data.target)
    texts = [document.text for document in documents]
    compared = [_score(name, systems[name], summaries[name], texts, scoring) for name in track(summaries, "scoring")]
    return TaskComparison(
        name_set(files),
        texts,
        [(" | ".join(document.references),) for document in documents],
        compared,
        DECISIVE,
        "documents",
        compare_with_first(compared),
        has_errors=False,
    )


def _summarize(folder: Path, documents: Sequence[SummarizedDocument], device: str) -> list[str]:
    """The summaries of a run of either kind."""
    predictor: SummaryPredictor = open_predictor(folder, open_run(folder).load_config().task, device)
    return predictor.summarize([document.sentences for document in documents])


def _score(
    name: str, path: Path, summaries: Sequence[str], texts: Sequence[str], scoring: SummaryScoring
) -> ComparedSystem:
    rows = scoring.measure(summaries)
    counted = {
        measure: count_values(measure, [100 * row[measure] for row in rows], texts, summaries) for measure in NAMES
    }
    answers = [(summary,) for summary in summaries]
    return ComparedSystem(name, answers, scoring.score(rows), counted, Run(path) if path.is_dir() else None)
