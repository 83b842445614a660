"""Labs: the list by theme, one that has run, many that have, and what was checked of a student's functions."""

from collections.abc import Iterable, Mapping, Sequence

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.labs.catalog import Theme
from regard.labs.header import LabHeader
from regard.labs.suite.records import LabRecord
from regard.labs.suite.session import LabRun
from regard.labs.suite.suite import SuiteResult
from regard.labs.verdict import Verdict

LIST_COLUMNS = (Column("", wraps=False), Column("lab"), Column("title", wraps=True, below=True))
SUITE_COLUMNS = (Column("verdict"), Column("lab"), Column("measured", wraps=True, below=True))
PART_COLUMNS = (Column("verdict"), Column("what", wraps=True), Column("measured"), Column("claimed"))


def format_lab_list(themes: Sequence[Theme], records: Mapping[str, LabRecord], width: int) -> list[str]:
    """The labs by theme, with the sign of the verdict of the last run."""
    lines: list[str] = []
    for theme in themes:
        if theme.labs:
            rows = [[_last_sign(lab, records), lab.name, lab.title] for lab in theme.labs]
            lines += [*wrap(f"{theme.title} ({theme.name})", width)]
            lines += [*format_table(LIST_COLUMNS, rows, width, "  ", headings=False), ""]
    signs = "  ".join(f"{verdict.sign} {verdict}" for verdict in reversed(Verdict))
    return [*lines, *wrap(f"Verdict of the last run: {signs}", width), *wrap("Run one: regard lab NAME", width)]


def format_lab_question(lab: LabHeader, width: int) -> list[str]:
    """What is claimed and what is asked, before the lab runs."""
    return [
        *wrap(f"{lab.title}.", width),
        *wrap(f"Claim: {lab.claim} ({lab.source})", width),
        "",
        *wrap(f"Predict: {lab.predict}", width),
    ]


def format_lab_run(run: LabRun, width: int) -> list[str]:
    """The picture, the verdict, how far off the prediction was, and what to change next."""
    finding = run.result.finding
    rows = [[f"{part.verdict.sign} {part.verdict}", part.name, part.measured, part.claimed] for part in finding.parts]
    comparison = [f"You {run.comparison}."] if run.comparison else []
    return [
        run.result.picture().text(width),
        "",
        *wrap(f"{finding.verdict.sign} {finding.headline}.", width),
        "",
        *format_table(PART_COLUMNS, rows, width),
        *wrap_all((f"Needed: {need.sentence}." for need in finding.needs), width),
        *wrap(f"Here: {run.result.conditions}.", width),
        "",
        *wrap_all(comparison, width),
        *wrap(f"Change next: {run.result.lab.header.change}", width),
    ]


def format_suite(suite: SuiteResult, width: int) -> list[str]:
    """A row for each lab, those against their claim first."""
    rows = [
        ["! failed", one.header.name, one.error]
        if one.measurement is None
        else [
            f"{one.measurement.verdict.sign} {one.measurement.verdict}",
            one.header.name,
            one.measurement.headline.partition(": ")[2],
        ]
        for one in suite.sorted_outcomes()
    ]
    return format_table(SUITE_COLUMNS, rows, width)


def format_grades(rows: Iterable[Mapping[str, object]], width: int) -> list[str]:
    """The grades of many files."""
    table = [[str(value) for value in row.values()] for row in rows]
    names = next((list(row) for row in rows), [])
    return format_table([Column(name, wraps=True) for name in names], table, width)


def _last_sign(lab: LabHeader, records: Mapping[str, LabRecord]) -> str:
    record = records.get(lab.name)
    if record is None or record.verdict not in list(Verdict):
        return " "
    return Verdict(record.verdict).sign
