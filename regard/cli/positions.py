"""regard look --positions"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import as_npz, write

if TYPE_CHECKING:
    from regard.inspection.positions import Places
    from regard.jobs.look.inspected_run import Subject
    from regard.report import Table

Files = tuple[Path | None, Path | None, Path | None, Path | None]
"""Where SVG, PNG, CSV and NPZ go."""


def show_places(subject: "Subject", count: int, layer: int, files: Files) -> None:
    """Tell what the schemes of positions hold and do, and write what is wanted."""
    from regard.jobs.look.positions import favourites, place_arrays, place_cells, place_figure, positions_of
    from regard.report import as_csv

    found = positions_of(subject, count)
    for line in _told(found):
        print(line)
    print("\nif all words were one and the same:")
    print("\n".join(_rows(favourites(found))))
    svg, png, csv, npz = files
    if svg is not None or png is not None:
        chart = place_figure(subject, found, layer)
        if svg is not None:
            write(svg, chart.svg().encode())
        if png is not None:
            write(png, chart.png())
    if csv is not None:
        write(csv, as_csv(place_cells(found)).encode())
    if npz is not None:
        write(npz, as_npz(place_arrays(found)))


def _told(found: "Sequence[Places]") -> Iterator[str]:
    for own in found:
        yield f"{own.stack}: positions {own.scheme}"
        if not own.sheets:
            yield "  nothing is held: words alone tell places apart" + (
                ", and what each may not see yet" if own.stack == "decoder" else ""
            )
        for sheet in own.sheets:
            rows, columns = sheet.values.shape
            power = (sheet.singular**2).cumsum() / (sheet.singular**2).sum()
            most = int((power < 0.9).sum()) + 1
            yield (
                f"  {sheet.name}: {rows} {sheet.rows}s × {columns} ({sheet.columns}); their distance decides "
                f"{sheet.by_distance:.0%} of how alike two are; nine tenths lie in {most} of {len(power)} directions"
            )


def _rows(table: "Table") -> Iterator[str]:
    yield f"{'head':18} {'looks most':18} {'times even':>10} {'by distance alone':>18}"
    for row in table.rows():
        share = "–" if row["by distance"] is None else f"{row['by distance']:.0%}"
        yield f"{row['head']:18} {row['looks']:18} {row['times even']:10.2f} {share:>18}"
