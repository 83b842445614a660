"""regard translate"""

import codecs
import contextlib
import gzip
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from regard.cli.options import (
    ADVANCED,
    ALPHA,
    BEAM,
    DEVICE,
    MAX_TOP_K,
    MAX_WORKERS,
    OUTPUT,
    RUN,
    SEARCH,
    argument,
    flag,
    option,
)
from regard.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from regard.decode import Search
    from regard.jobs.translate.text import DocumentResult
    from regard.tasks.translate import Translation

LINE_ENDS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")  # a translation is one line
NBEST = option(
    SEARCH,
    "NUMBER",
    "Print this many translations of each line, best first, after its number; truncated ones come last. At most "
    "the beam width.",
    default=1,
    min=1,
)
TEMPERATURE = option(
    SEARCH, "NUMBER", "With --sample: below 1 is more conservative, above 1 more diverse.", default=1.0
)
TOP_K = option(
    SEARCH,
    "NUMBER",
    "With --sample: draw from the k most probable tokens; 0 is all.",
    default=0,
    min=0,
    max=MAX_TOP_K,
)
TOP_P = option(
    SEARCH, "NUMBER", "With --sample: draw from the smallest set with total probability p (nucleus).", default=1.0
)
LONG = option(SEARCH, "KIND", "Lines longer than in training: split them at sentence ends, or refuse.", default="split")
WORKERS = option(
    ADVANCED,
    "NUMBER",
    "Number of processes; 0 is one per core for a long text on a CPU.",
    default=0,
    min=0,
    max=MAX_WORKERS,
)
QUANTIZE = option(
    ADVANCED, "KIND", "Precision: none, or int8, which is faster on a CPU and nearly as good.", default="none"
)
ENGINE = option(
    ADVANCED,
    "NAME",
    "What runs the model: torch, or ctranslate2 (an optional dependency) with the same weights.",
    default="torch",
)


def translate(
    run: Path = RUN,
    file: Path | None = argument("FILE", "Text, one sentence per line, .po or .xlf; standard input if unset.", None),
    beam: int = BEAM,
    alpha: float = ALPHA,
    nbest: int = NBEST,
    sample: bool = flag(SEARCH, "Sample from the model instead of searching for the best.", "--sample"),
    temperature: float = TEMPERATURE,
    top_k: int = TOP_K,
    top_p: float = TOP_P,
    seed: int = option(SEARCH, "NUMBER", "With --sample: random seed.", default=1),
    long: str = LONG,
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    scores: bool = flag(OUTPUT, "Print the score before each translation.", "--scores"),
    workers: int = WORKERS,
    quantize: str = QUANTIZE,
    engine: str = ENGINE,
    device: str = DEVICE,
) -> None:
    """Translate text line by line, or a .po or .xlf file. Empty lines stay empty, and the order is kept.

    Examples:
      echo "I love dogs." | regard translate runs/mine
      regard translate runs/mine input.en --out output.fr --beam 4
      regard translate runs/mine input.en --nbest 3 --scores
      regard translate runs/mine messages.po --out fr.po

    Read more: docs/howto/faster.md
    """
    from regard.api.translation import is_document, translate_file, translate_stream
    from regard.decode import SamplingSearch
    from regard.jobs.translate.text import CHUNK_LINES
    from regard.jobs.translate.worker_pool import RuntimeOptions
    from regard.progress import track

    if sample and nbest > 1:
        raise ConfigError("--nbest needs a search; leave out --sample, or sample again with another --seed")
    search = SamplingSearch(temperature, top_k, top_p, seed) if sample else _build_search(beam, alpha, nbest, scores)
    file = None if file == Path("-") else file
    runtime = RuntimeOptions(device, workers, quantize, engine).with_workers_for(_input_size(file))
    if file is not None and is_document(file):
        path = _require_output(file, out, nbest > 1 or scores)
        _print_document_result(translate_file(run, file, path, search=search, runtime=runtime, long=long), path)
        return
    if file is None and sys.stdin.isatty():
        typer.echo("Type one sentence per line; Ctrl-D ends.", err=True)
    name = "standard input" if file is None else str(file)
    lines = translate_stream(
        run,
        _read_input(file),
        search=search,
        runtime=runtime,
        long=long,
        name=name,
    )
    if (total := _count_lines(file, out)) > CHUNK_LINES:  # each chunk is a stage of its own
        lines = track(lines, f"translating {Path(name).name}", total)
    _write_rows(lines, out, nbest > 1, scores)


def _write_rows(lines: "Iterator[list[Translation]]", out: Path | None, numbered: bool, scored: bool) -> None:
    """Write the translations of each line as soon as they are known."""
    with _open_output(out) as sink:
        for number, candidates in enumerate(lines, start=1):
            sink.writelines(_output_rows(candidates, number, numbered, scored))
            sink.flush()


def _require_output(file: Path, out: Path | None, is_for_text: bool) -> Path:
    """The file that a translated document is written to."""
    if out is None or is_for_text:
        problem = "name the translated file with --out" if out is None else "--nbest and --scores are for plain text"
        raise ConfigError(f"{file}: {problem}")
    return out


def _build_search(beam: int, alpha: float, nbest: int, scored: bool) -> "Search":
    from regard.decode import BeamSearch, GreedySearch

    return GreedySearch(scored=scored) if beam == 1 and nbest == 1 else BeamSearch(beam, alpha, nbest)


def _print_document_result(result: "DocumentResult", out: Path) -> None:
    from regard.display.console import terminal_width
    from regard.display.views.documents import SHOWN_SEGMENTS, format_document

    list_path = out.with_name(f"{out.name}.skipped.tsv") if len(result.skipped_segments) > SHOWN_SEGMENTS else None
    if list_path is not None:
        result.write_skipped(list_path)
    typer.echo("\n".join(format_document(result, out, list_path, terminal_width())), err=True)


def _input_size(file: Path | None) -> int:
    """Size of the input in bytes; 0 if it is unknown, as of a pipe."""
    if file is not None:
        return file.stat().st_size if file.is_file() else 0
    with contextlib.suppress(OSError, ValueError):
        status = os.fstat(sys.stdin.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else 0
    return 0


def _count_lines(file: Path | None, out: Path | None) -> int:
    """The number of lines of a file; 0 if it can be read only once, or if its translation appears on the terminal."""
    if file is None or not file.is_file() or (out is None and sys.stdout.isatty()):
        return 0
    return sum(1 for _ in _read_input(file))


def _output_rows(candidates: "list[Translation]", number: int, numbered: bool, scored: bool) -> Iterator[str]:
    for candidate in candidates:
        columns = [str(number)] if numbered else []
        columns += [f"{candidate.score:.4f}"] if scored else []
        yield "\t".join([*columns, candidate.text.translate(LINE_ENDS)]) + "\n"


def _read_input(file: Path | None) -> Iterator[str]:
    from regard.formats import read_lines

    return read_lines(file) if file is not None else _decode_stdin(sys.stdin.buffer)


def _decode_stdin(raw: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(raw, start=1):
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"standard input:{number}: not UTF-8 at byte {error.start + 1} of the line") from None


@contextlib.contextmanager
def _open_output(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is replaced once it is complete, so that the input may be overwritten."""
    if out is None:
        with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False) as sink:
            yield sink
        return
    from regard.formats import files
    from regard.run import atomic_write

    open_text = gzip.open if out.suffix.lower() == files.GZIP_SUFFIX else open
    with atomic_write(out) as path, open_text(path, "wt", encoding="utf-8", newline="\n") as sink:
        yield sink
