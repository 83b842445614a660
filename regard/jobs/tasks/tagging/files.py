"""The scores of a tagger as files: scores/<set>.json with those of every type, and a table of every sentence."""

from collections.abc import Sequence

from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.jobs.tasks.tagging.evaluation import SentencePrediction, TaggingEvaluation
from regard.run import Run

COLUMNS = ("sentence", "tags", "prediction", "errors")


def write_tagging(run: Run, name: str, evaluation: TaggingEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set and a row for each sentence: its words, its tags, and the predicted ones in BIO."""
    types = {
        one.type: {key: value for key, value in one._asdict().items() if key != "type"} for one in evaluation.types
    }
    rows = [*map(_list_cells, evaluation.sentences)]
    write_label_scores(run, name, evaluation, rows, COLUMNS, files, {"types": types})


def _list_cells(prediction: SentencePrediction) -> list[str]:
    sentence = prediction.sentence
    return [*map(" ".join, (sentence.words, sentence.tags, prediction.tags)), str(prediction.num_errors)]
