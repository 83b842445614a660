"""regard look, regard heads"""

import json
from pathlib import Path
from typing import Any

import typer

from regard.cli.options import (
    ADVANCED,
    CPU_DEVICE,
    FILES,
    MAX_SENTENCES,
    MEASUREMENT,
    MODEL,
    OUTPUT,
    RUN,
    argument,
    flag,
    option,
)
from regard.cli.output import check, write
from regard.errors import ConfigError

COMPARE_WITH = option(MODEL, "RUN", "Reference model: a saved step of the run, `start`, or another run folder.")
SENTENCES = option(
    MEASUREMENT,
    "NUMBER",
    "Sentences of the corpus that heads are measured on.",
    default=200,
    min=1,
    max=MAX_SENTENCES,
)  # one option of both commands, so that they agree on roles
MEASURE = flag(
    MEASUREMENT, "Measure heads on a corpus first; --no-measure is faster.", "--measure/--no-measure", default=True
)
NUM_POSITIONS = option(MEASUREMENT, "NUMBER", "Number of positions that --positions shows.", default=24, max=512)
GOLD = option(FILES, "FILE", "Gold alignment links, one line per pair: 0-0 1-2, and 3p1 for a possible link.")
ABLATE = option(
    MEASUREMENT, "KIND", "How a head is ablated to measure its cost: zero, mean or resample.", default="zero"
)
KEEP_ONLY = flag(MEASUREMENT, "Add the cost of removing all other heads of the same attention.", "--keep-only")
PHARAOH = option(OUTPUT, "FILE", "Write the links of the best alignment head, one line per pair: 0-0 1-2.")
DATA = option(FILES, "FILE", "Labeled texts that a classifier is measured on; its dev texts if unset.")
WORDS = option(FILES, "FILE", "Words, one per line: whether a classifier relies on them.")


def look(
    run: Path | None = argument("RUN", "Run folder, as `regard train` and `regard import` create it.", None),
    texts: list[str] = argument(
        "TEXTS",
        "A sentence, or a sentence and its translation, or files of pairs; a text, or two, for a classifier.",
        None,
    ),
    compare_with: str | None = COMPARE_WITH,
    head: str | None = option(MEASUREMENT, "HEAD", "One head, such as decoder.3.cross.5, for --svg, --png and --csv."),
    sentences: int = SENTENCES,
    measure: bool = MEASURE,
    positions: bool = flag(MEASUREMENT, "Inspect the position encoding; takes no text.", "--positions"),
    num_positions: int = NUM_POSITIONS,
    data: list[str] | None = DATA,
    words: Path | None = WORDS,
    label: str | None = option(MODEL, "NAME", "Label that is explained; of a classifier."),
    out: Path | None = option(OUTPUT, "FILE", "Write the page: one file for any browser, no network needed."),
    svg: Path | None = option(OUTPUT, "FILE", "Write the figure of the head as SVG."),
    png: Path | None = option(OUTPUT, "FILE", "Write the figure of the head as PNG."),
    csv: Path | None = option(OUTPUT, "FILE", "Write the head's weights, scores and their terms, one row per cell."),
    npz: Path | None = option(OUTPUT, "FILE", "Write all arrays of the sentence (NumPy)."),
    as_json: bool = flag(OUTPUT, "Print what was measured as JSON.", "--json"),
    selftest: bool = flag(ADVANCED, "Verify every measure on this machine, and exit.", "--selftest"),
    device: str = CPU_DEVICE,
) -> None:
    """Inspect a model: what each head attends to, and why; of a classifier, which words its decisions rest on.

    Examples:
      regard look runs/mine "I love dogs." --out look.html
      regard look runs/mine "I love dogs." "J'aime les chiens." --head decoder.1.cross.0 --svg head.svg
      regard look runs/reviews "a charming film" --out decision.html
      regard look runs/questions "How old is it?" "What is its age?" --json

    Read more: docs/howto/inspect_attention.md, docs/howto/look_page.md and docs/explanation/decisions.md
    """
    if selftest:
        _print_selftests()
        return
    if run is None:
        raise ConfigError('nothing to inspect: use regard look RUN "a sentence", or regard look RUN test.en test.fr')
    options = {"head": head, "sentences": sentences, "measure": measure, "positions": positions}
    options |= {"num_positions": num_positions, "compare_with": compare_with, "device": device}
    _inspect(
        run,
        texts or [],
        {"out": out, "svg": svg, "png": png, "csv": csv, "npz": npz},
        options | {"data": data or None, "words": words, "label": label},
        as_json,
    )


def _inspect(run: Path, texts: list[str], outputs: dict[str, Any], options: dict[str, Any], as_json: bool) -> None:
    from regard.api.inspecting import look as inspect_model
    from regard.display.console import is_verbose, terminal_width
    from regard.display.looks import format_look

    check(*outputs.values())
    result = inspect_model(run, *texts, **outputs, **options)
    if as_json:
        print(json.dumps(result.as_dict(), ensure_ascii=False, indent=1))
    else:
        print("\n".join(format_look(result, terminal_width(), is_verbose())))
    for path in filter(None, outputs.values()):
        typer.echo(f"written: {path}", err=True)


def heads(
    run: Path = RUN,
    files: list[str] = argument("FILES", "Pairs to measure on; the validation pairs of the run if unset.", None),
    gold: Path | None = GOLD,
    sentences: int = SENTENCES,
    grammar: bool = flag(MEASUREMENT, "Add sentences of the built-in corpus with gold grammar.", "--grammar"),
    ablate: str = ABLATE,
    keep_only: bool = KEEP_ONLY,
    csv: Path | None = option(OUTPUT, "FILE", "Write the whole table, with more columns than are printed."),
    pharaoh: Path | None = PHARAOH,
    device: str = CPU_DEVICE,
) -> None:
    """Print the table of heads: role, lift over chance, runner-up, entropy, importance and cost of removal.

    Examples:
      regard heads runs/mine
      regard heads runs/mine test.en test.fr --sentences 100 --csv heads.csv
      regard heads runs/mine test.tsv --gold links.txt --pharaoh best.txt

    Read more: docs/explanation/attention.md
    """
    from regard.api.inspecting import heads as inspect_heads
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.heads import format_heads
    from regard.report import to_csv

    check(csv, pharaoh)
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
    print("\n".join(format_heads(table, terminal_width(), is_verbose())))
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
