"""Reports as one HTML file that makes no network requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from regard.atomic import write_text
from regard.report.chart import Chart
from regard.report.table import Table, Value
from regard.report.text import escape_html, format_column

# A second safeguard besides inlining everything: even if a link slipped in, the browser would not load it.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
NUMBER = re.compile(r"[<+−-]? ?[\d,]+\.\d+( ± [\d.]+)?%?|\d+%|not tested")
"""A number that is written out, where each row has its own decimal places, or what stands in its place."""
MAX_NAME_LENGTH = 32  # characters of a name without blanks, such as a label
MAX_NOWRAP_LENGTH = 17  # characters of a text that is never wrapped: a number and its interval, a name


class PagePart(Protocol):
    """A part of a section: any object that can render itself as escaped HTML."""

    def html(self) -> str: ...


@dataclass(frozen=True)
class Paragraph:
    """Plain text; a blank line begins a new paragraph."""

    text: str

    def html(self) -> str:
        blocks = [block.strip() for block in self.text.split("\n\n")]
        return "\n".join(f'<p dir="auto">{escape_html(block)}</p>' for block in blocks if block)


@dataclass(frozen=True)
class Figure:
    """A chart, inlined as SVG, with a caption."""

    chart: Chart
    caption: str = ""

    def html(self) -> str:
        caption = f"<figcaption>{escape_html(self.caption)}</figcaption>" if self.caption else ""
        return (
            f'<figure><div class="plot" tabindex="0" role="group" aria-label="{escape_html(self.chart.title)}">'
            f"{self.chart.to_svg()}</div>{caption}</figure>"
        )


@dataclass(frozen=True)
class TableView:
    """A table: numbers are right-aligned at their decimal points, text is left-aligned."""

    table: Table
    caption: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    """Headings of columns, if they differ from the names."""

    def html(self) -> str:
        names = list(self.table.columns)
        numeric = {name: _is_numeric(self.table[name]) for name in names}
        head = "".join(
            f'<th scope="col"{_cell_attributes(numeric[name])}>{escape_html(self.headings.get(name, name))}</th>'
            for name in names
        )
        texts = [format_column(self.table[name]) for name in names]
        short = {name: all(_stays_whole(text) for text in column) for name, column in zip(names, texts, strict=True)}
        cell_attributes = {name: _cell_attributes(numeric[name], short[name]) for name in names}
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{cell_attributes[name]}>{escape_html(text)}</td>" for name, text in zip(names, row, strict=True)
            )
            + "</tr>"
            for row in zip(*texts, strict=True)
        )
        caption = f"<caption>{escape_html(self.caption)}</caption>" if self.caption else ""
        return (
            f'<div class="scroll" tabindex="0" role="group" aria-label="{escape_html(self.caption or "table")}">'
            f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )


@dataclass(frozen=True)
class DefinitionList:
    """Settings or scores: names and values."""

    entries: Mapping[str, Value]

    def html(self) -> str:
        texts = {name: format_column([value])[0] for name, value in self.entries.items()}
        items = "\n".join(
            f'<div{_row_attributes(text)}><dt>{escape_html(name)}</dt><dd dir="auto">{escape_html(text)}</dd></div>'
            for name, text in texts.items()
        )
        return f'<dl class="facts">{items}</dl>'


@dataclass(frozen=True)
class TranslationCard:
    """A sentence, its translation by the model, and its reference."""

    source: str
    translation: str
    reference: str = ""
    score: str = ""
    """The score with its metric ("chrF 61.2")."""


@dataclass(frozen=True)
class TranslationCards:
    """A card for each translation; the languages, if known, become lang attributes."""

    items: Sequence[TranslationCard]
    source_language: str = ""
    target_language: str = ""

    def html(self) -> str:
        return f'<ol class="cards">{"".join(self._card(item) for item in self.items)}</ol>'

    def _card(self, item: TranslationCard) -> str:
        score = f'<p class="score">{escape_html(item.score)}</p>' if item.score else ""
        lines = [("source", item.source, self.source_language)]
        lines += [("reference", item.reference, self.target_language)] if item.reference else []
        lines += [("translation", item.translation, self.target_language)]
        body = "".join(
            f'<div class="{kind}"><dt>{kind}</dt>'
            f'<dd dir="auto"{_language_attribute(code)}>{escape_html(text)}</dd></div>'
            for kind, text, code in lines
        )
        return f"<li>{score}<dl>{body}</dl></li>"


@dataclass(frozen=True)
class Section:
    """A heading and the parts below it."""

    title: str
    parts: Sequence[PagePart]

    def html(self, anchor: str) -> str:
        body = "\n".join(part.html() for part in self.parts)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
            f'<h2 id="{anchor}-title">{escape_html(self.title)}</h2>\n{body}\n</section>'
        )


def render_page(title: str, subtitle: str, sections: Sequence[Section], *, language: str = "en") -> str:
    """A complete HTML document: style and charts are inlined, requests are forbidden."""
    anchors = {f"section-{number}": section for number, section in enumerate(sections, start=1)}
    contents = "".join(f'<li><a href="#{name}">{escape_html(part.title)}</a></li>' for name, part in anchors.items())
    menu = f'<nav aria-label="Contents"><ol>{contents}</ol></nav>' if len(anchors) > 1 else ""
    body = "\n".join(part.html(name) for name, part in anchors.items())
    return f"""<!DOCTYPE html>
<html lang="{escape_html(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape_html(title)}</title>
<style>
{read_stylesheet()}</style>
</head>
<body>
<header>
<h1>{escape_html(title)}</h1>
{f'<p class="subtitle">{escape_html(subtitle)}</p>' if subtitle else ""}
{menu}
</header>
<main>
{body}
</main>
</body>
</html>
"""


FRAGMENT_STYLE = (
    "<style>.regard table{border-collapse:collapse}.regard td,.regard th{padding:2px 10px;text-align:left}"
    ".regard .number{text-align:right}.regard dl.facts>div{display:inline-block;margin-right:2em}"
    ".regard dt{opacity:.7}.regard dd{margin:0}.regard .scroll,.regard .plot{overflow-x:auto}</style>"
)


def render_fragment(parts: Sequence[PagePart]) -> str:
    """Parts below each other for a notebook, with the little style that it lacks."""
    return f'{FRAGMENT_STYLE}<div class="regard">{"".join(part.html() for part in parts)}</div>'


def write_page(path: Path, html: str) -> None:
    """Write the page as UTF-8, and create its folder if needed."""
    write_text(path, html)


def read_stylesheet() -> str:
    """The stylesheet of the page, a file of this package."""
    return (files("regard.report") / "static" / "page.css").read_text(encoding="utf-8")


def _stays_whole(text: str) -> bool:
    """Whether a text has a line of its own: a short one, and a name that could only be broken in the middle."""
    return len(text) <= (MAX_NOWRAP_LENGTH if " " in text else MAX_NAME_LENGTH)


def _is_numeric(values: Sequence[Value]) -> bool:
    return all(NUMBER.fullmatch(value) is not None for value in values if isinstance(value, str))


def _cell_attributes(numeric: bool, short: bool = False) -> str:
    return ' class="number"' if numeric else ' dir="auto" class="short"' if short else ' dir="auto"'


def _row_attributes(text: str) -> str:
    """A value that is too long for its column gets a row of its own."""
    return ' class="long"' if len(text) > 22 else ""


def _language_attribute(code: str) -> str:
    return f' lang="{escape_html(code)}"' if code else ""
