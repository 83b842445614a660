"""The sentence patterns of the English-French corpus, from "She sleeps." to two clauses with a relative."""

from __future__ import annotations

from collections.abc import Callable

from regard.data.corpora.english_french import french, lexicon, tables
from regard.data.corpora.english_french.clauses import (
    Mood,
    Plan,
    VerbGroup,
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
    Fragment,
    Phrase,
    companion,
    coordinate,
    expression,
    genitive_phrase,
    goal,
    many_to_many,
    name,
    noun_phrase,
    object_pronoun,
    one_to_one,
    person,
    place,
    pronoun,
)
from regard.data.corpora.english_french.surface import Word, french_word

Pattern = Callable[[Draft, Mood], Fragment]

_BENEFACTIVE = frozenset(["buy", "draw", "prepare", "write", "choose", "build", "paint", "look"])
_SHORT_DETERMINERS = ("the",) * 4 + ("my", "his", "her", "our")


def subject_for(draft: Draft, verb: Verb, mood: Mood) -> Phrase:
    """A subject that may do this."""
    personal = "person" in verb.subjects
    draw = draft.random()
    if personal and draw < 0.38:
        return pronoun(draft)
    if personal and draw < 0.5:
        return name(draft)
    noun = draft.pick(lexicon.nouns(verb.subjects))
    if mood.short:
        return noun_phrase(draft, noun, _SHORT_DETERMINERS, 0.25, 0.1)
    if draw > 0.95:
        other = draft.pick(lexicon.nouns("animal" if "animal" in noun.tags else "person"))
        return coordinate(
            noun_phrase(draft, noun, _SHORT_DETERMINERS, 0.15, 0.1),
            noun_phrase(draft, other, _SHORT_DETERMINERS, 0.15, 0.1),
        )
    if draw > 0.91 and ("kin" in noun.tags or "animal" in noun.tags):
        return genitive_phrase(draft, noun)
    if draw > 0.83 and not mood.question:
        return with_relative(draft, noun)
    return noun_phrase(draft, noun, SUBJECT)


def object_for(draft: Draft, verb: Verb, group: VerbGroup, plan: Plan, mood: Mood) -> Phrase:
    """What the verb is done to, linked to it, with the preposition that French may want before it."""
    phrase = _object(draft, verb, plan, mood)
    link_object(draft, group, phrase)
    if verb.preposition:
        phrase.french.insert(0, french_word(verb.preposition, group.leading))
    return phrase


def _object(draft: Draft, verb: Verb, plan: Plan, mood: Mood) -> Phrase:
    noun = draft.pick(lexicon.nouns(verb.objects))
    draw = draft.random()
    if verb.preposition == "de" and "instrument" in noun.tags:
        return noun_phrase(draft, noun, ("the",), 0, 0)
    if "person" in noun.tags and draw < 0.12:
        return name(draft)
    if draw > 0.93 and not mood.short and noun.english not in lexicon.NON_POSSESSED:
        return genitive_phrase(draft, noun)
    if verb.preposition or plan.negation:
        return noun_phrase(draft, noun, DEFINITE if verb.preposition else DENIED)
    if draw > 0.86 and not mood.short:
        return with_relative(draft, noun)
    phrase = noun_phrase(draft, noun, OBJECT)
    if draw < 0.17 and not mood.short and "person" not in noun.tags:
        other = draft.pick(lexicon.nouns(verb.objects))
        if other is not noun and "person" not in other.tags:
            return coordinate(phrase, noun_phrase(draft, other, OBJECT, 0.3, 0.1))
    return phrase


def with_relative(draft: Draft, noun: Noun) -> Phrase:
    """The noun and a clause about it: the girl who sings, an apple that the boy ate."""
    phrase = noun_phrase(draft, noun, RELATED, 0.3, 0.15)
    transitive_verbs = lexicon.verbs_taking(noun)
    mood = Mood(choose_time(draft), short=True)
    human = "person" in noun.tags
    draw = draft.random()
    if transitive_verbs and draw < 0.5:
        verb = draft.pick(transitive_verbs)
        agent = subject_for(draft, verb, mood)
        group = verb_group(draft, verb, agent, make_plan(draft, verb, mood, 0), None, phrase)
        for head in phrase.heads:
            draft.link("verb-object", group.main, head)
        relative = one_to_one("that", "que") + clause(agent, group)
    else:
        link = one_to_one("who" if human else "that", "qui")
        intransitive_verbs = lexicon.verbs_of(noun.tags, lexicon.INTRANSITIVE)
        if intransitive_verbs and draw < 0.8:
            verb = draft.pick(intransitive_verbs)
            relative = link + Fragment(*_halves(verb_group(draft, verb, phrase, make_plan(draft, verb, mood, 0))))
        else:
            plan = make_plan(draft, lexicon.BE, mood, 0)
            group = verb_group(draft, lexicon.BE, phrase, plan)
            relative = link + Fragment(*_halves(group)) + predicate(draft, phrase, plan, lexicon.predicable(noun.tags))
    phrase.english += relative.english
    phrase.french += relative.french
    return phrase


def _halves(group: VerbGroup) -> tuple[list[Word], list[Word]]:
    return group.english, group.french


def predicate(draft: Draft, subject: Phrase, plan: Plan, options: tuple[lexicon.Adjective, ...]) -> Fragment:
    """An adjective said of the subject, perhaps with a degree, perhaps with another."""
    adjective = draft.pick(options)
    draw = draft.random()
    if draw < 0.3 and adjective.english not in lexicon.NON_GRADABLE:
        # "not quite" is no longer "assez".
        degrees = _DEGREES[:2] if plan.negation else _DEGREES
        return one_to_one(*draft.pick(degrees)) + _predicate_adjective(draft, subject, adjective)
    phrase = _predicate_adjective(draft, subject, adjective)
    if draw > 0.88:
        other = draft.pick(options)
        if other is not adjective:
            return phrase + one_to_one("and", "et") + _predicate_adjective(draft, subject, other)
    return phrase


_DEGREES = (("very", "très"), ("too", "trop"), ("quite", "assez"))


def _predicate_adjective(draft: Draft, subject: Phrase, adjective: lexicon.Adjective) -> Fragment:
    english_adjective = Word(adjective.english)
    french_adjective = Word(french.inflect(adjective.french, subject.feminine, subject.plural), (english_adjective,))
    for head in subject.heads:
        draft.link("predicate-noun", head, (english_adjective, french_adjective))
    return Fragment([english_adjective], [french_adjective])


def link_object(draft: Draft, group: VerbGroup, phrase: Phrase) -> None:
    """Tie the verb to what it is done to."""
    for head in phrase.heads:
        draft.link("verb-object", group.main, head)


def choose_adjuncts(draft: Draft, subject: Phrase, plan: Plan, mood: Mood, chance_scale: float = 1.0) -> list[Fragment]:
    """Perhaps a place, a companion or a time at the end."""
    if mood.short:
        return []
    draw = draft.random()
    if draw < 0.2 * chance_scale:
        return [place(draft)]
    if draw < 0.27 * chance_scale and subject.tags & PERSON:
        return [companion(draft, subject)]
    if draw < 0.5 * chance_scale and plan.negation in ("", "not") and not plan.adverb:
        return [expression(draft, lexicon.TIMES[mood.time])]
    return []


def transitive(draft: Draft, mood: Mood) -> Fragment:
    """The girl eats an apple in the garden."""
    verb = draft.pick(_ACTIVE if mood.question else lexicon.TRANSITIVE)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    object_phrase = object_for(draft, verb, group, plan, mood)
    if verb.english in _BENEFACTIVE and draft.random() < 0.25:
        return clause(subject, group, object_phrase, one_to_one("for", "pour") + person(draft, DEFINITE, 0.2))
    if verb.aspect == "state":
        return clause(subject, group, object_phrase)
    return clause(subject, group, object_phrase, *choose_adjuncts(draft, subject, plan, mood, 0.6))


def intransitive(draft: Draft, mood: Mood) -> Fragment:
    """The old man walks slowly."""
    verb = draft.pick(lexicon.INTRANSITIVE)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    manners = lexicon.MANNERS.get(verb.english) if not verb.particle else None
    if manners and not plan.adverb and draft.random() < 0.45:
        return clause(subject, group, _manner(draft, group, manners))
    return clause(subject, group, *choose_adjuncts(draft, subject, plan, mood, 1.5))


def _manner(draft: Draft, group: VerbGroup, manners: tuple[lexicon.Adverb, ...]) -> Fragment:
    """English says it last; French slips some before the participle: elle a bien chanté."""
    manner = draft.pick(manners)
    fragment = many_to_many(manner.english.split(), [manner.french])
    if manner.middle and group.finite[1] is not group.main[1]:
        group.french.insert(group.french.index(group.main[1]), fragment.french.pop())
    return fragment


def pronominal(draft: Draft, mood: Mood) -> Fragment:
    """She sees him: French puts the pronoun before the verb, and its participle agrees with a direct one."""
    verb = draft.pick(_PERSONAL_ACTIVE if mood.question else _PERSONAL)
    plan = make_plan(draft, verb, mood)
    subject = subject_for(draft, verb, mood)
    clitic = object_pronoun(draft, subject.person, "indirect" if verb.preposition else "direct")
    preceding = None if verb.preposition else clitic
    group = verb_group(draft, verb, subject, plan, clitic, preceding)
    link_object(draft, group, clitic)
    adjuncts = choose_adjuncts(draft, subject, plan, mood) if verb.aspect != "state" else []
    return clause(subject, group, Fragment(clitic.english, []), *adjuncts)


# Of a state one may ask why, but hardly where or how.
_ACTIVE = tuple(verb for verb in lexicon.TRANSITIVE if verb.aspect != "state")
_PERSONAL = tuple(
    verb for verb in lexicon.TRANSITIVE if "person" in verb.objects.split() and verb.preposition in ("", "à")
)
_PERSONAL_ACTIVE = tuple(verb for verb in _PERSONAL if verb in _ACTIVE)


def ditransitive(draft: Draft, mood: Mood) -> Fragment:
    """They give a book to the teacher; they give a book to him."""
    verb = draft.pick(lexicon.DITRANSITIVE)
    plan = make_plan(draft, verb, mood)
    subject = person_subject(draft)
    recipient = object_pronoun(draft, subject.person, "indirect") if draft.random() < 0.4 else None
    group = verb_group(draft, verb, subject, plan, recipient)
    noun = draft.pick(lexicon.nouns("text sent tool clothes bag box umbrella"))
    object_phrase = noun_phrase(draft, noun, DENIED if plan.negation else OBJECT, 0.3, 0.2)
    link_object(draft, group, object_phrase)
    if recipient:
        # "to" has no word of its own beside a clitic: lui says both.
        preposition = Word("to")
        recipient.french[0].source_words = (preposition, *recipient.french[0].source_words)
        return clause(subject, group, object_phrase, Fragment([preposition, *recipient.english], []))
    return clause(subject, group, object_phrase, one_to_one("to", "à") + person(draft, DEFINITE, 0.2))


def person_subject(draft: Draft) -> Phrase:
    """A person, in few words."""
    return pronoun(draft) if draft.random() < 0.5 else person(draft, DEFINITE)


def infinitival(draft: Draft, mood: Mood) -> Fragment:
    """She wants to see him; he cannot open the door."""
    draw = draft.random()
    if mood.time == "present" and draw < 0.7:
        modal = lexicon.CAN if draw < 0.4 else lexicon.MUST
    else:
        modal = draft.pick(lexicon.CONTROL)
    plan = make_plan(draft, modal, mood, 0.25)
    if modal in (lexicon.CAN, lexicon.MUST) and plan.negation:
        plan = Plan(plan.tense, "not")
    subject = person_subject(draft)
    group = verb_group(draft, modal, subject, plan)
    draw = draft.random()
    if draw < 0.35:
        add_infinitive(group, modal, draft.pick(_INFINITIVES), subject)
        return clause(subject, group, *choose_adjuncts(draft, subject, plan, Mood("present", short=True)))
    if draw < 0.55:
        verb = draft.pick(_PERSONAL_INFINITIVES)
        clitic = object_pronoun(draft, subject.person, "indirect" if verb.preposition else "direct")
        add_infinitive(group, modal, verb, subject, clitic)
        link_object(draft, group, clitic)
        return clause(subject, group, Fragment(clitic.english, []))
    verb = draft.pick(_OBJECT_INFINITIVES)
    add_infinitive(group, modal, verb, subject)
    return clause(subject, group, object_for(draft, verb, group, plan, Mood(mood.time, short=True)))


# One wants, likes or hopes to do things, not to be in states or to die.
_INFINITIVES = tuple(v for v in lexicon.INTRANSITIVE if v.english not in ("die", "fall", "cry"))
_OBJECT_INFINITIVES = tuple(
    v for v in lexicon.TRANSITIVE if v.aspect != "state" and v.english not in ("lose", "forget")
)
_PERSONAL_INFINITIVES = tuple(v for v in _PERSONAL if v in _OBJECT_INFINITIVES)


def motion(draft: Draft, mood: Mood) -> Fragment:
    """The queen went to the market; the boat came from Rome."""
    verb = draft.pick(lexicon.MOTION)
    plan = make_plan(draft, verb, mood)
    subject = person_subject(draft)
    group = verb_group(draft, verb, subject, plan)
    if verb.english == "come" and draft.random() < 0.4:
        where = noun_phrase(draft, draft.pick(lexicon.nouns(tables.GOALS)), PLACE, 0.04, 0.15)
        return clause(subject, group, one_to_one("from", "de") + where)
    adjuncts = [expression(draft, lexicon.TIMES[mood.time])] if draft.random() < 0.25 and not mood.short else []
    return clause(subject, group, goal(draft), *(adjuncts if plan.negation in ("", "not") and not plan.adverb else []))


def copular(draft: Draft, mood: Mood) -> Fragment:
    """The house is very old; the key is under the table."""
    draw = draft.random()
    plan = make_plan(draft, lexicon.BE, mood)
    if draw < 0.35:
        subject = person_subject(draft)
    else:
        plan = Plan(plan.tense, plan.negation, plan.question)  # "the car is often English" is no news
        noun = draft.pick(lexicon.NOUNS)
        if draw > 0.93 and not mood.short and noun.english not in lexicon.NON_POSSESSED:
            subject = genitive_phrase(draft, noun)
        elif draw > 0.85 and not mood.short and not mood.question:
            subject = with_relative(draft, noun)
        else:
            subject = noun_phrase(draft, noun, DEFINITE, 0.3, 0.1)
    group = verb_group(draft, lexicon.BE, subject, plan)
    draw = draft.random()
    if draw < 0.18 and "place" not in subject.tags and "idea" not in subject.tags:
        return clause(subject, group, place(draft, lexicon.PREPOSITIONS))
    if draw < 0.3 and not mood.short and not plan.negation:
        return clause(subject, group, _comparison(draft, subject))
    dated = mood.time != "present" and not mood.short and plan.negation in ("", "not") and not plan.adverb
    if draw > 0.7 and dated and subject.tags & {"person", "animal"}:
        predicate_phrase = predicate(draft, subject, plan, lexicon.stage_level(subject.tags))
        return clause(subject, group, predicate_phrase, expression(draft, lexicon.TIMES[mood.time]))
    return clause(subject, group, predicate(draft, subject, plan, lexicon.predicable(subject.tags)))


def _comparison(draft: Draft, subject: Phrase) -> Fragment:
    """As tall as her brother; more intelligent than the king."""
    adjective = draft.pick(lexicon.gradable(subject.tags))
    adjective_phrase = _predicate_adjective(draft, subject, adjective)
    more = adjective.english in lexicon.PERIPHRASTIC_COMPARATIVE and draft.random() < 0.6
    first, second = (("more", "plus"), ("than", "que")) if more else (("as", "aussi"), ("as", "que"))
    comparable_nouns = lexicon.comparable(subject.tags, adjective)
    other = noun_phrase(draft, draft.pick(comparable_nouns), DEFINITE, 0.2, 0)
    return one_to_one(*first) + adjective_phrase + one_to_one(*second) + other
