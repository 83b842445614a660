"""Text -> the terms that BM25 counts: words in lower case, without stop words, stemmed.

A word is a run of letters, digits and marks. Where a script has no blanks, terms are pairs of neighboring characters,
as in Lucene's analyzer for Chinese, Japanese and Korean: they need no dictionary.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from regard.errors import ConfigError
from regard.languages.codes import normalize_code
from regard.languages.segment import is_unspaced
from regard.languages.words import MARKS

AUTO, NONE = "auto", "none"
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "porter", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Languages and their algorithms of Snowball; English has that of Porter 1980, as search engines do."""
LUCENE_ENGLISH = "lucene-en"
STOP_WORDS = {
    NONE: frozenset[str](),
    LUCENE_ENGLISH: frozenset(
        re.findall(
            r"\w+",
            "a an and are as at be but by for if in into is it no not of on or such that the their then there these "
            "they this to was will with",
        )
    ),
}
"""Lists of words that are not counted, by name."""
MAX_WORD_CHARS = 255
"""Of a term, as in Lucene; what is longer is no word."""
_WORD = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*")
_CACHED_STEMS = 1 << 18


@dataclass(frozen=True)
class AnalyzerSettings:
    """How texts become terms; documents and queries must have the same."""

    language: str
    """The code; empty where it is unclear."""
    stemmer: str
    stop_words: str

    @property
    def signature(self) -> str:
        return f"words:unicode,cjk-bigrams|stem:{self.stemmer}|stop:{self.stop_words}"

    def describe(self) -> str:
        """In words."""
        stems = "no stemming" if self.stemmer == NONE else f"{self.stemmer.capitalize()} stems"
        stops = f"{len(STOP_WORDS[self.stop_words])} stop words" if self.stop_words != NONE else "no stop words"
        return f"language {self.language or 'unclear'}, {stems}, {stops}"


def choose_analyzer(language: str, stemmer: str = AUTO) -> AnalyzerSettings:
    """The usual settings for a language; a stemmer that is named is taken instead of its own."""
    code = normalize_code(language)
    name = STEMMERS.get(code, NONE) if stemmer == AUTO else stemmer
    if name not in {NONE, *STEMMERS.values()}:
        raise ConfigError(f"--stemmer {stemmer}: expected auto, none or one of {', '.join(sorted(STEMMERS.values()))}")
    return AnalyzerSettings(code, name, LUCENE_ENGLISH if code == "en" else NONE)


class Analyzer:
    """Finds the terms of texts."""

    def __init__(self, settings: AnalyzerSettings):
        self._stop_words = STOP_WORDS[settings.stop_words]
        self._stem = functools.lru_cache(_CACHED_STEMS)(_load_stemmer(settings.stemmer))

    def find_terms(self, text: str) -> list[str]:
        """The terms of a text in order, as often as they occur."""
        words = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
        if is_unspaced(text):
            words = [part for word in words for part in _split_scripts(word)]
        return [self._stem(word[:MAX_WORD_CHARS]) for word in words if word not in self._stop_words]


def _load_stemmer(name: str) -> "functools.partial[str] | type[str]":
    if name == NONE:
        return str
    import snowballstemmer

    return functools.partial(snowballstemmer.stemmer(name).stemWord)


def _split_scripts(word: str) -> Iterator[str]:
    """The parts of a run of letters: what has blanks around it as a word, the rest as pairs of characters."""
    for unspaced, group in itertools.groupby(word, is_unspaced):
        part = "".join(group)
        if not unspaced or len(part) == 1:
            yield part
        else:
            yield from map("".join, itertools.pairwise(part))
