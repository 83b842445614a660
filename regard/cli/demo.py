"""regard demo"""

from pathlib import Path

import typer

from regard.cli.options import MAX_SEED, OUTPUT, OVERWRITE, TIME, TRAINING, flag, option


def demo(
    quick: bool = flag(TIME, "Run every part in about a minute; the model learns almost nothing.", "--quick"),
    seed: int = option(
        TRAINING, "NUMBER", "Random seed of the corpus and of training.", default=1, min=0, max=MAX_SEED
    ),
    out: Path = option(OUTPUT, "FOLDER", "Run folder to create.", default=Path("runs/demo")),
    overwrite: bool = OVERWRITE,
) -> None:
    """Train a small translator on the built-in corpus, score it, and show its attention.

    Examples:
      regard demo
      regard demo --quick --out runs/quick --overwrite

    Read more: docs/tutorial/index.md
    """
    from regard.api.training import demo as run_demo
    from regard.display.console import terminal_width
    from regard.display.views.demo import format_demo

    typer.echo("English → French, from a built-in grammar.", err=True)
    result = run_demo(out, quick=quick, seed=seed, overwrite=overwrite, progress=True)
    print("\n".join(format_demo(result, terminal_width())))
