"""Reports as one HTML file that makes no network requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, Protocol

from regard.atomic import write_text
from regard.report.chart import Chart
from regard.report.look.bundle import bundle_script, csp_hash, static_resource
from regard.report.readout import format_readouts
from regard.report.table import Value
from regard.report.text import escape_html, format_column, slugify
from regard.report.theme import dark_style

# A second safeguard besides inlining everything: even if a link slipped in, the browser would not load it.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {script}; base-uri 'none'; "
    "form-action 'none'"
)
Verdict = Literal["good", "bad", "open"]


@dataclass(frozen=True)
class Headline:
    """The sentence that a page begins with: what its reader came for."""

    text: str
    verdict: Verdict = "open"
    """Whether it is good news; open where that is not for the page to say."""

    def html(self) -> str:
        sign = {"good": "✓ ", "bad": "✗ ", "open": ""}[self.verdict]
        mark = f'<span aria-hidden="true">{sign}</span>' if sign else ""
        return f'<p class="headline {self.verdict}" dir="auto">{mark}{escape_html(self.text)}</p>'


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
        svg, readout = self.chart.to_svg(), escape_html(format_readouts(self.chart.read_out()))
        return (
            f'<figure><div class="plot" tabindex="0" role="group" aria-label="{escape_html(self.chart.title)}" '
            f'data-readout="{readout}">{svg}</div>{caption}</figure>'
        )


@dataclass(frozen=True)
class ItemList:
    """Sentences below each other."""

    items: Sequence[str]
    kind: str = ""
    """What they are, for their style: alarms."""

    def html(self) -> str:
        items = "".join(f'<li dir="auto">{escape_html(item)}</li>' for item in self.items)
        return f'<ul class="items {self.kind}">{items}</ul>' if self.kind else f'<ul class="items">{items}</ul>'


@dataclass(frozen=True)
class Folded:
    """Parts that are shown on request."""

    title: str
    parts: Sequence[PagePart]

    def html(self) -> str:
        body = "\n".join(part.html() for part in self.parts)
        return f"<details><summary>{escape_html(self.title)}</summary>\n{body}\n</details>"


@dataclass(frozen=True)
class Switch:
    """Variants of the same parts, of which one is shown; without JavaScript, the first."""

    name: str
    """Of the switch, which no other of the page has."""
    label: str
    variants: Mapping[str, Sequence[PagePart]]

    def html(self) -> str:
        names, slug = list(self.variants), slugify(self.name)
        choices = "".join(
            f'<label><input type="radio" name="{slug}" value="{n}"{" checked" if n == 0 else ""}> '
            f"{escape_html(name)}</label>"
            for n, name in enumerate(names)
        )
        shown = "\n".join(
            f'<div class="variant" data-value="{n}"{"" if n == 0 else " hidden"}>'
            + "\n".join(part.html() for part in self.variants[name])
            + "</div>"
            for n, name in enumerate(names)
        )
        return (
            f'<div class="switch"><fieldset class="choices" hidden><legend>{escape_html(self.label)}</legend>'
            f"{choices}</fieldset>\n{shown}</div>"
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


def render_page(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    *,
    headline: Headline | None = None,
    language: str = "en",
) -> str:
    """A complete HTML document: style, script and charts are inlined, requests are forbidden."""
    script = bundle_script(static_resource("page"), "main")
    anchors = {f"section-{number}": section for number, section in enumerate(sections, start=1)}
    contents = "".join(f'<li><a href="#{name}">{escape_html(part.title)}</a></li>' for name, part in anchors.items())
    menu = f'<nav aria-label="Contents"><ol>{contents}</ol></nav>' if len(anchors) > 1 else ""
    body = "\n".join(part.html(name) for name, part in anchors.items())
    return f"""<!DOCTYPE html>
<html lang="{escape_html(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY.format(script=csp_hash(script))}">
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
{headline.html() if headline else ""}
{menu}
</header>
<main>
{body}
</main>
<script>{script}</script>
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
    """The stylesheet of the page, a file of this package, and the colors of charts on a dark page."""
    return (files("regard.report") / "static" / "page.css").read_text(encoding="utf-8") + dark_style()


def _row_attributes(text: str) -> str:
    """A value that is too long for its column gets a row of its own."""
    return ' class="long"' if len(text) > 22 else ""
