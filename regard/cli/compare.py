"""regard compare"""

import json
from pathlib import Path

import typer


def compare(
    systems: list[Path] = typer.Argument(..., help="Run folders, or files of translations; the first is the baseline."),
    on: list[str] | None = typer.Option(None, help="Test pairs: two aligned text files, or one .tsv."),
    beam: int = typer.Option(5, help="Beginnings kept at each step; 1 is greedy."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    out: Path = typer.Option(Path("comparison"), help="Folder for the page, the charts and the sentences."),
    as_json: bool = typer.Option(False, "--json", help="Print system → metric → value, interval and p-values."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Put runs and files of translations side by side on one test set: scores, significance, curves, sentences."""
    from regard.decode import BeamSearch
    from regard.hardware import configure_cpu
    from regard.tuning.compare import compare as job
    from regard.tuning.pages.comparison import METRICS, format_comparison, write_comparison

    configure_cpu(0)
    comparison = job(systems, on or [], BeamSearch(beam, alpha), device)
    path = write_comparison(comparison, out)
    if as_json:
        p_value_tests = (("p_bootstrap", comparison.bootstrap), ("p_randomized", comparison.randomized))
        scores_by_system = {
            system.name: {
                name: system.evaluation.scores[name].as_dict()
                | {kind: tests[system.name][name].p for kind, tests in p_value_tests if system.name in tests}
                for name in METRICS
            }
            for system in comparison.systems
        }
        print(json.dumps(scores_by_system, indent=1))
    else:
        print("\n".join(format_comparison(comparison)))
    typer.echo(f"\nreport: {path}\nsentence by sentence: {out / 'sentences.tsv'}", err=True)
