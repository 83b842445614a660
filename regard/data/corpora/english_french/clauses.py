"""Verbs in both languages at once: tense, negation, do-support, clitics, auxiliaries and participles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.data.corpora.english_french import english, french, lexicon
from regard.data.corpora.english_french.english import Person
from regard.data.corpora.english_french.lexicon import Adverb, Verb
from regard.data.corpora.english_french.phrases import Draft, Fragment, Phrase, WordPair
from regard.data.corpora.english_french.surface import Word, french_word

Time = Literal["present", "past", "future"]
Tense = Literal["present", "past", "imperfect", "future"]
"""English simple present, simple past, was/were -ing, and will."""

_NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}
_REFLEXIVES: dict[Person, str] = {
    "1sg": "me",
    "2sg": "te",
    "3sg": "se",
    "1pl": "nous",
    "2pl": "vous",
    "3pl": "se",
}


@dataclass(frozen=True, slots=True)
class Mood:
    """How a clause is to be said, as far as it is not free."""

    time: Time
    question: bool = False
    short: bool = False
    """One of two clauses: a short subject, and nothing after the object."""
    dated: bool = False
    """A time is already named, which "never" and "often" would contradict."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The choices that shape one verb group."""

    tense: Tense
    negation: str = ""
    question: bool = False
    adverb: Adverb | None = None


@dataclass(slots=True)
class VerbGroup:
    """A verb with all that moves with it."""

    front: Word | None
    """The English word that a question puts before its subject."""
    english: list[Word]
    french: list[Word]
    finite: WordPair
    main: WordPair
    leading: Word
    """What a French preposition, or the clitic it became, translates: the particle, or else the verb."""


def choose_time(draft: Draft) -> Time:
    """Present more often than past, past more often than future."""
    draw = draft.random()
    return "present" if draw < 0.42 else "past" if draw < 0.8 else "future"


def make_plan(draft: Draft, verb: Verb, mood: Mood, negation_chance: float = 0.2) -> Plan:
    """A tense the verb can bear, perhaps a negation or else an adverb of frequency."""
    tense: Tense = mood.time
    if tense == "past" and verb.aspect == "dynamic" and draft.random() < 0.42:
        tense = "imperfect"
    draw = draft.random()
    if draw < negation_chance and not mood.question:
        return Plan(tense, _negation(draw / negation_chance, verb, tense, mood))
    has_frequency = negation_chance and draw > 0.93 and tense != "imperfect" and not mood.dated
    return Plan(tense, "", mood.question, draft.pick(lexicon.FREQUENCIES) if has_frequency else None)


def _negation(draw: float, verb: Verb, tense: Tense, mood: Mood) -> str:
    """What was done once cannot be done no longer, and what is under way is not done never."""
    if draw < 0.6 or mood.dated:
        return "not"
    if draw < 0.82 and tense != "imperfect":
        return "never"
    return "not" if tense == "past" and verb.aspect != "state" else "no longer"


@dataclass(slots=True)
class _EnglishVerbGroup:
    """The English half of a verb group, which the French half is aligned to."""

    auxiliary: Word | None
    main: tuple[Word, ...]
    """The verb with its particle; empty for be and can, which are their own auxiliaries."""
    meaning: tuple[Word, ...]
    """What the French verb translates: no particle that has a word of its own there (talk to, parler à)."""
    negation: tuple[Word, ...]
    adverb: Word | None

    @property
    def all_words(self) -> tuple[Word, ...]:
        return self.meaning if self.auxiliary is None else (self.auxiliary, *self.meaning)


def _forms(verb: Verb, plan: Plan, person: Person) -> tuple[str, str]:
    """(auxiliary, main), either of which may be empty."""
    if verb.english in ("can", "must"):
        return verb.english, ""
    if plan.tense == "future":
        return "will", verb.english
    if verb.english == "be":
        return english.be("present" if plan.tense == "present" else "past", person), ""
    if plan.tense == "imperfect":
        return english.be("past", person), english.gerund(verb.english)
    has_do_support = plan.question or plan.negation == "not"
    if plan.tense == "past":
        return ("did", verb.english) if has_do_support else ("", english.past(verb.english))
    if person != "3sg":
        return ("do", verb.english) if has_do_support else ("", verb.english)
    return ("does", verb.english) if has_do_support else ("", english.third_person(verb.english))


def _english(verb: Verb, plan: Plan, person: Person) -> _EnglishVerbGroup:
    auxiliary, main = _forms(verb, plan, person)
    helper = Word(auxiliary) if auxiliary else None
    if auxiliary == "can" and plan.negation == "not":
        helper = Word("cannot")
        negation: tuple[Word, ...] = (helper,)
    else:
        negation = tuple(map(Word, plan.negation.split()))
    words = (Word(main), Word(verb.particle)) if main and verb.particle else (Word(main),) if main else ()
    meaning = words[:1] if verb.preposition else words
    return _EnglishVerbGroup(helper, words, meaning, negation, Word(plan.adverb.english) if plan.adverb else None)


def _participle(verb: Verb, english_group: _EnglishVerbGroup, agreement: tuple[bool, bool]) -> tuple[Word, Word]:
    """The two words of a passé composé, the first still blank: 'did' is its own, 'ate' belongs to both."""
    helper = Word("", (english_group.auxiliary,) if english_group.auxiliary else english_group.meaning)
    return helper, Word(french.inflect(french.participle(verb.french), *agreement), english_group.meaning)


def _french(
    verb: Verb,
    plan: Plan,
    subject: Phrase,
    english_group: _EnglishVerbGroup,
    clitic: Phrase | None,
    preceding: Phrase | None,
) -> tuple[list[Word], Word, Word]:
    """The French half: all its words, the finite one and the one that carries the meaning."""
    compound = plan.tense == "past" and verb.aspect != "state"
    if compound:
        controller = subject if verb.etre else preceding
        agreement = (controller.feminine, controller.plural) if controller else (False, False)
        finite, main = _participle(verb, english_group, agreement)
        finite.text = french.conjugate("être" if verb.etre else "avoir", "present", subject.person)
    else:
        tense: french.Tense = "imperfect" if plan.tense in ("past", "imperfect") else plan.tense  # type: ignore[assignment]
        finite = main = Word(french.conjugate(verb.french, tense, subject.person), english_group.all_words)
    line = [french_word("ne", *english_group.negation)] if plan.negation else []
    line += _clitics(verb, subject, english_group.meaning, clitic)
    line.append(finite)
    if plan.negation:
        line.append(Word(_NEGATIONS[plan.negation], english_group.negation))
    if plan.adverb and english_group.adverb:
        line.append(Word(plan.adverb.french, (english_group.adverb,)))
    if compound:
        line.append(main)
    return line, finite, main


def _clitics(verb: Verb, subject: Phrase, meaning: tuple[Word, ...], clitic: Phrase | None) -> list[Word]:
    if verb.reflexive:
        return [french_word(_REFLEXIVES[subject.person], *meaning)]
    return clitic.french if clitic else []


def verb_group(
    draft: Draft,
    verb: Verb,
    subject: Phrase,
    plan: Plan,
    clitic: Phrase | None = None,
    preceding: Phrase | None = None,
) -> VerbGroup:
    """The verb as its subject, tense and polarity ask; `preceding`: a direct object that French puts first.

    The clitic's English half is not here: English says it where any object stands.
    """
    english_group = _english(verb, plan, subject.person)
    line, finite, main = _french(verb, plan, subject, english_group, clitic, preceding)
    negation = () if english_group.auxiliary in english_group.negation else english_group.negation
    fronted = english_group.auxiliary if plan.question else None
    words = [
        *((english_group.auxiliary,) if english_group.auxiliary and not fronted else ()),
        *negation,
        *((english_group.adverb,) if english_group.adverb else ()),
        *english_group.main,
    ]
    leading = english_group.auxiliary or english_group.main[0]
    verbs = english_group.main or (leading,)
    group = VerbGroup(fronted, words, line, (leading, finite), (verbs[0], main), verbs[-1])
    _let_clitic_take_particle(verb, clitic, group)
    for head in subject.heads:
        draft.link("subject-verb", group.finite, head)
    return group


def add_infinitive(group: VerbGroup, governor: Verb, verb: Verb, subject: Phrase, clitic: Phrase | None = None) -> None:
    """Let the group govern another verb, before which French puts the clitic: elle veut le voir."""
    words = [Word("to")] if governor.english not in ("can", "must") else []
    base = Word(verb.english)
    words.append(base)
    if verb.particle:
        words.append(Word(verb.particle))
    meaning = tuple(words[:-1] if verb.particle and verb.preposition else words)
    infinitive = Word(verb.french, meaning)
    group.leading = words[-1]
    group.english += words
    group.french += [*_clitics(verb, subject, meaning, clitic), infinitive]
    group.main = (base, infinitive)
    _let_clitic_take_particle(verb, clitic, group)


def _let_clitic_take_particle(verb: Verb, clitic: Phrase | None, group: VerbGroup) -> None:
    """Beside a clitic the particle has no word of its own: in "lui parle", lui is "to him"."""
    if clitic and verb.preposition and verb.particle:
        clitic.french[0].source_words = (group.leading, *clitic.french[0].source_words)


def clause(subject: Phrase, group: VerbGroup, *complements: Fragment) -> Fragment:
    """Subject, verb and the rest; a question brings its auxiliary forward, and est-ce que in French."""
    left, right = [*subject.english, *group.english], [*subject.french, *group.french]
    if group.front is not None:
        left.insert(0, group.front)
        right[:0] = (Word("est-ce", (group.front,)), french_word("que", group.front))
    for complement in complements:
        left += complement.english
        right += complement.french
    return Fragment(left, right)
