"""The scores of a tagger as files: scores/<set>.json with those of every type, and a table of every sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.baselines.scoring import Answer, tag_scoring
from regard.data.tag_schemes import PLAIN, detect_scheme
from regard.jobs.tasks.example_rows import read_rows
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.jobs.tasks.tagging.evaluation import SentencePrediction, TaggingEvaluation, unify_tags
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run

COLUMNS = ("sentence", "tags", "prediction", "errors")


def write_tagging(run: Run, name: str, evaluation: TaggingEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set and a row for each sentence: its words, its tags, and the predicted ones in BIO."""
    types = {one.name: one.as_dict() for one in evaluation.types}
    rows = [*map(_list_cells, evaluation.sentences)]
    write_label_scores(run, name, evaluation, rows, COLUMNS, files, {"types": types})


@dataclass(frozen=True)
class StoredTags:
    """The sentences of a set with their tags and predictions in BIO, as `write_tagging` wrote them."""

    sentences: list[str]
    gold: list[Answer]
    predicted: list[Answer]

    def count(self, metric: str) -> CountedScore | None:
        """What each sentence counts for F1 or, where tags are plain, for the accuracy, which is F1 over words."""
        is_plain = detect_scheme(self.gold).name == PLAIN
        if metric != ("accuracy" if is_plain else "f1"):
            return None
        scoring = tag_scoring(self.gold, strict=False)
        counted = scoring.count(scoring.score(self.predicted), self.sentences, self.predicted, "sentences")["f1"]
        return replace(counted, name="accuracy") if is_plain else counted


def read_tagging(run: Run, name: str) -> StoredTags | None:
    """The stored predictions of a set; None where there are none."""
    if not run.example_scores(name).exists():
        return None
    rows = read_rows(run.example_scores(name), COLUMNS, num_numbers=1)
    gold, predicted = ([tuple(row[column].split()) for row in rows] for column in (1, 2))
    return StoredTags([row[0] for row in rows], unify_tags(gold, detect_scheme(gold)), predicted)


def _list_cells(prediction: SentencePrediction) -> list[str]:
    sentence = prediction.sentence
    return [*map(" ".join, (sentence.words, sentence.tags, prediction.tags)), str(prediction.num_errors)]
