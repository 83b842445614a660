"""regard look --positions"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import as_npz, write

if TYPE_CHECKING:
    from regard.inspection.positions import StackPositions
    from regard.jobs.look.inspected_run import InspectedRun
    from regard.report import Table

Files = tuple[Path | None, Path | None, Path | None, Path | None]
"""Where SVG, PNG, CSV and NPZ go."""


def show_places(subject: "InspectedRun", count: int, layer: int, files: Files) -> None:
    """Tell what the schemes of positions hold and do, and write what is wanted."""
    from regard.jobs.look.positions import (
        analyze_positions,
        draw_positions,
        flatten_position_arrays,
        tabulate_position_scores,
        tabulate_preferred_distances,
    )
    from regard.report import as_csv

    found = analyze_positions(subject, count)
    for line in _told(found):
        print(line)
    print("\nif all words were one and the same:")
    print("\n".join(_rows(tabulate_preferred_distances(found))))
    svg, png, csv, npz = files
    if svg is not None or png is not None:
        chart = draw_positions(subject, found, layer)
        if svg is not None:
            write(svg, chart.svg().encode())
        if png is not None:
            write(png, chart.png())
    if csv is not None:
        write(csv, as_csv(tabulate_position_scores(found)).encode())
    if npz is not None:
        write(npz, as_npz(flatten_position_arrays(found)))


def _told(found: "Sequence[StackPositions]") -> Iterator[str]:
    for own in found:
        yield f"{own.stack}: positions {own.scheme}"
        if not own.tables:
            yield "  nothing is held: words alone tell places apart" + (
                ", and what each may not see yet" if own.stack == "decoder" else ""
            )
        for sheet in own.tables:
            rows, columns = sheet.values.shape
            power = (sheet.singular_values**2).cumsum() / (sheet.singular_values**2).sum()
            most = int((power < 0.9).sum()) + 1
            yield (
                f"  {sheet.name}: {rows} {sheet.row_axis}s × {columns} ({sheet.column_axis}); their distance decides "
                f"{sheet.distance_share:.0%} of how alike two are; nine tenths lie in {most} of {len(power)} directions"
            )


def _rows(table: "Table") -> Iterator[str]:
    yield f"{'head':18} {'looks most':18} {'times even':>10} {'by distance alone':>18}"
    for row in table.rows():
        share = "–" if row["by distance"] is None else f"{row['by distance']:.0%}"
        yield f"{row['head']:18} {row['looks']:18} {row['times even']:10.2f} {share:>18}"
