"""regard search"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import prompt_for_lines, read_input
from regard.cli.options import ADVANCED, DEVICE, FILES, MEASUREMENT, OUTPUT, SEARCH, argument, flag, option
from regard.cli.output import check

if TYPE_CHECKING:
    from regard.api.retrieval.index import Index
    from regard.formats.retrieval import SearchQuery

MAX_TOP = 1000


def search(
    index: Path = argument("INDEX", "Index folder, as `regard index` creates it."),
    query: str | None = argument("QUERY", "What to search for; lines of standard input if unset.", None),
    queries: Path | None = option(
        FILES, "FILE", "Queries: .jsonl, .tsv or .csv with columns for id and text, or one on each line."
    ),
    method: str | None = option(SEARCH, "KIND", "Rank by fused, dense or bm25 alone; side by side if unset."),
    hnsw: bool = flag(SEARCH, "Search by the graph of `regard index --hnsw`: faster, and not exact.", "--hnsw"),
    judgments: Path | None = option(
        MEASUREMENT, "FILE", "Judgments (qrels): score every method on the queries, with intervals and paired tests."
    ),
    compare_with: list[Path] | None = option(
        MEASUREMENT, "FILE", "Ranked lists of another system, a TREC run, to be scored beside. May be repeated."
    ),
    top: int | None = option(
        OUTPUT, "NUMBER", "Documents for each query; 10 if unset, 1,000 in a run.", min=1, max=MAX_TOP
    ),
    run: Path | None = option(OUTPUT, "FILE", "Write a TREC run, which trec_eval reads: that of --method, or fused."),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each query, or the scores as JSON.", "--json"),
    encoder: Path | None = option(ADVANCED, "RUN", "Run folder of the encoder, if it is not where it was."),
    device: str = DEVICE,
) -> None:
    """Search an index: by the vectors of an encoder, by BM25, and by both fused.

    With --judgments, nDCG@10, average precision, reciprocal rank and recall@100 of each, as trec_eval defines them.

    Examples:
      regard search idx "heat conduction in composite slabs" --top 10
      regard search idx --queries queries.jsonl --run out.trec
      regard search idx --queries queries.jsonl --judgments qrels.txt --compare-with other.trec
      regard search idx "heat conduction" --method bm25 --json

    Read more: docs/howto/search.md
    """
    from regard.api.retrieval.index import Index
    from regard.errors import ConfigError

    if (judgments or run) and not queries:
        raise ConfigError("--queries is missing: --judgments and --run are for the queries of a file")
    if query is not None and queries:
        raise ConfigError("give a query, or --queries with a file of them, not both")
    if compare_with and not judgments:
        raise ConfigError("--judgments is missing: --compare-with is scored on them, beside the index")
    if judgments and not run and (top or method):
        raise ConfigError(
            f"{'--top' if top else '--method'} is not for --judgments, which score every method on 1,000 documents for "
            f"each query; leave it out, or add --run"
        )
    check(run)
    opened = Index.open(index, encoder=encoder, device=device)
    if judgments and queries:
        _evaluate(opened, queries, judgments, compare_with or [], hnsw, as_json)
    if run and queries:
        opened.write_run(queries, run, top=top or MAX_TOP, method=method, approximate=hnsw)
        typer.echo(f"written: {run}", err=True)
    if not (judgments or run):
        _search(opened, _read(query, queries), top or 10, method, hnsw, as_json)


def _read(query: str | None, queries: Path | None) -> "Iterator[SearchQuery]":
    """The query of the command line, those of a file, or lines of standard input."""
    from regard.formats.retrieval import SearchQuery, number_queries, read_queries

    if query is not None:
        return iter([SearchQuery("1", query)])
    if queries is not None:
        return iter(read_queries(queries))
    prompt_for_lines("query")
    return number_queries(read_input(None))


def _search(
    index: "Index", queries: "Iterator[SearchQuery]", top: int, method: str | None, approximate: bool, as_json: bool
) -> None:
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.retrieval.results import format_search_result

    for number, result in enumerate(index.search_stream(queries, top=top, method=method, approximate=approximate)):
        if as_json:
            print(json.dumps(result.as_dict(), ensure_ascii=False), flush=True)
            continue
        lines = format_search_result(result, terminal_width(), is_verbose())
        print("\n".join(["", *lines] if number else lines), flush=True)


def _evaluate(
    index: "Index", queries: Path, judgments: Path, others: list[Path], approximate: bool, as_json: bool
) -> None:
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.retrieval.evaluation import format_search_evaluation

    evaluation = index.evaluate(queries, judgments, compare_with=others, approximate=approximate)
    if as_json:
        print(json.dumps(evaluation.as_dict(), indent=1))
        return
    print("\n".join(format_search_evaluation(evaluation, terminal_width(), is_verbose())))
