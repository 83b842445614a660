"""Sentences with their translations: a part of a page, in which every difference from the reference is marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.differences import MarkedText, mark_differences
from regard.report.text import escape_html


@dataclass(frozen=True)
class TranslationCard:
    """A sentence, its translation by the model, and its reference."""

    source: str
    translation: str
    reference: str = ""
    score: str = ""
    """The score with its metric ("chrF 61.2")."""
    name: str = "translation"
    """Whose translation it is, where there are several."""
    others: Sequence[tuple[str, str]] = ()
    """The names and the translations of other systems, which come first."""


@dataclass(frozen=True)
class TranslationCards:
    """A card for each translation; the languages, if known, become lang attributes."""

    items: Sequence[TranslationCard]
    source_language: str = ""
    target_language: str = ""
    marked: bool = False
    """Whether the words are marked in which a translation and its reference differ."""
    legend: bool = True
    """Whether the marks are explained; false where cards above do so."""

    def html(self) -> str:
        legend = LEGEND if self.marked and self.legend and any(item.reference for item in self.items) else ""
        return f'{legend}<ol class="cards">{"".join(self._card(item) for item in self.items)}</ol>'

    def _card(self, item: TranslationCard) -> str:
        score = f'<p class="score">{escape_html(item.score)}</p>' if item.score else ""
        translation, reference = escape_html(item.translation), escape_html(item.reference)
        others = [escape_html(text) for _, text in item.others]
        if self.marked and item.reference:
            others = [mark_differences(text, item.reference)[0].html() for _, text in item.others]
            written, wanted = mark_differences(item.translation, item.reference)
            translation, reference = written.html(), (wanted if not others else MarkedText.plain(wanted.text)).html()
        lines = [("source", "source", escape_html(item.source), self.source_language)]
        lines += [("reference", "reference", reference, self.target_language)] if item.reference else []
        for (name, _), text in zip(item.others, others, strict=True):
            lines.append(("translation", name, text, self.target_language))
        lines.append(("translation", item.name, translation, self.target_language))
        body = "".join(
            f'<div class="{kind}"><dt>{escape_html(name)}</dt>'
            f'<dd dir="auto"{_language_attribute(code)}>{text}</dd></div>'
            for kind, name, text, code in lines
        )
        return f"<li>{score}<dl>{body}</dl></li>"


LEGEND = (
    '<p class="legend">Words compared with the reference: <mark class="extra">not in the reference</mark>, '
    '<mark class="moved">in another place</mark>, <mark class="missing">missing in the translation</mark>. '
    "A marked word may still be right.</p>"
)


def _language_attribute(code: str) -> str:
    return f' lang="{escape_html(code)}"' if code else ""
