"""One function for each kind of finding in a single pair: (source, target) -> whether it applies.

They run on every pair of a corpus, so each begins with a cheap test that rejects nearly every pair.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from regard.data.doctor.language_id import ExpectedLanguage
from regard.data.doctor.languages import FUNCTION_WORDS
from regard.data.doctor.repeats import digest

PairCheck = Callable[[str, str], bool]

MIN_COPIED_WORDS = 5
"""A sentence of at least this many words that is the same on both sides was not translated; fewer may be a name."""
LENGTH_SMOOTHING = 15
"""Characters added to both lengths before they are compared, because the lengths of short sentences vary widely."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL_FUNCTION_WORDS = frozenset(word for words in FUNCTION_WORDS.values() for word in words if len(word) > 1)
_LETTER = re.compile(r"[^\W\d_]")
_ALPHANUMERIC = re.compile(r"[^\W_]")
# Possessive quantifiers, because a line may be as long as a file: there is no backtracking.
_TAGS_ONLY = re.compile(r"(?:<(?:[!?][^<>]*+|/?[A-Za-z][\w:.-]*+(?:\s(?=[^<>]*=)[^<>]*+|\s*+/?))>\s*+)++")
_ELEMENT = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>(.*)</\1\s*>", re.DOTALL)
_INLINE_ELEMENTS = _word_set(
    "a abbr b bdi bdo big blockquote br button center cite code dd del dfn div dl dt em font g h1 h2 h3 h4 h5 h6 hr i "
    "img input ins kbd label li mark ol p pre q s samp small span strike strong sub sup table tbody td th tr tt u ul "
    "var wbr x bpt ept ph it bx ex mrk"
)
_METADATA_ELEMENTS = _word_set(
    "author byline category copyright creator date dateline description doc docid docno document editor head id "
    "identifier keyword keywords lang language meta publisher refset reviewer rights seg source speaker srcset subject "
    "tags talkid timestamp title topic translator tstset uri url"
)
_LINE_SEPARATOR = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]")
_DOUBLY_ENCODED = re.compile("[ÂÃ][\u0080-\u00bf]|â€[\u0098-\u009d™œ\u02dc“”¦]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_PLACEHOLDER = re.compile(
    r"\{\{\s*[\w.$-]+\s*\}\}|\$?\{(?:\w[\w.$-]*)?\}|\{\w+(?=\s*,)"
    r"|(?<![\d%])%(?:\([\w.-]+\)|\d+\$)?[-+#0]?(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[zjt])?[sdifuxXceEgGpr@](?![A-Za-z])"
)


def blank(source: str, target: str) -> bool:
    return not source.strip() or not target.strip()


def metadata(source: str, target: str) -> bool:
    """Whether a side is nothing but tags, or an element that belongs to a document's head.

    An element of an unknown name counts as content if its text was translated.
    """
    if "<" not in source and "<" not in target:
        return False
    left, right = source.strip(), target.strip()
    if _TAGS_ONLY.fullmatch(left) or _TAGS_ONLY.fullmatch(right):
        return True
    one, two = _ELEMENT.fullmatch(left), _ELEMENT.fullmatch(right)
    names = [element[1].lower() for element in (one, two) if element and element[1].lower() not in _INLINE_ELEMENTS]
    if any(name in _METADATA_ELEMENTS for name in names):
        return True
    if one is None or two is None or len(names) < 2:
        return False
    return names[0] != names[1] or one[2] == two[2]


def wordless(source: str, target: str) -> bool:
    if blank(source, target):  # which is a finding of its own
        return False
    if _ALPHANUMERIC.search(source) and _ALPHANUMERIC.search(target):
        return False
    return len(_LETTER.findall(source)) >= 3 or len(_LETTER.findall(target)) >= 3


def identical(source: str, target: str) -> bool:
    """Whether both sides are the same sentence: several words, at least two of them function words of any language.

    Names, numbers, addresses and code contain no function words, and are rightly the same in both languages.
    """
    if source.strip() != target.strip():
        return False
    words = source.lower().split()
    return len(words) >= MIN_COPIED_WORDS and len(_ALL_FUNCTION_WORDS.intersection(words)) >= 2


def same(source: str, target: str) -> bool:
    return source.strip() == target.strip() and not identical(source, target)


def separator(source: str, target: str) -> bool:
    return (_has_nonprintable(source) and bool(_LINE_SEPARATOR.search(source))) or (
        _has_nonprintable(target) and bool(_LINE_SEPARATOR.search(target))
    )


def control(source: str, target: str) -> bool:
    return (_has_nonprintable(source) and bool(_CONTROL.search(source))) or (
        _has_nonprintable(target) and bool(_CONTROL.search(target))
    )


def bom(source: str, target: str) -> bool:
    return "\ufeff" in source or "\ufeff" in target


def mojibake(source: str, target: str) -> bool:
    return (not source.isascii() and _is_mojibake(source)) or (not target.isascii() and _is_mojibake(target))


def unnormalized(source: str, target: str) -> bool:
    return not (unicodedata.is_normalized("NFC", source) and unicodedata.is_normalized("NFC", target))


def entity(source: str, target: str) -> bool:
    return ("&" in source and bool(_ENTITY.search(source))) or ("&" in target and bool(_ENTITY.search(target)))


def tokenized(source: str, target: str) -> bool:
    """Whether a side ends with a separate full stop, as no language writes it."""
    return source.endswith(" .") or target.endswith(" .")


def placeholder(source: str, target: str) -> bool:
    if not ("{" in source or "%" in source or "{" in target or "%" in target):
        return False
    return sorted(_PLACEHOLDER.findall(source)) != sorted(_PLACEHOLDER.findall(target))


def describe_placeholder_difference(source: str, target: str) -> str:
    """The placeholders that occur on one side only."""
    one, two = Counter(_PLACEHOLDER.findall(source)), Counter(_PLACEHOLDER.findall(target))
    sides = (("source", one - two), ("target", two - one))
    return ", ".join(f"only in the {side}: {' '.join(sorted(extra.elements()))}" for side, extra in sides if extra)


class OverlapCheck:
    """Whether the source occurs in dev or test; records which of their sources it has found."""

    def __init__(self, held_out: frozenset[bytes], dev: frozenset[bytes] = frozenset()) -> None:
        self.held_out, self.dev = held_out, dev
        self.found_in_train: set[bytes] = set()

    def __call__(self, source: str, target: str) -> bool:
        if not self.held_out or (source_digest := digest(source)) not in self.held_out:
            return False
        self.found_in_train.add(source_digest)
        return True

    def is_in_train(self, source: str, target: str) -> bool:
        return digest(source) in self.found_in_train

    def is_in_dev(self, source: str, target: str) -> bool:
        return digest(source) in self.dev


@dataclass(frozen=True)
class LengthRatioCheck:
    """Whether the ratio of the lengths is far from what is usual in this corpus."""

    max_ratio: float
    usual_ratio: float
    """Target characters per source character, both with LENGTH_SMOOTHING."""

    def __call__(self, source: str, target: str) -> bool:
        one, two = (len(source) + LENGTH_SMOOTHING) * self.usual_ratio, len(target) + LENGTH_SMOOTHING
        return two > one * self.max_ratio or one > two * self.max_ratio


@dataclass(frozen=True)
class MaxLengthCheck:
    max_length: int

    def __call__(self, source: str, target: str) -> bool:
        return len(source) > self.max_length or len(target) > self.max_length


@dataclass(frozen=True)
class LanguageCheck:
    """Whether a side is in another language than it should be."""

    source: ExpectedLanguage
    target: ExpectedLanguage

    def __call__(self, source: str, target: str) -> bool:
        return bool(self.source.detect_other_language(source) or self.target.detect_other_language(target))

    def describe(self, source: str, target: str) -> str:
        detected = {
            "source": self.source.detect_other_language(source),
            "target": self.target.detect_other_language(target),
        }
        return ", ".join(f"{side} looks like {label}" for side, label in detected.items() if label)


PAIR_CHECKS: dict[str, PairCheck] = {
    check.__name__: check
    for check in (
        blank,
        metadata,
        wordless,
        identical,
        same,
        separator,
        control,
        bom,
        mojibake,
        unnormalized,
        entity,
        tokenized,
        placeholder,
    )
}
"""The checks that need only the pair, by the name of their kind."""


def _is_mojibake(text: str) -> bool:
    if "\ufffd" in text:
        return True
    return ("Ã" in text or "Â" in text or "â" in text) and bool(_DOUBLY_ENCODED.search(text))


def _has_nonprintable(text: str) -> bool:
    """Whether there is a character that is not printable, such as a line separator or a control character."""
    return not text.isprintable()
