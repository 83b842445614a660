"""Phrases in both languages at once: nouns with what surrounds them, pronouns, places and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from regard.data.corpora.english_french import english, french, lexicon, tables
from regard.data.corpora.english_french.english import Person
from regard.data.corpora.english_french.lexicon import Adjective, Expression, Noun
from regard.data.corpora.english_french.surface import Word, french_word

T = TypeVar("T")
Ends = tuple[Word, Word]
"""A word and its translation."""

PERSON = frozenset({"person"})

# masculine, feminine, plural (masculine/feminine where they differ)
_FRENCH_DETERMINERS = {
    "the": "le la les",
    "a": "un une -",
    "this": "ce cette ces",
    "my": "mon ma mes",
    "his": "son sa ses",
    "her": "son sa ses",
    "our": "notre notre nos",
    "your": "votre votre vos",
    "their": "leur leur leurs",
    "every": "chaque chaque -",
    "several": "- - plusieurs",
    "all": "- - tous/toutes",
    "which": "quel quelle quels/quelles",
}
POSSESSIVES = ("my", "his", "her", "our", "your", "their")
_PLURAL_ONLY = frozenset({"number", "many", "several", "all", "how many"})
_SINGULAR_ONLY = frozenset({"a", "every"})

# Repeats are weights.
SUBJECT = ("the",) * 8 + POSSESSIVES + ("this", "this", "a", "a", "some", "number", "the number", "many") + (
    "several", "every", "all the", "my number")  # fmt: skip
OBJECT = ("the",) * 7 + ("indefinite",) * 7 + POSSESSIVES + ("this", "this", "number", "number", "many", "several")
DEFINITE = ("the",) * 7 + POSSESSIVES + ("this", "this")
DENIED = ("the",) * 4 + ("denied",) * 5 + POSSESSIVES + ("this",)
"""Objects under negation: an indefinite one becomes "de" in French."""
RELATED = ("the",) * 6 + ("indefinite",) * 3 + ("number", "the number", "several")
"""What a relative clause may follow."""
_FAMILIAR = ("the", *POSSESSIVES)
PLACE = ("the",) * 12 + ("my", "our", "their", "this", "a", "a")
NUMBERS = tuple(range(2, 13)) * 3 + tuple(range(13, 31)) + (40, 50, 60, 70, 80, 90)

_SUBJECT_PRONOUNS: tuple[tuple[str, str, Person, bool], ...] = (
    *(("I", "je", "1sg", False),) * 2,
    *(("he", "il", "3sg", False),) * 2,
    *(("she", "elle", "3sg", True),) * 2,
    ("we", "nous", "1pl", False),
    ("you", "vous", "2pl", False),
    *(("they", "ils", "3pl", False),) * 2,
)
"""English hides the gender of I, we, you and they; here all are masculine, and "you" is always "vous"."""

_OBJECT_PRONOUNS: tuple[tuple[str, str, str, str, Person, bool], ...] = (
    ("me", "me", "me", "moi", "1sg", False),
    ("him", "le", "lui", "lui", "3sg", False),
    ("her", "la", "lui", "elle", "3sg", True),
    ("us", "nous", "nous", "nous", "1pl", False),
    ("you", "vous", "vous", "vous", "2pl", False),
    ("them", "les", "leur", "eux", "3pl", False),
)
"""English, then French direct, indirect and after a preposition."""


class Draft:
    """One sentence in the making: its chances and the links found so far."""

    __slots__ = ("english_links", "french_links", "random")

    def __init__(self, generator: Random) -> None:
        self.random = generator.random
        self.english_links: list[tuple[str, Word, Word]] = []
        self.french_links: list[tuple[str, Word, Word]] = []

    def pick(self, options: Sequence[T]) -> T:
        """One of them, all equally likely."""
        return options[int(self.random() * len(options))]

    def link(self, kind: str, head: Ends, dependent: Ends) -> None:
        """Tie two words in both languages."""
        self.english_links.append((kind, head[0], dependent[0]))
        self.french_links.append((kind, head[1], dependent[1]))


@dataclass(slots=True)
class Stretch:
    """Some words of the sentence in both languages."""

    english: list[Word]
    french: list[Word]

    def __add__(self, other: Stretch) -> Stretch:
        return Stretch(self.english + other.english, self.french + other.french)


@dataclass(slots=True)
class Phrase(Stretch):
    """What may be subject or object: words, and what must agree with them."""

    person: Person
    feminine: bool
    heads: list[Ends]
    tags: frozenset[str]

    @property
    def plural(self) -> bool:
        """Whether verbs and adjectives take their plural."""
        return self.person.endswith("pl")


def both(left: str, right: str) -> Stretch:
    """A word each way: `both("and", "et")`."""
    word = Word(left)
    return Stretch([word], [french_word(right, word)])


def grouped(left: Sequence[str], right: Sequence[str]) -> Stretch:
    """Several words a side, each translating all of the other side."""
    words = tuple(map(Word, left))
    return Stretch(list(words), [french_word(text, *words) for text in right])


def expression(draft: Draft, options: Sequence[Expression]) -> Stretch:
    """One of these fixed expressions, aligned as its table says."""
    chosen = draft.pick(options)
    left = [Word(text) for text in chosen.english]
    right = [Word(text) for text in chosen.french]
    for source, target in chosen.alignment:
        right[target].of = (*right[target].of, left[source])
    return Stretch(left, right)


def determiner(draft: Draft, kind: str, noun: Noun, plural: bool, before: bool) -> Stretch:
    """What opens the noun phrase. `before`: an adjective is next in French (des fleurs, de belles fleurs)."""
    if kind == "number":
        value = draft.pick(NUMBERS)
        return grouped([english.number(value)], french.number(value, noun.feminine).split())
    if kind == "some":
        if plural:
            return both("some", "de" if before else "des")
        return grouped(["some"], ["de", "la" if noun.feminine else "le"])
    if kind == "denied":
        word = Word("any") if plural or noun.mass else Word("a", before_vowel="an")
        return Stretch([word], [french_word("de", word)])
    if kind == "many":
        return grouped(["many"], ["beaucoup", "de"])
    if kind == "how many":
        return grouped(["how", "many"], ["combien", "de"])
    masculine, feminine, plurals = _FRENCH_DETERMINERS[kind].split()
    form = plurals if plural else feminine if noun.feminine else masculine
    if "/" in form:
        form = form.split("/")[noun.feminine]
    word = Word("these" if kind == "this" and plural else kind, before_vowel="an" if kind == "a" else None)
    return Stretch([word], [french_word(form, word)])


def choose_kind(draft: Draft, noun: Noun, kinds: tuple[str, ...], plural_chance: float) -> tuple[str, bool]:
    """A determiner that the noun can bear, and its number."""
    kind = draft.pick(kinds)
    if "kin" in noun.tags and kind in ("the", "this"):
        kind = draft.pick(_FAMILIAR)
    elif noun.english in lexicon.UNOWNED and kind in POSSESSIVES:
        kind = "the"
    if noun.mass:
        if kind in ("a", "indefinite") or kind not in DENIED:
            kind = "some" if "indefinite" in kinds or "some" in kinds else "the"
        return kind, False
    first = kind.rpartition(" ")[2] if kind != "all the" else "all"
    free = first not in _SINGULAR_ONLY and "sole" not in noun.tags
    plural = first in _PLURAL_ONLY or (free and draft.random() < plural_chance)
    if kind == "indefinite":
        kind = "some" if plural else "a"
    return kind, plural or kind == "some"


def choose_adjectives(draft: Draft, noun: Noun, chance: float) -> tuple[Adjective | None, Adjective | None]:
    """Perhaps an adjective for each side of the French noun."""
    drawn = draft.random()
    if drawn >= chance:
        return None, None
    before, after = lexicon.adjectives(noun.tags, True), lexicon.adjectives(noun.tags, False)
    if drawn < chance * 0.12 and before and after:
        return draft.pick(before), draft.pick(after)
    chosen = draft.pick(lexicon.adjectives(noun.tags))
    return (chosen, None) if chosen.before else (None, chosen)


def dress(draft: Draft, noun: Noun, opening: Stretch, plural: bool, adjectives: tuple[Adjective | None, ...]) -> Phrase:
    """The noun with its opening and adjectives, agreed and linked."""
    name = Word(noun.english_plural if plural else noun.english)
    head = (name, Word(noun.french_plural if plural else noun.french, (name,)))
    left, right = opening.english[:], opening.french[:]
    after = []
    for word in left:
        draft.english_links.append(("determiner-noun", name, word))
    for word in right:
        draft.french_links.append(("determiner-noun", head[1], word))
    for adjective in adjectives:
        if adjective is None:
            continue
        described = Word(adjective.english)
        agreed = Word(french.inflect(adjective.french, noun.feminine, plural), (described,))
        left.append(described)
        if adjective.before:
            if not noun.feminine and not plural:
                agreed.before_vowel = french.BEFORE_VOWEL.get(adjective.french)
            right.append(agreed)
        else:
            after.append(agreed)
        draft.link("adjective-noun", head, (described, agreed))
    person: Person = "3pl" if plural else "3sg"
    return Phrase([*left, name], [*right, head[1], *after], person, noun.feminine, [head], noun.tags)


def noun_phrase(
    draft: Draft, noun: Noun, kinds: tuple[str, ...], plural_chance: float = 0.3, described: float = 0.3
) -> Phrase:
    """A determiner of one of the kinds, perhaps adjectives, and the noun."""
    kind, plural = choose_kind(draft, noun, kinds, plural_chance)
    adjectives = choose_adjectives(draft, noun, described)
    parts = [determiner(draft, part, noun, plural, adjectives[0] is not None) for part in _parts(kind)]
    opening = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return dress(draft, noun, opening, plural, adjectives)


def owned(draft: Draft, noun: Noun) -> Phrase:
    """A genitive, the order of which French turns round: my brother's car, la voiture de mon frère."""
    known = draft.random() < 0.4
    owner = name(draft) if known else noun_phrase(draft, draft.pick(lexicon.nouns("person")), DEFINITE, 0, 0)
    plural = not noun.mass and draft.random() < 0.3
    genitive = Word("'s")
    article = french_word("les" if plural else "la" if noun.feminine else "le", genitive)
    phrase = dress(draft, noun, Stretch([], [article]), plural, choose_adjectives(draft, noun, 0.25))
    phrase.english = [*owner.english, genitive, *phrase.english]
    phrase.french = [*phrase.french, french_word("de", genitive), *owner.french]
    return phrase


def name(draft: Draft) -> Phrase:
    """A first name, the same in both languages."""
    feminine = draft.random() < 0.5
    text = draft.pick(tables.WOMEN if feminine else tables.MEN)
    word = Word(text)
    head = (word, Word(text, (word,)))
    return Phrase([word], [head[1]], "3sg", feminine, [head], PERSON)


def pronoun(draft: Draft) -> Phrase:
    """A subject pronoun."""
    text, translation, person, feminine = draft.pick(_SUBJECT_PRONOUNS)
    word = Word(text)
    head = (word, french_word(translation, word))
    return Phrase([word], [head[1]], person, feminine, [head], PERSON)


def object_pronoun(draft: Draft, subject: Person, role: str) -> Phrase:
    """A direct or indirect clitic, or a strong form after a preposition; never the subject's own person."""
    while True:
        text, direct, indirect, strong, person, feminine = draft.pick(_OBJECT_PRONOUNS)
        if person[0] == "3" or person[0] != subject[0]:
            break
    word = Word(text)
    form = {"direct": direct, "indirect": indirect, "strong": strong}[role]
    head = (word, french_word(form, word) if role != "strong" else Word(form, (word,)))
    return Phrase([word], [head[1]], person, feminine, [head], PERSON)


def coordinated(first: Phrase, second: Phrase) -> Phrase:
    """Two phrases as one plural, masculine unless both are feminine."""
    whole = first + both("and", "et") + second
    return Phrase(
        whole.english,
        whole.french,
        "3pl",
        first.feminine and second.feminine,
        first.heads + second.heads,
        first.tags,
    )


def place(draft: Draft, options: tuple[tuple[Expression, str], ...] = lexicon.OUTSIDE) -> Stretch:
    """Where: a preposition with a noun, a town or country, or home."""
    drawn = draft.random()
    if drawn < 0.12:
        return region(draft, "in")
    if drawn < 0.17:
        return home()
    preposition, tags = draft.pick(options)
    where = noun_phrase(draft, draft.pick(lexicon.nouns(tags)), PLACE, 0.08, 0.15)
    return grouped(preposition.english, preposition.french) + where


def home() -> Stretch:
    """The one place that English names without an article."""
    at, here = Word("at"), Word("home")
    return Stretch([at, here], [Word("à", (at,)), Word("la", (here,)), Word("maison", (here,))])


def region(draft: Draft, preposition: str) -> Stretch:
    """A town or country; French chooses the preposition by its name: à Rome, en Italie, au Japon."""
    text, before, translation = draft.pick(lexicon.REGIONS)
    return both(preposition, before) + both(text, translation)


def goal(draft: Draft) -> Stretch:
    """Where to."""
    if draft.random() < 0.3:
        return region(draft, "to")
    return both("to", "à") + noun_phrase(draft, draft.pick(lexicon.nouns(tables.GOALS)), PLACE, 0.04, 0.15)


def company(draft: Draft, subject: Phrase) -> Stretch:
    """With whom, or without."""
    opening = both("with", "avec") if draft.random() < 0.7 else both("without", "sans")
    if draft.random() < 0.35:
        return opening + object_pronoun(draft, subject.person, "strong")
    return opening + person(draft, DEFINITE, 0.25)


def person(draft: Draft, kinds: tuple[str, ...], plural_chance: float = 0.3) -> Phrase:
    """Somebody: a name or a noun."""
    if draft.random() < 0.2:
        return name(draft)
    return noun_phrase(draft, draft.pick(lexicon.nouns("person")), kinds, plural_chance, 0.2)


def _parts(kind: str) -> list[str]:
    return [kind] if kind == "how many" else kind.split()
