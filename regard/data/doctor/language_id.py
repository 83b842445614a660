"""Which language a sentence is in, from its function words and its script; in doubt, none.

A language goes by a label: a code that has a word list, or else the name of a script. Two different questions are
asked: `guess` helps to find the majority of a corpus, where a mistake is outvoted; `Expected.stranger` accuses a
single sentence, and needs strong evidence.
"""

import re
from itertools import repeat
from types import MappingProxyType

from regard.data.doctor.languages import SCRIPT_OF, SCRIPTS, WORDS

SHORTEST = 6
"""Distinct words below which a sentence is not judged by its words."""
EVIDENCE = 4
"""Distinct function words of another language that it takes to accuse a sentence."""
LETTERS = 8
"""Distinct letters of a foreign script that make a sentence foreign."""
MOST = 200
"""Words looked at; more would not change the answer, and each counter below is one byte."""

_ALIASES = {"no": "nb", "cz": "cs", "ua": "uk", "jp": "ja", "cn": "zh", "kr": "ko", "iw": "he"}
_WORD = re.compile(r"[^\W\d_]+")
_FAR = re.compile(r"[\u0370-\u1dff\u2c80-\ua6ff\ua980-\ud7ff\uf900-\ufdff\ufe70-\ufefc\U00010000-\U0003ffff]")
_LANES = MappingProxyType({code: lane for lane, code in enumerate(WORDS)})
_CODES = tuple(WORDS)
# One byte for each language in one large integer: a sentence is counted for all languages by one sum.
_PACKED = MappingProxyType(
    {word: sum(1 << 8 * _LANES[c] for c in WORDS if word in WORDS[c]) for word in frozenset().union(*WORDS.values())}
)


def label(code: str) -> str:
    """What a language code is judged as; "" for a language that is not known here."""
    short = re.split("[-_]", code.lower())[0]
    short = _ALIASES.get(short, short)
    return short if short in WORDS else SCRIPT_OF.get(short, "")


def agree(one: str, other: str) -> bool:
    """Whether two labels may be the same language; a bare script agrees with every language written in it."""
    if one == other:
        return True
    bare = one not in WORDS or other not in WORDS
    return bare and SCRIPT_OF.get(one, one) == SCRIPT_OF.get(other, other)


def guess(text: str) -> str | None:
    """The label of a sentence, "" if it could be several, None if it is too short to say."""
    script, letters = _script(text)
    if script not in ("latin", "cyrillic"):
        return script if letters >= LETTERS // 2 else None
    words = _words(text)
    if len(words) < SHORTEST:
        return None
    counts = _count(words).to_bytes(len(_CODES), "little")
    best, second = sorted(counts)[:-3:-1]
    return _CODES[counts.index(best)] if best >= 3 and best >= second + 2 else ""


class Expected:
    """The language that one side should be in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.script = SCRIPT_OF.get(name, name)
        self.scripts = {"kana": ("kana", "han"), "hangul": ("hangul", "han")}.get(self.script, (self.script,))
        kin = [code for code in WORDS if agree(code, name)]
        self._own = sum(0xFF << 8 * _LANES[code] for code in kin)
        self._others = sum(0xFF << 8 * _LANES[code] for code in WORDS if code not in kin)
        self._mine = frozenset[str]().union(*(WORDS[code] for code in kin))
        self._theirs = frozenset[str]().union(*(WORDS[code] for code in WORDS if code not in kin))
        self._plain = self._mine - self._theirs

    def stranger(self, text: str) -> str:
        """What the sentence looks like instead, or "" where it may be in this language."""
        rough = text.split()
        found = self._mine.intersection(rough)
        # Most sentences are settled before they are taken apart: a quarter of their words are this language's, which
        # leaves no room for what is asked below, or two words that no other language has.
        if len(found) * 4 > len(rough) or len(found & self._plain) >= 2:
            return ""
        script, letters = _script(text)
        rough = text.lower().split()
        # Names are written in Latin letters everywhere, so Latin letters alone are no evidence.
        if script not in self.scripts and script != "latin":
            own = sum(1 for char in set(text) if _SCRIPTS[char] in self.scripts)
            return guess(text) or script if letters >= LETTERS and own * 5 <= letters else ""
        enough = len(rough) >= SHORTEST and len(self._theirs.intersection(rough)) >= EVIDENCE
        return self._by_words(text) if enough else ""

    def _by_words(self, text: str) -> str:
        words = _words(text)
        counts = _count(words)
        own = max((counts & self._own).to_bytes(len(_CODES), "little"))
        others = (counts & self._others).to_bytes(len(_CODES), "little")
        best = max(others)
        # A third of all words are another language's function words, and hardly any are this one's.
        strong = len(words) >= SHORTEST and best >= EVIDENCE and best * 3 >= len(words) and own * 4 <= best
        return _CODES[others.index(best)] if strong else ""


class Anything(Expected):
    """A side whose language is not known: no sentence is strange."""

    def __init__(self) -> None:
        super().__init__("")

    def stranger(self, text: str) -> str:
        return ""


def expect(name: str) -> Expected:
    return Expected(name) if name else Anything()


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())[:MOST])


def _count(words: frozenset[str]) -> int:
    return sum(map(_PACKED.get, words, repeat(0)))


class _Scripts(dict[str, str]):
    """The script of a character; signs and digits have none."""

    def __missing__(self, char: str) -> str:
        code = ord(char)
        found = (name for name, blocks in SCRIPTS.items() if any(low <= code <= high for low, high in blocks))
        self[char] = name = next(found, "") if char.isalpha() else ""
        return name


_SCRIPTS = _Scripts()


def _script(text: str) -> tuple[str, int]:
    """The script that most distinct letters belong to, and how many they are; plain Latin is not counted."""
    if text.isascii() or not _FAR.search(text):
        return "latin", 0
    counts = dict.fromkeys(SCRIPTS, 0)
    for char in set(text):
        if name := _SCRIPTS[char]:
            counts[name] += 1
    # Japanese is known by its kana, however many more of its signs are Chinese.
    script = "kana" if counts["kana"] >= 3 else max(counts, key=lambda name: counts[name])
    return script, counts[script]
