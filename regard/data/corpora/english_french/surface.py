"""From words to written text: elision, contraction, spacing and capitals, with every word still traceable."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from regard.data.corpora.english_french import english, french

_CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
_PREVOCALIC_FORMS = {
    **{word: word[:-1] + "'" for word in ("le", "la", "de", "je", "me", "se", "ne", "que")},
    "ce": "cet",
    "ma": "mon",
    "sa": "son",
}
"""The forms of these words before a vowel."""


class Word:
    """A word of a sentence under construction. Not frozen: its neighbors may change it, and its index comes last."""

    __slots__ = ("before_vowel", "index", "source_words", "text")

    def __init__(self, text: str, source_words: tuple[Word, ...] = (), before_vowel: str | None = None) -> None:
        self.text = text
        self.source_words = source_words
        """On the French side: the English words it translates."""
        self.before_vowel = before_vowel
        self.index = -1


def french_word(text: str, *source_words: Word) -> Word:
    """A French word that translates these English ones, with its form before a vowel."""
    return Word(text, source_words, _PREVOCALIC_FORMS.get(text))


def write_english(line: list[Word], mark: str) -> str:
    """The text of a sentence; the index of each word is set."""
    _apply_sandhi(line, english.begins_with_vowel)
    return _join(line, mark)


def write_french(line: list[Word], mark: str) -> str:
    """The text of a sentence, elided and contracted; the index of each word is set, contracted words share one."""
    _apply_sandhi(line, french.begins_with_vowel)
    contractions = _contract(line)
    text = _join(line, f"\u00a0{mark}" if mark in ("?", "!") else mark)
    for preposition, article in contractions:
        preposition.index = article.index
    return text


def _apply_sandhi(line: list[Word], begins_with_vowel: Callable[[str], bool]) -> None:
    """One rule for l'ami, un bel ami, mon amie, cet ami and an apple: the form depends on the next word."""
    for word, following in pairwise(line):
        if word.before_vowel is not None and begins_with_vowel(following.text):
            word.text = word.before_vowel


def _contract(line: list[Word]) -> list[tuple[Word, Word]]:
    """Contract de and à with le and les, after elision (de l'ami stays); no clitic ever follows them here.

    The article is the word that remains, since the links of its noun refer to it.
    """
    contractions = []
    for word, following in pairwise(line):
        contracted = _CONTRACTIONS.get((word.text, following.text))
        if contracted is not None:
            following.text = contracted
            following.source_words = tuple(dict.fromkeys(word.source_words + following.source_words))
            contractions.append((word, following))
    for preposition, _ in contractions:
        line.remove(preposition)
    return contractions


def _join(line: list[Word], mark: str) -> str:
    parts = []
    glued = True
    for index, word in enumerate(line):
        word.index = index
        text = word.text
        if not glued and text != "," and text != "'s":
            parts.append(" ")
        parts.append(text)
        glued = text[-1] == "'"
    sentence = "".join(parts)
    return sentence[0].upper() + sentence[1:] + mark
