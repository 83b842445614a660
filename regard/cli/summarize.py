"""regard summarize"""

import json
from pathlib import Path

from regard.cli import output
from regard.cli.lines import LINE_ENDS, open_output, prompt_for_lines, read_inputs
from regard.cli.options import DEVICE, OUTPUT, RUN, SEARCH, argument, flag, option


def summarize(
    run: Path = RUN,
    files: list[Path] | None = argument("FILES", "Text, one document per line; standard input if unset.", None),
    sentences: int | None = option(
        SEARCH, "NUMBER", "Sentences of an extract; as many as in training if unset.", min=1, max=1000
    ),
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each line: text, summary.", "--json"),
    device: str = DEVICE,
) -> None:
    """Summarize documents, one on each line: its summary. Empty lines stay empty, and the order is kept.

    A run of `regard train --task summarize` writes summaries, one of `--task extract` chooses sentences.

    Examples:
      regard summarize runs/mine < abstracts.txt
      regard summarize runs/mine abstracts.txt --out summaries.txt
      regard summarize runs/mine articles.txt --sentences 3 --json

    Read more: docs/howto/summaries.md and `regard train --help`.
    """
    from regard.api.tasks.summarization import summarize_stream

    output.check(out)
    lines = summarize_stream(run, read_inputs(files or ()), sentences=sentences, device=device)
    prompt_for_lines("document", files)
    with open_output(out) as sink:
        for line in lines:
            row = json.dumps(line._asdict(), ensure_ascii=False) if as_json else line.summary.translate(LINE_ENDS)
            sink.write(row + "\n")
            sink.flush()
