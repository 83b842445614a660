"""regard classify"""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli import output
from regard.cli.lines import LINE_ENDS, open_output, prompt_for_lines, read_inputs
from regard.cli.options import DEVICE, OUTPUT, RUN, SEARCH, argument, flag, option

if TYPE_CHECKING:
    from regard.jobs.tasks.classification.inputs import ClassifiedLine


def classify(
    run: Path = RUN,
    files: list[Path] | None = argument("FILES", "Text, one per line; standard input if unset.", None),
    reject: float = option(
        SEARCH, "NUMBER", "Print ? where the probability of the label is lower.", default=0.0, min=0, max=1
    ),
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    probabilities: bool = flag(OUTPUT, "Print the probability of every label after it, in columns.", "--probabilities"),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each line: text, label, probabilities.", "--json"),
    device: str = DEVICE,
) -> None:
    """Classify text line by line: the label of each line. Empty lines stay empty, and the order is kept.

    A run that was trained on pairs of texts takes lines of two texts, separated by a tab.

    Examples:
      echo "What a lovely film." | regard classify runs/mine
      regard classify runs/mine reviews.txt --out labels.txt --reject 0.7
      regard classify runs/mine reviews.txt --probabilities
      regard classify runs/mine reviews.txt --json

    Read more: `regard train --help` and `regard evaluate --help`.
    """
    from regard.api.tasks.classification import classify_stream

    output.check(out)
    lines = classify_stream(run, read_inputs(files or ()), reject=reject, device=device)
    prompt_for_lines("text", files)
    format_line = _json_line if as_json else functools.partial(_output_line, columns=probabilities)
    with open_output(out) as sink:
        for line in _print_columns(lines) if probabilities and not as_json else lines:
            sink.write(format_line(line) + "\n")
            sink.flush()


def _print_columns(lines: "Iterator[ClassifiedLine]") -> "Iterator[ClassifiedLine]":
    """The same lines; standard error says what the columns are, since each line of output stands for one of input."""
    is_printed = False
    for line in lines:
        if line.classification is not None and not is_printed:
            typer.echo("\t".join(["label", *line.classification.probabilities]), err=True)
            is_printed = True
        yield line


def _output_line(line: "ClassifiedLine", columns: bool) -> str:
    result = line.classification
    if result is None:
        return ""
    numbers = [f"{probability:.4f}" for probability in result.probabilities.values()] if columns else []
    return "\t".join([result.label.translate(LINE_ENDS), *numbers])


def _json_line(line: "ClassifiedLine") -> str:
    """One JSON object, on one line; a blank line has no label."""
    result = line.classification
    row = {
        "text": line.text,
        "label": result.label if result else None,
        "probability": result.probability if result else None,
        "probabilities": dict(result.probabilities) if result else {},
    }
    return json.dumps(row, ensure_ascii=False)
