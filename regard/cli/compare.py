"""regard compare"""

import json
from pathlib import Path

import typer


def compare(
    systems: list[Path] = typer.Argument(..., help="Run folders, or files of translations; the first is the baseline."),
    on: list[str] | None = typer.Option(None, help="Test pairs: two aligned text files, or one .tsv."),
    beam: int = typer.Option(5, help="Beam width; 1 is greedy."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    out: Path = typer.Option(Path("comparison"), help="Folder for the page, the charts and the sentences."),
    as_json: bool = typer.Option(False, "--json", help="Print system → metric → value, interval and p-values."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Compare runs and files of translations on one test set: scores, significance, curves, sentences."""
    from regard.api.scoring import compare as compare_systems
    from regard.tuning.pages.comparison import format_comparison

    comparison = compare_systems(*systems, on=on or (), beam=beam, alpha=alpha, out=out, device=device)
    print(json.dumps(comparison.as_dict(), indent=1) if as_json else "\n".join(format_comparison(comparison)))
    typer.echo(f"\nreport: {out / 'report.html'}\nper-sentence scores: {out / 'sentences.tsv'}", err=True)
