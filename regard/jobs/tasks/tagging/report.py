"""What the report of a tagger adds: the scores of every type, and the sentences with most errors."""

from regard.jobs.tasks.reporting.headline import ScoredSet
from regard.jobs.tasks.reporting.part_scores import describe_parts, describe_unknown, tabulate_parts
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.jobs.tasks.tagging.evaluation import TaggingEvaluation
from regard.report import PagePart, Paragraph, Section, Table, TableView
from regard.run import Run

MAX_SENTENCES = 20


def write_report(run: Run, evaluation: TaggingEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    title, noun = ("Types", "type") if "f1" in evaluation.scores else ("Tags", "tag")
    notes = filter(None, [describe_parts(evaluation.types, title.lower()), describe_unknown(evaluation.types)])
    errors = tabulate_errors(evaluation)
    shown: list[PagePart] = (
        [Paragraph(_ERRORS), TableView(errors)] if len(errors) else [Paragraph("No sentence has an error.")]
    )
    sections = [
        Section(title, [*map(Paragraph, notes), TableView(tabulate_parts(evaluation.types, noun, "gold"))]),
        Section("Sentences with most errors", shown),
    ]
    report = TaskReport(ScoredSet(set_name, len(evaluation.sentences)), ("f1", "accuracy"), sections)
    write_task_report(run, evaluation, report, epochs)


_ERRORS = "A wrong span in place of a missing one is one error. Annotation errors are likely among them."


def tabulate_errors(evaluation: TaggingEvaluation) -> Table:
    """The sentences with most errors first."""
    wrong = sorted((one for one in evaluation.sentences if one.num_errors), key=lambda one: -one.num_errors)
    return Table.from_rows(
        {
            "sentence": " ".join(one.sentence.words),
            "missing": one.describe(one.missing) or "none",
            "wrong": one.describe(one.wrong) or "none",
            "errors": one.num_errors,
        }
        for one in wrong[:MAX_SENTENCES]
    )
