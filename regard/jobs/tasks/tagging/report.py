"""What the report of a tagger adds: the scores of every type, and the sentences with most errors."""

from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.jobs.tasks.tagging.evaluation import TaggingEvaluation
from regard.report import Paragraph, Section, Table, TableView
from regard.run import Run

MAX_SENTENCES = 20


def write_report(run: Run, evaluation: TaggingEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    sections = [
        Section("Types", [TableView(tabulate_types(evaluation))]),
        Section("Sentences with most errors", [Paragraph(_ERRORS), TableView(tabulate_errors(evaluation))]),
    ]
    report = TaskReport(f"{len(evaluation.sentences):,} sentences of {set_name}", ("f1", "accuracy"), sections)
    write_task_report(run, evaluation, report, epochs)


_ERRORS = "A wrong span in place of a missing one is one error. Annotation errors are likely among them."


def tabulate_types(evaluation: TaggingEvaluation) -> Table:
    """Precision, recall, F1 and the numbers of spans of every type."""
    return Table.from_rows(
        {
            "type": one.type,
            "precision": one.precision,
            "recall": one.recall,
            "F1": one.f1,
            "gold": one.gold,
            "predicted": one.predicted,
        }
        for one in evaluation.types
    )


def tabulate_errors(evaluation: TaggingEvaluation) -> Table:
    """The sentences with most errors first."""
    wrong = sorted((one for one in evaluation.sentences if one.num_errors), key=lambda one: -one.num_errors)
    return Table.from_rows(
        {
            "sentence": " ".join(one.sentence.words),
            "missing": one.describe(one.missing),
            "wrong": one.describe(one.wrong),
            "errors": one.num_errors,
        }
        for one in wrong[:MAX_SENTENCES]
    )
