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
    from regard.jobs.look.inspections import LookOptions, inspect_run

    options = {"--out": out, "--svg": svg, "--png": png, "--csv": csv, "--npz": npz}
    paths = {name: path for name, path in options.items() if path is not None}
    request = LookOptions(
        run=run,
        texts=texts or (),
        sentences=sentences,
        measure=measure,
        head=head,
        compare_with=compare_with,
        positions=positions,
        num_positions=num_positions,
        outputs=tuple(paths),
    )
    inspection = inspect_run(request, device)
    print("\n".join(inspection.summary))
    for option, path in paths.items():
        output = inspection.outputs[option]()
        for note in output.notes:
            print(note)
        write(path, output.content)


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
    from regard.hardware import configure_cpu
    from regard.jobs.look.heads import HeadOptions, inspect_heads
    from regard.jobs.look.inspected_run import open_inspected_run
    from regard.jobs.look.summary import summarize_heads
    from regard.report import to_csv

    configure_cpu(0)
    options = HeadOptions(files or (), sentences, grammar, ablate, keep_only, gold, links=pharaoh is not None)
    table = inspect_heads(open_inspected_run(run, device), options)
    print("\n".join(summarize_heads(table)))
    if csv is not None:
        write(csv, to_csv(table.as_table()).encode())
    if pharaoh is not None:
        write(pharaoh, table.format_links().encode())


def _print_selftests() -> None:
    from regard.jobs.look.selftest import run_selftests

    failed = 0
    for result in run_selftests():
        failed += not result.passed
        print(f"{'pass' if result.passed else 'FAIL'}  {result.claim}: {result.measurement}")
    if failed:
        print(f"{failed} self-tests failed: do not rely on `regard look` on this machine")
        raise typer.Exit(1)
