"""regard translate"""

import contextlib
import functools
import itertools
import json
import math
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli import output
from regard.cli.lines import LINE_ENDS, open_output, prompt_for_lines, read_input
from regard.cli.options import (
    ADVANCED,
    ALPHA,
    BEAM,
    DEVICE,
    MAX_SEED,
    MAX_TOP_K,
    MAX_WORKERS,
    OUTPUT,
    RUN,
    SEARCH,
    SPLIT_SENTENCES,
    argument,
    flag,
    option,
)
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.decode import Search
    from regard.jobs.translate.issue_log import IssueLog
    from regard.jobs.translate.shards import ProcessRank
    from regard.jobs.translate.text import DocumentResult
    from regard.tasks.translate.translator import Translation

NBEST = option(
    SEARCH,
    "NUMBER",
    "Print up to this many different translations of each line, best first, after its number; truncated ones come "
    "last. At most the beam width.",
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
MIN_P = option(
    SEARCH, "NUMBER", "With --sample: draw from tokens at least this fraction as probable as the best.", default=0.0
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
    ADVANCED,
    "KIND",
    "Precision: none (float32), int8, or auto: int8 on a CPU, float32 with --engine torch.",
    default="auto",
)
ENGINE = option(
    ADVANCED,
    "NAME",
    "What runs the model: torch, native, ctranslate2, or auto: the fastest that is installed and can do what is asked.",
    default="auto",
)
SHORTLIST = option(
    ADVANCED,
    "KIND",
    "Choose among the tokens that can translate the source: on, off, or auto: where that was measured to change "
    "next to nothing (regard shortlist), and no scores are printed.",
    default="auto",
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
    min_p: float = MIN_P,
    seed: int = option(SEARCH, "NUMBER", "With --sample: random seed.", default=1, min=0, max=MAX_SEED),
    split_sentences: str = SPLIT_SENTENCES,
    long: str = LONG,
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    scores: bool = flag(OUTPUT, "Print the score before each translation.", "--scores"),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each line: translations, scores, issues.", "--json"),
    issues: Path | None = option(OUTPUT, "FILE", "File with everything that translations have probably lost, as TSV."),
    workers: int = WORKERS,
    quantize: str = QUANTIZE,
    engine: str = ENGINE,
    shortlist: str = SHORTLIST,
    device: str = DEVICE,
) -> None:
    """Translate text line by line, or a .po or .xlf file. Empty lines stay empty, and the order is kept.

    Examples:
      echo "I love dogs." | regard translate runs/mine
      regard translate runs/mine input.en --out output.fr --beam 4
      regard translate runs/mine messages.po --out fr.po
      torchrun --nproc-per-node 4 -m regard translate runs/mine big.en --out big.fr

    Read more: docs/howto/faster.md, docs/howto/distributed.md
    """
    from regard.api.translation import is_document, translate_file
    from regard.decode import SamplingSearch
    from regard.jobs.translate.worker_pool import RuntimeOptions

    scored = scores or as_json
    sampling = SamplingSearch(temperature, top_k, top_p, seed, min_p=min_p)  # wrong values are refused, used or not
    search = _build_search(beam, alpha, nbest, scored, sampling if sample else None)
    file = None if file == Path("-") else file
    _check_outputs(out, issues, file)
    process = _find_process(file, out)
    num_bytes = 0 if process else _input_size(file)
    shortlist = "off" if scored and shortlist == "auto" else shortlist  # a score is a log-probability over all tokens
    runtime = RuntimeOptions(device, workers, quantize, engine, shortlist).with_workers_for(num_bytes)
    options: dict[str, Any] = {"search": search, "runtime": runtime, "long": long, "split_sentences": split_sentences}
    if file is not None and is_document(file):
        path = _require_output(file, out, nbest > 1 or scored)
        _print_splitting(run, split_sentences)
        _print_document_result(translate_file(run, file, path, announce=_print_engine, **options), path, issues)
        return
    format_rows = _json_rows if as_json else functools.partial(_output_rows, numbered=nbest > 1, scored=scores)
    if process is not None and file is not None and out is not None:
        options["rows"] = f"json={as_json} numbered={nbest > 1} scored={scores}"
        _translate_shards(run, file, out, process, format_rows, issues, options)
    else:
        _translate_lines(run, file, out, format_rows, issues, options)


def _translate_lines(
    run: Path,
    file: Path | None,
    out: Path | None,
    format_rows: "Callable[[list[Translation], int], Iterator[str]]",
    issues: Path | None,
    options: dict[str, Any],
) -> None:
    """Translate lines as they arrive, those of a file in full chunks."""
    from regard.api.translation import translate_stream

    prompt_for_lines("sentence", file)
    name = "standard input" if file is None else str(file)
    lines = translate_stream(
        run, read_input(file), name=name, announce=_print_engine, full_chunks=_is_regular(file), **options
    )
    _print_splitting(run, options["split_sentences"])
    with _open_issue_log(out, issues) as log:
        lines = _track_lines(lines, file, out)
        total = _write_rows(lines, out, format_rows, lambda number, best: log.add(f"{name}:{number}", best.issues))
    _print_issues(log, total, "lines")


def _find_process(file: Path | None, out: Path | None) -> "ProcessRank | None":
    """Which of several processes this is; None if it translates alone. What cannot be cut into shards is refused."""
    from regard.api.translation import is_document
    from regard.atomic import is_stream
    from regard.jobs.translate.shards import find_rank

    process = find_rank()
    problem = ""
    if file is None or not _is_regular(file):
        problem = f"{file or 'standard input'} can be read only once; name a regular file"
    elif is_document(file):
        problem = f"{file} is translated as a whole; only text is cut into shards"
    elif out is None or is_stream(out):
        problem = "only one of them could write to standard output; name a file with --out"
    if process is None or not problem:
        return process
    if process.world_size > 1:
        raise ConfigError(f"WORLD_SIZE={process.world_size} processes: {problem}, or start one process")
    return None


def _translate_shards(
    run: Path,
    file: Path,
    out: Path,
    process: "ProcessRank",
    format_rows: "Callable[[list[Translation], int], Iterator[str]]",
    issues: Path | None,
    options: dict[str, Any],
) -> None:
    """Translate the shards of this process; process 0 joins those of all."""
    from regard.api.translation import translate_shards
    from regard.jobs.translate.shards import join_shards
    from regard.tasks.translate.translator import TranslationIssue

    if process.rank == 0:
        _print_splitting(run, options["split_sentences"])
    folder, sizes = translate_shards(run, file, out, process, format_rows, **options)
    if process.rank:
        return
    with _open_issue_log(out, issues) as log, open_output(out) as sink:
        for shard in join_shards(folder, sizes):
            sink.writelines(shard.rows)
            for number, of_line in itertools.groupby(shard.issues, key=lambda issue: issue[0]):
                log.add(f"{file}:{number}", [TranslationIssue(kind, message) for _, kind, message in of_line])
    folder.remove()
    _print_issues(log, sum(sizes), "lines")


def _is_regular(file: Path | None) -> bool:
    """Whether it can be read more than once; one that does not exist is refused later, by its name."""
    return file is not None and (file.is_file() or not file.exists())


def _check_outputs(out: Path | None, issues: Path | None, file: Path | None) -> None:
    """Refuse what cannot be written, and a file of issues that would replace the translation or its source."""
    from regard.atomic import is_stream

    output.check(out, issues)
    for name, other in {"the input": file, "--out": out}.items():
        if issues and other and not is_stream(issues) and os.path.realpath(issues) == os.path.realpath(other):
            raise ConfigError(f"--issues {issues}: is also {name}, and would replace it; choose another file")


def _track_lines(
    lines: "Iterator[list[Translation]]", file: Path | None, out: Path | None
) -> "Iterator[list[Translation]]":
    """The same lines with their progress, if there are more than a chunk: each chunk is a stage of its own."""
    from regard.jobs.translate.text import CHUNK_LINES
    from regard.progress import track

    num_lines = _count_lines(file, out)
    return track(lines, f"translating {file.name}", num_lines) if file and num_lines > CHUNK_LINES else lines


def _write_rows(
    lines: "Iterator[list[Translation]]",
    out: Path | None,
    format_rows: "Callable[[list[Translation], int], Iterator[str]]",
    record: "Callable[[int, Translation], None]",
) -> int:
    """Write the translations of each line as soon as they are known; returns the number of lines."""
    number = 0
    with open_output(out) as sink:
        for number, candidates in enumerate(lines, start=1):
            sink.writelines(format_rows(candidates, number))
            sink.flush()
            record(number, candidates[0])
    return number


def _print_splitting(run: Path, split_sentences: str) -> None:
    """Say so where lines are translated whole although that was not asked for."""
    from regard.api.translation import describe_splitting

    if reason := describe_splitting(run, split_sentences):
        from regard.display.console import terminal_width
        from regard.display.layout import wrap

        note = f"Lines are translated whole: {reason}. `--split-sentences always` translates sentence by sentence."
        typer.echo("\n".join(wrap(note, terminal_width(), "", "  ")), err=True)


def _print_engine(description: str) -> None:
    """Say what translates, and why it is not something faster."""
    from regard.display.console import terminal_width
    from regard.display.layout import wrap

    typer.echo("\n".join(wrap(f"Translated by {description}.", terminal_width(), "", "  ")), err=True)


def _open_issue_log(out: Path | None, issues: Path | None) -> "IssueLog":
    """The file of all issues: the one that was named, or one beside the output."""
    from regard.atomic import is_stream
    from regard.jobs.translate.issue_log import SHOWN_ISSUES, IssueLog

    has_folder = out is not None and not is_stream(out)  # there is nothing beside /dev/stdout
    beside = out.with_name(f"{out.name}.issues.tsv") if out is not None and has_folder else None
    return IssueLog(issues or beside, SHOWN_ISSUES, always=issues is not None)


def _print_issues(log: "IssueLog", total: int, units: str) -> None:
    if not log.num_locations:
        return
    from regard.display.console import terminal_width
    from regard.display.views.documents import format_issues

    if lines := format_issues(log, total, units, terminal_width()):
        typer.echo("\n".join(lines), err=True)


def _require_output(file: Path, out: Path | None, is_for_text: bool) -> Path:
    """The file that a translated document is written to."""
    if out is None or is_for_text:
        problem = "name the translated file with --out" if out is None else "--nbest, --scores and --json are for text"
        raise ConfigError(f"{file}: {problem}")
    return out


def _build_search(beam: int, alpha: float, nbest: int, scored: bool, sampling: "Search | None") -> "Search":
    """Sampling, where it is asked for; otherwise a search."""
    from regard.decode import BeamSearch, GreedySearch

    if sampling is not None and nbest > 1:
        raise ConfigError("--nbest needs a search; leave out --sample, or sample again with another --seed")
    if sampling is not None:
        return sampling
    return GreedySearch(scored=scored) if beam == 1 and nbest == 1 else BeamSearch(beam, alpha, nbest)


def _print_document_result(result: "DocumentResult", out: Path, issues: Path | None) -> None:
    from regard.atomic import is_stream
    from regard.display.console import terminal_width
    from regard.display.views.documents import SHOWN_SEGMENTS, format_document

    has_list = len(result.skipped_segments) > SHOWN_SEGMENTS and not is_stream(out)
    list_path = out.with_name(f"{out.name}.skipped.tsv") if has_list else None
    if list_path is not None:
        result.write_skipped(list_path)
    typer.echo("\n".join(format_document(result, out, list_path, terminal_width())), err=True)
    with _open_issue_log(out, issues) as log:
        for location, segment_issues in itertools.groupby(result.issues, key=lambda item: item[0]):
            log.add(location, [issue for _, issue in segment_issues])
    _print_issues(log, result.num_translated, "translations")


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
    return sum(1 for _ in read_input(file))


def _output_rows(candidates: "list[Translation]", number: int, numbered: bool, scored: bool) -> Iterator[str]:
    for candidate in candidates:
        columns = [str(number)] if numbered else []
        columns += [f"{candidate.score:.4f}"] if scored else []
        yield "\t".join([*columns, candidate.text.translate(LINE_ENDS)]) + "\n"


def _json_rows(candidates: "list[Translation]", number: int) -> Iterator[str]:
    """One JSON object, on one line, for a line."""
    translations = [
        {
            "text": candidate.text,
            "score": candidate.score if math.isfinite(candidate.score) else None,
            "truncated": candidate.truncated,
            "issues": [{"kind": issue.kind, "message": issue.message} for issue in candidate.issues],
        }
        for candidate in candidates
    ]
    yield json.dumps({"line": number, "translations": translations}, ensure_ascii=False) + "\n"
