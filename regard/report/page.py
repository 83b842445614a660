"""One HTML file that holds its whole report and asks the network for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from regard.report.chart import Chart
from regard.report.table import Table, Value
from regard.report.text import escape, figures

# Belt to the braces of inlining everything: even if a link slipped in, the browser would not follow it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SHORT = 16  # letters of a text that is never broken: a number and its interval, a name


class Part(Protocol):
    """What a section is made of: anything that can write itself as escaped HTML."""

    def html(self) -> str: ...


@dataclass(frozen=True)
class Paragraph:
    """Plain text; a blank line begins a new paragraph."""

    text: str

    def html(self) -> str:
        blocks = [block.strip() for block in self.text.split("\n\n")]
        return "\n".join(f'<p dir="auto">{escape(block)}</p>' for block in blocks if block)


@dataclass(frozen=True)
class Figure:
    """A chart, drawn into the page, with a caption."""

    chart: Chart
    caption: str = ""

    def html(self) -> str:
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        return (
            f'<figure><div class="plot" tabindex="0" role="group" aria-label="{escape(self.chart.title)}">'
            f"{self.chart.svg()}</div>{caption}</figure>"
        )


@dataclass(frozen=True)
class Grid:
    """A table to read: numbers to the right with their points below one another, text to the left."""

    table: Table
    caption: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    """What a column is called on the page, where its name is not good enough."""

    def html(self) -> str:
        names = list(self.table.columns)
        numeric = {name: _numeric(self.table[name]) for name in names}
        head = "".join(
            f'<th scope="col"{_side(numeric[name])}>{escape(self.headings.get(name, name))}</th>' for name in names
        )
        texts = [figures(self.table[name]) for name in names]
        short = {name: all(len(text) <= SHORT for text in column) for name, column in zip(names, texts, strict=True)}
        sides = {name: _side(numeric[name], short[name]) for name in names}
        body = "\n".join(
            "<tr>"
            + "".join(f"<td{sides[name]}>{escape(text)}</td>" for name, text in zip(names, row, strict=True))
            + "</tr>"
            for row in zip(*texts, strict=True)
        )
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        return (
            f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(self.caption or "table")}">'
            f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )


@dataclass(frozen=True)
class Facts:
    """Settings or scores: a name and a value each."""

    facts: Mapping[str, Value]

    def html(self) -> str:
        texts = {name: figures([value])[0] for name, value in self.facts.items()}
        items = "\n".join(
            f'<div{_row(text)}><dt>{escape(name)}</dt><dd dir="auto">{escape(text)}</dd></div>'
            for name, text in texts.items()
        )
        return f'<dl class="facts">{items}</dl>'


@dataclass(frozen=True)
class Translation:
    """A sentence, what the model made of it, and what a person did."""

    source: str
    translation: str
    reference: str = ""
    score: str = ""
    """Written out with its metric ("chrF 61.2"): a number never travels alone."""


@dataclass(frozen=True)
class Translations:
    """A card for each translation; the languages, where known, tell a browser how to read and break it."""

    items: Sequence[Translation]
    source_language: str = ""
    target_language: str = ""

    def html(self) -> str:
        return f'<ol class="cards">{"".join(self._card(item) for item in self.items)}</ol>'

    def _card(self, item: Translation) -> str:
        score = f'<p class="score">{escape(item.score)}</p>' if item.score else ""
        lines = [("source", item.source, self.source_language)]
        lines += [("reference", item.reference, self.target_language)] if item.reference else []
        lines += [("translation", item.translation, self.target_language)]
        body = "".join(
            f'<div class="{kind}"><dt>{kind}</dt><dd dir="auto"{_language(code)}>{escape(text)}</dd></div>'
            for kind, text, code in lines
        )
        return f"<li>{score}<dl>{body}</dl></li>"


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    parts: Sequence[Part]

    def html(self, anchor: str) -> str:
        inside = "\n".join(part.html() for part in self.parts)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
            f'<h2 id="{anchor}-title">{escape(self.title)}</h2>\n{inside}\n</section>'
        )


def page(title: str, subtitle: str, sections: Sequence[Section], *, language: str = "en") -> str:
    """A whole document: style inlined, charts drawn in, every request forbidden."""
    anchors = {f"section-{number}": section for number, section in enumerate(sections, start=1)}
    contents = "".join(f'<li><a href="#{name}">{escape(part.title)}</a></li>' for name, part in anchors.items())
    menu = f'<nav aria-label="Contents"><ol>{contents}</ol></nav>' if len(anchors) > 1 else ""
    body = "\n".join(part.html(name) for name, part in anchors.items())
    return f"""<!DOCTYPE html>
<html lang="{escape(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{style()}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{f'<p class="subtitle">{escape(subtitle)}</p>' if subtitle else ""}
{menu}
</header>
<main>
{body}
</main>
</body>
</html>
"""


def write_page(path: Path, html: str) -> None:
    """Write the page as UTF-8, making its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8", newline="\n")


def style() -> str:
    """The page's stylesheet, as it lies in the package."""
    return (files("regard.report") / "static" / "page.css").read_text(encoding="utf-8")


def _numeric(values: Sequence[Value]) -> bool:
    return not any(isinstance(value, str) for value in values) and any(value is not None for value in values)


def _side(numeric: bool, short: bool = False) -> str:
    return ' class="number"' if numeric else ' dir="auto" class="short"' if short else ' dir="auto"'


def _row(text: str) -> str:
    """A fact too long for its column gets a row of its own."""
    return ' class="long"' if len(text) > 22 else ""


def _language(code: str) -> str:
    return f' lang="{escape(code)}"' if code else ""
