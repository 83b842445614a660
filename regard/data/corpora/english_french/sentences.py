"""Whole sentences: statements, questions, exclamations, and one clause inside or beside another."""

from __future__ import annotations

from random import Random

from regard.data.corpora.english_french import lexicon
from regard.data.corpora.english_french.clauses import (
    Mood,
    Plan,
    choose_time,
    clause,
    make_plan,
    verb_group,
)
from regard.data.corpora.english_french.patterns import (
    Pattern,
    choose_adjuncts,
    copular,
    ditransitive,
    infinitival,
    intransitive,
    link_object,
    motion,
    person_subject,
    pronominal,
    subject_for,
    transitive,
)
from regard.data.corpora.english_french.phrases import (
    DEFINITE,
    OBJECT,
    PERSON,
    Draft,
    Fragment,
    Phrase,
    assemble_noun_phrase,
    choose_adjectives,
    determiner,
    expression,
    many_to_many,
    noun_phrase,
    one_to_one,
    place,
)
from regard.data.corpora.english_french.surface import Word, french_word, write_english, write_french
from regard.data.corpora.gold import GoldPair, Link

MAX_WORDS = 16
"""Words of the longest sentence on either side, its mark counted; longer drafts are thrown away."""


def statement(draft: Draft) -> tuple[Fragment, str]:
    """Something that is so, perhaps with the time said first."""
    time = choose_time(draft)
    pattern = draft.pick(_STATEMENTS)
    if draft.random() < 0.08:
        opening = expression(draft, lexicon.TIMES[time])
        # A first word that names the time leaves no room for another at the end.
        return opening + one_to_one(",", ",") + pattern(draft, Mood(time, short=True, dated=True)), "."
    return pattern(draft, Mood(time)), "."


def question(draft: Draft) -> tuple[Fragment, str]:
    """Is it so? Where, when or why?"""
    time = choose_time(draft)
    if draft.random() < 0.5:
        return draft.pick(_QUESTIONS)(draft, Mood(time, question=True)), "?"
    wh_word = draft.pick((("where", "où"), ("when", "quand"), ("why", "pourquoi"), ("how", "comment")))
    pattern = draft.pick((transitive, intransitive, pronominal, ditransitive))
    return one_to_one(*wh_word) + pattern(draft, Mood(time, question=True, short=True)), "?"


def subject_question(draft: Draft) -> tuple[Fragment, str]:
    """Who opened the door? The asked-for subject is a masculine singular."""
    word = Word("who")
    subject = Phrase([word], [Word("qui", (word,))], "3sg", False, [], PERSON)
    subject.heads = [(word, subject.french[0])]
    verb = draft.pick(_PERSON_VERBS)
    mood = Mood(choose_time(draft))
    plan = make_plan(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    if not verb.objects:
        return clause(subject, group, *choose_adjuncts(draft, subject, plan, mood)), "?"
    kinds: tuple[str, ...] = DEFINITE if verb.preposition or plan.negation else OBJECT
    if verb.preposition == "de":
        kinds = ("the",)
    object_phrase = noun_phrase(draft, draft.pick(lexicon.nouns(verb.objects)), kinds)
    link_object(draft, group, object_phrase)
    if verb.preposition:
        object_phrase.french.insert(0, french_word(verb.preposition, group.leading))
    return clause(subject, group, object_phrase), "?"


def object_question(draft: Draft) -> tuple[Fragment, str]:
    """What, who, which or how many: a direct object that comes first, so a participle agrees with it."""
    verb = draft.pick(_DIRECT_TRANSITIVE)
    mood = Mood(choose_time(draft), question=True, short=True)
    noun = draft.pick(lexicon.nouns(verb.objects))
    draw = draft.random()
    if draw < 0.3 and "person" in noun.tags:
        object_phrase = _interrogative_pronoun("who", "qui")
    elif draw < 0.3:
        object_phrase = _interrogative_pronoun("what", "que")
    elif draw < 0.6 and not noun.mass:
        object_phrase = assemble_noun_phrase(
            draft, noun, determiner(draft, "how many", noun, True, False), True, _few_adjectives(draft, noun)
        )
    else:
        plural = not noun.mass and draft.random() < 0.4
        object_phrase = assemble_noun_phrase(
            draft, noun, determiner(draft, "which", noun, plural, False), plural, _few_adjectives(draft, noun)
        )
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, make_plan(draft, verb, mood), None, object_phrase)
    link_object(draft, group, object_phrase)
    return object_phrase + clause(subject, group), "?"


def _interrogative_pronoun(left: str, right: str) -> Phrase:
    word = Word(left)
    head = (word, french_word(right, word))
    return Phrase([word], [head[1]], "3sg", False, [head], frozenset())


def _few_adjectives(draft: Draft, noun: lexicon.Noun) -> tuple[lexicon.Adjective | None, ...]:
    return choose_adjectives(draft, noun, 0.25)


def location_question(draft: Draft) -> tuple[Fragment, str]:
    """Where are my keys? With être, French turns the verb round rather than say est-ce que."""
    subject = noun_phrase(draft, draft.pick(_LOCATABLE_NOUNS), DEFINITE, 0.35, 0.35)
    plan = Plan(draft.pick(("present", "present", "past")), question=True)
    group = verb_group(draft, lexicon.BE, subject, plan)
    assert group.front is not None, "a question always has a word to put first"
    wh_word = one_to_one("where", "où")
    return Fragment(
        [*wh_word.english, group.front, *subject.english], [*wh_word.french, *group.french, *subject.french]
    ), "?"


def existential(draft: Draft) -> tuple[Fragment, str]:
    """There are three cats under the table; there is no milk."""
    noun = draft.pick(lexicon.nouns("person animal food drink thing clothes vehicle plant"))
    time = choose_time(draft)
    there = Word("there")
    draw = draft.random()
    if draw < 0.25:
        negation = Word("no")
        plural = not noun.mass and draw < 0.15
        opening = Fragment([negation], [french_word("de", negation)])
        pivot = assemble_noun_phrase(draft, noun, opening, plural, choose_adjectives(draft, noun, 0.3))
        before, after = [french_word("ne", negation)], [Word("pas", (negation,))]
    else:
        before, after = [], []
        pivot = noun_phrase(draft, noun, ("indefinite",) * 4 + ("number", "number", "many", "several"), 0.4)
    subject = Phrase([], [], pivot.person, False, [], PERSON)
    group = verb_group(draft, lexicon.BE, subject, Plan(time))
    have = Phrase([], [], "3sg", False, [], PERSON)
    french_verb = verb_group(draft, _HAVE, have, Plan(time)).french[0]
    french_verb.source_words = tuple(group.english)
    opening = Fragment([there], [Word("il", (there,)), *before, Word("y", (there,)), french_verb, *after])
    whole = opening + Fragment(group.english, []) + pivot
    return (whole + place(draft, lexicon.PREPOSITIONS) if draft.random() < 0.7 else whole), "."


def exclamation(draft: Draft) -> tuple[Fragment, str]:
    """What a beautiful house!"""
    noun = draft.pick(lexicon.NOUNS)
    plural = not noun.mass and draft.random() < 0.35
    what, article = Word("what"), Word("a", before_vowel="an")
    left = [what] if plural or noun.mass else [what, article]
    which = determiner(draft, "which", noun, plural, False).french[0]
    which.source_words = tuple(left)
    return assemble_noun_phrase(draft, noun, Fragment(left, [which]), plural, choose_adjectives(draft, noun, 1.0)), "!"


def complement_clause(draft: Draft) -> tuple[Fragment, str]:
    """The doctor thinks that the child is tired."""
    verb = draft.pick(lexicon.ATTITUDE)
    subject = person_subject(draft)
    group = verb_group(draft, verb, subject, Plan("present"))
    time = "future" if verb.english == "hope" else choose_time(draft)
    inner = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    return clause(subject, group, one_to_one("that", "que"), inner), "."


def coordinated_clauses(draft: Draft) -> tuple[Fragment, str]:
    """He was sleeping but she left."""
    time = choose_time(draft)
    first = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    second = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    draw = draft.random()
    if draw < 0.35:
        link = one_to_one("and", "et")
    elif draw < 0.65:
        link = one_to_one("but", "mais")
    else:
        link = many_to_many(["because"], ["parce", "que"])
    return first + link + second, "."


# Repeats are weights.
_STATEMENTS: tuple[Pattern, ...] = (
    *(transitive,) * 8,
    *(copular,) * 4,
    *(intransitive,) * 3,
    *(pronominal,) * 3,
    *(infinitival,) * 3,
    *(ditransitive,) * 2,
    *(motion,) * 2,
)
_QUESTIONS: tuple[Pattern, ...] = (
    transitive,
    transitive,
    copular,
    intransitive,
    pronominal,
    infinitival,
    ditransitive,
    motion,
)
_CLAUSES: tuple[Pattern, ...] = (transitive, transitive, copular, intransitive, intransitive, pronominal)
_SENTENCES = (
    *(statement,) * 30,
    *(question,) * 6,
    *(object_question,) * 3,
    *(subject_question,) * 2,
    location_question,
    *(existential,) * 2,
    exclamation,
    *(complement_clause,) * 2,
    *(coordinated_clauses,) * 4,
)
_PERSON_VERBS = lexicon.verbs_of(PERSON, lexicon.VERBS)
_DIRECT_TRANSITIVE = tuple(verb for verb in lexicon.TRANSITIVE if not verb.preposition)
_LOCATABLE_NOUNS = lexicon.nouns("person animal thing clothes vehicle building outdoors")
_HAVE = next(verb for verb in lexicon.VERBS if verb.french == "avoir")


def draft_pair(generator: Random) -> GoldPair | None:
    """One sentence and its translation, or nothing where the draft ran too long."""
    draft = Draft(generator)
    line, mark = draft.pick(_SENTENCES)(draft)
    source, target = write_english(line.english, mark), write_french(line.french, mark)
    ends = (len(line.english), len(line.french))
    if max(ends) >= MAX_WORDS or min(ends) < 2:
        return None
    alignment = {(word.index, target_word.index) for target_word in line.french for word in target_word.source_words}
    alignment.add(ends)
    return GoldPair(
        source,
        target,
        tuple(sorted(alignment)),
        _links(draft.english_links),
        _links(draft.french_links),
    )


def _links(word_links: list[tuple[str, Word, Word]]) -> tuple[Link, ...]:
    return tuple(sorted({Link(kind, head.index, dependent.index) for kind, head, dependent in word_links}))
