"""The sentence patterns of the English-French corpus, from "She sleeps." to two clauses with a relative."""

from __future__ import annotations

from collections.abc import Callable

from regard.data.corpora.english_french import french, lexicon, tables
from regard.data.corpora.english_french.clauses import (
    Group,
    Mood,
    Plan,
    add_infinitive,
    choose_time,
    clause,
    make_plan,
    verb_group,
)
from regard.data.corpora.english_french.lexicon import Noun, Verb
from regard.data.corpora.english_french.phrases import (
    DEFINITE,
    DENIED,
    OBJECT,
    PERSON,
    PLACE,
    RELATED,
    SUBJECT,
    Draft,
    Phrase,
    Stretch,
    both,
    company,
    coordinated,
    expression,
    goal,
    grouped,
    name,
    noun_phrase,
    object_pronoun,
    owned,
    person,
    place,
    pronoun,
)
from regard.data.corpora.english_french.surface import Word, french_word

Pattern = Callable[[Draft, Mood], Stretch]

_FOR_OTHERS = frozenset(["buy", "draw", "prepare", "write", "choose", "build", "paint", "look"])
_SHORT = ("the",) * 4 + ("my", "his", "her", "our")


def subject_for(draft: Draft, verb: Verb, mood: Mood) -> Phrase:
    """Somebody or something that may do this."""
    personal = "person" in verb.subjects
    drawn = draft.random()
    if personal and drawn < 0.38:
        return pronoun(draft)
    if personal and drawn < 0.5:
        return name(draft)
    noun = draft.pick(lexicon.nouns(verb.subjects))
    if mood.short:
        return noun_phrase(draft, noun, _SHORT, 0.25, 0.1)
    if drawn > 0.95:
        other = draft.pick(lexicon.nouns("animal" if "animal" in noun.tags else "person"))
        return coordinated(noun_phrase(draft, noun, _SHORT, 0.15, 0.1), noun_phrase(draft, other, _SHORT, 0.15, 0.1))
    if drawn > 0.91 and ("kin" in noun.tags or "animal" in noun.tags):
        return owned(draft, noun)
    if drawn > 0.83 and not mood.question:
        return with_relative(draft, noun)
    return noun_phrase(draft, noun, SUBJECT)


def object_for(draft: Draft, verb: Verb, group: Group, plan: Plan, mood: Mood) -> Phrase:
    """What the verb is done to, linked to it, with the preposition that French may want before it."""
    phrase = _object(draft, verb, plan, mood)
    link_object(draft, group, phrase)
    if verb.preposition:
        phrase.french.insert(0, french_word(verb.preposition, group.leading))
    return phrase


def _object(draft: Draft, verb: Verb, plan: Plan, mood: Mood) -> Phrase:
    noun = draft.pick(lexicon.nouns(verb.objects))
    drawn = draft.random()
    if verb.preposition == "de" and "instrument" in noun.tags:
        return noun_phrase(draft, noun, ("the",), 0, 0)
    if "person" in noun.tags and drawn < 0.12:
        return name(draft)
    if drawn > 0.93 and not mood.short and noun.english not in lexicon.UNOWNED:
        return owned(draft, noun)
    if verb.preposition or plan.negation:
        return noun_phrase(draft, noun, DEFINITE if verb.preposition else DENIED)
    if drawn > 0.86 and not mood.short:
        return with_relative(draft, noun)
    phrase = noun_phrase(draft, noun, OBJECT)
    if drawn < 0.17 and not mood.short and "person" not in noun.tags:
        other = draft.pick(lexicon.nouns(verb.objects))
        if other is not noun and "person" not in other.tags:
            return coordinated(phrase, noun_phrase(draft, other, OBJECT, 0.3, 0.1))
    return phrase


def with_relative(draft: Draft, noun: Noun) -> Phrase:
    """The noun and a clause about it: the girl who sings, an apple that the boy ate."""
    phrase = noun_phrase(draft, noun, RELATED, 0.3, 0.15)
    takers = lexicon.verbs_taking(noun)
    mood = Mood(choose_time(draft), short=True)
    human = "person" in noun.tags
    drawn = draft.random()
    if takers and drawn < 0.5:
        verb = draft.pick(takers)
        doer = subject_for(draft, verb, mood)
        group = verb_group(draft, verb, doer, make_plan(draft, verb, mood, 0), None, phrase)
        for head in phrase.heads:
            draft.link("verb-object", group.main, head)
        said = both("that", "que") + clause(doer, group)
    else:
        link = both("who" if human else "that", "qui")
        doers = lexicon.verbs_of(noun.tags, lexicon.INTRANSITIVE)
        if doers and drawn < 0.8:
            verb = draft.pick(doers)
            said = link + Stretch(*_halves(verb_group(draft, verb, phrase, make_plan(draft, verb, mood, 0))))
        else:
            plan = make_plan(draft, lexicon.BE, mood, 0)
            group = verb_group(draft, lexicon.BE, phrase, plan)
            said = link + Stretch(*_halves(group)) + predicate(draft, phrase, plan, lexicon.predicable(noun.tags))
    phrase.english += said.english
    phrase.french += said.french
    return phrase


def _halves(group: Group) -> tuple[list[Word], list[Word]]:
    return group.english, group.french


def predicate(draft: Draft, subject: Phrase, plan: Plan, options: tuple[lexicon.Adjective, ...]) -> Stretch:
    """An adjective said of the subject, perhaps with a degree, perhaps with another."""
    adjective = draft.pick(options)
    drawn = draft.random()
    if drawn < 0.3 and adjective.english not in lexicon.UNGRADED:
        # "not quite" is no longer "assez".
        degrees = _DEGREES[:2] if plan.negation else _DEGREES
        return both(*draft.pick(degrees)) + _agreed(draft, subject, adjective)
    said = _agreed(draft, subject, adjective)
    if drawn > 0.88:
        other = draft.pick(options)
        if other is not adjective:
            return said + both("and", "et") + _agreed(draft, subject, other)
    return said


_DEGREES = (("very", "très"), ("too", "trop"), ("quite", "assez"))


def _agreed(draft: Draft, subject: Phrase, adjective: lexicon.Adjective) -> Stretch:
    described = Word(adjective.english)
    agreed = Word(french.inflect(adjective.french, subject.feminine, subject.plural), (described,))
    for head in subject.heads:
        draft.link("predicate-noun", head, (described, agreed))
    return Stretch([described], [agreed])


def link_object(draft: Draft, group: Group, phrase: Phrase) -> None:
    """Tie the verb to what it is done to."""
    for head in phrase.heads:
        draft.link("verb-object", group.main, head)


def tails(draft: Draft, subject: Phrase, plan: Plan, mood: Mood, often: float = 1.0) -> list[Stretch]:
    """Perhaps a place, a companion or a time at the end."""
    if mood.short:
        return []
    drawn = draft.random()
    if drawn < 0.2 * often:
        return [place(draft)]
    if drawn < 0.27 * often and subject.tags & PERSON:
        return [company(draft, subject)]
    if drawn < 0.5 * often and plan.negation in ("", "not") and not plan.adverb:
        return [expression(draft, lexicon.TIMES[mood.time])]
    return []


def transitive(draft: Draft, mood: Mood) -> Stretch:
    """The girl eats an apple in the garden."""
    verb = draft.pick(_ACTIVE if mood.question else lexicon.TRANSITIVE)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    what = object_for(draft, verb, group, plan, mood)
    if verb.english in _FOR_OTHERS and draft.random() < 0.25:
        return clause(subject, group, what, both("for", "pour") + person(draft, DEFINITE, 0.2))
    if verb.aspect == "state":
        return clause(subject, group, what)
    return clause(subject, group, what, *tails(draft, subject, plan, mood, 0.6))


def intransitive(draft: Draft, mood: Mood) -> Stretch:
    """The old man walks slowly."""
    verb = draft.pick(lexicon.INTRANSITIVE)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    manners = lexicon.MANNERS.get(verb.english) if not verb.particle else None
    if manners and not plan.adverb and draft.random() < 0.45:
        return clause(subject, group, _manner(draft, group, manners))
    return clause(subject, group, *tails(draft, subject, plan, mood, 1.5))


def _manner(draft: Draft, group: Group, manners: tuple[lexicon.Adverb, ...]) -> Stretch:
    """English says it last; French slips some before the participle: elle a bien chanté."""
    manner = draft.pick(manners)
    how = grouped(manner.english.split(), [manner.french])
    if manner.middle and group.finite[1] is not group.main[1]:
        group.french.insert(group.french.index(group.main[1]), how.french.pop())
    return how


def pronominal(draft: Draft, mood: Mood) -> Stretch:
    """She sees him: French puts the pronoun before the verb, and its participle agrees with a direct one."""
    verb = draft.pick(_PERSONAL_ACTIVE if mood.question else _PERSONAL)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    clitic = object_pronoun(draft, subject.person, "indirect" if verb.preposition else "direct")
    preceding = None if verb.preposition else clitic
    group = verb_group(draft, verb, subject, plan, clitic, preceding)
    link_object(draft, group, clitic)
    late = tails(draft, subject, plan, mood) if verb.aspect != "state" else []
    return clause(subject, group, Stretch(clitic.english, []), *late)


# Of a state one may ask why, but hardly where or how.
_ACTIVE = tuple(verb for verb in lexicon.TRANSITIVE if verb.aspect != "state")
_PERSONAL = tuple(
    verb for verb in lexicon.TRANSITIVE if "person" in verb.objects.split() and verb.preposition in ("", "à")
)
_PERSONAL_ACTIVE = tuple(verb for verb in _PERSONAL if verb in _ACTIVE)


def giving(draft: Draft, mood: Mood) -> Stretch:
    """They give a book to the teacher; they give a book to him."""
    verb = draft.pick(lexicon.GIVING)
    plan = make_plan(draft, verb, mood)
    subject = person_subject(draft)
    to_whom = object_pronoun(draft, subject.person, "indirect") if draft.random() < 0.4 else None
    group = verb_group(draft, verb, subject, plan, to_whom)
    noun = draft.pick(lexicon.nouns("text sent tool clothes bag box umbrella"))
    what = noun_phrase(draft, noun, DENIED if plan.negation else OBJECT, 0.3, 0.2)
    link_object(draft, group, what)
    if to_whom:
        # "to" has no word of its own beside a clitic: lui says both.
        preposition = Word("to")
        to_whom.french[0].of = (preposition, *to_whom.french[0].of)
        return clause(subject, group, what, Stretch([preposition, *to_whom.english], []))
    return clause(subject, group, what, both("to", "à") + person(draft, DEFINITE, 0.2))


def person_subject(draft: Draft) -> Phrase:
    """Somebody, in few words."""
    return pronoun(draft) if draft.random() < 0.5 else person(draft, DEFINITE)


def willing(draft: Draft, mood: Mood) -> Stretch:
    """She wants to see him; he cannot open the door."""
    drawn = draft.random()
    if mood.time == "present" and drawn < 0.7:
        modal = lexicon.CAN if drawn < 0.4 else lexicon.MUST
    else:
        modal = draft.pick(lexicon.WILLING)
    plan = make_plan(draft, modal, mood, 0.25)
    if modal in (lexicon.CAN, lexicon.MUST) and plan.negation:
        plan = Plan(plan.tense, "not")
    subject = person_subject(draft)
    group = verb_group(draft, modal, subject, plan)
    drawn = draft.random()
    if drawn < 0.35:
        add_infinitive(group, modal, draft.pick(_INFINITIVES), subject)
        return clause(subject, group, *tails(draft, subject, plan, Mood("present", short=True)))
    if drawn < 0.55:
        verb = draft.pick(_PERSONAL_INFINITIVES)
        clitic = object_pronoun(draft, subject.person, "indirect" if verb.preposition else "direct")
        add_infinitive(group, modal, verb, subject, clitic)
        link_object(draft, group, clitic)
        return clause(subject, group, Stretch(clitic.english, []))
    verb = draft.pick(_OBJECT_INFINITIVES)
    add_infinitive(group, modal, verb, subject)
    return clause(subject, group, object_for(draft, verb, group, plan, Mood(mood.time, short=True)))


# One wants, likes or hopes to do things, not to be in states or to die.
_INFINITIVES = tuple(v for v in lexicon.INTRANSITIVE if v.english not in ("die", "fall", "cry"))
_OBJECT_INFINITIVES = tuple(
    v for v in lexicon.TRANSITIVE if v.aspect != "state" and v.english not in ("lose", "forget")
)
_PERSONAL_INFINITIVES = tuple(v for v in _PERSONAL if v in _OBJECT_INFINITIVES)


def moving(draft: Draft, mood: Mood) -> Stretch:
    """The queen went to the market; the boat came from Rome."""
    verb = draft.pick(lexicon.MOVING)
    plan = make_plan(draft, verb, mood)
    subject = person_subject(draft)
    group = verb_group(draft, verb, subject, plan)
    if verb.english == "come" and draft.random() < 0.4:
        where = noun_phrase(draft, draft.pick(lexicon.nouns(tables.GOALS)), PLACE, 0.04, 0.15)
        return clause(subject, group, both("from", "de") + where)
    late = [expression(draft, lexicon.TIMES[mood.time])] if draft.random() < 0.25 and not mood.short else []
    return clause(subject, group, goal(draft), *(late if plan.negation in ("", "not") and not plan.adverb else []))


def being(draft: Draft, mood: Mood) -> Stretch:
    """The house is very old; the key is under the table."""
    drawn = draft.random()
    plan = make_plan(draft, lexicon.BE, mood)
    if drawn < 0.35:
        subject = person_subject(draft)
    else:
        plan = Plan(plan.tense, plan.negation, plan.question)  # "the car is often English" is no news
        noun = draft.pick(lexicon.NOUNS)
        if drawn > 0.93 and not mood.short and noun.english not in lexicon.UNOWNED:
            subject = owned(draft, noun)
        elif drawn > 0.85 and not mood.short and not mood.question:
            subject = with_relative(draft, noun)
        else:
            subject = noun_phrase(draft, noun, DEFINITE, 0.3, 0.1)
    group = verb_group(draft, lexicon.BE, subject, plan)
    drawn = draft.random()
    if drawn < 0.18 and "place" not in subject.tags and "idea" not in subject.tags:
        return clause(subject, group, place(draft, lexicon.PREPOSITIONS))
    if drawn < 0.3 and not mood.short and not plan.negation:
        return clause(subject, group, _comparison(draft, subject))
    dated = mood.time != "present" and not mood.short and plan.negation in ("", "not") and not plan.adverb
    if drawn > 0.7 and dated and subject.tags & {"person", "animal"}:
        said = predicate(draft, subject, plan, lexicon.passing(subject.tags))
        return clause(subject, group, said, expression(draft, lexicon.TIMES[mood.time]))
    return clause(subject, group, predicate(draft, subject, plan, lexicon.predicable(subject.tags)))


def _comparison(draft: Draft, subject: Phrase) -> Stretch:
    """As tall as her brother; more intelligent than the king."""
    adjective = draft.pick(lexicon.gradable(subject.tags))
    said = _agreed(draft, subject, adjective)
    more = adjective.english in lexicon.COMPARED_BY_MORE and draft.random() < 0.6
    first, second = (("more", "plus"), ("than", "que")) if more else (("as", "aussi"), ("as", "que"))
    others = lexicon.comparable(subject.tags, adjective)
    other = noun_phrase(draft, draft.pick(others), DEFINITE, 0.2, 0)
    return both(*first) + said + both(*second) + other
