"""Verbs in both languages at once: tense, negation, do-support, clitics, auxiliaries and participles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.data.corpora.english_french import english, french, lexicon
from regard.data.corpora.english_french.english import Person
from regard.data.corpora.english_french.lexicon import Adverb, Verb
from regard.data.corpora.english_french.phrases import Draft, Ends, Phrase, Stretch
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
class Group:
    """A verb with all that moves with it."""

    front: Word | None
    """The English word that a question puts before its subject."""
    english: list[Word]
    french: list[Word]
    finite: Ends
    main: Ends
    leading: Word
    """What a French preposition, or the clitic it became, translates: the particle, or else the verb."""


def choose_time(draft: Draft) -> Time:
    """Present more often than past, past more often than future."""
    drawn = draft.random()
    return "present" if drawn < 0.42 else "past" if drawn < 0.8 else "future"


def make_plan(draft: Draft, verb: Verb, mood: Mood, denied: float = 0.2) -> Plan:
    """A tense the verb can bear, perhaps a negation or else an adverb of frequency."""
    tense: Tense = mood.time
    if tense == "past" and verb.aspect == "dynamic" and draft.random() < 0.42:
        tense = "imperfect"
    drawn = draft.random()
    if drawn < denied and not mood.question:
        return Plan(tense, _negation(drawn / denied, verb, tense, mood))
    often = denied and drawn > 0.93 and tense != "imperfect" and not mood.dated
    return Plan(tense, "", mood.question, draft.pick(lexicon.FREQUENCIES) if often else None)


def _negation(drawn: float, verb: Verb, tense: Tense, mood: Mood) -> str:
    """What was done once cannot be done no longer, and what is under way is not done never."""
    if drawn < 0.6 or mood.dated:
        return "not"
    if drawn < 0.82 and tense != "imperfect":
        return "never"
    return "not" if tense == "past" and verb.aspect != "state" else "no longer"


@dataclass(slots=True)
class _English:
    """The English half of a verb group, which the French half is aligned to."""

    auxiliary: Word | None
    main: tuple[Word, ...]
    """The verb with its particle; empty for be and can, which are their own auxiliaries."""
    meaning: tuple[Word, ...]
    """What the French verb translates: no particle that has a word of its own there (talk to, parler à)."""
    negation: tuple[Word, ...]
    adverb: Word | None

    @property
    def all(self) -> tuple[Word, ...]:
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
    supported = plan.question or plan.negation == "not"
    if plan.tense == "past":
        return ("did", verb.english) if supported else ("", english.past(verb.english))
    if person != "3sg":
        return ("do", verb.english) if supported else ("", verb.english)
    return ("does", verb.english) if supported else ("", english.third(verb.english))


def _english(verb: Verb, plan: Plan, person: Person) -> _English:
    auxiliary, main = _forms(verb, plan, person)
    helper = Word(auxiliary) if auxiliary else None
    if auxiliary == "can" and plan.negation == "not":
        helper = Word("cannot")
        negation: tuple[Word, ...] = (helper,)
    else:
        negation = tuple(map(Word, plan.negation.split()))
    words = (Word(main), Word(verb.particle)) if main and verb.particle else (Word(main),) if main else ()
    meaning = words[:1] if verb.preposition else words
    return _English(helper, words, meaning, negation, Word(plan.adverb.english) if plan.adverb else None)


def _participle(verb: Verb, said: _English, agreement: tuple[bool, bool]) -> tuple[Word, Word]:
    """The two words of a passé composé, the first still blank: 'did' is its own, 'ate' belongs to both."""
    helper = Word("", (said.auxiliary,) if said.auxiliary else said.meaning)
    return helper, Word(french.inflect(french.participle(verb.french), *agreement), said.meaning)


def _french(
    verb: Verb, plan: Plan, subject: Phrase, said: _English, clitic: Phrase | None, preceding: Phrase | None
) -> tuple[list[Word], Word, Word]:
    """The French half: all its words, the finite one and the one that carries the meaning."""
    compound = plan.tense == "past" and verb.aspect != "state"
    if compound:
        ruler = subject if verb.etre else preceding
        agreement = (ruler.feminine, ruler.plural) if ruler else (False, False)
        finite, main = _participle(verb, said, agreement)
        finite.text = french.conjugate("être" if verb.etre else "avoir", "present", subject.person)
    else:
        tense: french.Tense = "imperfect" if plan.tense in ("past", "imperfect") else plan.tense  # type: ignore[assignment]
        finite = main = Word(french.conjugate(verb.french, tense, subject.person), said.all)
    line = [french_word("ne", *said.negation)] if plan.negation else []
    line += _clitics(verb, subject, said.meaning, clitic)
    line.append(finite)
    if plan.negation:
        line.append(Word(_NEGATIONS[plan.negation], said.negation))
    if plan.adverb and said.adverb:
        line.append(Word(plan.adverb.french, (said.adverb,)))
    if compound:
        line.append(main)
    return line, finite, main


def _clitics(verb: Verb, subject: Phrase, said: tuple[Word, ...], clitic: Phrase | None) -> list[Word]:
    if verb.reflexive:
        return [french_word(_REFLEXIVES[subject.person], *said)]
    return clitic.french if clitic else []


def verb_group(
    draft: Draft,
    verb: Verb,
    subject: Phrase,
    plan: Plan,
    clitic: Phrase | None = None,
    preceding: Phrase | None = None,
) -> Group:
    """The verb as its subject, tense and polarity ask; `preceding`: a direct object that French puts first.

    The clitic's English half is not here: English says it where any object stands.
    """
    said = _english(verb, plan, subject.person)
    line, finite, main = _french(verb, plan, subject, said, clitic, preceding)
    negation = () if said.auxiliary in said.negation else said.negation
    fronted = said.auxiliary if plan.question else None
    words = [
        *((said.auxiliary,) if said.auxiliary and not fronted else ()),
        *negation,
        *((said.adverb,) if said.adverb else ()),
        *said.main,
    ]
    leading = said.auxiliary or said.main[0]
    verbs = said.main or (leading,)
    group = Group(fronted, words, line, (leading, finite), (verbs[0], main), verbs[-1])
    _let_clitic_take_particle(verb, clitic, group)
    for head in subject.heads:
        draft.link("subject-verb", group.finite, head)
    return group


def add_infinitive(group: Group, willing: Verb, verb: Verb, subject: Phrase, clitic: Phrase | None = None) -> None:
    """Let the group govern another verb, before which French puts the clitic: elle veut le voir."""
    words = [Word("to")] if willing.english not in ("can", "must") else []
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


def _let_clitic_take_particle(verb: Verb, clitic: Phrase | None, group: Group) -> None:
    """Beside a clitic the particle has no word of its own: in "lui parle", lui is "to him"."""
    if clitic and verb.preposition and verb.particle:
        clitic.french[0].of = (group.leading, *clitic.french[0].of)


def clause(subject: Phrase, group: Group, *tails: Stretch) -> Stretch:
    """Subject, verb and the rest; a question brings its auxiliary forward, and est-ce que in French."""
    left, right = [*subject.english, *group.english], [*subject.french, *group.french]
    if group.front is not None:
        left.insert(0, group.front)
        right[:0] = (Word("est-ce", (group.front,)), french_word("que", group.front))
    for tail in tails:
        left += tail.english
        right += tail.french
    return Stretch(left, right)
