"""What the doctor has found: whether the corpus can be trained on, a table for each split, and what to do next."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from regard.data.doctor import Action, DataFinding, Diagnosis, FindingExample, SplitSummary
from regard.data.doctor.diagnosis import SINGULAR_UNITS
from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.display.numbers import pluralize

EXAMPLES_IN_ROW = 3
LOCATION = re.compile(r"(?P<file>.*):(?P<line>\d+)")
ACTIONS = {Action.REFUSED: "refused", Action.DROPPED: "dropped", Action.NOTED: "kept"}


def _columns(unit: str) -> tuple[Column, ...]:
    return (
        Column("kind"),
        Column("finding", wraps=True),
        Column(unit, right=True),
        Column("share", right=True),
        Column("action"),
        Column("lines", wraps=True, below=True),
    )


def format_diagnosis(diagnosis: Diagnosis, width: int, verbose: bool = False) -> list[str]:
    """The diagnosis: a verdict, a table for each split, and what to do next; `verbose` explains every finding."""
    statements = (describe_verdict(diagnosis), diagnosis.describe_unknown_codes(), diagnosis.describe_overlap())
    lines = wrap(" ".join(filter(None, statements)), width)
    names = _shorten_files(diagnosis.findings)
    for summary in diagnosis.splits:
        findings = [finding for finding in diagnosis.findings if finding.split == summary.split]
        lines += ["", *wrap(_describe_split(diagnosis, summary, bool(findings)), width)]
        if verbose:
            lines += [line for finding in findings for line in _explain(finding, names, width)]
        elif findings:
            lines += format_table(
                _columns(diagnosis.unit),
                [_make_row(finding, names, diagnosis.unit) for finding in findings],
                width,
                "  ",
            )
    return [*lines, *_describe_next(diagnosis, width, verbose)]


def format_dropped(diagnosis: Diagnosis, width: int, indent: str = "") -> list[str]:
    """What was dropped, a line for each kind; empty if nothing was."""
    names = _shorten_files(diagnosis.findings)
    findings = [finding for finding in diagnosis.findings if finding.action is Action.DROPPED]
    texts = [
        f"dropped {finding.amount}{'' if finding.split == 'train' else f' of {finding.split}'}: "
        f"{finding.kind.summary} ({_format_lines(finding, names)})"
        for finding in findings
    ]
    return wrap_all(texts, width, indent, indent + "  ")


def describe_verdict(diagnosis: Diagnosis) -> str:
    """Whether the corpus can be trained on, in one sentence."""
    count, remaining, unit = diagnosis.pairs_read, diagnosis.pairs_kept, diagnosis.unit
    if diagnosis.refused_findings:
        reasons = " and ".join(
            dict.fromkeys(f"{finding.split} has {finding.kind.summary}" for finding in diagnosis.refused_findings)
        )
        return f"This corpus cannot be trained on: {reasons}."
    if not remaining:
        return f"This corpus cannot be trained on: none of its {count:,} {unit} remain."
    item = SINGULAR_UNITS[unit]
    remain = f"{remaining:,} of {pluralize(count, item)} remain"
    if remaining == count:
        remain = f"all {count:,} {unit} remain" if count > 1 else f"its only {item} remains"
    mislabeled = [finding.split for finding in diagnosis.findings if finding.kind.name == "mislabeled"]
    doubt = f" Check the languages of {' and '.join(mislabeled)} first." if mislabeled else ""
    return f"This corpus can be trained on: {remain}.{doubt}"


def _describe_split(diagnosis: Diagnosis, summary: SplitSummary, has_findings: bool) -> str:
    return diagnosis.describe_split(summary) + ("" if has_findings else "; nothing to report")


def _make_row(finding: DataFinding, names: dict[str, str], unit: str) -> list[str]:
    return [
        finding.kind.name,
        finding.kind.summary,
        f"{finding.count:,}" if finding.kind.unit == unit else finding.amount,
        format_share(finding.fraction),
        ACTIONS[finding.action],
        _format_lines(finding, names),
    ]


def format_share(fraction: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{fraction:.1%}" if fraction >= 0.001 or not fraction else "< 0.1%"


def _format_lines(finding: DataFinding, names: dict[str, str]) -> str:
    """The first locations: each file once, with its line numbers."""
    lines_by_file: dict[str, list[str]] = {}
    for example in finding.examples[:EXAMPLES_IN_ROW]:
        file, line = _split_location(example)
        lines_by_file.setdefault(names[file], []).append(line)
    places = [f"{file}:{', '.join(lines)}" if lines[0] else file for file, lines in lines_by_file.items()]
    return ", ".join(places) + ", …" * (finding.count > EXAMPLES_IN_ROW and bool(places))


def _split_location(example: FindingExample) -> tuple[str, str]:
    match = LOCATION.fullmatch(example.note)
    return (match["file"], match["line"]) if match else (example.note, "")


def _shorten_files(findings: Sequence[DataFinding]) -> dict[str, str]:
    """The shortest end of each path that no other file has."""
    files = {_split_location(example)[0] for finding in findings for example in finding.examples}
    return {file: next(_endings(file, files - {file}), file) for file in files}


def _endings(file: str, others: set[str]) -> Iterator[str]:
    parts = PurePath(file).parts
    for count in range(1, len(parts) + 1):
        ending = parts[-count:]
        if not any(PurePath(other).parts[-count:] == ending for other in others):
            yield str(PurePath(*ending))


def _explain(finding: DataFinding, names: dict[str, str], width: int) -> list[str]:
    """A finding with its explanation, its remedy, how to keep or drop it, and examples."""
    kind = finding.kind
    lines = [
        "",
        *wrap(f"{kind.name}: {finding.amount}, {format_share(finding.fraction)}: {kind.summary}", width, "  "),
    ]
    lines += wrap_all([kind.explanation, finding.format_advice()], width, "    ")
    for example in finding.examples:
        file, line = _split_location(example)
        place = f"{names[file]}:{line}" if line else names[file]
        texts = " | ".join(" ".join(text.split()) or "(empty)" for text in (example.source, example.target))
        text = f"{place}  {texts}" if example.source or example.target else place
        lines += wrap(f"{text} ({example.detail})" if example.detail else text, width, "    ", "      ")
    return lines


def _describe_next(diagnosis: Diagnosis, width: int, verbose: bool) -> list[str]:
    if not diagnosis.findings:
        return []
    if diagnosis.refused_findings:
        text = " ".join(finding.format_advice() for finding in diagnosis.refused_findings)
    else:
        trained = "`regard train` drops the same pairs by itself; " if diagnosis.unit == "pairs" else ""
        text = (
            f"{trained}--fix FOLDER writes a corpus without {'them' if trained else 'what is dropped'}. "
            "--keep KIND keeps what is dropped, --drop KIND drops what is kept."
        )
    more = "" if verbose else " Add --verbose for explanations, remedies and examples."
    return ["", *wrap(text + more, width)]
