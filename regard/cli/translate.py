"""regard translate"""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.errors import FormatError

if TYPE_CHECKING:
    from regard.decode import Search
    from regard.tasks.translate import Translation

CHUNK = 512


def translate(
    run: Path = typer.Argument(..., help="Run folder."),
    file: Path | None = typer.Argument(None, help="Text to translate, one sentence a line; standard input if unset."),
    out: Path | None = typer.Option(None, help="Where to write; standard output if unset."),
    beam: int = typer.Option(5, help="Beginnings kept at each step; 1 is greedy."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    nbest: int = typer.Option(1, help="Translations of each line, best first, each line behind its number."),
    scores: bool = typer.Option(False, "--scores", help="Put the score before each translation."),
    sample: bool = typer.Option(False, "--sample", help="Draw at random instead of searching for the best."),
    temperature: float = typer.Option(1.0, help="Below 1 is bolder, above 1 is wilder (with --sample)."),
    top_k: int = typer.Option(0, help="Draw from the likeliest k pieces only (with --sample)."),
    top_p: float = typer.Option(1.0, help="Draw from the likeliest pieces that make up p (with --sample)."),
    seed: int = typer.Option(1, help="Of the drawing (with --sample)."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Translate text, line by line: an empty line stays empty, order is kept."""
    from regard.decode import Beam, Greedy, Sample
    from regard.jobs.load import load, use_threads

    search: Search
    if sample:
        search = Sample(temperature, top_k, top_p, seed)
    elif beam == 1 and nbest == 1:
        search = Greedy()
    else:
        search = Beam(beam, alpha, nbest)
    use_threads(0)
    translator = load(run, device)
    lines = _lines(file)
    with _open(out) as sink:
        number = 0
        while chunk := list(islice(lines, CHUNK)):
            for found in translator.candidates(chunk, search):
                number += 1
                sink.writelines(_rows(found, number, nbest > 1, scores))
            sink.flush()


def _rows(found: "list[Translation]", number: int, numbered: bool, scored: bool) -> Iterator[str]:
    for one in found:
        columns = [str(number)] if numbered else []
        columns += [f"{one.score:.4f}"] if scored else []
        yield "\t".join([*columns, one.text.replace("\n", " ")]) + "\n"


def _lines(file: Path | None) -> Iterator[str]:
    from regard.formats import read_lines

    return read_lines(file) if file is not None else _standard_input(sys.stdin.buffer)


def _standard_input(raw: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(raw, start=1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"standard input:{number}: not UTF-8 at byte {error.start + 1} of the line") from None


def _open(out: Path | None) -> Any:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        return out.open("w", encoding="utf-8", newline="\n")
    return open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False)
