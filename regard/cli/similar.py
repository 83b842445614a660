"""regard similar"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli import output
from regard.cli.lines import open_output, prompt_for_lines, read_input
from regard.cli.options import DEVICE, FILES, OUTPUT, RUN, argument, flag, option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.jobs.tasks.embedding.inputs import ComparedTexts


def similar(
    run: Path = RUN,
    texts: list[str] | None = argument(
        "TEXTS", "A text, and one or more that it is compared with; lines of standard input if unset.", None
    ),
    data: list[str] | None = option(FILES, "FILE", "Table of pairs to compare: .tsv, .csv or .jsonl."),
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each pair: text, text_pair, similarity.", "--json"),
    device: str = DEVICE,
) -> None:
    """Compare texts: the cosine of their vectors, from -1 to 1; the higher, the more alike they are.

    The run is one of `regard train --task embed`, or an encoder that was imported. A line of standard input has two
    texts, separated by a tab.

    Examples:
      regard similar runs/mine "How do I pay?" "Which ways of payment are there?"
      regard similar runs/mine "How do I pay?" "Prices" "Payment by card" --json
      regard similar runs/mine --data pairs.tsv --out similarities.txt
      regard similar runs/mine < pairs.txt

    Read more: docs/howto/embeddings.md and `regard train --help`.
    """
    output.check(out)
    if texts and data:
        raise ConfigError("TEXTS and --data are two ways to say what is compared; leave out one of them")
    if texts and len(texts) < 2:
        raise ConfigError(f"nothing to compare {texts[0][:40]!r} with: give a second text, or --data FILE")
    if blank := [number for number, text in enumerate(texts or [], start=1) if not text.strip()]:
        raise ConfigError(f"text {blank[0]} is empty: there is nothing to compare")
    pairs = _compare(run, texts or [], data or [], device)
    format_line = _json_line if as_json else _output_line
    with open_output(out) as sink:
        for pair in pairs:
            sink.write(format_line(pair) + "\n")
            sink.flush()


def _compare(run: Path, texts: list[str], data: list[str], device: str) -> "Iterator[ComparedTexts | None]":
    from regard.api.tasks.embedding import similar_files, similar_stream

    if data:
        return similar_files(run, data, device=device)
    if not texts:
        prompt_for_lines("pair of texts, separated by a tab")
        return similar_stream(run, read_input(None), device=device)
    first, *others = (" ".join(text.split()) for text in texts)
    return similar_stream(run, [f"{first}\t{other}" for other in others], device=device, name="text")


def _output_line(pair: "ComparedTexts | None") -> str:
    return "" if pair is None else f"{pair.similarity:.4f}"


def _json_line(pair: "ComparedTexts | None") -> str:
    return json.dumps({} if pair is None else pair._asdict(), ensure_ascii=False)
