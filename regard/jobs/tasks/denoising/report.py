"""The report of a denoiser, report.html: the verdict, scores beside opponents, passages that it rebuilt, and curves."""

from regard.jobs.tasks.denoising.evaluation import DenoisingEvaluation
from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.report import Paragraph, Section, Table, TableView
from regard.report.text import shorten
from regard.run import Run

MAX_TEXTS = 10
MAX_CHARACTERS = 300
NOTE = "An ellipsis stands for each mask. The restored text was written by greedy decoding."


def write_denoising_report(run: Run, evaluation: DenoisingEvaluation, set_name: str, epochs: float) -> None:
    """Write report.html, with the first passages that the decoder wrote itself."""
    sections = (Section("Restored text", [Paragraph(NOTE), TableView(tabulate_passages(evaluation))]),)
    report = TaskReport(ScoredSet(set_name, len(evaluation.passages)), ("restored", "accuracy", "loss"), sections)
    write_task_report(run, evaluation, report, epochs)


def tabulate_passages(evaluation: DenoisingEvaluation) -> Table:
    """What was read, what was written, and the original."""
    searched = [one for one in evaluation.passages if one.num_searched][:MAX_TEXTS]
    return Table.from_rows(
        {
            "with masks": shorten(one.noisy, MAX_CHARACTERS),
            "restored": shorten(one.restored, MAX_CHARACTERS),
            "original": shorten(one.text, MAX_CHARACTERS),
            "hidden tokens": one.num_hidden,
            "of them restored": one.num_restored,
        }
        for one in searched
    )
