"""What the report of a tagger adds: the scores of every type, and the sentences with most errors."""

from collections.abc import Mapping, Sequence

from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.jobs.tasks.reporting.task_report import TaskReport, write_task_report
from regard.jobs.tasks.tagging.evaluation import TaggingEvaluation, TypeScores
from regard.report import Paragraph, Section, Table, TableView, Value
from regard.run import Run

MAX_SENTENCES = 20


def write_report(run: Run, evaluation: TaggingEvaluation, set_name: str, epochs: float) -> None:
    """Draw every chart into charts/, and all of them into one offline page."""
    sections = [
        Section("Types", [TableView(tabulate_types(evaluation.types))]),
        Section("Sentences with most errors", [Paragraph(_ERRORS), TableView(tabulate_errors(evaluation))]),
    ]
    report = TaskReport(f"{len(evaluation.sentences):,} sentences of {set_name}", ("f1", "accuracy"), sections)
    write_task_report(run, evaluation, report, epochs)


_ERRORS = "A wrong span in place of a missing one is one error. Annotation errors are likely among them."


def tabulate_types(types: Sequence[TypeScores]) -> Table:
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
        for one in types
    )


def show_type_scores(scores: Mapping[str, Sequence[TypeScores]], set_name: str) -> ExampleSection:
    """F1 of every type of spans by each of several taggers."""
    types = sorted({one.type for rows in scores.values() for one in rows})
    columns: dict[str, list[Value]] = {"type": list(types)}
    for run, rows in scores.items():
        by_type = {one.type: round(one.f1, 1) for one in rows}
        columns[run] = [by_type.get(name) for name in types]
    return ExampleSection("Types", table=Table(columns), note=f"F1 of each type on {set_name}, best trials first.")


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
