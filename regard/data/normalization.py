"""When two sources count as the same: the one rule for holding out, contamination and overlap.

A model that was trained on “It’s late.” has seen “IT’S  LATE.” and “Ｉｔ’ｓ late.”, too. So sources are compared
without compatibility forms (Unicode NFKC), case, invisible characters, and the number and kind of blanks.
"""

import re
import unicodedata
from hashlib import blake2b

INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, marks of direction, variation selectors, byte order marks."""


def normalize_source(text: str) -> str:
    """The form in which sources are compared: NFKC, case-folded, single spaces. Applied twice, it changes nothing."""
    if text.isascii():  # the fast path of nearly all English text
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", INVISIBLE.sub("", text)).casefold()
    # Case folding can leave text that is not in normal form, and normalizing it can leave what folds again: Unicode's
    # NFKC_Casefold therefore does both twice.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    return " ".join(folded.split())


def hash_source(text: str, seed: int = 0) -> int:
    """A pseudorandom number of 64 bits, which depends only on the normalized text and the seed."""
    raw = normalize_source(text).encode("utf-8", "surrogatepass")  # a JSON file may contain lone surrogates
    return int.from_bytes(blake2b(raw, digest_size=8, key=str(seed).encode()).digest(), "little")
