"""One function for each kind of finding in a single pair: (source, target) -> whether it applies.

They run on every pair of a corpus, so each begins with a cheap test that rejects nearly every pair.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from regard.data.doctor.language_id import ExpectedLanguage
from regard.data.doctor.languages import FUNCTION_WORDS
from regard.formats.placeholders import iter_placeholders
from regard.formats.translation_check import compare_placeholders

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
_STRUCTURE_ELEMENTS = _word_set(
    "body br div doc document hl hr html li ol p refset seg srcset table tbody td th tr tstset ul"
)
_TAG_WITHOUT_ATTRIBUTES = re.compile(r"<([A-Za-z][\w:.-]*+)\s*+>")
_LINE_SEPARATOR = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f]")
_DOUBLY_ENCODED = re.compile("[ÂÃ][\u0080-\u00bf]|â€[\u0098-\u009d™œ\u02dc“”¦]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_PLACEHOLDER_START = re.compile(r"[{%]|[$@:][A-Za-z_]")
_NO_ARGUMENTS = frozenset({"tag", "role", "url", "percent", "accelerator"})
"""Kinds of placeholders that no program replaces: translators move, add and localize them."""


def blank(source: str, target: str) -> bool:
    return not source.strip() or not target.strip()


def metadata(source: str, target: str) -> bool:
    """Whether a side is nothing but tags, or an element that belongs to a document's head.

    An element of an unknown name counts as content if its text was translated. Names in angle brackets, such as
    <tree-ish> and <url>, are placeholders: only what is closed, has attributes or structures a page is markup.
    """
    if "<" not in source and "<" not in target:
        return False
    left, right = source.strip(), target.strip()
    if _is_markup(left) or _is_markup(right):
        return True
    one, two = _ELEMENT.fullmatch(left), _ELEMENT.fullmatch(right)
    names = [element[1].lower() for element in (one, two) if element and element[1].lower() not in _INLINE_ELEMENTS]
    if any(name in _METADATA_ELEMENTS for name in names):
        return True
    if one is None or two is None or len(names) < 2:
        return False
    return names[0] != names[1] or one[2] == two[2]


def _is_markup(text: str) -> bool:
    if not _TAGS_ONLY.fullmatch(text):
        return False
    names = [name.lower() for name in _TAG_WITHOUT_ATTRIBUTES.findall(text)]
    return len(names) < text.count("<") or any(name in _STRUCTURE_ELEMENTS for name in names)


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
    if _PLACEHOLDER_START.search(source) is None and _PLACEHOLDER_START.search(target) is None:
        return False
    return any(_compare_placeholders(source, target))


def describe_placeholder_difference(source: str, target: str) -> str:
    """The placeholders that occur on one side only."""
    sides = zip(("source", "target"), _compare_placeholders(source, target), strict=True)
    return ", ".join(f"only in the {side}: {' '.join(sorted(texts))}" for side, texts in sides if texts)


def _compare_placeholders(source: str, target: str) -> tuple[list[str], list[str]]:
    one, two = (
        tuple(part for part in iter_placeholders(text) if part.kind not in _NO_ARGUMENTS) for text in (source, target)
    )
    return compare_placeholders(one, two)


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
