"""Language codes: when two of them mean the same, and which way a bilingual file is to be read.

`en` and `en-US` mean the same, `en-US` and `en_us` too; `en-US` and `en-GB` do not.
"""

from collections.abc import Sequence

from regard.errors import FormatError

OTHERWISE = "Set data.source and data.target to match, or leave it out."
MODEL = "Use a model of that direction."
REMEDY = "Set data.source and data.target to two of them."


def plain(code: str) -> str:
    """A code in the one spelling that is compared."""
    return code.strip().replace("_", "-").lower()


def closeness(asked: str, found: str) -> int:
    """3 for the same code, 2 if the found one is a region of the asked one, 1 the other way round, 0 for a stranger."""
    a, f = plain(asked), plain(found)
    if a == f:
        return 3
    if f.startswith(a + "-"):
        return 2
    return 1 if a.startswith(f + "-") else 0


def closest(asked: str, found: Sequence[str]) -> list[int]:
    """The places of the codes nearest to the asked one; none if all are strangers."""
    near = [closeness(asked, code) for code in found]
    best = max(near, default=0)
    return [place for place, value in enumerate(near) if best and value == best]


def is_reversed(where: str, asked: tuple[str, str], found: tuple[str, str], remedy: str = OTHERWISE) -> bool:
    """Whether a file of two languages is to be read backwards. A code that is not known fits any other."""

    def fits(a: str, f: str) -> bool:
        return not a or not f or closeness(a, f) > 0

    if fits(asked[0], found[0]) and fits(asked[1], found[1]):
        return False
    if fits(asked[0], found[1]) and fits(asked[1], found[0]):
        return True
    has, want = (" to ".join(code or "(unknown)" for code in codes) for codes in (found, asked))
    raise FormatError(f"{where}: holds {has}, asked for {want}. {remedy}")
