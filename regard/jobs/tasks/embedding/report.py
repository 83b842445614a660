"""The report of an embedding model, report.html: the verdict, scores beside opponents, a chart, and what is wrong."""

import numpy as np

from regard.jobs.tasks.embedding.evaluation import EmbeddingEvaluation
from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.metrics.vectors.correlation import rank
from regard.report import Chart, Figure, Paragraph, Section, Table, TableView, Value, line_chart
from regard.run import Run

MAX_MISTAKES = 20
NUM_BINS = 10
DEPTHS = (1, 2, 3, 5, 10, 20, 30, 50, 100)


def write_report(run: Run, evaluation: EmbeddingEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    chart = draw_cosines(evaluation) if evaluation.has_similarities else draw_recall(evaluation)
    sections = [
        Section("Cosines" if evaluation.has_similarities else "Retrieval", [Figure(chart)]),
        Section("Worst mistakes", [Paragraph(_explain(evaluation)), TableView(tabulate_mistakes(evaluation))]),
    ]
    scored_set = ScoredSet(set_name, len(evaluation.pairs))
    measures = list(evaluation.scores)[:2]
    write_task_report(run, evaluation, TaskReport(scored_set, measures, sections, [chart]), epochs)


def _explain(evaluation: EmbeddingEvaluation) -> str:
    if evaluation.has_similarities:
        return "Pairs whose rank by cosine is farthest from their rank by similarity."
    return "Texts whose positive is farthest from the first place, and the text that is nearest to them instead."


def tabulate_mistakes(evaluation: EmbeddingEvaluation) -> Table:
    """The pairs that are farthest from their place."""
    pairs = evaluation.pairs
    if evaluation.has_similarities:
        cosines, gold = (
            rank(np.array([getattr(one, name) for one in owners]))
            for name, owners in (("value", pairs), ("similarity", [pair.example for pair in pairs]))
        )
        order = np.argsort(-np.abs(cosines - gold), kind="stable")[:MAX_MISTAKES]
        return Table.from_rows(
            {
                "text": pairs[i].example.text,
                "other text": pairs[i].example.positive,
                "similarity": pairs[i].example.similarity,
                "cosine": pairs[i].value,
            }
            for i in order
        )
    worst = sorted((one for one in pairs if one.value > 1), key=lambda one: -one.value)[:MAX_MISTAKES]
    return Table.from_rows(
        {"text": one.example.text, "positive": one.example.positive, "nearest": one.nearest, "rank": int(one.value)}
        for one in worst
    )


def draw_cosines(evaluation: EmbeddingEvaluation) -> Chart:
    """The mean cosine of pairs of about the same similarity, with the middle 80 % of them."""
    gold = np.array([one.example.similarity for one in evaluation.pairs], np.float64)
    cosines = np.array([one.value for one in evaluation.pairs])
    edges = np.linspace(gold.min(), gold.max(), NUM_BINS + 1)
    bins = np.clip(np.searchsorted(edges, gold, side="right") - 1, 0, NUM_BINS - 1)
    rows: list[dict[str, Value]] = []
    for number in np.unique(bins).tolist():
        members = cosines[bins == number]
        values = {
            "mean": members.mean(),
            "10th percentile": np.quantile(members, 0.1),
            "90th percentile": np.quantile(members, 0.9),
        }
        middle = float((edges[number] + edges[number + 1]) / 2)
        rows += [{"similarity": middle, "cosine": float(value), "of pairs": name} for name, value in values.items()]
    return (
        line_chart(
            Table.from_rows(rows),
            "similarity",
            "cosine",
            "of pairs",
            title="Cosine by similarity",
            x_title="similarity",
            y_title="cosine",
        )
        .with_note(f"of the pairs of a similarity, in {NUM_BINS} bins")
        .with_name("cosines")
    )


def draw_recall(evaluation: EmbeddingEvaluation) -> Chart:
    """How many positives are among the first texts, of the model and of its opponents."""
    systems = {"this model": [one.value for one in evaluation.pairs], **(evaluation.opponent_values or {})}
    rows: list[dict[str, Value]] = [
        {"candidates": depth, "found": 100 * float(np.mean(np.asarray(ranks) <= depth)), "system": name}
        for name, ranks in systems.items()
        for depth in DEPTHS
    ]
    return line_chart(
        Table.from_rows(rows),
        "candidates",
        "found",
        "system",
        title="Positives among the nearest candidates",
        x_title="candidates",
        y_title="positives found, %",
    ).with_name("recall")
