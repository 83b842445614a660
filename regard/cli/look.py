"""regard look, regard heads"""

from pathlib import Path

import typer

from regard.cli.output import write
from regard.errors import ConfigError


def look(
    run: Path | None = typer.Argument(None, help="Run folder."),
    texts: list[str] = typer.Argument(None, help="A sentence, or a sentence and its translation, or files of pairs."),
    out: Path | None = typer.Option(None, help="Write the page: one file for any browser, no network needed."),
    head: str | None = typer.Option(None, help="One head, as in decoder.3.cross.5, for --svg, --png and --csv."),
    sentences: int = typer.Option(100, min=1, help="Sentences of the corpus that heads are measured on."),
    svg: Path | None = typer.Option(None, help="Write the figure of the head as SVG."),
    png: Path | None = typer.Option(None, help="Write the figure of the head as PNG."),
    csv: Path | None = typer.Option(None, help="Write the head's weights, scores and their terms, one row per cell."),
    npz: Path | None = typer.Option(None, help="Write all arrays of the sentence (NumPy)."),
    measure: bool = typer.Option(True, help="Measure heads on a corpus first; --no-measure is faster."),
    positions: bool = typer.Option(False, "--positions", help="Inspect the position encoding; takes no text."),
    num_positions: int = typer.Option(24, help="Number of positions that --positions shows."),
    compare_with: str | None = typer.Option(
        None, help="Reference model: a saved step of the run, `start`, or another run folder."
    ),
    selftest: bool = typer.Option(False, "--selftest", help="Verify every measure on this machine, and exit."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """Inspect a model: what each head attends to, its role, and why; as a page, a summary, figures and files."""
    if selftest:
        _print_selftests()
        return
    if run is None or not (texts or positions):
        raise ConfigError('nothing to inspect: use regard look RUN "a sentence", or regard look RUN test.en test.fr')
    from regard.api.inspecting import look as inspect_model

    inspection = inspect_model(
        run,
        *texts or (),
        out=out,
        svg=svg,
        png=png,
        csv=csv,
        npz=npz,
        head=head,
        sentences=sentences,
        measure=measure,
        positions=positions,
        num_positions=num_positions,
        compare_with=compare_with,
        device=device,
    )
    print(inspection)
    for path in filter(None, (out, svg, png, csv, npz)):
        typer.echo(f"written: {path}", err=True)


def heads(
    run: Path = typer.Argument(..., help="Run folder."),
    files: list[str] = typer.Argument(None, help="Pairs to measure on; unset: the run's dev set."),
    sentences: int = typer.Option(200, min=1, help="Maximum number of sentences."),
    grammar: bool = typer.Option(False, "--grammar", help="Add sentences of the built-in corpus with gold grammar."),
    ablate: str = typer.Option("zero", help="How a head is ablated to measure its cost: zero, mean or resample."),
    keep_only: bool = typer.Option(
        False, "--keep-only", help="Add the cost of removing all other heads of the same attention."
    ),
    gold: Path | None = typer.Option(None, help="Gold links, one line per pair: 0-0 1-2, 3p1 if only possible."),
    csv: Path | None = typer.Option(None, help="Write the whole table, with more columns than are printed."),
    pharaoh: Path | None = typer.Option(
        None, help="Write the links of the best alignment head: 0-0 1-2, one line per pair."
    ),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """The table of heads: role, lift over chance, runner-up, entropy, importance, cost of removal."""
    from regard.api.inspecting import heads as inspect_heads
    from regard.jobs.look.summary import summarize_heads
    from regard.report import to_csv

    table = inspect_heads(
        run,
        *files or (),
        sentences=sentences,
        grammar=grammar,
        ablate=ablate,
        keep_only=keep_only,
        gold=gold,
        pharaoh=pharaoh,
        device=device,
    )
    print("\n".join(summarize_heads(table)))
    if csv is not None:
        write(csv, to_csv(table.as_table()).encode())
    if pharaoh is not None:
        typer.echo(f"written: {pharaoh}", err=True)


def _print_selftests() -> None:
    from regard.jobs.look.selftest import run_selftests

    failed = 0
    for result in run_selftests():
        failed += not result.passed
        print(f"{'pass' if result.passed else 'FAIL'}  {result.claim}: {result.measurement}")
    if failed:
        print(f"{failed} self-tests failed: do not rely on `regard look` on this machine")
        raise typer.Exit(1)
