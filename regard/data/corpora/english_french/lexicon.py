"""The words of the English-French corpus as objects: what they mean and what they may stand beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from regard.data.corpora.english_french import english, french, tables
from regard.data.corpora.gold import Alignment, read_alignment

Aspect = Literal["dynamic", "event", "state"]


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun in both languages. Compared by identity: there is one object a noun."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    tags: frozenset[str]

    @property
    def mass(self) -> bool:
        """Whether it is never counted: some bread."""
        return "mass" in self.tags


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective in both languages and the side of the noun that French gives it."""

    english: str
    french: str
    before: bool
    tags: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb in both languages, with the small words either needs beside it."""

    english: str
    particle: str
    """look *for*"""
    french: str
    preposition: str
    """répondre *à*"""
    reflexive: bool
    aspect: Aspect
    """dynamic: may be under way (was eating); event: may not; state: its simple past is an imparfait."""
    subjects: str = ""
    objects: str = ""

    @property
    def etre(self) -> bool:
        """Whether its passé composé is made with être."""
        return self.reflexive or self.french in french.ETRE


@dataclass(frozen=True, slots=True)
class Adverb:
    """An adverb in both languages; French says some before the participle, some after all."""

    english: str
    french: str
    middle: bool = True


@dataclass(frozen=True, slots=True)
class Expression:
    """A few words that translate as a whole."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    alignment: Alignment = field(default=())


def _entries(table: str) -> Iterator[tuple[str, list[str]]]:
    """(header, fields) of each entry of a table: `header: entry; entry`, an indented line going on."""
    header = ""
    for line in table.strip().split("\n"):
        if ":" in line:
            header, line = line.split(":")
        for entry in line.split(";"):
            yield header.strip(), entry.split()


def _noun(tags: str, name: str, translation: str, gender: str) -> Noun:
    # Its own name is a tag too, so that a verb may ask for one noun.
    return Noun(
        name,
        english.plural(name),
        translation,
        french.plural(translation),
        gender == "f",
        frozenset((*tags.split(), name)),
    )


def _verb(header: str, name: str, translation: str) -> Verb:
    sorts, _, objects = header.partition(" > ")
    aspect, _, subjects = sorts.partition(" ")
    base, _, particle = name.partition("_")
    reflexive = translation.startswith("se_")
    infinitive, _, preposition = translation.removeprefix("se_").partition("_")
    assert aspect in ("dynamic", "event", "state"), header
    return Verb(base, particle, infinitive, preposition, reflexive, aspect, subjects, objects)  # type: ignore[arg-type]


def _verbs(table: str) -> tuple[Verb, ...]:
    return tuple(_verb(header, *fields) for header, fields in _entries(table))


def _prepositions() -> Iterator[tuple[Expression, str]]:
    for line in tables.PREPOSITIONS.strip().split("\n"):
        left, right, tags = (column.strip() for column in line.split("|"))
        yield Expression(tuple(left.split()), tuple(right.split())), tags


def _times() -> dict[str, tuple[Expression, ...]]:
    table: dict[str, tuple[Expression, ...]] = {}
    for line in tables.TIMES.strip().split("\n"):
        when, _, rest = line.partition(":")
        left, right, alignment = rest.split("|")
        expression = Expression(tuple(left.split()), tuple(right.split()), read_alignment(alignment))
        table[when] = (*table.get(when, ()), expression)
    return table


PERIPHRASTIC_COMPARATIVE, NON_POSSESSED, STAGE_LEVEL, ATTRIBUTIVE_ONLY, NON_GRADABLE = (
    frozenset(names.split())
    for names in (
        tables.PERIPHRASTIC_COMPARATIVE,
        tables.NON_POSSESSED,
        tables.STAGE_LEVEL,
        tables.ATTRIBUTIVE_ONLY,
        tables.NON_GRADABLE,
    )
)
NOUNS = tuple(_noun(tags, *fields) for tags, fields in _entries(tables.NOUNS))
ADJECTIVES = tuple(
    Adjective(name, translation, header.startswith("before"), frozenset(header.split()[1:]))
    for header, (name, translation) in _entries(tables.ADJECTIVES)
)
VERBS = _verbs(tables.VERBS)
INTRANSITIVE = tuple(verb for verb in VERBS if not verb.objects)
TRANSITIVE = tuple(verb for verb in VERBS if verb.objects)
DITRANSITIVE, MOTION, ATTITUDE, CONTROL = (
    _verbs(table) for table in (tables.DITRANSITIVE, tables.MOTION, tables.ATTITUDE, tables.CONTROL)
)
BE = _verb("state", "be", "être")
CAN = _verb("state", "can", "pouvoir")
MUST = _verb("state", "must", "devoir")

FREQUENCIES = tuple(Adverb(fields[0], fields[1]) for _, fields in _entries(tables.FREQUENCIES))
MANNERS: dict[str, tuple[Adverb, ...]] = {}
for _header, _names in _entries(tables.MANNERS):
    _english, _french, _where = _header.split()
    for _name in _names:
        MANNERS[_name] = (
            *MANNERS.get(_name, ()),
            Adverb(_english.replace("_", " "), _french, _where == "middle"),
        )

TIMES = _times()
PREPOSITIONS = tuple(_prepositions())
ACTION_PREPOSITIONS = tuple((preposition, tags.replace("surface", "")) for preposition, tags in PREPOSITIONS)
"""Places where people act, rather than where things lie: not on the table."""
REGIONS = tuple((fields[0], fields[1], fields[2]) for _, fields in _entries(tables.REGIONS))


@cache
def nouns(tags: str) -> tuple[Noun, ...]:
    """Nouns that carry at least one of these tags (names separated by spaces)."""
    wanted = frozenset(tags.split())
    return tuple(noun for noun in NOUNS if noun.tags & wanted)


@cache
def adjectives(tags: frozenset[str], before: bool | None = None) -> tuple[Adjective, ...]:
    """Adjectives that suit a noun of these tags: those French puts before it, after it, or both."""
    return tuple(a for a in ADJECTIVES if a.tags & tags and before in (None, a.before))


@cache
def verbs_of(tags: frozenset[str], pool: tuple[Verb, ...]) -> tuple[Verb, ...]:
    """Verbs of the pool that a noun of these tags may be the subject of."""
    return tuple(verb for verb in pool if tags & frozenset(verb.subjects.split()))


@cache
def verbs_taking(noun: Noun) -> tuple[Verb, ...]:
    """Verbs whose object the noun may be, without a preposition in French."""
    return tuple(v for v in TRANSITIVE if noun.tags & frozenset(v.objects.split()) and not v.preposition)


@cache
def predicable(tags: frozenset[str]) -> tuple[Adjective, ...]:
    """Adjectives that may be said of a noun of these tags: the king is old, but never "is former"."""
    return tuple(a for a in adjectives(tags) if a.english not in ATTRIBUTIVE_ONLY)


@cache
def gradable(tags: frozenset[str]) -> tuple[Adjective, ...]:
    """Those of them that one may be more or less."""
    return tuple(a for a in predicable(tags) if a.english not in NON_GRADABLE)


@cache
def stage_level(tags: frozenset[str]) -> tuple[Adjective, ...]:
    """Adjectives that may be true of it on one day only: tired yesterday."""
    return tuple(a for a in predicable(tags) if a.english in STAGE_LEVEL)


@cache
def comparable(tags: frozenset[str], adjective: Adjective) -> tuple[Noun, ...]:
    """Nouns of the same sort that the adjective suits as well."""
    return tuple(noun for noun in NOUNS if noun.tags & tags - {"mass"} and noun.tags & adjective.tags)
