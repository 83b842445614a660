"""regard look --positions"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.output import as_npz, write

if TYPE_CHECKING:
    from regard.inspection.positions import StackPositions
    from regard.jobs.look.inspected_run import InspectedRun
    from regard.report import Table

OutputPaths = tuple[Path | None, Path | None, Path | None, Path | None]
"""Where SVG, PNG, CSV and NPZ go."""


def show_positions(inspected_run: "InspectedRun", num_positions: int, layer: int, outputs: OutputPaths) -> None:
    """Tell what the schemes of positions hold and do, and write what is wanted."""
    from regard.jobs.look.positions import (
        analyze_positions,
        draw_positions,
        flatten_position_arrays,
        tabulate_position_scores,
        tabulate_preferred_distances,
    )
    from regard.report import to_csv

    stack_positions = analyze_positions(inspected_run, num_positions)
    for line in _position_lines(stack_positions):
        print(line)
    print("\nif all words were one and the same:")
    print("\n".join(_rows(tabulate_preferred_distances(stack_positions))))
    svg, png, csv, npz = outputs
    if svg is not None or png is not None:
        chart = draw_positions(inspected_run, stack_positions, layer)
        if svg is not None:
            write(svg, chart.to_svg().encode())
        if png is not None:
            write(png, chart.to_png())
    if csv is not None:
        write(csv, to_csv(tabulate_position_scores(stack_positions)).encode())
    if npz is not None:
        write(npz, as_npz(flatten_position_arrays(stack_positions)))


def _position_lines(stack_positions: "Sequence[StackPositions]") -> Iterator[str]:
    for positions in stack_positions:
        yield f"{positions.stack}: positions {positions.scheme}"
        if not positions.tables:
            yield "  nothing is held: words alone tell places apart" + (
                ", and what each may not see yet" if positions.stack == "decoder" else ""
            )
        for table in positions.tables:
            rows, columns = table.values.shape
            explained_variance = (table.singular_values**2).cumsum() / (table.singular_values**2).sum()
            num_directions = int((explained_variance < 0.9).sum()) + 1
            yield (
                f"  {table.name}: {rows} {table.row_axis}s × {columns} ({table.column_axis}); their distance decides "
                f"{table.distance_share:.0%} of how alike two are; nine tenths lie in {num_directions} of {len(explained_variance)} directions"
            )


def _rows(table: "Table") -> Iterator[str]:
    yield f"{'head':18} {'looks most':18} {'times even':>10} {'by distance alone':>18}"
    for row in table.rows():
        share = "–" if row["by distance"] is None else f"{row['by distance']:.0%}"
        yield f"{row['head']:18} {row['looks']:18} {row['times even']:10.2f} {share:>18}"
