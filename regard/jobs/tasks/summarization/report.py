"""The report of a summarizer, report.html: the verdict, scores beside opponents and the best extract, and summaries."""

from collections.abc import Mapping, Sequence

from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.jobs.tasks.summarization.evaluation import ScoredSummary, SummaryEvaluation
from regard.report import Chart, Figure, Paragraph, Section, Table, TableView, Value, stacked_histograms
from regard.report.text import shorten
from regard.run import Run

MAX_MISTAKES, MAX_SAMPLES = 10, 10
MAX_CHARS = 300
"""Of a document that is shown."""


def write_report(run: Run, evaluation: SummaryEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    chart = draw_scores({"this model": [one.values["rouge2"] for one in evaluation.summaries]}, set_name)
    sections = [
        Section("Upper bound", [Paragraph(describe_oracle(evaluation))]),
        Section(
            "Summaries", [Figure(chart), Paragraph(_SAMPLES), TableView(_tabulate(evaluation.summaries[:MAX_SAMPLES]))]
        ),
        Section("Worst summaries", [Paragraph(_MISTAKES), TableView(tabulate_mistakes(evaluation))]),
    ]
    scored_set = ScoredSet(set_name, len(evaluation.summaries))
    measures = ("rouge1", "rouge2", "rougeL")
    write_task_report(run, evaluation, TaskReport(scored_set, measures, sections, [chart]), epochs)


_SAMPLES = f"The first {MAX_SAMPLES} documents, not cherry-picked. Several references of one are divided by bars."
_MISTAKES = "Summaries with the lowest ROUGE-1: they share the fewest words with any reference, and may still be right."


def describe_oracle(evaluation: SummaryEvaluation) -> str:
    """What the best extracts reach, in one sentence."""
    scores = ", ".join(f"{score.name} {score.value:.1f}" for score in evaluation.oracle.values())
    return f"The best extracts that are found with the help of the references: {scores}. No extract is much better."


def tabulate_mistakes(evaluation: SummaryEvaluation) -> Table:
    """The summaries with the lowest ROUGE-1."""
    worst = sorted(evaluation.summaries, key=lambda one: (one.values["rouge1"], one.values["rouge2"]))
    return _tabulate(worst[:MAX_MISTAKES])


def _tabulate(summaries: Sequence[ScoredSummary]) -> Table:
    return Table.from_rows(
        {
            "document": shorten(one.document.text, MAX_CHARS),
            "reference": one.reference,
            "summary": one.summary,
            "ROUGE-1": 100 * one.values["rouge1"],
            "ROUGE-2": 100 * one.values["rouge2"],
        }
        for one in summaries
    )


def draw_scores(values: Mapping[str, Sequence[float]], set_name: str) -> Chart:
    """How ROUGE-2 is distributed over documents, for each system."""
    rows: list[dict[str, Value]] = [
        {"rouge2": 100 * value, "system": name} for name, many in values.items() for value in many
    ]
    return stacked_histograms(
        Table.from_rows(rows),
        "rouge2",
        "system",
        title=f"ROUGE-2 of the documents of {set_name}",
        x_title="ROUGE-2 of the document",
        units="documents",
    ).with_name("rouge2")


def show_scores(values: Mapping[str, Sequence[float]], set_name: str) -> ExampleSection:
    """ROUGE-2 of the documents, for several runs."""
    note = f"ROUGE-2 of single documents of {set_name} serves inspection."
    return ExampleSection("Documents", [draw_scores(values, set_name)], note=note)
