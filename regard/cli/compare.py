"""regard compare"""

import json
from pathlib import Path

import typer

from regard.cli.options import ALPHA, BEAM, DEVICE, FILES, OUTPUT, PAIR, argument, flag, option


def compare(
    systems: list[Path] = argument("RUNS", "Run folders, or files of translations; the first is the baseline."),
    on: list[str] | None = option(FILES, PAIR, "Test pairs: two aligned text files, or one .tsv."),
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

    Read more: docs/howto/compare.md
    """
    from regard.api.scoring import compare as compare_systems
    from regard.display.console import is_verbose, terminal_width
    from regard.display.layout import wrap_all
    from regard.display.views.comparison import format_comparison

    comparison = compare_systems(*systems, on=on or (), beam=beam, alpha=alpha, out=out, device=device)
    if as_json:
        print(json.dumps(comparison.as_dict(), indent=1))
    else:
        print("\n".join(format_comparison(comparison, terminal_width(), is_verbose())))
    paths = [f"report: {out / 'report.html'}", f"per-sentence scores: {out / 'sentences.tsv'}"]
    typer.echo("\n".join(["", *wrap_all(paths, terminal_width(), "", "  ")]), err=True)
