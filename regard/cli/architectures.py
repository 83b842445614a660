"""regard architectures"""

import json
from pathlib import Path

import typer

from regard.cli.options import (
    FILES,
    LABEL,
    OUTPUT,
    PAIR,
    SEARCH,
    SET,
    SOURCE,
    TARGET,
    TASK,
    TEXT,
    TEXT_PAIR,
    TIME,
    argument,
    flag,
    option,
)


def architectures(
    files: list[Path] = argument("FILES", "Training files, or the folder of a comparison, which is resumed."),
    task: str | None = TASK,
    dev: list[str] | None = option(FILES, PAIR, "Validation set, which selects checkpoints: files like FILES."),
    test: list[str] | None = option(FILES, PAIR, "Test set, on which architectures are compared; unset, held out."),
    source: str | None = SOURCE,
    target: str | None = TARGET,
    text: str | None = TEXT,
    text_pair: str | None = TEXT_PAIR,
    label: str | None = LABEL,
    minutes_each: float | None = option(TIME, "NUMBER", "Minutes of each run; 8 if no length is set."),
    steps_each: int | None = option(TIME, "NUMBER", "Optimizer steps of each run."),
    epochs_each: float | None = option(TIME, "NUMBER", "Epochs of each run."),
    seeds: int | None = option(SEARCH, "NUMBER", "Runs of each architecture, with different seeds; 3 if unset."),
    set_: list[str] | None = SET,
    out: Path | None = option(OUTPUT, "FOLDER", "Study folder; studies/<name>-architectures if unset."),
    as_json: bool = flag(OUTPUT, "Print scores, sizes and tests as JSON.", "--json"),
) -> None:
    """Compare an encoder, a decoder and an encoder-decoder on one job: equally many weights, equal time.

    Examples:
      regard architectures reviews.csv --task classify --minutes-each 8
      regard architectures train.en train.fr --dev dev.en dev.fr --test test.en test.fr --seeds 5
      regard architectures studies/reviews-architectures --json

    Read more: docs/howto/architectures.md
    """
    from regard.api.studies import summarize_architectures
    from regard.api.training import merge_values, name_columns
    from regard.cli.tune import run_until_finished
    from regard.config import parse_assignments
    from regard.display.console import terminal_width
    from regard.display.views.tasks.architectures import format_architectures
    from regard.tuning.architectures.page import PAGE
    from regard.tuning.architectures.plan import open_comparison

    options: dict[str, object] = {"task": task, "data.dev": dev or None, "data.test": test or None}
    options |= {"data.source": source, "data.target": target, **name_columns(task, text, text_pair, label)}
    budget = {"minutes": minutes_each, "steps": steps_each, "epochs": epochs_each}
    each = {name: float(limit) for name, limit in budget.items() if limit is not None}
    worker = open_comparison(files, merge_values(options, parse_assignments(set_ or ())), each, seeds, out)
    run_until_finished(worker, f"regard architectures {worker.study_folder.path}")
    comparison = summarize_architectures(worker)
    lines = format_architectures(comparison, terminal_width())
    print(json.dumps(comparison.as_dict(), indent=1, default=str) if as_json else "\n".join(lines))
    typer.echo(f"report: {worker.study_folder.path / PAGE}", err=True)
