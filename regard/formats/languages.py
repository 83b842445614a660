"""Language codes: which of them match, and in which direction a bilingual file is read.

`en` and `en-US` match, `en-US` and `en_us` too; `en-US` and `en-GB` do not.
"""

from collections.abc import Sequence

from regard.errors import FormatError

DEFAULT_REMEDY = "Set data.source and data.target to match, or leave it out."
MODEL_REMEDY = "Use a model of that direction."
CODES_REMEDY = "Set data.source and data.target to two of them."


def normalize_code(code: str) -> str:
    """A code in the spelling that is compared."""
    return code.strip().replace("_", "-").lower()


def match_score(requested: str, candidate: str) -> int:
    """3 for the same code, 2 if the candidate is a region of the requested one, 1 for the reverse, 0 for no match."""
    wanted, code = normalize_code(requested), normalize_code(candidate)
    if wanted == code:
        return 3
    if code.startswith(wanted + "-"):
        return 2
    return 1 if wanted.startswith(code + "-") else 0


def closest_matches(requested: str, candidates: Sequence[str]) -> list[int]:
    """The indices of the codes closest to the requested one; none if no code matches."""
    scores = [match_score(requested, code) for code in candidates]
    best = max(scores, default=0)
    return [index for index, value in enumerate(scores) if best and value == best]


def is_reversed(
    where: str, requested: tuple[str, str], declared: tuple[str, str], remedy: str = DEFAULT_REMEDY
) -> bool:
    """Whether a bilingual file is read from target to source. An unknown (empty) code matches any other."""

    def match(wanted: str, code: str) -> bool:
        return not wanted or not code or match_score(wanted, code) > 0

    if match(requested[0], declared[0]) and match(requested[1], declared[1]):
        return False
    if match(requested[0], declared[1]) and match(requested[1], declared[0]):
        return True
    has, want = (" to ".join(code or "(unknown)" for code in codes) for codes in (declared, requested))
    raise FormatError(f"{where}: holds {has}, but {want} was requested. {remedy}")
