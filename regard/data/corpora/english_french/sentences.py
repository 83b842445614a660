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
    being,
    giving,
    intransitive,
    link_object,
    moving,
    person_subject,
    pronominal,
    subject_for,
    tails,
    transitive,
    willing,
)
from regard.data.corpora.english_french.phrases import (
    DEFINITE,
    OBJECT,
    PERSON,
    Draft,
    Phrase,
    Stretch,
    both,
    choose_adjectives,
    determiner,
    dress,
    expression,
    grouped,
    noun_phrase,
    place,
)
from regard.data.corpora.english_french.surface import Word, french_word, write_english, write_french
from regard.data.corpora.gold import GoldPair, Link

LONGEST = 16
"""Words of the longest sentence on either side, its mark counted; longer drafts are thrown away."""


def statement(draft: Draft) -> tuple[Stretch, str]:
    """Something that is so, perhaps with the time said first."""
    time = choose_time(draft)
    pattern = draft.pick(_STATEMENTS)
    if draft.random() < 0.08:
        opening = expression(draft, lexicon.TIMES[time])
        # A first word that names the time leaves no room for another at the end.
        return opening + both(",", ",") + pattern(draft, Mood(time, short=True, dated=True)), "."
    return pattern(draft, Mood(time)), "."


def question(draft: Draft) -> tuple[Stretch, str]:
    """Is it so? Where, when or why?"""
    time = choose_time(draft)
    if draft.random() < 0.5:
        return draft.pick(_QUESTIONS)(draft, Mood(time, question=True)), "?"
    asked = draft.pick((("where", "où"), ("when", "quand"), ("why", "pourquoi"), ("how", "comment")))
    pattern = draft.pick((transitive, intransitive, pronominal, giving))
    return both(*asked) + pattern(draft, Mood(time, question=True, short=True)), "?"


def who_does(draft: Draft) -> tuple[Stretch, str]:
    """Who opened the door? The asked-for subject is a masculine singular."""
    word = Word("who")
    subject = Phrase([word], [Word("qui", (word,))], "3sg", False, [], PERSON)
    subject.heads = [(word, subject.french[0])]
    verb = draft.pick(_PERSONS_DO)
    mood = Mood(choose_time(draft))
    plan = make_plan(draft, verb, mood)
    group = verb_group(draft, verb, subject, plan)
    if not verb.objects:
        return clause(subject, group, *tails(draft, subject, plan, mood)), "?"
    kinds: tuple[str, ...] = DEFINITE if verb.preposition or plan.negation else OBJECT
    if verb.preposition == "de":
        kinds = ("the",)
    what = noun_phrase(draft, draft.pick(lexicon.nouns(verb.objects)), kinds)
    link_object(draft, group, what)
    if verb.preposition:
        what.french.insert(0, french_word(verb.preposition, group.leading))
    return clause(subject, group, what), "?"


def asked_object(draft: Draft) -> tuple[Stretch, str]:
    """What, who, which or how many: a direct object that comes first, so a participle agrees with it."""
    verb = draft.pick(_DIRECT)
    mood = Mood(choose_time(draft), question=True, short=True)
    noun = draft.pick(lexicon.nouns(verb.objects))
    drawn = draft.random()
    if drawn < 0.3 and "person" in noun.tags:
        what = _asked("who", "qui")
    elif drawn < 0.3:
        what = _asked("what", "que")
    elif drawn < 0.6 and not noun.mass:
        what = dress(draft, noun, determiner(draft, "how many", noun, True, False), True, _one(draft, noun))
    else:
        plural = not noun.mass and draft.random() < 0.4
        what = dress(draft, noun, determiner(draft, "which", noun, plural, False), plural, _one(draft, noun))
    subject = subject_for(draft, verb, mood)
    group = verb_group(draft, verb, subject, make_plan(draft, verb, mood), None, what)
    link_object(draft, group, what)
    return what + clause(subject, group), "?"


def _asked(left: str, right: str) -> Phrase:
    word = Word(left)
    head = (word, french_word(right, word))
    return Phrase([word], [head[1]], "3sg", False, [head], frozenset())


def _one(draft: Draft, noun: lexicon.Noun) -> tuple[lexicon.Adjective | None, ...]:
    return choose_adjectives(draft, noun, 0.25)


def where_is(draft: Draft) -> tuple[Stretch, str]:
    """Where are my keys? With être, French turns the verb round rather than say est-ce que."""
    subject = noun_phrase(draft, draft.pick(_FINDABLE), DEFINITE, 0.35, 0.35)
    plan = Plan(draft.pick(("present", "present", "past")), question=True)
    group = verb_group(draft, lexicon.BE, subject, plan)
    assert group.front is not None, "a question always has a word to put first"
    asked = both("where", "où")
    return Stretch(
        [*asked.english, group.front, *subject.english], [*asked.french, *group.french, *subject.french]
    ), "?"


def there_is(draft: Draft) -> tuple[Stretch, str]:
    """There are three cats under the table; there is no milk."""
    noun = draft.pick(lexicon.nouns("person animal food drink thing clothes vehicle plant"))
    time = choose_time(draft)
    there = Word("there")
    drawn = draft.random()
    if drawn < 0.25:
        none = Word("no")
        plural = not noun.mass and drawn < 0.15
        opening = Stretch([none], [french_word("de", none)])
        what = dress(draft, noun, opening, plural, choose_adjectives(draft, noun, 0.3))
        before, after = [french_word("ne", none)], [Word("pas", (none,))]
    else:
        before, after = [], []
        what = noun_phrase(draft, noun, ("indefinite",) * 4 + ("number", "number", "many", "several"), 0.4)
    subject = Phrase([], [], what.person, False, [], PERSON)
    group = verb_group(draft, lexicon.BE, subject, Plan(time))
    have = Phrase([], [], "3sg", False, [], PERSON)
    spoken = verb_group(draft, _HAVE, have, Plan(time)).french[0]
    spoken.of = tuple(group.english)
    opening = Stretch([there], [Word("il", (there,)), *before, Word("y", (there,)), spoken, *after])
    whole = opening + Stretch(group.english, []) + what
    return (whole + place(draft, lexicon.PREPOSITIONS) if draft.random() < 0.7 else whole), "."


def exclamation(draft: Draft) -> tuple[Stretch, str]:
    """What a beautiful house!"""
    noun = draft.pick(lexicon.NOUNS)
    plural = not noun.mass and draft.random() < 0.35
    what, article = Word("what"), Word("a", before_vowel="an")
    left = [what] if plural or noun.mass else [what, article]
    which = determiner(draft, "which", noun, plural, False).french[0]
    which.of = tuple(left)
    return dress(draft, noun, Stretch(left, [which]), plural, choose_adjectives(draft, noun, 1.0)), "!"


def reported(draft: Draft) -> tuple[Stretch, str]:
    """The doctor thinks that the child is tired."""
    verb = draft.pick(lexicon.HOLDING)
    subject = person_subject(draft)
    group = verb_group(draft, verb, subject, Plan("present"))
    time = "future" if verb.english == "hope" else choose_time(draft)
    inner = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    return clause(subject, group, both("that", "que"), inner), "."


def joined(draft: Draft) -> tuple[Stretch, str]:
    """He was sleeping but she left."""
    time = choose_time(draft)
    first = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    second = draft.pick(_CLAUSES)(draft, Mood(time, short=True))
    drawn = draft.random()
    if drawn < 0.35:
        link = both("and", "et")
    elif drawn < 0.65:
        link = both("but", "mais")
    else:
        link = grouped(["because"], ["parce", "que"])
    return first + link + second, "."


# Repeats are weights.
_STATEMENTS: tuple[Pattern, ...] = (
    *(transitive,) * 8,
    *(being,) * 4,
    *(intransitive,) * 3,
    *(pronominal,) * 3,
    *(willing,) * 3,
    *(giving,) * 2,
    *(moving,) * 2,
)
_QUESTIONS: tuple[Pattern, ...] = (
    transitive,
    transitive,
    being,
    intransitive,
    pronominal,
    willing,
    giving,
    moving,
)
_CLAUSES: tuple[Pattern, ...] = (transitive, transitive, being, intransitive, intransitive, pronominal)
_SENTENCES = (
    *(statement,) * 30,
    *(question,) * 6,
    *(asked_object,) * 3,
    *(who_does,) * 2,
    where_is,
    *(there_is,) * 2,
    exclamation,
    *(reported,) * 2,
    *(joined,) * 4,
)
_PERSONS_DO = lexicon.verbs_of(PERSON, lexicon.VERBS)
_DIRECT = tuple(verb for verb in lexicon.TRANSITIVE if not verb.preposition)
_FINDABLE = lexicon.nouns("person animal thing clothes vehicle building outdoors")
_HAVE = next(verb for verb in lexicon.VERBS if verb.french == "avoir")


def draft_pair(generator: Random) -> GoldPair | None:
    """One sentence and its translation, or nothing where the draft ran too long."""
    draft = Draft(generator)
    line, mark = draft.pick(_SENTENCES)(draft)
    source, target = write_english(line.english, mark), write_french(line.french, mark)
    ends = (len(line.english), len(line.french))
    if max(ends) >= LONGEST or min(ends) < 2:
        return None
    alignment = {(word.at, said.at) for said in line.french for word in said.of}
    alignment.add(ends)
    return GoldPair(
        source,
        target,
        tuple(sorted(alignment)),
        _links(draft.english_links),
        _links(draft.french_links),
    )


def _links(found: list[tuple[str, Word, Word]]) -> tuple[Link, ...]:
    return tuple(sorted({Link(kind, head.at, dependent.at) for kind, head, dependent in found}))
