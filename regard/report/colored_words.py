"""Words colored by a value of each: a part of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.text import escape_html
from regard.report.theme import TEXT_COLOR

SUPPORTING, OPPOSING = "224, 138, 60", "91, 155, 208"  # the orange and the blue of diverging matrices


@dataclass(frozen=True)
class ColoredWords:
    """A text whose words are orange above 0 and blue below, the deeper the larger; a tooltip has the value."""

    title: str
    words: Sequence[str]
    values: Sequence[float]
    color_limit: float
    """The absolute value of the deepest color. A fixed one, so that two texts can be compared."""

    def html(self) -> str:
        spans = " ".join(
            f'<span style="background: rgba({SUPPORTING if value > 0 else OPPOSING}, {self._opacity(value):.2f}); '
            f'padding: 0.1em 0.25em; border-radius: 3px" title="{value:+.3f}">{escape_html(word)}</span>'
            for word, value in zip(self.words, self.values, strict=True)
        )
        caption = f"{self.title}; the deepest color is {self.color_limit:g} or more"
        return (
            f'<figure><div class="plot" dir="auto" style="color: {TEXT_COLOR}; line-height: 2">{spans}</div>'
            f"<figcaption>{escape_html(caption)}</figcaption></figure>"
        )

    def _opacity(self, value: float) -> float:
        return min(1.0, abs(value) / self.color_limit)
