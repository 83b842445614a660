"""Language codes: when two of them mean the same, and which way a bilingual file is to be read.

`en` and `en-US` mean the same, `en-US` and `en_us` too; `en-US` and `en-GB` do not.
"""

from collections.abc import Sequence

from regard.errors import FormatError

DEFAULT_REMEDY = "Set data.source and data.target to match, or leave it out."
MODEL_REMEDY = "Use a model of that direction."
CODES_REMEDY = "Set data.source and data.target to two of them."


def normalize_code(code: str) -> str:
    """A code in the one spelling that is compared."""
    return code.strip().replace("_", "-").lower()


def match_score(requested: str, candidate: str) -> int:
    """3 for the same code, 2 if the found one is a region of the asked one, 1 the other way round, 0 for a stranger."""
    a, f = normalize_code(requested), normalize_code(candidate)
    if a == f:
        return 3
    if f.startswith(a + "-"):
        return 2
    return 1 if a.startswith(f + "-") else 0


def closest_matches(requested: str, candidates: Sequence[str]) -> list[int]:
    """The places of the codes nearest to the asked one; none if all are strangers."""
    scores = [match_score(requested, code) for code in candidates]
    best = max(scores, default=0)
    return [index for index, value in enumerate(scores) if best and value == best]


def is_reversed(
    where: str, requested: tuple[str, str], declared: tuple[str, str], remedy: str = DEFAULT_REMEDY
) -> bool:
    """Whether a file of two languages is to be read backwards. A code that is not known fits any other."""

    def fits(a: str, f: str) -> bool:
        return not a or not f or match_score(a, f) > 0

    if fits(requested[0], declared[0]) and fits(requested[1], declared[1]):
        return False
    if fits(requested[0], declared[1]) and fits(requested[1], declared[0]):
        return True
    has, want = (" to ".join(code or "(unknown)" for code in codes) for codes in (declared, requested))
    raise FormatError(f"{where}: holds {has}, asked for {want}. {remedy}")
