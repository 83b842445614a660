"""The scores of an embedding model as files."""

from collections.abc import Sequence

from regard.jobs.tasks.embedding.evaluation import EmbeddingEvaluation
from regard.jobs.tasks.reporting.score_files import write_label_scores
from regard.run import Run


def write_embedding_scores(run: Run, name: str, evaluation: EmbeddingEvaluation, files: Sequence[str] = ()) -> None:
    """Write the scores of a set, with a row for each pair."""
    if evaluation.has_similarities:
        columns = ["text", "text_pair", "similarity", "cosine"]
        rows = [
            [one.example.text, str(one.example.positive), f"{one.example.similarity:g}", f"{one.value:.6f}"]
            for one in evaluation.pairs
        ]
    else:
        columns = ["text", "positive", "rank", "nearest"]
        rows = [
            [one.example.text, str(one.example.positive), f"{one.value:g}", one.nearest] for one in evaluation.pairs
        ]
    write_label_scores(run, name, evaluation, rows, columns, files)
