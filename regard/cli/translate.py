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

from regard.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from regard.decode import Search
    from regard.formats import Document
    from regard.jobs.translate.text import LengthLimit
    from regard.jobs.translate.worker_pool import TranslationBackend
    from regard.tasks.translate import Translation

LINE_ENDS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")  # a translation is one line


def translate(
    run: Path = typer.Argument(..., help="Run folder."),
    file: Path | None = typer.Argument(None, help="Text, one sentence per line, .po or .xlf; standard input if unset."),
    out: Path | None = typer.Option(None, help="File to write; standard output if unset."),
    beam: int = typer.Option(5, help="Beam width; 1 is greedy search."),
    alpha: float = typer.Option(1.0, help="Length penalty: scores are log-probability / length^alpha."),
    nbest: int = typer.Option(
        1, help="Print this many translations of each line, best first, after its number; truncated ones come last."
    ),
    scores: bool = typer.Option(False, "--scores", help="Print the score before each translation."),
    sample: bool = typer.Option(False, "--sample", help="Sample from the model instead of searching for the best."),
    temperature: float = typer.Option(1.0, help="Below 1 is more conservative, above 1 more diverse (with --sample)."),
    top_k: int = typer.Option(0, help="Sample only from the k most probable tokens; 0: all (with --sample)."),
    top_p: float = typer.Option(
        1.0, help="Nucleus sampling: the smallest set with total probability p (with --sample)."
    ),
    seed: int = typer.Option(1, help="Random seed (with --sample)."),
    workers: int = typer.Option(0, min=0, help="Number of processes; 0: one per core for a long text on a CPU."),
    quantize: str = typer.Option("none", help="none or int8, which is faster on a CPU and nearly as good."),
    engine: str = typer.Option("torch", help="torch, or ctranslate2 (an optional dependency) with the same weights."),
    long: str = typer.Option("split", help="Lines longer than in training: split at sentence ends, or refuse."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Translate text line by line, or a .po or .xlf file. Empty lines stay empty, and the order is kept."""
    from regard.decode import SamplingSearch
    from regard.jobs.translate.text import CHUNK_LINES, LengthLimit, translate_lines
    from regard.jobs.translate.worker_pool import RuntimeOptions, open_translator
    from regard.progress import track
    from regard.run import open_run

    if sample and nbest > 1:
        raise ConfigError("--nbest needs a search; leave out --sample, or sample again with another --seed")
    search = SamplingSearch(temperature, top_k, top_p, seed) if sample else _build_search(beam, alpha, nbest, scores)
    if long not in ("split", "refuse"):
        raise ConfigError(f"--long {long}: expected split or refuse")
    file = None if file == Path("-") else file
    data = open_run(run).load_config().data
    length_limit = LengthLimit(data.max_length, refuse=long == "refuse")
    document = _open_document(file, data.source, data.target)
    if document is not None and (out is None or nbest > 1 or scores):
        problem = "name the translated file with --out" if out is None else "--nbest and --scores are for plain text"
        raise ConfigError(f"{file}: {problem}")
    with open_translator(run, RuntimeOptions(device, workers, quantize, engine), _input_size(file)) as translator:
        if document is not None and out is not None:
            _translate_document(translator, document, out, search, length_limit)
            return
        with _open_output(out) as sink:
            name = "standard input" if file is None else str(file)
            lines = translate_lines(translator, _read_input(file), search, length_limit, lambda n: f"{name}:{n}")
            if (total := _count_lines(file, out)) > CHUNK_LINES:  # each chunk is a stage of its own
                lines = track(lines, f"translating {Path(name).name}", total)
            for number, candidates in enumerate(lines, start=1):
                sink.writelines(_output_rows(candidates, number, nbest > 1, scores))
                sink.flush()


def _build_search(beam: int, alpha: float, nbest: int, scored: bool) -> "Search":
    from regard.decode import BeamSearch, GreedySearch

    return GreedySearch(scored=scored) if beam == 1 and nbest == 1 else BeamSearch(beam, alpha, nbest)


def _open_document(file: Path | None, source: str, target: str) -> "Document | None":
    """A document of another format than plain text, or None."""
    from regard.formats import files, open_document
    from regard.formats.document import BILINGUAL_SUFFIXES, DOCUMENTS

    if file is None or files.format_suffix(file) not in (*DOCUMENTS, *BILINGUAL_SUFFIXES):
        return None
    return open_document(file, source, target)


def _translate_document(
    translator: "TranslationBackend", document: "Document", out: Path, search: "Search", length_limit: "LengthLimit"
) -> None:
    from regard.jobs.translate.text import translate_document

    result = translate_document(translator, document, out, search, length_limit)
    typer.echo(
        f"{out}: {result.num_translated:,} translated, to be reviewed; {len(result.skipped_segments):,} left empty",
        err=True,
    )
    for location, reason in result.skipped_segments:
        typer.echo(f"  {location}: {reason}", err=True)


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
