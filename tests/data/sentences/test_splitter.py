"""Lines and their sentences, language by language. In the tables `|` stands where a sentence ends."""

import itertools

import pytest

from regard.data.sentences import Sentence, base_language, rules_for, split_sentences, splitter
from regard.data.sentences.abbreviations import ALIASES, LANGUAGES
from regard.data.sentences.rules import SentenceRules

TABLE = {
    "en": """
        See `installing pip. <https://a.org>`_ and ``a. B``. |Done.
        The girls were singing. |The old queen saw the white horses.
        Mr. Smith met Dr. Brown at 5 p.m. on Main St. in Washington, D.C. last week.
        He left at 5 p.m. |She stayed.
        It costs 3.5 euros, i.e. 4.20 dollars. |That is a lot!
        See e.g. Fig. 3 on p. 12. |No. 5 is missing. |He said no. |She left.
        J. R. R. Tolkien wrote it. |George W. Bush did not.
        She lives in the U.S. and works for Apple Inc. in the U.S. Army.
        They moved to the U.S. |It was cold.
        "Stop!" he said. |"Why?" she asked. |"Because," he said, "I can."
        He said "Stop." |Then he left.
        He asked (why not?) and left. |(It was late.) |Nobody knew (or so they said.) What now?
        Wait... what? |Well... I think so. |It ended... |Then it began.
        Really?! |Yes! |- No. |- Why not?
        1. Introduction. |2. Methods and results.
        I was a Ph.D. student in Berkeley. |So was I. |They knew.
        Visit example.com or write to a.b@c.org. |Version 2.0 is out.
        It was 1990. |Then came 1991. |3 dogs barked.
        the cat sees the dog. |the dog sleeps! |where is it?
        This is a fact.[1] |This is another.[2][3] |The end.
        I like it! :) And so on. |Thanks! :-)
        e. g. this one is old-fashioned, i. e. spaced.
        It's in Jan. 2020. |Sections 3 and 4, cf. Vol. II, explain it.
        Hello there . |The text was tokenized . |It has blanks .
        """,
    "de": """
        Er kam am 3. Oktober 1990 an. |Sie ging.
        Das war z. B. im 19. Jahrhundert so, d. h. früher. |Heute nicht.
        Das war z.B. im 2. Weltkrieg bzw. danach so.
        Dr. Müller und Prof. Dr. Schmidt wohnen in der Goethestr. 5. |Sie arbeiten viel.
        Am 3. 10. 1990 war es so weit. |Das ist S. 5, Nr. 7, Abs. 2 usw. zu entnehmen.
        Er sagte: „Komm!“ |Dann ging er. |„Wirklich?“, fragte sie.
        Papst Johannes XXIII. starb 1963. |Er war 81. |Sein Nachfolger kam.
        Ludwig XIV. König von Frankreich. |Äpfel, Birnen usw. |Die Liste ist lang.
        """,
    "fr": """
        M. Dupont est arrivé. |Mme Martin est partie.
        Il aime les fruits, p. ex. les pommes, c.-à-d. tout. |Elle aussi.
        « Viens ! » dit-il. |« Où ? » |Il se tut. |Il dit : « Viens. » |Puis il partit.
        Voir p. 3, art. 5, chap. II, etc. |L'auteur l'explique.
        Il est né en 50 av. J.-C. à Rome. |Qu'en dit-on ? |Rien !
        Il est mort en 44 av. J.-C. |Il avait 55 ans.
        Cela coûte 1.000,50 euros. |J. Chirac était là.
        """,
    "es": """
        ¿Cómo estás? |¡Muy bien! |Gracias.
        El Sr. García vive en EE. UU. con la Dra. López. |Es médico.
        Hola. |¿vienes mañana? |Sí.
        Véase p. ej. la pág. 5, núm. 3, etc. |El libro es largo.
        """,
    "it": """
        Il sig. Rossi abita in via Roma, n. 5. |La sig.ra Bianchi no.
        È arrivato il dott. Verdi. |Perché? |Non si sa, ad es. per lavoro.
        """,
    "pt": """
        O Sr. Silva mora na Av. Paulista, p. ex. no n. 5. |Ela não.
        A Dra. Costa chegou. |Quando? |Ontem!
        """,
    "nl": """
        Dhr. Jansen woont o.a. in Amsterdam, d.w.z. in Nederland. |Hij werkt bijv. niet.
        Zie blz. 5, nr. 3 enz. |Het boek is dik.
        """,
    "sv": """
        Han köpte t.ex. äpplen, bl.a. röda. |Hon köpte päron m.m. |Det var dyrt.
        """,
    "da": """
        Den 3. oktober kom han, f.eks. kl. 5. |Hun gik.
        Det skete den 3. Oktober i fjor. |Ja!
        """,
    "fi": """
        Hän tuli 3. lokakuuta, esim. junalla. |Minä menin.
        """,
    "pl": """
        Dr Kowalski, tj. prof. Nowak, mieszka na ul. Długiej 5. |On pracuje m.in. w Krakowie.
        W 3. rozdziale, np. na str. 5, jest o tym mowa itd. |To wszystko.
        """,
    "cs": """
        Dne 3. října přišel, např. ve 3. Patře. |Odešla. |Co? |Nic.
        """,
    "hu": """
        Dr. Kovács pl. 2020. 3. 5. napján jött. |Ő elment.
        """,
    "tr": """
        Prof. Dr. Yılmaz geldi. |İstanbul'da, örn. Taksim'de oturuyor. |O da gitti.
        """,
    "ru": """
        А. С. Пушкин родился в 1799 г. в Москве. |Он жил в XIX в., т. е. давно.
        Это книги, газеты и т. д. |Они старые. |См. рис. 3 на стр. 5. |Да?
        В 1999 г. Россия изменилась. |Кто он?
        """,
    "uk": """
        Т. Г. Шевченко народився 1814 р. в селі. |Він писав вірші, картини і т. д. |Вони відомі.
        """,
    "el": """
        Πού είναι ο κ. Παπαδόπουλος; |Δεν ξέρω. |Ήρθε π.χ. χθες; |Ναι.
        """,
    "ar": """
        ذهب الولد إلى المدرسة. |متى عاد؟ |لا أعرف!
        وصل د. أحمد أمس. |ثم غادر.
        """,
    "ur": """
        وہ گھر گیا۔ |وہ سو گیا۔ |کیوں؟ |پتا نہیں۔
        """,
    "he": """
        הילד הלך לבית הספר. |הוא חזר? |כן!
        """,
    "hi": """
        लड़का घर गया। |वह सो गया। |क्यों? |डॉ. शर्मा आए।
        वह गया।|वह सोया।
        """,
    "bn": """
        সে বাড়ি গেল। |সে ঘুমাল।
        """,
    "zh": """
        你好。|再见！|你是谁？|我是小明。
        他说：“你好。”|然后他走了。
        价格是3.5元。|太贵了!|真的吗?|是的……我想是。
        （他来了。她走了。）|我不知道。
        """,
    "ja": """
        猫がいる。|犬は走る！|本当？|はい。
        彼は「行く。」と言った。|彼女は帰った。
        「雨だ。傘がない。」|空を見た。
        """,
    "ko": """
        나는 학교에 간다. |너는? |집에 있어!
        """,
    "th": """
        เขามาเมื่อ พ.ศ. 2560 ที่กรุงเทพฯ
        จริงหรือ? |จริง!
        """,
    "hy": """
        Նա եկավ։ |Նա գնաց։ |Ո՞վ է նա։
        Նա եկավ: |Նա գնաց:
        """,
    "am": """
        ልጁ መጣ። |እሷ ሄደች፧ |አላውቅም፡፡ |እሺ።
        """,
    "ka": """
        ბიჭი მოვიდა. |გოგო წავიდა? |არ ვიცი!
        """,
    "km": """
        គាត់មក។ |នាងទៅ។
        """,
    "my": """
        သူလာသည်။ |သူသွားသည်။
        """,
    "": """
        Mr. Smith und z. B. M. Dupont kamen. |Sie gingen.
        猫がいる。|犬は走る。
        """,
}  # fmt: skip
CASES = [(code, row.strip()) for code, rows in TABLE.items() for row in rows.strip().split("\n")]


@pytest.mark.parametrize(("code", "row"), CASES)
def test_sentences_end_where_they_end(code: str, row: str):
    sentences = split_sentences(row.replace("|", ""), rules_for(code))
    assert [sentence.text + sentence.blank for sentence in sentences] == row.split("|")
    assert all(sentence.text == sentence.text.strip() for sentence in sentences)


MARKUP = """
    Use <a href="x. Yes">this. That</a> now. |Then %(name. X)s stops. |{a.B} too.
    <b>One. Two.</b> |Three. |<br> Four. |{{ a. B }} is kept. |:ref:`One. Two <x>` as well.
    <g1>First sentence. Second one.</g1> |<ph2/> Third.
    Press (Ctrl. Then X) now. |Done.
    """


@pytest.mark.parametrize("row", MARKUP.strip().split("\n"))
def test_no_sentence_ends_inside_of_markup(row: str):
    row = row.strip()
    sentences = split_sentences(row.replace("|", ""), rules_for("en"))
    assert [sentence.text + sentence.blank for sentence in sentences] == row.split("|")


def test_sentences_and_blanks_add_up_to_the_line():
    """Over all short strings of characters that matter, and over blanks of every kind."""
    alphabet = ["a", "B", "3", ".", "。", " ", "\u00a0", '"', ")", "<b>"]
    rules = [rules_for(code) for code in ("en", "de", "")]
    for characters in itertools.product(alphabet, repeat=4):
        line = "".join(characters)
        for rule in rules:
            sentences = split_sentences(line, rule)
            assert "".join(sentence.text + sentence.blank for sentence in sentences) == line
            assert sentences[-1].blank == "" and all(sentence.text.strip() for sentence in sentences[:-1])
    line = "  One.\t\u3000Two! \u202f Three.  "
    assert split_sentences(line, rules[0]) == [
        Sentence("  One.", "\t\u3000"), Sentence("Two!", " \u202f "), Sentence("Three.  ")
    ]  # fmt: skip


def test_a_line_is_searched_once_however_many_sentences_it_has(monkeypatch):
    """Once for each sentence would take a time that grows with the square of the length."""
    searched: list[str] = []
    monkeypatch.setattr(splitter, "_protected_spans", lambda text: searched.append(text) or iter(()))
    assert len(split_sentences("He came (it was late). She left. " * 500, rules_for("en"))) == 1000
    assert len(searched) == 1


@pytest.mark.parametrize(
    ("code", "language"),
    [("en-US", "en"), ("EN_gb", "en"), ("eng_Latn", "en"), ("deu", "de"), ("nb", "no"), ("zho_Hans", "zh"), ("xx", "")],
)
def test_codes_find_their_language(code: str, language: str):
    assert base_language(code) == language


def test_the_table_is_consistent():
    fields = {"continued", "numbered", "closing", "suffixes", "first_words", "ordinals", "marks", "periods"}
    assert all(entry.keys() <= fields for entry in LANGUAGES.values())
    assert set(ALIASES.values()) <= LANGUAGES.keys() and not ALIASES.keys() & LANGUAGES.keys()
    assert set(TABLE) - {"", "ur"} <= LANGUAGES.keys()
    for language in LANGUAGES:  # what always continues a sentence would never be asked whether it closes one
        assert rules_for(language).continued & rules_for(language).closing == frozenset(), language


@pytest.mark.parametrize(
    "text",
    ["(a)(b) c", "<b>x</b><i>y. Z</i>", "(a <b>c) d</b> e", "<b>(x)</b>", "{a}{b} `c`_ (d", "", "<b>x <i>y</b> z</i>"],
)
def test_a_position_is_protected_inside_of_any_span(text: str):
    spans = list(splitter._protected_spans(text))
    line = splitter._Line(text)
    for position in range(len(text) + 1):
        assert line.is_protected(position) == any(first < position < last for first, last in spans), position
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(line.protected))


@pytest.mark.parametrize(
    ("blank", "left", "right", "expected"),
    [
        ("", "a", "b", " "),
        (" ", "a", "b", " "),
        ("", "。", "b", ""),
        (" ", "a。", "b", ""),
        (" ", "。a", "b", " "),
        ("\t", "a。", "b", "\t"),
        ("  ", "a", "b", "  "),
        ("", "", "b", ""),
        (" ", "a", "", " "),
        ("", "a", "", ""),
    ],
)
def test_a_blank_fits_the_language_before_it(blank: str, left: str, right: str, expected: str):
    assert splitter.fit_blank(blank, left, right) == expected


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("ja", "値は３．５です．|次は１２．"),
        ("ja", "本当!？|はい。"),
        ("ja", "行く?|はい!|そう。"),
        ("ja", "OK?はい。"),
        ("en", "What?Yes."),
        ("am", "ሰላም፡፡|ደህና።"),
        ("am", "ሰላም፡፡!ደህና።"),
        ("am", "ሰላም፡፡…ደህና።"),
        ("am", "ሰላም!፡፡|ደህና።"),
        ("th", "สวัสดี. ลาก่อน."),
        ("lo", "ສະບາຍດີ. ລາກ່ອນ."),
        ("en", "He lives (in Rome.) He left."),
        ("en", "(He left.) |She stayed."),
        ("en", "Well... |So it is."),
        ("en", "Well... so it is. |Yes."),
        ("en", "Well... I know. |Yes."),
        ("en", "Well… |Indeed."),
        ("es", "vino. |¿qué? |No."),
        ("ja", "「行く。」と言った。|「はい。」|カナだ。"),
        ("en", "He came . |She left ."),
        ("en", "1. First. |2. Second."),
        ("en", "A. First one. |B. Second one."),
    ],
)
def test_marks_end_sentences_by_what_is_around_them(code: str, row: str):
    sentences = split_sentences(row.replace("|", ""), rules_for(code))
    assert [sentence.text + sentence.blank for sentence in sentences] == row.split("|")


RULES = SentenceRules(
    continued=frozenset({"mr", "z.b", "a.b.c", "a.b.c.d"}),
    numbered=frozenset({"no"}),
    closing=frozenset({"etc", "u.s.w", "p.m", "q.r.s.t"}),
    suffixes=("str",),
)


@pytest.mark.parametrize(
    ("before", "after", "is_continued"),
    [
        ("said Mr", "Smith", True),
        ("(Mr", "Smith", True),
        ("said", "Smith", False),
        ("z. B", "so", True),
        ("so z", "B. ist", True),  # what follows completes it
        ("so z", "B.", True),
        ("so z", "C. ist", False),
        ("so z", "", False),
        ("a. b. c", "x", True),
        ("q a. b. c", "x", True),
        ("x u.s", "w. Y", True),
        ("Hauptstr", "7", True),
        ("str", "7", True),
        ("strand", "7", False),
        ("", "x", False),
        ("etc", "X", False),
        ("a. b. c. d", "x", False),  # four words
    ],
)
def test_an_abbreviation_goes_on_by_up_to_three_words(before: str, after: str, is_continued: bool):
    assert RULES.is_continued(before, after) is is_continued


@pytest.mark.parametrize(
    ("before", "is_closing"),
    [
        ("and etc", True),
        ("ETC", True),
        ("u. s. w", True),
        ("x u. s. w", True),
        ("u. s. w x", False),
        ("at 3 p. m", True),
        ("etc and", False),
        ("q. r. s. t", False),  # four words
        ("", False),
        ("mr", False),
    ],
)
def test_an_abbreviation_may_close_a_sentence(before: str, is_closing: bool):
    assert RULES.is_closing(before) is is_closing
    assert RULES.is_numbered("No.") and RULES.is_numbered("(no") and not RULES.is_numbered("nob")


def test_a_language_without_rules_has_those_of_all_that_use_full_stops():
    unknown = rules_for("xx")
    assert unknown == rules_for("") and unknown.periods and unknown.marks == ""
    assert unknown.continued >= rules_for("en").continued | rules_for("de").continued
    assert not rules_for("th").periods and not rules_for("lo").periods and rules_for("zh").periods
    assert rules_for("hy").marks == ":" and rules_for("de").ordinals and not rules_for("en").ordinals


def test_a_tag_that_closes_itself_encloses_nothing():
    assert list(splitter._protected_spans("<b/>x</b>")) == [(0, 4), (5, 9)]
    assert list(splitter._protected_spans("<b>x</b>")) == [(0, 3), (4, 8), (0, 8)]
    assert list(splitter._protected_spans("<b><i>x</b>")) == [(0, 3), (3, 6), (7, 11), (0, 11)]


def test_georgian_letters_are_not_small_ones():
    assert "\u10d0".islower() and "\u10ff".islower()
    assert [splitter._is_lower(letter) for letter in ("\u10d0", "\u10d5", "\u10ff", "a", "é", "A", "1", "")] == [
        *(False, False, False, True, True, False, False, False)
    ]
