"""regard index"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.options import ADVANCED, DEVICE, FILES, OUTPUT, PAIR, argument, flag, option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.api.retrieval.index import Index

DOCUMENTS = "Documents: .jsonl, .tsv or .csv with id, title and text, or folders of .txt files."
LANGUAGE = option(FILES, "CODE", "Language of the documents, which decides how BM25 stems words.", default="auto")
PRECISION = option(
    ADVANCED, "KIND", "Numbers of vectors: float32, or int8 in a quarter of the space.", default="float32"
)
MAX_PASSAGES = option(
    ADVANCED,
    "NUMBER",
    "Passages of a document that are embedded: 1 truncates it to the encoder's window, 0 embeds all of it.",
    default=0,
    min=0,
    max=1_000_000,
)


def index(
    source: Path = argument("RUN", "Run folder of an encoder; an index folder, with --add or --delete."),
    files: list[Path] | None = argument("FILES", DOCUMENTS, None),
    add: list[Path] | None = option(FILES, PAIR, "Documents to add to an index, in the same formats."),
    delete: list[str] | None = option(FILES, "NAME", "Id of a document to delete from an index. May be repeated."),
    replace: bool = flag(FILES, "Replace documents whose ids are added again.", "--replace"),
    id_column: str = option(FILES, "NAME", "Column of the id in a table of documents.", default=""),
    title_column: str = option(FILES, "NAME", "Column of the title in a table of documents.", default=""),
    text_column: str = option(FILES, "NAME", "Column of the text in a table of documents.", default=""),
    language: str = LANGUAGE,
    out: Path | None = option(OUTPUT, "FOLDER", "Folder to write the index to."),
    overwrite: bool = flag(OUTPUT, "Replace an existing index.", "--overwrite"),
    stemmer: str = option(ADVANCED, "NAME", "Snowball's algorithm for BM25, or none.", default="auto"),
    precision: str = PRECISION,
    max_passages: int = MAX_PASSAGES,
    hnsw: bool = flag(ADVANCED, "Also build a graph for approximate search, and measure its recall.", "--hnsw"),
    encoder: Path | None = option(ADVANCED, "RUN", "Run folder of the encoder, if it is not where it was."),
    device: str = DEVICE,
) -> None:
    """Index documents for `regard search`: vectors by an encoder, and terms for BM25.

    A document that is longer than the encoder's window has several passages that overlap; its best passage counts.
    An index is replaced as a whole: until the new one is complete, the old one can be searched.

    Examples:
      regard index runs/minilm docs.jsonl --out idx
      regard index runs/minilm notes/ --out idx --precision int8
      regard index idx --add more.jsonl --replace
      regard index idx --delete d7 --delete d12

    Read more: docs/howto/search.md
    """
    columns = {"id_column": id_column, "title_column": title_column, "text_column": text_column}
    if add or delete:
        if files or out:
            raise ConfigError(
                "--add and --delete change the index that is named first: leave out --out and other files"
            )
        _change(source, encoder, device, add, delete, {**columns, "replace": replace})
        return
    if out is None:
        raise ConfigError("--out is missing: the folder to write the index to; --add and --delete change one")
    options = {"language": language, "stemmer": stemmer, "precision": precision, "max_passages": max_passages}
    switches = {"hnsw": hnsw, "overwrite": overwrite, "device": device}
    _build(source, files or [], out, {**columns, **options, **switches})


def _build(run: Path, files: list[Path], out: Path, options: dict[str, Any]) -> None:
    from regard.api.retrieval.index import build_index

    _show(build_index(run, *files, out=out, **options))


def _change(
    path: Path,
    encoder: Path | None,
    device: str,
    add: list[Path] | None,
    delete: list[str] | None,
    options: dict[str, Any],
) -> None:
    from regard.api.retrieval.index import Index

    if add and delete:
        raise ConfigError("give --add or --delete, not both; --add --replace replaces documents by their ids")
    opened = Index.open(path, encoder=encoder, device=device)
    if add:
        opened.add(add, **options)
    else:
        opened.delete(*(delete or ()))
    _show(opened)


def _show(index: "Index") -> None:
    from regard.display.console import terminal_width
    from regard.display.views.retrieval.results import format_index

    print("\n".join(format_index(index.session.index, terminal_width())))
