"""Values as text: numbers with suitable precision, text that is valid in XML and HTML."""

from __future__ import annotations

import html
import math
import re
import unicodedata
import zlib
from collections.abc import Sequence

from regard.report.table import Value

# Characters that XML 1.0 (section 2.2) forbids even if escaped; lone surrogates cannot be encoded as UTF-8 either.
FORBIDDEN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
MISSING = "–"
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"  # UAX #9: a text of any direction inside of another


def replace_forbidden(text: str) -> str:
    """The text with characters that XML forbids replaced by U+FFFD."""
    return FORBIDDEN_XML.sub("\ufffd", text)


def escape_html(text: str) -> str:
    """The text, escaped for use between tags or inside a quoted attribute."""
    return html.escape(replace_forbidden(text), quote=True)


def shorten(text: str, max_length: int) -> str:
    """The text, or its beginning with an ellipsis, at most this long."""
    return text if len(text) <= max_length else f"{text[: max_length - 1].rstrip()}…"


def format_label(value: Value) -> str:
    """A value as a label of a chart: text (blanks made visible), or a formatted number."""
    if not isinstance(value, str):
        return format_column([value])[0]
    return replace_forbidden("␣" * len(value) if value.isspace() and value.strip(" ") == "" else value)


def isolate(text: str) -> str:
    """The text in isolates where it has right-to-left letters, so that the rest of its line keeps its order."""
    has_right_to_left = any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return f"{FIRST_STRONG_ISOLATE}{text}{POP_ISOLATE}" if has_right_to_left else text


def display_width(text: str) -> int:
    """Width of a text in terminal cells: two for wide characters, none for combining ones."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def slugify(title: str) -> str:
    """A name for files and ids: lowercase ASCII words joined by hyphens, never empty."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.findall("[a-z0-9]+", ascii_title.lower())
    return "-".join(words)[:60].strip("-") or f"chart-{zlib.crc32(replace_forbidden(title).encode()):08x}"


def format_column(values: Sequence[Value]) -> list[str]:
    """A column as text: all floats have the same number of decimals, so that their decimal points align."""
    floats = [v for v in values if isinstance(v, float) and math.isfinite(v)]
    decimals = _column_decimals(floats)
    return [_format_value(value, decimals) for value in values]


def _column_decimals(floats: Sequence[float]) -> int | None:
    """Decimals that give the largest number four digits; None if it needs scientific notation."""
    largest = max(map(abs, floats), default=0.0)
    if largest == 0:
        return 1
    decimals = max(0, 3 - math.floor(math.log10(largest)))
    while decimals > 1 and all(f"{v:.{decimals}f}".endswith("0") for v in floats):
        decimals -= 1
    return decimals if decimals <= 6 else None


def _format_value(value: Value, decimals: int | None) -> str:
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(float(value)).replace("inf", "∞")
    text = f"{value:.2e}" if decimals is None else f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
