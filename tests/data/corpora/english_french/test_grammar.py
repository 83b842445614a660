"""French and English by hand: what a grammar book says, our morphology and phrases must say."""

from __future__ import annotations

from random import Random

import pytest

from regard.data.corpora.english_french import english, french, lexicon
from regard.data.corpora.english_french.clauses import Plan, add_infinitive, clause, verb_group
from regard.data.corpora.english_french.phrases import Draft, Fragment, Phrase, assemble_noun_phrase, determiner
from regard.data.corpora.english_french.surface import Word, french_word, write_english, write_french


@pytest.mark.parametrize(
    ("infinitive", "tense", "forms"),
    [
        ("chanter", "present", "chante chantes chante chantons chantez chantent"),
        ("finir", "present", "finis finis finit finissons finissez finissent"),
        ("attendre", "present", "attends attends attend attendons attendez attendent"),
        ("manger", "present", "mange manges mange mangeons mangez mangent"),
        ("commencer", "present", "commence commences commence commençons commencez commencent"),
        ("acheter", "present", "achète achètes achète achetons achetez achètent"),
        ("appeler", "present", "appelle appelles appelle appelons appelez appellent"),
        ("préférer", "present", "préfère préfères préfère préférons préférez préfèrent"),
        ("espérer", "present", "espère espères espère espérons espérez espèrent"),
        ("nettoyer", "present", "nettoie nettoies nettoie nettoyons nettoyez nettoient"),
        ("oublier", "present", "oublie oublies oublie oublions oubliez oublient"),
        ("aller", "present", "vais vas va allons allez vont"),
        ("comprendre", "present", "comprends comprends comprend comprenons comprenez comprennent"),
        ("souvenir", "present", "souviens souviens souvient souvenons souvenez souviennent"),
        ("ouvrir", "present", "ouvre ouvres ouvre ouvrons ouvrez ouvrent"),
        ("obéir", "present", "obéis obéis obéit obéissons obéissez obéissent"),
        ("manger", "imperfect", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("commencer", "imperfect", "commençais commençais commençait commencions commenciez commençaient"),
        ("finir", "imperfect", "finissais finissais finissait finissions finissiez finissaient"),
        ("être", "imperfect", "étais étais était étions étiez étaient"),
        ("rire", "imperfect", "riais riais riait riions riiez riaient"),
        ("voir", "imperfect", "voyais voyais voyait voyions voyiez voyaient"),
        ("peindre", "imperfect", "peignais peignais peignait peignions peigniez peignaient"),
        ("boire", "imperfect", "buvais buvais buvait buvions buviez buvaient"),
        ("attendre", "imperfect", "attendais attendais attendait attendions attendiez attendaient"),
        ("acheter", "imperfect", "achetais achetais achetait achetions achetiez achetaient"),
        ("acheter", "future", "achèterai achèteras achètera achèterons achèterez achèteront"),
        ("appeler", "future", "appellerai appelleras appellera appellerons appellerez appelleront"),
        ("préférer", "future", "préférerai préféreras préférera préférerons préférerez préféreront"),
        ("nettoyer", "future", "nettoierai nettoieras nettoiera nettoierons nettoierez nettoieront"),
        ("envoyer", "future", "enverrai enverras enverra enverrons enverrez enverront"),
        ("vendre", "future", "vendrai vendras vendra vendrons vendrez vendront"),
        ("venir", "future", "viendrai viendras viendra viendrons viendrez viendront"),
        ("courir", "future", "courrai courras courra courrons courrez courront"),
        ("être", "future", "serai seras sera serons serez seront"),
        ("oublier", "future", "oublierai oublieras oubliera oublierons oublierez oublieront"),
    ],
)
def test_conjugation(infinitive: str, tense: french.Tense, forms: str) -> None:
    assert [french.conjugate(infinitive, tense, person) for person in french.PERSONS] == forms.split()


def test_participles() -> None:
    expected = "mangé fini attendu ouvert pris compris bu vu écrit reçu mort venu souvenu parti connu suivi ri peint"
    verbs = (
        "manger finir attendre ouvrir prendre comprendre boire voir écrire recevoir mourir venir souvenir "
        "partir connaître suivre rire peindre"
    )
    assert [french.participle(verb) for verb in verbs.split()] == expected.split()


@pytest.mark.parametrize(
    "forms",
    [
        "petit petite petits petites",
        "beau belle beaux belles",
        "vieux vieille vieux vieilles",
        "nouveau nouvelle nouveaux nouvelles",
        "gros grosse gros grosses",
        "blanc blanche blancs blanches",
        "heureux heureuse heureux heureuses",
        "jaloux jalouse jaloux jalouses",
        "actif active actifs actives",
        "cher chère chers chères",
        "léger légère légers légères",
        "italien italienne italiens italiennes",
        "bon bonne bons bonnes",
        "long longue longs longues",
        "sec sèche secs sèches",
        "frais fraîche frais fraîches",
        "doux douce doux douces",
        "gentil gentille gentils gentilles",
        "bleu bleue bleus bleues",
        "violet violette violets violettes",
        "français française français françaises",
        "fatigué fatiguée fatigués fatiguées",
        "jaune jaune jaunes jaunes",
    ],
)
def test_adjectives(forms: str) -> None:
    lemma = forms.split()[0]
    assert [french.inflect(lemma, fem, plural) for plural in (False, True) for fem in (False, True)] == forms.split()


def test_plurals_and_numbers() -> None:
    singular = "cheval journal oiseau cadeau souris repas hôpital grand-mère clé genou"
    assert [french.plural(noun) for noun in singular.split()[:9]] == (
        ["chevaux", "journaux", "oiseaux", "cadeaux", "souris", "repas", "hôpitaux", "grands-mères", "clés"]
    )
    assert [
        english.plural(noun) for noun in ["child", "box", "city", "woman", "knife", "mouse", "tomato", "watch", "key"]
    ] == (["children", "boxes", "cities", "women", "knives", "mice", "tomatoes", "watches", "keys"])
    assert french.number(21) == "vingt et un" and french.number(21, True) == "vingt et une"
    assert french.number(71) == "soixante et onze" and french.number(80) == "quatre-vingts"
    assert french.number(81, True) == "quatre-vingt-une" and french.number(99) == "quatre-vingt-dix-neuf"
    assert french.number(28) == "vingt-huit" and english.number(21) == "twenty-one"


def test_english_verbs() -> None:
    assert [english.third_person(verb) for verb in ["eat", "watch", "carry", "go", "have", "play"]] == (
        ["eats", "watches", "carries", "goes", "has", "plays"]
    )
    assert [english.past(verb) for verb in ["eat", "prefer", "carry", "travel", "love", "buy", "play"]] == (
        ["ate", "preferred", "carried", "travelled", "loved", "bought", "played"]
    )
    assert [english.gerund(verb) for verb in ["die", "see", "swim", "write", "travel", "open", "play"]] == (
        ["dying", "seeing", "swimming", "writing", "travelling", "opening", "playing"]
    )


def phrase(kind: str, name: str, plural: bool = False, adjective: str = "") -> Phrase:
    """A noun phrase by name."""
    draft = Draft(Random(0))
    noun = next(noun for noun in lexicon.NOUNS if noun.english == name)
    chosen = next((each for each in lexicon.ADJECTIVES if each.english == adjective), None)
    opening = Fragment([], [])
    for part in kind.split():
        opening = opening + determiner(draft, part, noun, plural, bool(chosen and chosen.before))
    return assemble_noun_phrase(draft, noun, opening, plural, (chosen,))


def written(line: Fragment, mark: str = "") -> tuple[str, str]:
    return write_english(line.english, mark), write_french(line.french, mark)


@pytest.mark.parametrize(
    ("arguments", "left", "right"),
    [
        (("the", "man", True, "old"), "The old men", "Les vieux hommes"),
        (("a", "man", False, "old"), "An old man", "Un vieil homme"),
        (("a", "tree", False, "beautiful"), "A beautiful tree", "Un bel arbre"),
        (("a", "hotel", False, "new"), "A new hotel", "Un nouvel hôtel"),
        (("a", "hero", False, "new"), "A new hero", "Un nouveau héros"),
        (("the", "hedgehog"), "The hedgehog", "Le hérisson"),
        (("the", "friend"), "The friend", "L'ami"),
        (("the", "bear", False, "huge"), "The huge bear", "L'énorme ours"),
        (("my", "school"), "My school", "Mon école"),
        (("my", "school", False, "new"), "My new school", "Ma nouvelle école"),
        (("her", "axe"), "Her axe", "Sa hache"),
        (("this", "tree"), "This tree", "Cet arbre"),
        (("this", "story"), "This story", "Cette histoire"),
        (("this", "bird", True), "These birds", "Ces oiseaux"),
        (("some", "bread"), "Some bread", "Du pain"),
        (("some", "soup"), "Some soup", "De la soupe"),
        (("some", "water"), "Some water", "De l'eau"),
        (("some", "flower", True), "Some flowers", "Des fleurs"),
        (("some", "flower", True, "beautiful"), "Some beautiful flowers", "De belles fleurs"),
        (("some", "flower", True, "white"), "Some white flowers", "Des fleurs blanches"),
        (("all the", "girl", True), "All the girls", "Toutes les filles"),
        (("many", "child", True), "Many children", "Beaucoup d'enfants"),
        (("every", "island"), "Every island", "Chaque île"),
        (("their", "horse", True, "black"), "Their black horses", "Leurs chevaux noirs"),
        (("the", "car", False, "expensive"), "The expensive car", "La voiture chère"),
    ],
)
def test_golden_noun_phrases(arguments: tuple[str, str, bool, str], left: str, right: str) -> None:
    assert written(phrase(*arguments)) == (left, right)


def pronoun(text: str, translation: str, person: english.Person, feminine: bool = False) -> Phrase:
    word = Word(text)
    head = (word, french_word(translation, word))
    return Phrase([word], [head[1]], person, feminine, [head], frozenset({"person"}))


def she() -> Phrase:
    return pronoun("she", "elle", "3sg", True)


def they() -> Phrase:
    return pronoun("they", "ils", "3pl")


def verb(name: str, particle: str = "") -> lexicon.Verb:
    every = (
        *lexicon.VERBS,
        *lexicon.DITRANSITIVE,
        *lexicon.MOTION,
        *lexicon.CONTROL,
        lexicon.BE,
        lexicon.CAN,
        lexicon.MUST,
    )
    return next(each for each in every if (each.english, each.particle) == (name, particle))


def say(
    subject: Phrase, what: lexicon.Verb, plan: Plan, clitic: Phrase | None = None, *tails: Fragment
) -> tuple[str, str]:
    preceding = None if what.preposition else clitic
    group = verb_group(Draft(Random(0)), what, subject, plan, clitic, preceding)
    said = [Fragment(clitic.english, [])] if clitic else []
    return written(clause(subject, group, *said, *tails), "?" if plan.question else ".")


def test_golden_tenses() -> None:
    assert say(they(), verb("leave"), Plan("past")) == ("They left.", "Ils sont partis.")
    assert say(she(), verb("leave"), Plan("past")) == ("She left.", "Elle est partie.")
    assert say(she(), verb("sing"), Plan("past")) == ("She sang.", "Elle a chanté.")
    assert say(she(), verb("sing"), Plan("imperfect")) == ("She was singing.", "Elle chantait.")
    assert say(they(), verb("finish"), Plan("present")) == ("They finish.", "Ils finissent.")
    assert say(she(), verb("get", "up"), Plan("past")) == ("She got up.", "Elle s'est levée.")
    assert say(phrase("the", "actress", True), verb("arrive"), Plan("past")) == (
        "The actresses arrived.",
        "Les actrices sont arrivées.",
    )
    ill = say(pronoun("I", "je", "1sg"), verb("love"), Plan("past"), None, phrase("this", "story"))
    assert ill == ("I loved this story.", "J'adorais cette histoire.")


def test_golden_negations_and_questions() -> None:
    assert say(she(), verb("eat"), Plan("present", "not")) == ("She does not eat.", "Elle ne mange pas.")
    assert say(she(), verb("open"), Plan("past", "not")) == ("She did not open.", "Elle n'a pas ouvert.")
    assert say(they(), verb("sing"), Plan("present", "no longer")) == (
        "They no longer sing.",
        "Ils ne chantent plus.",
    )
    assert say(they(), verb("sing"), Plan("future", "never")) == (
        "They will never sing.",
        "Ils ne chanteront jamais.",
    )
    assert say(she(), lexicon.CAN, Plan("present", "not")) == ("She cannot.", "Elle ne peut pas.")
    assert say(she(), verb("work"), Plan("past", question=True)) == (
        "Did she work?",
        "Est-ce qu'elle a travaillé\u00a0?",
    )
    assert say(she(), verb("have"), Plan("present", "not"), None, phrase("denied", "dog")) == (
        "She does not have a dog.",
        "Elle n'a pas de chien.",
    )
    assert say(they(), verb("drink"), Plan("present", "not"), None, phrase("denied", "oil")) == (
        "They do not drink any oil.",
        "Ils ne boivent pas d'huile.",
    )


def test_golden_clitics() -> None:
    him, her = pronoun("him", "le", "3sg"), pronoun("her", "la", "3sg", True)
    assert say(she(), verb("see"), Plan("present"), him) == ("She sees him.", "Elle le voit.")
    assert say(she(), verb("see"), Plan("past"), her) == ("She saw her.", "Elle l'a vue.")
    assert say(she(), verb("see"), Plan("past", "not"), pronoun("them", "les", "3pl")) == (
        "She did not see them.",
        "Elle ne les a pas vus.",
    )
    assert say(they(), verb("talk", "to"), Plan("past"), pronoun("her", "lui", "3sg", True)) == (
        "They talked to her.",
        "Ils lui ont parlé.",
    )
    subject, clitic = she(), pronoun("him", "le", "3sg")
    group = verb_group(Draft(Random(0)), verb("want"), subject, Plan("present"))
    add_infinitive(group, verb("want"), verb("see"), subject, clitic)
    assert written(clause(subject, group, Fragment(clitic.english, [])), ".") == (
        "She wants to see him.",
        "Elle veut le voir.",
    )


def test_golden_relative_agrees() -> None:
    antecedent, doer = phrase("the", "apple", True), she()
    group = verb_group(Draft(Random(0)), verb("eat"), doer, Plan("past"), None, antecedent)
    that = Word("that")
    line = antecedent + Fragment([that], [french_word("que", that)]) + clause(doer, group)
    assert written(line) == ("The apples that she ate", "Les pommes qu'elle a mangées")


def test_a_pair_in_full() -> None:
    """One alignment by hand: 'not' is ne and pas, 'did' is the auxiliary, and the dog keeps its article."""
    subject, what = she(), phrase("the", "dog")
    group = verb_group(Draft(Random(0)), verb("see"), subject, Plan("past", "not"))
    line = clause(subject, group, what)
    assert written(line, ".") == ("She did not see the dog.", "Elle n'a pas vu le chien.")
    alignment = {(word.index, said.index) for said in line.french for word in said.source_words}
    assert alignment == {(0, 0), (2, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)}
