"""The heads of a model: how many have a role, the table, and how it was measured."""

from collections import Counter

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.inspection.heads.alignment import HeadAlignment
from regard.inspection.heads.patterns import RELATIONS
from regard.jobs.look.heads import HeadTable
from regard.report import Table, Value

COLUMNS = (
    Column("head"),
    Column("role"),
    Column("lift", right=True),
    Column("95% CI", drops=1),
    Column("random lift", right=True, drops=4),
    Column("runner-up", drops=3),
    Column("entropy", right=True, drops=2),
    Column("importance", right=True),
    Column("cost", right=True),
    Column("keep only", right=True),
    Column("AER", right=True),
)
SIGNED_COLUMNS = ("cost", "keep only")
OPTIONAL_COLUMNS = ("importance", "cost", "keep only", "AER")  # left out where no head has a number
NO_VALUE = "–"
TRAINED = "trained to align (guided alignment)"
TRAINED_MARK = "*"
PENALTY = "alignment penalty"
SHOWN_ROLES = 4


def format_heads(table: HeadTable, width: int, verbose: bool = False) -> list[str]:
    """The roles in a sentence, the table of heads, and what its columns mean."""
    lines = [*wrap(describe_roles(table), width), "", *format_head_table(table.as_table(), width, verbose), ""]
    return [*lines, *wrap_all(_describe_measures(table), width, "", "  ")]


def format_head_table(table: Table, width: int, verbose: bool = False) -> list[str]:
    """The table of heads; a head without a reliable role shows the nearest one in parentheses."""
    rows = [_make_row(row) for row in table.rows()]
    empty = [
        i
        for i, column in enumerate(COLUMNS)
        if column.heading in OPTIONAL_COLUMNS and all(row[i] == NO_VALUE for row in rows)
    ]
    columns = [
        Column(column.heading, column.right, below=bool(column.drops)) if verbose else column
        for i, column in enumerate(COLUMNS)
        if i not in empty
    ]
    return format_table(columns, [[cell for i, cell in enumerate(row) if i not in empty] for row in rows], width)


def describe_roles(table: HeadTable) -> str:
    """How many heads have a role, which roles these are, and the best alignment head."""
    roles = Counter(facts.role.name for facts in table.facts if facts.role)
    names = [f"{count} {name}" for name, count in roles.most_common(SHOWN_ROLES)]
    others = roles.total() - sum(count for _, count in roles.most_common(SHOWN_ROLES))
    listing = ", ".join([*names, f"{others} others"] if others else names)
    text = f"{roles.total()} of {len(table.facts)} heads have a reliable role{f': {listing}' if listing else ''}."
    if table.aligners is None:
        return text
    (best, alignment), other = table.aligners.best, table.aligners.best_without(table.trained_aligners)
    quality = _format_rank(table, alignment)
    if best not in table.trained_aligners:
        return f"{text} Best alignment head: {best} ({quality})."
    untrained = f"; the best that was not: {other[0]} ({_format_rank(table, other[1])})" if other else ""
    return f"{text} Best alignment head: {best}, {TRAINED} ({quality}){untrained}."


def _format_rank(table: HeadTable, alignment: HeadAlignment) -> str:
    """The number that alignment heads are ranked by; less is better."""
    assert table.aligners is not None
    gold = table.aligners.judged_by_gold
    return f"AER {alignment.counts.aer:.2f}" if gold else f"{PENALTY} {alignment.penalty:.2f}, without gold"


def describe_grammar(table: HeadTable) -> list[str]:
    """The heads that follow grammatical links, where such links were measured."""
    measured_roles = {role.name for facts in table.facts for role in facts.roles}
    heads = [facts for facts in table.facts if facts.role and facts.role.name in RELATIONS]
    if measured_roles & set(RELATIONS) and not heads:
        return ["grammar: no head has an agreement role that a fixed distance could not explain"]
    return [f"grammar: {facts.head} attends from {facts.role.name}" for facts in heads if facts.role]


def _describe_measures(table: HeadTable) -> list[str]:
    lines = [
        f"measured on {table.describe_sentences()}; lift: 1 is perfect, 0 is chance; role in parentheses: not "
        f"reliable, only the nearest; importance: gradient of the head's gate; cost: increase of the loss without the "
        f"head, in nats per token"
    ]
    if table.trained_aligners:
        names = ", ".join(map(str, table.trained_aligners))
        lines.append(f"{TRAINED_MARK} {TRAINED}: {names}; that it aligns is no finding")
    if table.keep_only_costs:
        lines.append("keep only: increase of the loss without all other heads of its attention, in nats per token")
    return [*lines, *describe_grammar(table), *_describe_aligner(table)]


def _describe_aligner(table: HeadTable) -> list[str]:
    if table.aligners is None:
        return []
    (head, best), mean = table.aligners.best, table.aligners.average
    trained = f", {TRAINED}" if head in table.trained_aligners else ""
    other = table.aligners.best_without(table.trained_aligners) if trained else None
    if not table.aligners.judged_by_gold:
        return [f"no gold alignments: alignment heads are ranked by their {PENALTY}, which is 0 if one-to-one"]
    untrained = f"; the best that was not: {other[0]} ({_format_quality(other[1])})" if other else ""
    averaged = f"all heads averaged: AER {mean.counts.aer:.3f}"
    return [f"best alignment head: {head}{trained} ({_format_quality(best)}){untrained}; {averaged}"]


def _format_quality(alignment: HeadAlignment) -> str:
    counts = alignment.counts
    recall = f", recall {counts.recall:.2f}" if counts.sure_links else ""
    return f"AER {counts.aer:.3f} against gold, precision {counts.precision:.2f}{recall}"


def _make_row(row: dict[str, Value]) -> list[str]:
    interval = f"{_format_number(row['low'])} to {_format_number(row['high'])}" if row["low"] is not None else None
    cells: dict[str, Value] = {
        **row,
        "role": _mark_trained(row, row["role"] or (f"({row['best']})" if row["best"] else None)),
        "95% CI": interval,
    }
    return [
        _format_number(cells[column.heading], "+.3f" if column.heading in SIGNED_COLUMNS else ".2f")
        for column in COLUMNS
    ]


def _mark_trained(row: dict[str, Value], role: Value) -> Value:
    return f"{role or NO_VALUE}{TRAINED_MARK}" if row["trained to align"] == "yes" else role


def _format_number(value: Value, form: str = ".2f") -> str:
    if value is None:
        return NO_VALUE
    return f"{value:{form}}" if isinstance(value, float) else str(value)
