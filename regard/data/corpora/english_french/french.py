"""French morphology, as far as the generated corpus needs it: agreement, conjugation, numbers, h aspiré."""

from __future__ import annotations

from functools import cache
from typing import Literal

from regard.data.corpora.english_french.english import Person

Tense = Literal["present", "imperfect", "future"]

PERSONS: tuple[Person, ...] = ("1sg", "2sg", "3sg", "1pl", "2pl", "3pl")
VOWELS = "aàâeéèêëiîïoôuùûœ"
ASPIRATED = ("hache", "harpe", "haricot", "haut", "hangar", "hérisson", "héros", "huit")
"""Words whose h forbids elision (le héros), by their beginning; any other h is mute (l'homme)."""

_FEMININES = {
    "beau": "belle",
    "nouveau": "nouvelle",
    "vieux": "vieille",
    "gros": "grosse",
    "long": "longue",
    "blanc": "blanche",
    "sec": "sèche",
    "frais": "fraîche",
    "doux": "douce",
    "gentil": "gentille",
    "violet": "violette",
}
_FEMININE_ENDINGS = (
    ("eux", "euse"),
    ("oux", "ouse"),
    ("if", "ive"),
    ("er", "ère"),
    ("ien", "ienne"),
    ("on", "onne"),
)
BEFORE_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
"""Masculine singulars that change before a vowel: un bel arbre."""

_ETRE_VERBS = "aller venir revenir arriver partir entrer sortir tomber rester mourir retourner monter descendre"
ETRE = frozenset(_ETRE_VERBS.split())
"""Verbs whose passé composé is made with être; so is that of every reflexive verb."""

# present (six persons) | stem of the future | participle | stem of the imperfect, if not that of "nous"
_IRREGULAR = {
    "être": "suis es est sommes êtes sont | ser | été | ét",
    "avoir": "ai as a avons avez ont | aur | eu",
    "aller": "vais vas va allons allez vont | ir | allé",
    "venir": "viens viens vient venons venez viennent | viendr | venu",
    "voir": "vois vois voit voyons voyez voient | verr | vu",
    "prendre": "prends prends prend prenons prenez prennent | prendr | pris",
    "boire": "bois bois boit buvons buvez boivent | boir | bu",
    "écrire": "écris écris écrit écrivons écrivez écrivent | écrir | écrit",
    "dire": "dis dis dit disons dites disent | dir | dit",
    "vouloir": "veux veux veut voulons voulez veulent | voudr | voulu",
    "pouvoir": "peux peux peut pouvons pouvez peuvent | pourr | pu",
    "devoir": "dois dois doit devons devez doivent | devr | dû",
    "savoir": "sais sais sait savons savez savent | saur | su",
    "connaître": "connais connais connaît connaissons connaissez connaissent | connaîtr | connu",
    "croire": "crois crois croit croyons croyez croient | croir | cru",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent | recevr | reçu",
    "suivre": "suis suis suit suivons suivez suivent | suivr | suivi",
    "courir": "cours cours court courons courez courent | courr | couru",
    "mourir": "meurs meurs meurt mourons mourez meurent | mourr | mort",
    "rire": "ris ris rit rions riez rient | rir | ri",
    "conduire": "conduis conduis conduit conduisons conduisez conduisent | conduir | conduit",
    "construire": ("construis construis construit construisons construisez construisent | construir | construit"),
    "peindre": "peins peins peint peignons peignez peignent | peindr | peint",
    "partir": "pars pars part partons partez partent | partir | parti",
    "sortir": "sors sors sort sortons sortez sortent | sortir | sorti",
    "dormir": "dors dors dort dormons dormez dorment | dormir | dormi",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent | ouvrir | ouvert",
    "offrir": "offre offres offre offrons offrez offrent | offrir | offert",
    "envoyer": "envoie envoies envoie envoyons envoyez envoient | enverr | envoyé",
}
_DERIVED = {"revenir": "re", "souvenir": "sou", "comprendre": "com", "apprendre": "ap", "sourire": "sou"}
"""Verbs conjugated as the shorter verb inside them, with this put before."""

_IMPERFECT = ["ais", "ais", "ait", "ions", "iez", "aient"]
_FUTURE = ["ai", "as", "a", "ons", "ez", "ont"]
_ENDINGS = {
    "er": ["e", "es", "e", "ons", "ez", "ent"],
    "ir": ["is", "is", "it", "issons", "issez", "issent"],
    "re": ["s", "s", "", "ons", "ez", "ent"],
}
_PARTICIPLES = {"er": "é", "ir": "i", "re": "u"}

_UNIT_NAMES = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
)
_UNITS = _UNIT_NAMES.split()
_TENS = {2: "vingt", 3: "trente", 4: "quarante", 5: "cinquante", 6: "soixante", 8: "quatre-vingt"}


@cache
def begins_with_vowel(word: str) -> bool:
    """Whether 'le' becomes 'l'' before it; h aspiré and 'onze' say no."""
    word = word.lower()
    if word[0] == "h":
        return not word.startswith(ASPIRATED)
    return (word[0] in VOWELS and word != "onze") or word == "y"


def plural(word: str) -> str:
    """More than one of a noun or a masculine adjective: `plural("cheval") == "chevaux"`."""
    if word.startswith("grand-"):
        return "grands-" + plural(word.removeprefix("grand-"))
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and word not in ("bleu", "eu"):
        return word + "x"
    return word[:-2] + "aux" if word.endswith("al") else word + "s"


def feminine(adjective: str) -> str:
    """The feminine of an adjective: `feminine("heureux") == "heureuse"`."""
    if adjective in _FEMININES:
        return _FEMININES[adjective]
    for ending, replacement in _FEMININE_ENDINGS:
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + replacement
    return adjective if adjective.endswith("e") else adjective + "e"


@cache
def inflect(adjective: str, is_feminine: bool, is_plural: bool) -> str:
    """An adjective or participle in the gender and number of its noun."""
    form = feminine(adjective) if is_feminine else adjective
    return plural(form) if is_plural else form


@cache
def conjugate(verb: str, tense: Tense, person: Person) -> str:
    """One form of one verb: `conjugate("finir", "present", "3pl") == "finissent"`."""
    index = PERSONS.index(person)
    if tense == "future":
        return _future_stem(verb) + _FUTURE[index]
    if tense == "imperfect":
        return _attach_ending(_imperfect_stem(verb), _IMPERFECT[index])
    irregular = _irregular(verb)
    if irregular:
        return irregular[0].split()[index]
    ending = _ENDINGS[verb[-2:]][index]
    if ending in ("e", "es", "ent"):
        return _before_mute_e(verb)[:-1] + ending if verb.endswith("er") else verb[:-2] + ending
    return _attach_ending(verb[:-2], ending)


@cache
def participle(verb: str) -> str:
    """The past participle, masculine singular: `participle("ouvrir") == "ouvert"`."""
    irregular = _irregular(verb)
    return irregular[2] if irregular else verb[:-2] + _PARTICIPLES[verb[-2:]]


@cache
def number(value: int, is_feminine: bool = False) -> str:
    """A number from 2 to 99 before a noun: `number(21, True) == "vingt et une"`."""
    if value < 20:
        return _UNITS[value]
    ten, unit = divmod(value, 10)
    if ten in (7, 9):  # seventy is sixty-ten, ninety is eighty-ten
        ten, unit = ten - 1, unit + 10
    last = "une" if unit == 1 and is_feminine else _UNITS[unit]
    if not unit:
        return "quatre-vingts" if ten == 8 else _TENS[ten]
    return f"{_TENS[ten]} et {last}" if unit in (1, 11) and ten != 8 else f"{_TENS[ten]}-{last}"


def _irregular(verb: str) -> list[str] | None:
    """Its row of the table, the persons of a derived verb rebuilt from those of its root."""
    prefix = _DERIVED.get(verb, "")
    row = _IRREGULAR.get(verb.removeprefix(prefix))
    if row is None:
        return None
    present, *others = (column.strip() for column in row.split("|"))
    return [" ".join(prefix + form for form in present.split()), *(prefix + other for other in others)]


def _attach_ending(stem: str, ending: str) -> str:
    """Keep c and g soft: nous mangeons, nous commençons."""
    if ending and ending[0] in "ao":
        if stem.endswith("g"):
            return stem + "e" + ending
        if stem.endswith("c"):
            return stem[:-1] + "ç" + ending
    return stem + ending


def _before_mute_e(verb: str) -> str:
    """The stem of an -er verb where a mute e follows, with that e: achète, appelle, préfère, nettoie."""
    stem = verb[:-2]
    if stem in ("appel", "jet"):
        return stem + stem[-1] + "e"
    if stem.endswith("oy"):
        return stem[:-1] + "ie"
    if stem[-2] in "eé" and stem[-1] not in "aeiouyé":
        return stem[:-2] + "è" + stem[-1] + "e"
    return stem + "e"


def _future_stem(verb: str) -> str:
    irregular = _irregular(verb)
    if irregular:
        return irregular[1]
    if verb.endswith("re"):
        return verb[:-1]
    if verb.endswith("er") and "é" not in verb[-4:]:  # préférer keeps its é: il préférera
        return _before_mute_e(verb) + "r"
    return verb


def _imperfect_stem(verb: str) -> str:
    """That of "nous" without -ons; a regular -er verb keeps its bare stem, whose c and g soften later."""
    irregular = _irregular(verb)
    if irregular:
        return irregular[3] if len(irregular) > 3 else irregular[0].split()[3].removesuffix("ons")
    return verb[:-2] + ("iss" if verb.endswith("ir") else "")
