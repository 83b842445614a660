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
WordPair = tuple[Word, Word]
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
_KINSHIP_DETERMINERS = ("the", *POSSESSIVES)
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
    """One sentence under construction: its random generator and the links so far."""

    __slots__ = ("english_links", "french_links", "random")

    def __init__(self, generator: Random) -> None:
        self.random = generator.random
        self.english_links: list[tuple[str, Word, Word]] = []
        self.french_links: list[tuple[str, Word, Word]] = []

    def pick(self, options: Sequence[T]) -> T:
        """One of them, all equally likely."""
        return options[int(self.random() * len(options))]

    def link(self, kind: str, head: WordPair, dependent: WordPair) -> None:
        """Tie two words in both languages."""
        self.english_links.append((kind, head[0], dependent[0]))
        self.french_links.append((kind, head[1], dependent[1]))


@dataclass(slots=True)
class Fragment:
    """Some words of the sentence in both languages."""

    english: list[Word]
    french: list[Word]

    def __add__(self, other: Fragment) -> Fragment:
        return Fragment(self.english + other.english, self.french + other.french)


@dataclass(slots=True)
class Phrase(Fragment):
    """What may be subject or object: words, and what must agree with them."""

    person: Person
    feminine: bool
    heads: list[WordPair]
    tags: frozenset[str]

    @property
    def plural(self) -> bool:
        """Whether verbs and adjectives take their plural."""
        return self.person.endswith("pl")


def one_to_one(left: str, right: str) -> Fragment:
    """A word on each side: `one_to_one("and", "et")`."""
    word = Word(left)
    return Fragment([word], [french_word(right, word)])


def many_to_many(left: Sequence[str], right: Sequence[str]) -> Fragment:
    """Several words a side, each translating all of the other side."""
    words = tuple(map(Word, left))
    return Fragment(list(words), [french_word(text, *words) for text in right])


def expression(draft: Draft, options: Sequence[Expression]) -> Fragment:
    """One of these fixed expressions, aligned as its table says."""
    option = draft.pick(options)
    left = [Word(text) for text in option.english]
    right = [Word(text) for text in option.french]
    for source, target in option.alignment:
        right[target].source_words = (*right[target].source_words, left[source])
    return Fragment(left, right)


def determiner(draft: Draft, kind: str, noun: Noun, plural: bool, before: bool) -> Fragment:
    """What opens the noun phrase. `before`: an adjective is next in French (des fleurs, de belles fleurs)."""
    if kind == "number":
        value = draft.pick(NUMBERS)
        return many_to_many([english.number(value)], french.number(value, noun.feminine).split())
    if kind == "some":
        if plural:
            return one_to_one("some", "de" if before else "des")
        return many_to_many(["some"], ["de", "la" if noun.feminine else "le"])
    if kind == "denied":
        word = Word("any") if plural or noun.mass else Word("a", before_vowel="an")
        return Fragment([word], [french_word("de", word)])
    if kind == "many":
        return many_to_many(["many"], ["beaucoup", "de"])
    if kind == "how many":
        return many_to_many(["how", "many"], ["combien", "de"])
    masculine, feminine, plurals = _FRENCH_DETERMINERS[kind].split()
    form = plurals if plural else feminine if noun.feminine else masculine
    if "/" in form:
        form = form.split("/")[noun.feminine]
    word = Word("these" if kind == "this" and plural else kind, before_vowel="an" if kind == "a" else None)
    return Fragment([word], [french_word(form, word)])


def choose_kind(draft: Draft, noun: Noun, kinds: tuple[str, ...], plural_chance: float) -> tuple[str, bool]:
    """A determiner that the noun can bear, and its number."""
    kind = draft.pick(kinds)
    if "kin" in noun.tags and kind in ("the", "this"):
        kind = draft.pick(_KINSHIP_DETERMINERS)
    elif noun.english in lexicon.NON_POSSESSED and kind in POSSESSIVES:
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
    draw = draft.random()
    if draw >= chance:
        return None, None
    before, after = lexicon.adjectives(noun.tags, True), lexicon.adjectives(noun.tags, False)
    if draw < chance * 0.12 and before and after:
        return draft.pick(before), draft.pick(after)
    adjective = draft.pick(lexicon.adjectives(noun.tags))
    return (adjective, None) if adjective.before else (None, adjective)


def assemble_noun_phrase(
    draft: Draft, noun: Noun, opening: Fragment, plural: bool, adjectives: tuple[Adjective | None, ...]
) -> Phrase:
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
        english_adjective = Word(adjective.english)
        french_adjective = Word(french.inflect(adjective.french, noun.feminine, plural), (english_adjective,))
        left.append(english_adjective)
        if adjective.before:
            if not noun.feminine and not plural:
                french_adjective.before_vowel = french.BEFORE_VOWEL.get(adjective.french)
            right.append(french_adjective)
        else:
            after.append(french_adjective)
        draft.link("adjective-noun", head, (english_adjective, french_adjective))
    person: Person = "3pl" if plural else "3sg"
    return Phrase([*left, name], [*right, head[1], *after], person, noun.feminine, [head], noun.tags)


def noun_phrase(
    draft: Draft, noun: Noun, kinds: tuple[str, ...], plural_chance: float = 0.3, adjective_chance: float = 0.3
) -> Phrase:
    """A determiner of one of the kinds, perhaps adjectives, and the noun."""
    kind, plural = choose_kind(draft, noun, kinds, plural_chance)
    adjectives = choose_adjectives(draft, noun, adjective_chance)
    parts = [determiner(draft, part, noun, plural, adjectives[0] is not None) for part in _parts(kind)]
    opening = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return assemble_noun_phrase(draft, noun, opening, plural, adjectives)


def genitive_phrase(draft: Draft, noun: Noun) -> Phrase:
    """A genitive, the order of which French turns round: my brother's car, la voiture de mon frère."""
    is_named = draft.random() < 0.4
    owner = name(draft) if is_named else noun_phrase(draft, draft.pick(lexicon.nouns("person")), DEFINITE, 0, 0)
    plural = not noun.mass and draft.random() < 0.3
    genitive = Word("'s")
    article = french_word("les" if plural else "la" if noun.feminine else "le", genitive)
    phrase = assemble_noun_phrase(draft, noun, Fragment([], [article]), plural, choose_adjectives(draft, noun, 0.25))
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


def coordinate(first: Phrase, second: Phrase) -> Phrase:
    """Two phrases as one plural, masculine unless both are feminine."""
    whole = first + one_to_one("and", "et") + second
    return Phrase(
        whole.english,
        whole.french,
        "3pl",
        first.feminine and second.feminine,
        first.heads + second.heads,
        first.tags,
    )


def place(draft: Draft, options: tuple[tuple[Expression, str], ...] = lexicon.ACTION_PREPOSITIONS) -> Fragment:
    """Where: a preposition with a noun, a town or country, or home."""
    draw = draft.random()
    if draw < 0.12:
        return region(draft, "in")
    if draw < 0.17:
        return home()
    preposition, tags = draft.pick(options)
    where = noun_phrase(draft, draft.pick(lexicon.nouns(tags)), PLACE, 0.08, 0.15)
    return many_to_many(preposition.english, preposition.french) + where


def home() -> Fragment:
    """The one place that English names without an article."""
    at, here = Word("at"), Word("home")
    return Fragment([at, here], [Word("à", (at,)), Word("la", (here,)), Word("maison", (here,))])


def region(draft: Draft, preposition: str) -> Fragment:
    """A town or country; French chooses the preposition by its name: à Rome, en Italie, au Japon."""
    text, before, translation = draft.pick(lexicon.REGIONS)
    return one_to_one(preposition, before) + one_to_one(text, translation)


def goal(draft: Draft) -> Fragment:
    """Where to."""
    if draft.random() < 0.3:
        return region(draft, "to")
    return one_to_one("to", "à") + noun_phrase(draft, draft.pick(lexicon.nouns(tables.GOALS)), PLACE, 0.04, 0.15)


def companion(draft: Draft, subject: Phrase) -> Fragment:
    """With whom, or without."""
    opening = one_to_one("with", "avec") if draft.random() < 0.7 else one_to_one("without", "sans")
    if draft.random() < 0.35:
        return opening + object_pronoun(draft, subject.person, "strong")
    return opening + person(draft, DEFINITE, 0.25)


def person(draft: Draft, kinds: tuple[str, ...], plural_chance: float = 0.3) -> Phrase:
    """A person: a name or a noun."""
    if draft.random() < 0.2:
        return name(draft)
    return noun_phrase(draft, draft.pick(lexicon.nouns("person")), kinds, plural_chance, 0.2)


def _parts(kind: str) -> list[str]:
    return [kind] if kind == "how many" else kind.split()
