"""Numbers written as words, in languages that often write small ones so: 3 in "three", "third" and "troisième".

A rough table that tells whether a text may name a number, not a parser. Of each language the words for 0 to 20, 30 to
90, 100, 1,000, a million and a billion, as alternatives (/) of parts (+). A part of four letters or more is the
beginning of a word, and a long one may be anywhere in a word of a language that joins them; a shorter part is a whole
word. Articles are left out: "un" is in every text.
"""

import functools
import re
import sys
from collections.abc import Callable

from regard.languages.codes import normalize_code

VALUES = (*range(21), *range(30, 100, 10), 100, 1000, 10**6, 10**9)
_TABLES = {
    "en": "zero/no/none/nothing one/first/once/single two/second/twice/pair/both/couple three/third/triple/thrice "
    "four/quarter five/fifth/fifths six/sixth seven eight nine/ninth ten/tenth/tens eleven twelve/twelfth/dozen "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twent thirt fort fift sixt sevent eight ninet "
    "hundred thousand million billion",
    "fr": "zéro/aucun/nul/vide premier/première/unique deux/deuxi/second/couple/double/paire trois/tiers/triple "
    "quatr/quart cinq six/sixi sept/septi huit/huiti neuf/neuvi dix/dixi/dizaine onze/onzi douz treiz quatorz quinz "
    "seiz dix+sept dix+huit dix+neuf vingt trent quarant cinquant soixant soixant+dix/septante quatre+vingt/huitante "
    "quatre+vingt+dix/nonante cent/cents/centi/centaine mille/millième million milliard",
    "de": "null/kein eins/erst/einmal/einzig zwei/zwo/beid/paar drei/dritt vier fünf sechs "
    "sieben/siebt acht neun zehn elf/elft zwölf/dutzend dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn "
    "neunzehn zwanzig dreißig/dreissig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend million "
    "milliard",
    "es": "cero/ningun/ningún uno/primer dos/segund/ambos/ambas/par tres/tercer/tercio cuatro/cuart cinco/quint "
    "seis/sext siete/séptim ocho/octav nueve/noven diez/décim/decen once/undécim doce/docena trece catorce quince "
    "dieciséis/dieciseis diecisiete dieciocho diecinueve veint treint cuarent cincuent sesent setent ochent novent "
    "cien/ciento/cientos mil/miles millon/millón mil+millones/millard",
    "it": "zero/nessun uno/prim due/second/entramb/paio/coppia tre/terz quattro/quart cinque/quint "
    "sei/sest sette/settim otto/ottav nove/nono/nona dieci/decim/decin undici dodici/dozzin tredici quattordici "
    "quindici sedici diciassette diciotto diciannove vent trent quarant cinquant sessant settant ottant novant cent "
    "mille/mila/miglia milion miliard",
    "pt": "zero/nenhum primeir dois/duas/segund/ambos/ambas/par três/terceir/terço quatro/quart cinco/quint "
    "seis/sext sete/sétim oito/oitav nove/nono/nona dez/décim/dezen onze doze/dúzia treze catorze/quatorze quinze "
    "dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove vint trint quarent cinquent sessent setent "
    "oitent novent cem/cento/centen mil/milhar milhão/milhões bilhão/bilhões/mil+milhões",
    "nl": "nul/geen één/eerst twee/tweed/beide/paar drie/derd vier vijf zes/zesd zeven acht negen tien elf/elfd "
    "twaalf/dozijn dertien veertien vijftien zestien zeventien achttien negentien twintig dertig veertig vijftig "
    "zestig zeventig tachtig negentig honderd duizend miljoen miljard",
    "sv": "noll/ingen/inget/inga först två/andra/båda/par tre/tredj fyra/fjärd fem/femt sex/sjätt sju/sjund "
    "åtta/åttond nio/niond tio/tiond elva/elft tolv/dussin tretton fjorton femton sexton sjutton arton nitton tjug "
    "trettio fyrtio femtio sextio sjuttio åttio nittio hundra tusen miljon miljard",
    "da": "nul/ingen/intet én/ét/først to/anden/andet/begge/par tre/tredj fire/fjerd fem/femt seks/sjett "
    "syv/syvend otte/ottend ni/niend ti/tiend elleve/ellevt tolv/tolvt/dusin tretten fjorten femten seksten sytten "
    "atten nitten tyve/tyvend tredive fyrre halvtreds tres/tresind halvfjerds firs/firsind halvfems hundred tusind "
    "million milliard",
    "no": "null/ingen/intet én/først to/andre/begge/par tre/tredj fire/fjerd fem/femt seks/sjett "
    "sju/syv/sjuend/syvend åtte/åttend ni/niend ti/tiend elleve/ellevt tolv/tolvt/dusin tretten fjorten femten "
    "seksten sytten atten nitten tjue/tyve tretti førti femti seksti sytti åtti nitti hundre tusen million milliard",
    "pl": "zero/żaden/żadn jeden/jedn/pierwsz dwa/dwie/dwóch/dwoma/drugi/drug/obie/para trzy/trzech/trzem/trzec "
    "czter/czwart pięć/pięciu/piąt sześć/sześciu/szóst siedem/siedmiu/siódm osiem/ośmiu/ósm/ósmy "
    "dziewięć/dziewięciu/dziewiąt dziesięć/dziesięciu/dziesiąt jedena dwanaście/dwunast/tuzin trzyna czterna "
    "piętna szesna siedemna osiemna dziewiętna dwadzieścia/dwudziest trzydzie czterdzie "
    "pięćdziesiąt/pięćdziesięc sześćdziesiąt/sześćdziesięc siedemdziesiąt osiemdziesiąt dziewięćdziesiąt "
    "sto/stu/setk tysiąc/tysięc milion miliard",
    "ru": "ноль/нуль/никак один/одн/одна/одно/первы/перва/перво два/две/двух/двум/втор/обоих/оба/пара "
    "три/трёх/трех/трем/трет четыр/четвер/четвёр пять/пяти/пяты шест/шесть семь/семи/седьм восем/восьм девят "
    "десят одиннадцат двенадцат/дюжин тринадцат четырнадцат пятнадцат шестнадцат семнадцат восемнадцат девятнадцат "
    "двадцат тридцат сорок пятьдесят/пятидесят шестьдесят/шестидесят семьдесят/семидесят восемьдесят/восьмидесят "
    "девяност сто/ста/сотн/соты тысяч миллион миллиард",
}
_JOINED = frozenset({"de", "nl", "sv", "da", "no", "it"})
"""Languages that join the words of a number: dreihundert, tremila."""
_WORD = re.compile(r"[^\W\d_]+")
MIN_STEM, MIN_INNER = 4, 5
MAX_ROMAN = 30
_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def names_number(text: str, number: int, language: str, has_digits: Callable[[int], bool]) -> bool:
    """Whether a text in a language may name a number in words, Roman numerals, or digits and a word: 13 thousand.

    `has_digits` tells whether the text has a number in digits. The answer is no for a language that is not listed.
    """
    if 2 <= number <= MAX_ROMAN and re.search(rf"\b{_roman(number)}(?![A-Z])", text):
        return True
    code = normalize_code(language)
    if code not in _TABLES:
        return False
    words, table = _split_words(text), _table(code)
    min_inner = MIN_INNER if code in _JOINED else sys.maxsize

    def has_part(part: str) -> bool:
        if len(part) < MIN_STEM:
            return part in words
        return any(word.startswith(part) or (len(part) >= min_inner and part in word) for word in words)

    def is_named(value: int) -> bool:
        if value in table and any(all(map(has_part, parts)) for parts in table[value]):
            return True
        scale = next((scale for scale in (10**9, 10**6, 1000, 100) if value > scale and not value % scale), 0)
        if scale:
            return is_named(scale) and (has_digits(value // scale) or is_named(value // scale))
        return 20 < value < 100 and bool(value % 10) and is_named(value - value % 10) and is_named(value % 10)

    return is_named(number)


@functools.lru_cache(maxsize=1)  # for all numbers of a line
def _split_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


@functools.cache
def _table(code: str) -> dict[int, list[list[str]]]:
    entries = _TABLES[code].split()
    return {
        value: [parts.split("+") for parts in entry.split("/")] for value, entry in zip(VALUES, entries, strict=True)
    }


def _roman(number: int) -> str:
    numeral = ""
    for value, letters in _ROMAN:
        numeral += letters * (number // value)
        number %= value
    return numeral
