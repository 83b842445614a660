"""Numbers in words: each language knows its own, and takes none for another."""

import pytest

from regard.languages.number_words import names_number


def names(text: str, number: int, language: str, *digits: int) -> bool:
    return names_number(text, number, language, digits.__contains__)


LISTS = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million "
    "billion",
    "fr": "zéro premier deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix cent mille "
    "million milliard",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend "
    "Million Milliarde",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil millón",
    "it": "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille "
    "milione miliardo",
    "pt": "zero primeiro dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis "
    "dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem mil milhão bilhão",
    "nl": "nul één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien "
    "zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend "
    "miljoen miljard",
    "sv": "noll första två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton "
    "nitton tjugo trettio fyrtio femtio sextio sjuttio åttio nittio hundra tusen miljon miljard",
    "da": "nul første to tre fire fem seks syv otte ni ti elleve tolv tretten fjorten femten seksten sytten atten "
    "nitten tyve tredive fyrre halvtreds tres halvfjerds firs halvfems hundrede tusind million milliard",
    "no": "null første to tre fire fem seks sju åtte ni ti elleve tolv tretten fjorten femten seksten sytten atten "
    "nitten tjue tretti førti femti seksti sytti åtti nitti hundre tusen million milliard",
    "pl": "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście "
    "czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście dwadzieścia trzydzieści czterdzieści "
    "pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt sto tysiąc milion miliard",
    "ru": "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать "
    "четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать тридцать сорок пятьдесят "
    "шестьдесят семьдесят восемьдесят девяносто сто тысяча миллион миллиард",
}
VALUES = [*range(21), *range(30, 100, 10), 100, 1000, 10**6, 10**9]


@pytest.mark.parametrize("language", LISTS)
def test_every_word_names_its_own_number(language: str):
    for word, value in zip(LISTS[language].split(), VALUES, strict=False):
        assert names(f"x {word} y", value, language), (word, value)
        wrong = [other for other in VALUES[1:] if other != value and value and names(f"x {word} y", other, language)]
        assert len(wrong) <= 2 + 2 * ("-" in word), (word, wrong)  # "quatre-vingt-dix" has 4, 10, 20 and 80 in it
        assert not names("x y z", value, language)


def test_larger_numbers_are_put_together():
    assert names("twenty-five dogs", 25, "en") and not names("twenty dogs", 25, "en")
    assert names("13 thousand", 13_000, "en", 13) and not names("thousand", 13_000, "en")
    assert names("dreihundert Hunde", 300, "de") and names("fünfundzwanzigtausend", 25_000, "de")
    assert names("six milliards", 6 * 10**9, "fr") and not names("six millions", 6 * 10**9, "fr")


def test_roman_numerals_are_those_of_any_language():
    assert names("XIXe siècle", 19, "") and names("Louis XIV", 14, "xx") and names("a XX. század", 20, "hu")
    assert not names("XIXe siècle", 9, "") and not names("XIV", 4, "") and not names("I see", 1, "")
