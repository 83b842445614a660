"""regard tag"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from regard.cli import output
from regard.cli.lines import open_output, prompt_for_lines, read_inputs
from regard.cli.options import DEVICE, FILES, OUTPUT, RUN, argument, flag, option
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.tasks.tag.tagger import TaggedText

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML text may have, not even escaped."""
REPLACEMENT = "\ufffd"


def tag(
    run: Path = RUN,
    files: list[Path] | None = argument("FILES", "Text, one sentence per line; standard input if unset.", None),
    words: bool = flag(FILES, "Words are separated by blanks already, punctuation too.", "--words"),
    out: Path | None = option(OUTPUT, "FILE", "File to write; standard output if unset."),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each line: the text, and entities.", "--json"),
    as_xml: bool = flag(OUTPUT, "Print each line as XML, with an element around each entity.", "--xml"),
    device: str = DEVICE,
) -> None:
    """Tag the words of text line by line, such as names of persons and places, or parts of speech.

    The output has columns as CoNLL's: a word and its tag on a line, and a blank line after each sentence. With --json,
    the start and end of an entity are numbers of characters, and its end is exclusive.

    Examples:
      echo "Alex Smith lives in Paris." | regard tag runs/mine
      regard tag runs/mine input.txt --out output.conll
      regard tag runs/mine input.txt --json
      regard tag runs/mine tokenized.txt --words --xml

    Read more: `regard train --help` and docs/howto/check_labels.md.
    """
    from regard.api.tasks.tagging import tag_stream

    if as_json and as_xml:
        raise ConfigError("--json and --xml are two formats; choose one of them")
    output.check(out)
    results = tag_stream(run, read_inputs(files or ()), words=words, device=device)
    prompt_for_lines("sentence", files)
    format_text: Callable[[TaggedText], str] = _format_json if as_json else _format_xml if as_xml else _format_columns
    with open_output(out) as sink:
        for result in results:
            sink.write(format_text(result) + "\n")
            sink.flush()


def _format_columns(result: "TaggedText") -> str:
    """A line for each word; the blank line that ends the sentence is added by the caller."""
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(result.words, result.tags, strict=True))


def _format_json(result: "TaggedText") -> str:
    return json.dumps({"text": result.text, "entities": [one._asdict() for one in result.entities]}, ensure_ascii=False)


def _format_xml(result: "TaggedText") -> str:
    """A document of one line: <sentence>, and <entity type="…"> around each entity."""
    parts, end = [], 0
    for entity in result.entities:
        content = _escape(entity.text)
        parts += [_escape(result.text[end : entity.start]), f"<entity type={_quote(entity.type)}>{content}</entity>"]
        end = entity.end
    return f"<sentence>{''.join(parts)}{_escape(result.text[end:])}</sentence>"


def _escape(text: str) -> str:
    return escape(NOT_XML.sub(REPLACEMENT, text), {"\r": "&#13;"})


def _quote(text: str) -> str:
    return quoteattr(NOT_XML.sub(REPLACEMENT, text))
