"""Translate files and streams of lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.api.arguments import AnyPath
from regard.api.terminal import showing
from regard.decode import BeamSearch, Search
from regard.errors import ConfigError
from regard.formats import check_translation, open_document
from regard.formats.document import is_plain_text
from regard.jobs.translate.text import (
    DocumentResult,
    LengthLimit,
    accept_translation,
    translate_document,
    translate_lines,
)
from regard.jobs.translate.worker_pool import RuntimeOptions, open_translator
from regard.run import open_run
from regard.tasks.translate import Translation

LONG_LINES = ("split", "refuse")


def translate_file(
    run: AnyPath,
    file: AnyPath,
    out: AnyPath,
    *,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    long: str = "split",
    progress: bool = False,
) -> DocumentResult:
    """Translate a text, .po or .xlf file; the translated file is written to `out`, which may be the file itself.

        regard.translate_file("runs/mine", "messages.po", "messages.fr.po")

    Of a .po or .xlf file, the untranslated entries are filled and marked for review. A translation that would break its
    entry (a lost placeholder) is left out, and `skipped_segments` of the result has its location and the reason. A text
    file is translated line by line. `search` is a beam search of width 5 if unset. `runtime` chooses the device, the
    number of processes, int8 and the engine, as in `regard.RuntimeOptions(quantize="int8", workers=2)`; a script that
    starts several processes needs `if __name__ == "__main__":`. `long` splits lines that are longer than in training
    at sentence ends, or refuses them.
    """
    path = Path(file)
    data = open_run(Path(run)).load_config().data
    limit = build_length_limit(data.max_length, long)
    document = open_document(path, data.source, data.target)
    check = check_translation if is_document(path) else accept_translation
    with showing(progress), open_translator(Path(run), runtime or RuntimeOptions()) as translator:
        return translate_document(translator, document, Path(out), search or BeamSearch(), limit, check)


def translate_stream(
    run: AnyPath,
    lines: Iterable[str],
    *,
    search: Search | None = None,
    runtime: RuntimeOptions | None = None,
    long: str = "split",
    name: str = "line",
) -> Iterator[list[Translation]]:
    """The translations of each line, best first, as lines arrive; memory does not grow with their number.

        for candidates in regard.translate_stream("runs/mine", open("long.txt")):
            print(candidates[0].text)

    `search`, `runtime` and `long` are those of `translate_file`. `name` names the lines in error messages.
    """
    if isinstance(lines, str):
        raise TypeError("translate_stream() takes lines, as a file or a list of str, got one str")
    data = open_run(Path(run)).load_config().data
    limit = build_length_limit(data.max_length, long)
    translator_context = open_translator(Path(run), runtime or RuntimeOptions())
    texts = (line.removesuffix("\n") for line in lines)

    def translate() -> Iterator[list[Translation]]:
        with translator_context as translator:
            yield from translate_lines(translator, texts, search or BeamSearch(), limit, lambda n: f"{name}:{n}")

    return translate()


def is_document(file: AnyPath) -> bool:
    """Whether a file is translated as a whole (.po, .xlf), not line by line."""
    return not is_plain_text(Path(file))


def build_length_limit(max_tokens: int, long: str) -> LengthLimit:
    if long not in LONG_LINES:
        raise ConfigError(f"--long {long}: expected {' or '.join(LONG_LINES)}")
    return LengthLimit(max_tokens, refuse=long == "refuse")
