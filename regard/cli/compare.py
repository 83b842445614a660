"""regard compare"""

import json
from pathlib import Path
from typing import Any

import typer

from regard.cli.options import (
    ALPHA,
    BEAM,
    DEVICE,
    FILES,
    LABEL,
    OUTPUT,
    PAIR,
    TEXT,
    TEXT_PAIR,
    argument,
    flag,
    option,
)


def compare(
    systems: list[Path] = argument("RUNS", "Run folders, or files of predictions; the first is the baseline."),
    on: list[str] | None = option(FILES, PAIR, "Test set: two aligned text files, or one file of what is compared."),
    task: str | None = option(
        FILES,
        "KIND",
        "What files of predictions have: translate (translations), classify (labels), tag (tagged words), embed "
        "(similarities), summarize or extract (summaries). If unset, what the runs were trained for, or what the test "
        "set is for.",
    ),
    text: str | None = TEXT,
    text_pair: str | None = TEXT_PAIR,
    label: str | None = LABEL,
    beam: int = BEAM,
    alpha: float = ALPHA,
    out: Path = option(
        OUTPUT, "FOLDER", "Folder for the page, the charts and a row for each example.", default=Path("comparison")
    ),
    as_json: bool = flag(OUTPUT, "Print the value, the interval and the p-values of each metric as JSON.", "--json"),
    device: str = DEVICE,
) -> None:
    """Compare runs and files of predictions on one test set: scores, significance, curves and examples.

    Examples:
      regard compare runs/a runs/b --on test.en test.fr
      regard compare runs/a google.fr --on test.tsv --out comparisons/google
      regard compare runs/a runs/b --on test.en test.fr --beam 1 --json
      regard compare runs/reviews labels.txt --on test.csv

    Read more: docs/howto/compare.md
    """
    from regard.api.scoring import compare as compare_systems
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.comparison import format_comparison
    from regard.display.views.tasks.comparison import format_task_comparison
    from regard.tuning.compare import Comparison

    data: dict[str, Any] = {"on": on or (), "task": task, "text": text, "text_pair": text_pair, "label": label}
    comparison = compare_systems(*systems, **data, beam=beam, alpha=alpha, out=out, device=device)
    if isinstance(comparison, Comparison):
        lines, table = format_comparison(comparison, terminal_width(), is_verbose()), "sentences.tsv"
    else:
        lines, table = format_task_comparison(comparison, terminal_width(), is_verbose()), "predictions.tsv"
    print_comparison(comparison.as_dict(), lines, as_json)
    show_paths(out, table)


def print_comparison(values: dict[str, Any], lines: list[str], as_json: bool) -> None:
    """Print a comparison, for a program or for people."""
    print(json.dumps(values, indent=1) if as_json else "\n".join(lines))


def show_paths(folder: Path, table: str) -> None:
    """Say where the page and the table were written."""
    from regard.display.console import terminal_width
    from regard.display.layout import wrap_all

    paths = [f"report: {folder / 'report.html'}", f"one row per example: {folder / table}"]
    typer.echo("\n".join(["", *wrap_all(paths, terminal_width(), "", "  ")]), err=True)
