"""English morphology, as far as the generated corpus needs it: regular rules, then the exceptions."""

from __future__ import annotations

from functools import cache
from typing import Literal

Person = Literal["1sg", "2sg", "3sg", "1pl", "2pl", "3pl"]

_PLURALS = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "mouse": "mice",
    "wolf": "wolves",
    "knife": "knives",
}

_PAST_TABLE = """
see saw; eat ate; drink drank; buy bought; sell sold; find found; lose lost; know knew; meet met; draw drew;
understand understood; break broke; choose chose; begin began; forget forgot; hear heard; hide hid; wake woke;
bring brought; steal stole; build built; drive drove; take took; write wrote; sleep slept; sing sang; get got;
swim swam; run ran; leave left; fall fell; come came; go went; give gave; send sent; lend lent; think thought;
have had; wear wore
"""
_PASTS: dict[str, str] = dict(map(str.split, _PAST_TABLE.split(";")))

_DOUBLING = {"swim", "run", "get", "begin", "forget", "travel", "prefer", "admit", "stop"}
"""Verbs that double their last letter before -ing, and before -ed where that is regular."""

_UNIT_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_UNITS = _UNIT_NAMES.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]

_AN = ("honest", "hour")
_A = ("use", "uni", "euro", "one")

_BE: dict[str, dict[Person, str]] = {
    "present": {"1sg": "am", "2sg": "are", "3sg": "is", "1pl": "are", "2pl": "are", "3pl": "are"},
    "past": {"1sg": "was", "2sg": "were", "3sg": "was", "1pl": "were", "2pl": "were", "3pl": "were"},
}


def _add_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh", "go", "do", "tomato", "hero", "potato")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def plural(noun: str) -> str:
    """More than one of it: `plural("child") == "children"`."""
    return _PLURALS.get(noun) or _add_s(noun)


@cache
def third_person(verb: str) -> str:
    """What he, she or it does: `third_person("watch") == "watches"`."""
    return "has" if verb == "have" else _add_s(verb)


@cache
def past(verb: str) -> str:
    """The simple past: `past("carry") == "carried"`."""
    if verb in _PASTS:
        return _PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ed"


@cache
def gerund(verb: str) -> str:
    """The -ing form: `gerund("swim") == "swimming"`."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ing"


def be(tense: Literal["present", "past"], person: Person) -> str:
    """The one verb that keeps its persons apart: `be("present", "1sg") == "am"`."""
    return _BE[tense][person]


def number(value: int) -> str:
    """A number below a hundred in letters: `number(21) == "twenty-one"`."""
    if value < 20:
        return _UNITS[value]
    ten, unit = divmod(value, 10)
    return _TENS[ten - 2] + (f"-{_UNITS[unit]}" if unit else "")


@cache
def begins_with_vowel(word: str) -> bool:
    """Whether 'a' becomes 'an' before it: a matter of sound, so 'hour' does and 'uniform' does not."""
    word = word.lower()
    return word.startswith(_AN) or (word[0] in "aeiou" and not word.startswith(_A))
