"""Translate files and streams of lines, and the training sources of a run."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files
from regard.api.terminal import showing
from regard.data.text_statistics import TextStatistics
from regard.decode import BeamSearch, Search
from regard.errors import ConfigError
from regard.formats import check_translation, open_document, read_lines
from regard.formats.document import is_plain_text
from regard.jobs.shortlist.make import make_shortlist as make
from regard.jobs.shortlist.record import ShortlistRecord
from regard.jobs.text_statistics import load_statistics
from regard.jobs.translate import stream
from regard.jobs.translate.distill import DistilledPairs
from regard.jobs.translate.distill import distill as distill_runs
from regard.jobs.translate.engine_choice import open_chosen
from regard.jobs.translate.pipeline import build_length_limit, build_pipeline
from regard.jobs.translate.sentence_splitting import choose_splitting
from regard.jobs.translate.shards import Issue, ProcessRank, ShardFolder, describe_job, translate_own_shards
from regard.jobs.translate.text import (
    DocumentResult,
    accept_translation,
    translate_chunk,
    translate_document,
    translate_lines,
)
from regard.jobs.translate.worker_pool import RuntimeOptions, batch_in_groups
from regard.run import Run, open_run
from regard.tasks.translate.translator import Translation


def ignore(text: str) -> None:
    """Announce nothing."""


def translate_file(
    run: AnyPath,
    file: AnyPath,
    out: AnyPath,
    *,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    long: str = "split",
    split_sentences: str = "auto",
    announce: Callable[[str], object] = ignore,
    progress: bool = False,
) -> DocumentResult:
    """Translate a text, .po or .xlf file; the translated file is written to `out`, which may be the file itself.

        regard.translate_file("runs/mine", "messages.po", "messages.fr.po")

    Of a .po or .xlf file, the untranslated entries are filled and marked for review. A translation that would break its
    entry (a lost placeholder) is left out, and `skipped_segments` of the result has its location and the reason. A text
    file is translated line by line. `search` is a beam search of width 5 if unset. `runtime` chooses the device, the
    number of processes, precision, engine and shortlist; unset, the fastest engine that is installed, in int8 on a CPU.
    `regard.RuntimeOptions(engine="torch")` computes in float32, as scores are computed; a script that starts several
    processes (`workers=2`) needs `if __name__ == "__main__":`. `long` splits lines that are longer than in training
    at sentence ends, or refuses them. `split_sentences` is auto, always or never: lines of several sentences are
    translated sentence by sentence, with auto unless the model was trained on such lines.

    `announce` is called with the engine that translates, and why no faster one does.

    `issues` of the result has what the translations have probably lost: omissions, numbers, and characters that the
    model has never seen. In a .po or .xlf file they are also notes of their entries.
    """
    path = Path(file)
    trained_run = open_run(Path(run))
    data = trained_run.load_config().data
    _check_options(trained_run, long, split_sentences)
    document = open_document(path, data.source, data.target)
    check = check_translation if is_document(path) else accept_translation
    search, runtime = search or BeamSearch(), runtime or RuntimeOptions()
    with showing(progress), open_chosen(Path(run), runtime, search) as opened:
        announce(opened.choice.describe())
        translator = batch_in_groups(opened.backend)
        pipeline = build_pipeline(trained_run, translator.tokenizers, long, split_sentences)
        return translate_document(translator, document, Path(out), search, pipeline, check)


def distill(
    *runs: AnyPath,
    out: AnyPath,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    progress: bool = False,
) -> DistilledPairs:
    """Write the training pairs of a run together with translations of their sources, to train a better run on.

        regard.distill("runs/mine", out="pairs.jsonl")
        regard.train("pairs.jsonl", dev="pairs.dev.jsonl", out="runs/better", minutes=60)

    With several runs, each translates the sources of the first one. Pairs that this one had held out for dev and test
    are written beside the file (`held_out` of the result). What was interrupted goes on when it is called again.
    `search` is a beam search of width 5 if unset; `runtime` is as for `translate_file`, with a process per core for a
    long text.
    """
    if not runs:
        raise ConfigError("name a run whose training sources are translated")
    with showing(progress):
        return distill_runs([Path(run) for run in runs], Path(out), search or BeamSearch(), runtime or RuntimeOptions())


def translate_stream(
    run: AnyPath,
    lines: Iterable[str],
    *,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    long: str = "split",
    split_sentences: str = "auto",
    announce: Callable[[str], object] = ignore,
    name: str = "line",
    full_chunks: bool = False,
) -> Iterator[list[Translation]]:
    """The translations of each line, best first, as lines arrive; memory does not grow with their number.

        for candidates in regard.translate_stream("runs/mine", open("long.txt")):
            print(candidates[0].text)

    `search`, `runtime`, `long`, `split_sentences` and `announce` are those of `translate_file`. `issues` of a
    translation has what it has probably lost. `name` names the lines in error messages. Lines are translated as they
    arrive; with `full_chunks`, once a chunk of them is there, so that what is batched together depends on the lines
    alone.
    """
    if isinstance(lines, str):
        raise TypeError("translate_stream() takes lines, as a file or a list of str, got one str")
    trained_run = open_run(Path(run))
    _check_options(trained_run, long, split_sentences)
    search, runtime = search or BeamSearch(), runtime or RuntimeOptions()
    texts = (line.removesuffix("\n") for line in lines)
    opened = contextlib.ExitStack()  # what cannot be opened is an error of this call, not of the first line
    engine = opened.enter_context(open_chosen(Path(run), runtime, search))
    announce(engine.choice.describe())
    translator = batch_in_groups(engine.backend)

    def translate() -> Iterator[list[Translation]]:
        with opened:
            pipeline = build_pipeline(trained_run, translator.tokenizers, long, split_sentences)
            read = stream.full_chunks if full_chunks else stream.read_chunks
            yield from translate_lines(translator, texts, search, pipeline, lambda n: f"{name}:{n}", read)

    return translate()


def translate_shards(
    run: AnyPath,
    file: AnyPath,
    out: AnyPath,
    process: ProcessRank,
    format_rows: Callable[[list[Translation], int], Iterable[str]],
    *,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    long: str = "split",
    split_sentences: str = "auto",
    rows: str = "",
) -> tuple[ShardFolder, list[int]]:
    """Translate the shards of a text file that are those of this process; `join_shards` reads them all.

    `format_rows` makes the rows that are written for the candidates of a line and its number; `rows` says which, in a
    word, for shards with other rows cannot be joined with these. Returns the folder, and the lines of each shard.
    """
    trained_run, path = open_run(Path(run)), Path(file)
    search, runtime = search or BeamSearch(), process.runtime(runtime or RuntimeOptions())
    _check_options(trained_run, long, split_sentences)
    options = {"search": repr(search), "long lines": long, "sentence splitting": split_sentences, "rows": rows}
    with open_chosen(Path(run), runtime, search) as opened:
        options |= {"engine": opened.choice.describe(), "device": runtime.device.split(":")[0]}
        folder = ShardFolder(Path(out), describe_job(trained_run, path, options))
        translator = batch_in_groups(opened.backend)
        pipeline = build_pipeline(trained_run, translator.tokenizers, long, split_sentences)

        def translate(chunk: list[str], first: int) -> Iterator[tuple[list[str], list[Issue]]]:
            lines = translate_chunk(translator, chunk, first, search, pipeline, lambda n: f"{file}:{n}")
            for number, candidates in enumerate(lines, start=first):
                issues = [(number, issue.kind, issue.message) for issue in candidates[0].issues]
                yield list(format_rows(candidates, number)), issues

        return folder, translate_own_shards(folder, process, read_lines(path), translate)


def is_document(file: AnyPath) -> bool:
    """Whether a file is translated as a whole (.po, .xlf), not line by line."""
    return not is_plain_text(Path(file))


def describe_splitting(run: AnyPath, split_sentences: str = "auto") -> str:
    """Why lines of several sentences are translated whole, if it was not asked for; "" if they are split."""
    trained_run = open_run(Path(run))
    return choose_splitting(split_sentences, trained_run.load_config(), load_statistics(trained_run)).reason


def _check_options(run: Run, long: str, split_sentences: str) -> None:
    """Refuse a misspelt option before a model is loaded."""
    config = run.load_config()
    build_length_limit(config.data.max_length, long)
    choose_splitting(split_sentences, config, TextStatistics())


def make_shortlist(run: AnyPath, *files: Files, progress: bool = False) -> ShortlistRecord:
    """Find the target tokens that can translate each source token, store them in the run, and measure what they change.

        record = regard.make_shortlist("runs/mine")
        [trial.describe() for trial in record.trials]

    Translating then chooses among a part of the vocabulary, which is faster. The tokens are counted in the run's own
    training text (IBM model 1 in both directions), or in `files`, for a run that was imported. With `shortlist="auto"`
    they are used where at least 99% of the translations of dev stay and BLEU moves by at most 0.1.
    """
    with showing(progress):
        return make(Path(run), list_files(files))
