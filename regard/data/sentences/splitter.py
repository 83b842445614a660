"""A line -> its sentences, by rules: no model, the same result everywhere, and nothing is lost.

Sentences and the blanks between them add up to the line, character by character:

    "".join(sentence.text + sentence.blank for sentence in split_sentences(line, rules)) == line
"""

import functools
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.sentences.rules import SentenceRules, abbreviation_key
from regard.formats.placeholders import PLACEHOLDER
from regard.formats.translation_check import TAG_NAME

SPACED_MARKS = ".!?…‼‽⁇⁈⁉"
"""Marks that end a sentence if a blank follows."""
UNSPACED_MARKS = "。！？｡．।॥؟۔։።፧፨။។៕᱾᱿꯫᠃᠉܀܁܂߹꓿꛳"
"""Marks that end a sentence with or without a blank: Chinese, Japanese, Devanagari, Arabic, Armenian, Ethiopic …"""
CLOSERS = "\"'”’“»«›‹)]}*_」』】）》〉"
OPENERS = "\"'“”„‚‘’«»‹›([{*_#¿¡「『【（《〈-–—•‐―"
NEVER_FIRST = ",;:.!?)]}…/|+=、，；：）」』。！？"
"""What no sentence begins with."""
BRACKETS = re.compile(r"\([^()]*\)|（[^（）]*）|「[^「」]*」|『[^『』]*』|``[^`]+``|`[^`]+`_")
"""Brackets, and the code and links of reST."""
END_TAG = r"</[A-Za-z][^<>\s]*>"
FOOTNOTE = r"(?:\[\d+\])*"
ENUMERATOR = re.compile(r"\W*(?:\d{1,3}|[^\W\d_]|[ivxlcIVXLC]+)\Z")
ROMAN = re.compile(r"[IVXLC]+\Z")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]*)?")
VERSE = re.compile(r"॥\s*\d+\s*॥")
CORNER_BRACKETS = "「」『』【】《》〈〉"
UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH IDEOGRAPHIC")
ETHIOPIC_COLONS = "፡፡"
WINDOW = 100
"""Characters around the end of a sentence that decide about it."""
SPEAKER_PRONOUN = re.compile(r"I\b")  # the one English word that is a capital inside of a sentence, too


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a line, and the blank between it and the next one."""

    text: str
    blank: str = ""


def split_sentences(line: str, rules: SentenceRules) -> list[Sentence]:
    """The sentences of a line. A line of one sentence is that sentence, with the blanks around it."""
    sentences: list[Sentence] = []
    context, start = _Line(line), 0
    for match in _candidates(rules).finditer(line):
        end, after = match.end("closers"), match.end()
        if after < len(line) and _Boundary(context, start, match, rules).ends_sentence():
            sentences.append(Sentence(line[start:end], line[end:after]))
            start = after
    return [*sentences, Sentence(line[start:])]


class _Line:
    """What is known of a whole line, computed once, so that the time does not grow with the square of its length."""

    def __init__(self, text: str):
        self.text = text

    @functools.cached_property
    def has_capitals(self) -> bool:
        return any(map(str.isupper, self.text))

    @functools.cached_property
    def last_word_end(self) -> int:
        """Where the last letter or digit ends."""
        return next((i + 1 for i in range(len(self.text) - 1, -1, -1) if self.text[i].isalnum()), 0)

    @functools.cached_property
    def protected(self) -> list[tuple[int, int]]:
        """Where no sentence ends, as disjoint spans in order."""
        spans: list[tuple[int, int]] = []
        for first, last in sorted(_protected_spans(self.text)):
            if spans and first < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
            else:
                spans.append((first, last))
        return spans

    def is_protected(self, position: int) -> bool:
        """Whether a position is inside of a span, not at one of its ends."""
        index = bisect_left(self.protected, (position,)) - 1
        return index >= 0 and position < self.protected[index][1]  # it begins before


_PATTERNS: dict[str, re.Pattern[str]] = {}


def _candidates(rules: SentenceRules) -> re.Pattern[str]:
    """Marks, what closes after them, and a blank. A French » is preceded by a blank."""
    if rules.marks not in _PATTERNS:
        marks = re.escape(SPACED_MARKS + UNSPACED_MARKS + rules.marks)
        _PATTERNS[rules.marks] = re.compile(
            rf"(?P<marks>(?:[{marks}]|{ETHIOPIC_COLONS}|{VERSE.pattern})+)"
            rf"(?P<closers>(?:[{re.escape(CLOSERS)}]|{END_TAG})*{FOOTNOTE}(?:\s[»›](?=\s))?)(?P<blank>\s*)"
        )
    return _PATTERNS[rules.marks]


@dataclass(frozen=True)
class _Boundary:
    """A place of a line where a sentence may end."""

    line: _Line
    start: int
    """Where the sentence begins that would end here."""
    match: re.Match[str]
    rules: SentenceRules

    @property
    def before(self) -> str:
        """The end of the sentence before the marks."""
        return self.line.text[max(self.start, self.match.start() - WINDOW) : self.match.start()]

    @property
    def after(self) -> str:
        """The beginning of what follows the blank."""
        return self.line.text[self.match.end() : self.match.end() + WINDOW]

    def ends_sentence(self) -> bool:
        return (
            self._is_separated()
            and any(map(str.isalnum, self.before))
            and self._may_follow()
            and not self._is_protected()
            and (self.match["marks"] not in (".", "．") or self._is_full_stop())
            and (not self._is_ellipsis() or self._is_final_ellipsis())
        )

    def _is_separated(self) -> bool:
        """Whether there is a blank, or marks that need none."""
        last, previous = self.match["marks"][-1], self.before[-1:]
        if self.match["blank"]:
            return True
        if last == "．":
            return not self.after[:1].isdigit()
        if last in "!?":  # typed at half width in a Chinese or Japanese text
            return is_unspaced(previous or " ") and is_unspaced(self.after[0])
        return last in UNSPACED_MARKS or self.match["marks"].endswith(ETHIOPIC_COLONS)

    def _may_follow(self) -> bool:
        """Whether a sentence may begin with what comes after: not in lower case, unless the whole line is."""
        rest = self._skip_openers()
        first, is_placeholder = rest[:1], PLACEHOLDER.match(rest) is not None
        if self.line.last_word_end <= self.match.end() or (first and first in NEVER_FIRST and not is_placeholder):
            return False
        is_inverted = self.after[:1] in ("¿", "¡")
        if _is_lower(first) and not (is_placeholder or is_inverted) and self.line.has_capitals:
            return False
        # 「…。」と言った: a particle after the quotation continues the sentence that quotes it.
        is_quoted = self.match["closers"][-1:] in ("」", "』")
        return not (is_quoted and not self.match["blank"] and "ぁ" <= first <= "ゟ")

    def _is_protected(self) -> bool:
        """Whether this is inside of a tag, of what a pair of tags encloses, of a placeholder or of brackets."""
        if self.line.is_protected(self.match.end("closers")):
            return True
        if not set(")）") & set(self.match["closers"]):
            return False
        opening = max(self.before.rfind("("), self.before.rfind("（"))
        return opening > 0 and bool(self.before[:opening].strip(OPENERS + " "))  # brackets inside of the sentence

    def _skip_openers(self) -> str:
        """What follows, without quotes, brackets, dashes and tags at its beginning; a placeholder stays."""
        rest = self.after
        while rest:
            match = PLACEHOLDER.match(rest)
            if match is not None and match.lastgroup != "tag":
                return rest
            if match is None and rest[0] not in OPENERS + " \u00a0":
                return rest
            rest = rest[match.end() if match else 1 :]
        return rest

    def _is_ellipsis(self) -> bool:
        return set(self.match["marks"]) <= set(".…") and self.match["marks"] != "."

    def _is_final_ellipsis(self) -> bool:
        """Only a capital tells an ellipsis at the end of a sentence from one inside."""
        rest = self._skip_openers()
        return rest[:1].isupper() and not SPEAKER_PRONOUN.match(rest)

    def _is_full_stop(self) -> bool:
        """Whether a full stop is one: not that of an abbreviation, an initial, an ordinal or an enumeration."""
        before = self.before
        word = before.split()[-1] if before and not before[-1].isspace() else ""
        if not self.rules.periods:
            return False
        if not word:  # tokenized text: a blank before the full stop
            return True
        if ENUMERATOR.match(before):
            return False
        if self.rules.is_continued(before, self.after):
            return False
        follows_number = self.after.lstrip("([#")[:1].isdigit()
        if self.rules.is_numbered(word) and (follows_number or ROMAN.match(self._first_word())):
            return False
        return not self._is_doubtful(word, follows_number) or self._begins_typically()

    def _is_doubtful(self, word: str, follows_number: bool) -> bool:
        """Whether only a typical first word after it shows that a full stop ends its sentence."""
        key = abbreviation_key(word)
        is_initial = len(key) == 1 and key.isalpha() and not is_unspaced(key)
        is_acronym = "." in key and all(len(part) == 1 for part in re.split(r"\.-?", key))
        is_ordinal = self.rules.ordinals and (
            (key.isdigit() and len(key) <= (4 if follows_number else 3)) or bool(ROMAN.match(word.lstrip(OPENERS)))
        )
        return is_initial or is_acronym or is_ordinal or self.rules.is_closing(self.before)

    def _first_word(self) -> str:
        match = WORD.match(self._skip_openers())
        return match[0].replace("’", "'") if match else ""

    def _begins_typically(self) -> bool:
        """Whether one of the language's typical first words comes next, as itself, in It's or in L'homme."""
        word = self._first_word()
        stem, apostrophe, _ = word.partition("'")
        return not self.rules.first_words.isdisjoint({word, stem, stem + apostrophe})


def _is_lower(character: str) -> bool:
    """Whether a letter is a small one of a script that begins sentences with capitals: Georgian does not."""
    return character.islower() and not "\u10d0" <= character <= "\u10ff"


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that writes no blanks: Han, kana and their punctuation."""
    return character in CORNER_BRACKETS or unicodedata.name(character, "").startswith(UNSPACED_SCRIPTS)


def fit_blank(blank: str, left: str, right: str) -> str:
    """The blank between two sentences in another language, which may write one where the source has none.

    Blanks of more than one space, tabs and line ends are kept as they are.
    """
    if not left or not right or blank not in ("", " "):
        return blank
    return "" if is_unspaced(left[-1]) else " "


def _protected_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where no sentence ends: placeholders, pairs of tags with what they enclose, brackets and code."""
    for match in BRACKETS.finditer(text):
        yield match.span()
    open_tags: list[tuple[str, int]] = []
    for match in PLACEHOLDER.finditer(text):
        yield match.span()
        tag = TAG_NAME.match(match[0]) if match.lastgroup == "tag" else None
        if tag is not None and not tag[1] and not match[0].endswith("/>"):
            open_tags.append((tag[2], match.start()))
        elif tag is not None and tag[1]:
            while open_tags:
                name, start = open_tags.pop()
                if name == tag[2]:
                    yield start, match.end()
                    break
