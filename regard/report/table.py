"""Table: the input of charts and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from regard.errors import RegardError

Value = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Named columns of plain values, all of one length."""

    columns: Mapping[str, Sequence[Value]]

    def __post_init__(self) -> None:
        # Copied into tuples: a validated table must not change if the caller goes on appending to its lists.
        columns = {name: tuple(values) for name, values in self.columns.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            lengths_text = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
            raise RegardError(f"a table's columns must be equally long: {lengths_text}")
        for name, values in columns.items():
            for row, value in enumerate(values):
                if value is not None and not isinstance(value, str | int | float):
                    raise RegardError(
                        f"table column {name!r}, row {row}: {type(value).__name__} is not a plain value; "
                        f"expected str, int, float or None"
                    )
        object.__setattr__(self, "columns", columns)

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Value]]) -> Table:
        """A table of rows that all have the same names; the first row gives the order of the columns."""
        columns: dict[str, list[Value]] = {}
        for number, row in enumerate(rows):
            if number == 0:
                columns = {name: [] for name in row}
            if row.keys() != columns.keys():
                raise RegardError(f"table row {number} has columns {sorted(row)}, but row 0 has {sorted(columns)}")
            for name, values in columns.items():
                values.append(row[name])
        return cls(columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Sequence[Value]:
        if name not in self.columns:
            matches = get_close_matches(name, self.columns, n=1)
            hint = f"did you mean {matches[0]!r}?" if matches else f"it has {sorted(self.columns)}"
            raise RegardError(f"the table has no column {name!r}; {hint}")
        return self.columns[name]

    def __str__(self) -> str:
        """The table as aligned text."""
        from regard.report.text import display_width, format_column  # which formats values, and so imports this module

        texts = [[name, *format_column(values)] for name, values in self.columns.items()]
        widths = [max(map(display_width, column)) for column in texts]
        return "\n".join(
            "  ".join(
                cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
            for row in zip(*texts, strict=True)
        )

    def select(self, *names: str) -> Table:
        """The table with these columns alone."""
        return Table({name: self[name] for name in names})

    def _repr_html_(self) -> str:
        from regard.report.page import render_fragment  # which draws tables, and so imports this module
        from regard.report.table_view import TableView

        return render_fragment([TableView(self)])

    def rows(self) -> Iterator[dict[str, Value]]:
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def numbers(self, name: str) -> list[float | None]:
        """A column of numbers; missing and non-finite values (a diverged loss) become None."""
        return [to_number(value, f"table column {name!r}, row {row}") for row, value in enumerate(self[name])]


def to_number(value: Value, location: str) -> float | None:
    """The value as a JSON number: an int stays an int, NaN and infinity become None, a string is an error."""
    if value is None:
        return None
    if isinstance(value, str):
        raise RegardError(f"{location}: expected a number, got {value!r}")
    if isinstance(value, int):
        return int(value)
    return float(value) if -float("inf") < value < float("inf") else None
