"""Languages are identified by function words, script and a model; in doubt, not at all."""

from dataclasses import replace

import pytest

from regard.data.doctor import Action, Diagnosis, Doctor, DoctorSettings, PairStream, language_id
from regard.data.doctor.language_id import ExpectedLanguage, expect_language, identify_language, known_code
from regard.data.doctor.languages import FUNCTION_WORDS
from regard.errors import DataError
from regard.formats import Pair
from regard.languages import are_variants
from regard.languages.identify import LanguageProbability as Language
from regard.languages.scripts import SCRIPT_BLOCKS, scripts_of

SENTENCES = {
    "en": "They said that it was the best book they had read in years, and I think so too.",
    "fr": "Il a dit que la maison était dans une petite rue et que nous ne pouvions pas y entrer.",
    "de": "Er hat gesagt, dass die Kinder mit dem Hund in den Wald gegangen sind und noch nicht da waren.",
    "es": "Dijo que la casa está en el centro de la ciudad, pero no sé cuándo se va a abrir para los niños.",
    "it": "Ha detto che il libro è nella borsa della ragazza, ma non sono sicuro che sia il mio.",
    "pt": "Ele disse que o livro não está na mesa, mas eu acho que foi para a casa dos meninos.",
    "ca": "Va dir que el llibre és amb els altres, però no hi ha res més per fer en aquest poble.",
    "ro": "A spus că nu este în oraș și că o să vină pentru noi după ce se termină.",
    "nl": "Hij zei dat het boek niet op de tafel ligt, maar dat ze het naar een andere kamer hebben gebracht.",
    "sv": "Han sade att det inte är för sent och att jag ska komma med till huset när de har ätit.",
    "pl": "Powiedział, że nie ma go w domu i że to jest bardzo ważne dla nas, ale nie wiem, czy tak.",
    "cs": "Řekl, že to není pravda a že se ještě uvidíme, když bude mít čas, ale já jsem si to nemyslel.",
    "ru": "Он сказал, что это было очень давно и что мы не можем его найти, если он уже не там.",
    "uk": "Він сказав, що це було дуже давно і що ми не можемо його знайти, якщо він вже не там.",
    "fi": "Hän sanoi että se ei ole totta ja että minä olen jo nyt sitä mieltä, mutta en tiedä.",
    "hu": "Azt mondta, hogy ez nem igaz, és hogy már itt van, de még nem lehet látni, mert nagyon sötét van.",
    "tr": "Bu kitap çok güzel ama daha önce ne olduğu için bir şey demedi ve sonra her şey gibi bitti.",
    "el": "Είπε ότι το βιβλίο είναι στο τραπέζι και ότι δεν μπορεί να το βρει.",
    "he": "הוא אמר שהספר על השולחן ושהוא לא יכול למצוא אותו",
    "ar": "قال إن الكتاب على الطاولة وإنه لا يستطيع أن يجده",
    "hi": "उसने कहा कि किताब मेज पर है और वह उसे नहीं ढूंढ सकता",
    "fa": "او گفت که کتاب روی میز است و نمی‌تواند آن را پیدا کند",
    "vi": "Anh ấy nói rằng quyển sách ở trên bàn và anh ấy không thể tìm thấy nó ở đâu cả.",
    "id": "Dia mengatakan bahwa buku itu ada di atas meja dan dia tidak dapat menemukannya lagi di sana.",
    "th": "เขาบอกว่าหนังสืออยู่บนโต๊ะแต่เขาหามันไม่เจอ",
    "zh": "他说那本书在桌子上，但是他找不到它。",
    "ja": "彼は本が机の上にあると言いましたが、見つけることができません。",
    "ko": "그는 책이 탁자 위에 있다고 말했지만 찾을 수 없었다.",
}


def corpus(source: str, target: str, count: int = 40) -> list[Pair]:
    return [Pair(f"{n} {SENTENCES[source]}", f"{n} {SENTENCES[target]}", f"f:{n + 1}") for n in range(count)]


def examine(pairs: list[Pair], **codes: str) -> Diagnosis:
    return about_languages(Doctor(DoctorSettings(**codes)).examine(PairStream(lambda: pairs)))  # type: ignore[arg-type]


def about_languages(diagnosis: Diagnosis) -> Diagnosis:
    """Without the near-duplicates: these corpora are one sentence, numbered."""
    return replace(diagnosis, findings=tuple(f for f in diagnosis.findings if f.kind.name != "near_duplicate"))


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_known_and_strange_everywhere_else(code: str):
    text = SENTENCES[code]
    assert identify_language(text) == code
    for other in SENTENCES:
        stranger = expect_language(other).detect_other_language(text)
        assert stranger in ("", code), other
        assert not (stranger and other == code)
    far = "fr" if scripts_of(code) != ("latin",) else "ru"
    assert expect_language(far).detect_other_language(text) == code


@pytest.mark.parametrize(
    "text", ["Le chat.", "Voilà un très bon vin", "C'est la vie, said Jean-Paul de la Tour.", "Да."]
)
def test_short_and_mixed_sentences_are_not_judged(text: str):
    assert expect_language("en").detect_other_language(text) == ""


def test_neighbours_do_not_accuse_each_other():
    danish = "Jeg har ikke set det, men han er i huset med de andre og kan komme ud når vi vil."
    assert (
        expect_language("no").detect_other_language(danish) == expect_language("da").detect_other_language(danish) == ""
    )
    assert expect_language("ja").detect_other_language("東京都知事選挙管理委員会") == ""
    # Chinese words that Japanese has too, Galician beside Portuguese, Afrikaans beside Dutch.
    assert expect_language("zh").detect_other_language("進度列中所顯示的文字") == ""
    galician = "preprocesado requirida, pero non está estabelecida, e non está no camiño que se indicou"
    assert expect_language("gl").detect_other_language(galician) == ""
    afrikaans = (
        "Of die gebeurteniskassie sigbaar is, in plaas van onsigbaar en slegs gebruik word om gebeure vas te trek."
    )
    assert expect_language("af").detect_other_language(afrikaans) == ""


def test_a_sentence_without_many_function_words_is_found_by_the_model():
    caption = "Trendy girl talking on her cellphone while gliding slowly down the street"
    assert expect_language("fr").detect_other_language(caption) == "en"
    assert expect_language("en").detect_other_language(caption) == ""


def test_languages_of_one_script_are_told_apart():
    assert expect_language("ar").detect_other_language(SENTENCES["fa"]) == "fa"
    assert expect_language("ja").detect_other_language(SENTENCES["zh"]) == "zh"


def test_strings_of_latin_letters_are_not_japanese():
    assert identify_language("pD KhF xASR kXuy Wihx vXIN Jhp LK") != "ja"


def test_a_language_is_named_not_its_script():
    diagnosis = examine(corpus("ja", "ar"))
    assert (diagnosis.splits[0].source, diagnosis.splits[0].target) == ("ja", "ar")
    assert expect_language("en").detect_other_language("Ευχαριστω και καληνυχτα") == "el"


def test_names_in_latin_letters_are_no_other_language():
    assert (
        expect_language("ru").detect_other_language("Microsoft Windows Server 2003 Service Pack 2 Release Notes") == ""
    )


def test_swapped_files_are_refused_and_the_way_out_is_named():
    diagnosis = examine(corpus("fr", "en"), source="en", target="fr")
    assert [finding.kind.name for finding in diagnosis.refused_findings] == ["swapped"]
    assert diagnosis.refused_findings[0].count == 40 and diagnosis.pairs_kept == 40
    assert diagnosis.refused_findings[0].examples[0].detail == "source looks like fr, target like en"
    with pytest.raises(DataError, match="name the two files in the other order"):
        diagnosis.require_trainable()


def test_swapped_files_may_be_kept():
    pairs = corpus("fr", "en")
    doctor = Doctor(DoctorSettings(source="en", target="fr", keep=frozenset({"swapped"})))
    diagnosis = about_languages(doctor.examine(PairStream(lambda: pairs)))
    assert [(f.kind.name, f.action) for f in diagnosis.findings] == [("swapped", Action.NOTED)]
    diagnosis.require_trainable()


def test_a_test_set_the_other_way_round_than_training_is_refused():
    train, test = corpus("de", "ru"), corpus("ru", "de")
    diagnosis = Doctor().examine(PairStream(lambda: train), test=PairStream(lambda: test))
    assert [(f.kind.name, f.split) for f in diagnosis.refused_findings] == [("swapped", "test")]


def test_a_wrong_code_is_said_and_drops_nothing():
    diagnosis = examine(corpus("de", "fr"), source="en", target="fr")
    assert [finding.kind.name for finding in diagnosis.findings] == ["mislabeled"]
    assert diagnosis.pairs_kept == 40


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("ru", "ja"), ("zh", "ar"), ("cs", "hi")])
def test_the_right_order_is_no_finding_with_codes_or_without(source: str, target: str):
    assert examine(corpus(source, target)).findings == ()
    assert examine(corpus(source, target), source=f"{source}-XX", target=target.upper()).findings == ()


def test_a_few_pairs_the_wrong_way_round_are_found_without_codes():
    pairs = corpus("en", "fr")
    pairs[10], pairs[30] = (Pair(pairs[n].target, pairs[n].source, pairs[n].location) for n in (10, 30))
    (finding,) = examine(pairs).findings
    assert [(e.note, e.detail) for e in finding.examples] == [
        ("f:11", "source looks like fr, target looks like en"),
        ("f:31", "source looks like fr, target looks like en"),
    ]
    assert examine(pairs).pairs_kept == 38


def test_languages_that_are_not_known_here_are_not_judged():
    assert examine(corpus("es", "fr"), source="tlh", target="bm").findings == ()
    assert known_code("tlh") == "" and expect_language("").detect_other_language(SENTENCES["fr"]) == ""


def test_a_declared_language_is_what_lines_are_compared_with():
    pairs = corpus("en", "es")[:3]  # too few to tell a majority
    assert examine(pairs).findings == ()
    (finding,) = examine(pairs, source="en", target="de").findings
    assert (finding.kind.name, finding.count) == ("language", 3) and "target looks like es" in finding.examples[
        0
    ].detail


def test_variants_are_one_language_and_neighbours_two():
    assert are_variants("no", "nn") and are_variants("ru", "ru") and not are_variants("uk", "ru")


def test_the_tables_are_sound():
    assert all(word == word.lower() and word.isalpha() for words in FUNCTION_WORDS.values() for word in words)
    assert all(len(words) >= 30 for words in FUNCTION_WORDS.values())
    for code, words in FUNCTION_WORDS.items():
        low_high = SCRIPT_BLOCKS[scripts_of(code)[0]]
        assert known_code(code) == code
        assert all(any(low <= ord(c) <= high for low, high in low_high) for word in words for c in word), code


FRENCH = sorted(
    word
    for word in FUNCTION_WORDS["fr"]
    if not any(word in FUNCTION_WORDS[code] for code in FUNCTION_WORDS.keys() - {"fr"})
)
ENGLISH = sorted(
    word
    for word in FUNCTION_WORDS["en"]
    if not any(word in FUNCTION_WORDS[code] for code in FUNCTION_WORDS.keys() - {"en"})
)
NONSENSE = [f"zq{a}{b}" for a in "bcdfgh" for b in "kmnpqr"]


@pytest.mark.parametrize(
    ("french", "english", "others", "is_found"),
    [
        (4, 0, 2, True),
        (4, 0, 1, False),  # five words
        (3, 0, 3, False),  # three function words
        (4, 0, 8, True),  # a third of all words
        (4, 0, 9, False),
        (4, 1, 3, True),  # a fourth of the evidence speaks against it
        (4, 2, 3, False),
        (7, 2, 3, False),
        (8, 2, 3, True),
    ],
)
def test_function_words_of_another_language_are_evidence_from_a_threshold_on(french, english, others, is_found: bool):
    words = [*FRENCH[:french], *ENGLISH[:english], *NONSENSE[:others]]
    assert ExpectedLanguage("en")._detect_by_words(" ".join(words).upper()) == ("fr" if is_found else "")
    repeated = " ".join([*words, *words])
    assert ExpectedLanguage("en")._detect_by_words(repeated) == ("fr" if is_found else "")  # each word counts once


@pytest.mark.parametrize(
    ("cyrillic", "latin", "found"),
    [("бвгджзкл", "", True), ("бвгджзк", "", False), ("бвгджзкл", "q", True), ("бвгджзкл", "qx", False),
     ("бвгджзклмн", "qx", True), ("бвгджзклмн", "qxz", False)],
)  # fmt: skip
def test_letters_of_another_script_are_evidence_from_a_threshold_on(cyrillic: str, latin: str, found: bool):
    """Eight distinct letters, and a fifth of them at most of the expected script."""
    text = " ".join([cyrillic, cyrillic, latin]).strip()
    assert bool(ExpectedLanguage("en").detect_other_language(text)) is found


def test_a_quarter_of_expected_words_or_two_that_no_other_language_has_end_the_question(monkeypatch):
    monkeypatch.setattr(language_id, "_dominant_script", lambda text: ("cyrillic", 99))
    monkeypatch.setattr(language_id, "_name_language", lambda text, script: "ru")
    english = ExpectedLanguage("en")
    shared = sorted(english._expected_words - english._distinctive_words)
    for words, is_asked in (
        ([*shared[:1], *NONSENSE[:3]], True),  # a quarter, not more
        ([*shared[:1], *NONSENSE[:2]], False),
        ([*shared[:2], *NONSENSE[:6]], True),
        ([*ENGLISH[:1], *NONSENSE[:20]], True),
        ([*ENGLISH[:2], *NONSENSE[:20]], False),
    ):
        assert (english.detect_other_language(" ".join(words)) == "ru") is is_asked, words


@pytest.mark.parametrize(("probability", "expected"), [(0.7, "fr"), (0.69, ""), (1.0, "fr")])
def test_a_language_needs_a_probability_and_six_words(monkeypatch, probability: float, expected: str):
    monkeypatch.setattr(language_id, "rank_languages", lambda text, count: [Language("fr", probability)])
    assert language_id.identify_language(" ".join(NONSENSE[:6])) == expected
    assert language_id.identify_language(" ".join(NONSENSE[:5])) is None
    assert language_id.identify_language(" ".join(NONSENSE[:5] * 2)) is None
    assert language_id.identify_language("日本") is None and language_id.identify_language("東京日本") == ""
    monkeypatch.setattr(language_id, "rank_languages", lambda text, count: [])
    assert language_id.identify_language(" ".join(NONSENSE[:6])) == ""


@pytest.mark.parametrize(
    ("languages", "found"),
    [
        ([("fr", 0.9)], "fr"),
        ([("fr", 0.89)], ""),
        ([("fr", 0.95), ("en", 0.02)], "fr"),
        ([("fr", 0.95), ("en", 0.021)], ""),
        ([("fr", 0.95), ("de", 0.05)], "fr"),
        ([("fr", 0.92), ("de", 0.03), ("it", 0.02), ("en", 0.03)], ""),
        ([("ru", 0.95)], ""),  # not of this script
        ([], ""),
    ],
)
def test_the_model_accuses_with_certainty_only(monkeypatch, languages, found: str):
    monkeypatch.setattr(
        language_id, "rank_languages", lambda text, count: [Language(*one) for one in languages][:count]
    )
    english = ExpectedLanguage("en")
    assert english._detect_by_model("x", "latin") == found
    for count, is_asked in ((7, False), (8, True)):
        assert english._detect_in_sentence(" ".join(NONSENSE[:count]), "latin") == (found if is_asked else "")
        assert english.detect_other_language(" ".join(NONSENSE[:count])) == (found if is_asked else "")
    capitals = " ".join([*NONSENSE[:7], NONSENSE[8].title()])
    assert english._detect_in_sentence(capitals, "latin") == ""  # a name
    for ours, is_asked in ((1, True), (2, False)):
        text = " ".join([*ENGLISH[:ours], *NONSENSE[: 8 - ours]])
        assert english._detect_in_sentence(text, "latin") == (found if is_asked else "")
