"""regard distill"""

from pathlib import Path

import typer

from regard.cli.options import ADVANCED, ALPHA, BEAM, DEVICE, MAX_WORKERS, OUTPUT, RUN, argument, option
from regard.cli.translate import ENGINE, QUANTIZE


def distill(
    run: Path = RUN,
    others: list[Path] | None = argument("RUNS", "Further runs that translate the same sources.", None),
    out: Path = option(OUTPUT, "FILE", "File of pairs to write, .jsonl or .tsv.", default=...),
    beam: int = BEAM,
    alpha: float = ALPHA,
    workers: int = option(
        ADVANCED, "NUMBER", "Number of processes; 0 is one per core.", default=0, min=0, max=MAX_WORKERS
    ),
    quantize: str = QUANTIZE,
    engine: str = ENGINE,
    device: str = DEVICE,
) -> None:
    """Make a training set of a run's own pairs and of translations of their sources, to train a better run on.

    A command that was interrupted goes on when it is called again. Pairs that the run had held out for dev and test are
    written beside the file, so that they stay what they were.

    Examples:
      regard distill runs/mine --out pairs.jsonl
      regard distill runs/mine runs/other --out pairs.jsonl --beam 4
      regard train pairs.jsonl --dev pairs.dev.jsonl --out runs/better

    Read more: docs/howto/distill.md
    """
    from regard.api.translation import distill as distill_runs
    from regard.decode import BeamSearch
    from regard.jobs.translate.worker_pool import RuntimeOptions

    runtime = RuntimeOptions(device, workers, quantize, engine)
    result = distill_runs(run, *(others or ()), out=out, search=BeamSearch(beam, alpha), runtime=runtime, progress=True)
    typer.echo(
        f"written: {out} ({result.references:,} pairs and {result.translations:,} translations; "
        f"{result.repeated:,} repeat a pair, {result.failed:,} are missing)",
        err=True,
    )
    for name, path in result.held_out.items():
        typer.echo(f"written: {path} (held out for {name})", err=True)
