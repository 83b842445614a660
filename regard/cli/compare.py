"""regard compare"""

import json
from pathlib import Path
from typing import Any

import typer

from regard.cli.options import ALPHA, BEAM, DEVICE, FILES, OUTPUT, PAIR, argument, flag, option


def compare(
    systems: list[Path] = argument("RUNS", "Run folders, or files of predictions; the first is the baseline."),
    on: list[str] | None = option(FILES, PAIR, "Test pairs: two aligned text files, or one .tsv."),
    task: str | None = option(
        FILES,
        "KIND",
        "What is compared: translate (translations), classify (labels) or tag (tagged words); unset, that of the runs.",
    ),
    text_column: str = option(FILES, "NAME", "Column of the text in a table of labeled text.", default=""),
    label_column: str = option(FILES, "NAME", "Column of the label in a table of labeled text.", default=""),
    beam: int = BEAM,
    alpha: float = ALPHA,
    out: Path = option(
        OUTPUT, "FOLDER", "Folder for the page, the charts and the sentences.", default=Path("comparison")
    ),
    as_json: bool = flag(OUTPUT, "Print the value, the interval and the p-values of each metric as JSON.", "--json"),
    device: str = DEVICE,
) -> None:
    """Compare runs and files of translations on one test set: scores, significance, curves and sentences.

    Examples:
      regard compare runs/a runs/b --on test.en test.fr
      regard compare runs/a google.fr --on test.tsv --out comparisons/google
      regard compare runs/a runs/b --on test.en test.fr --beam 1 --json
      regard compare a.txt b.txt --on test.csv --task classify

    Read more: docs/howto/compare.md
    """
    from regard.api.scoring import compare as compare_systems
    from regard.api.scoring import compare_predictions, find_label_task
    from regard.display.console import is_verbose, terminal_width
    from regard.display.label_comparison import format_label_comparison
    from regard.display.views.comparison import format_comparison

    if label_task := find_label_task(systems, task):
        labels = compare_predictions(
            *systems, on=on or (), task=label_task, text_column=text_column, label_column=label_column, out=out
        )
        print_comparison(labels.as_dict(), format_label_comparison(labels, terminal_width(), is_verbose()), as_json)
        show_paths(out, "predictions.tsv")
        return
    comparison = compare_systems(*systems, on=on or (), beam=beam, alpha=alpha, out=out, device=device)
    lines = format_comparison(comparison, terminal_width(), is_verbose())
    print_comparison(comparison.as_dict(), lines, as_json)
    show_paths(out, "sentences.tsv")


def print_comparison(values: dict[str, Any], lines: list[str], as_json: bool) -> None:
    """Print a comparison, for a program or for people."""
    print(json.dumps(values, indent=1) if as_json else "\n".join(lines))


def show_paths(folder: Path, table: str) -> None:
    """Say where the page and the table were written."""
    from regard.display.console import terminal_width
    from regard.display.layout import wrap_all

    paths = [f"report: {folder / 'report.html'}", f"one row per example: {folder / table}"]
    typer.echo("\n".join(["", *wrap_all(paths, terminal_width(), "", "  ")]), err=True)
