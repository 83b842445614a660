"""Languages are identified by function words and scripts; in doubt, not at all."""

import pytest

from regard.data.doctor import Action, Diagnosis, Doctor, DoctorSettings, PairStream
from regard.data.doctor.language_id import expect_language, identify_language, label_of_code, labels_agree
from regard.data.doctor.languages import FUNCTION_WORDS, SCRIPT_BLOCKS, SCRIPT_OF
from regard.errors import DataError
from regard.formats import Pair

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
    "zh": "他说那本书在桌子上，但是他找不到它。",
    "ja": "彼は本が机の上にあると言いましたが、見つけることができません。",
    "ko": "그는 책이 탁자 위에 있다고 말했지만 찾을 수 없었다.",
}


def corpus(source: str, target: str, count: int = 40) -> list[Pair]:
    return [Pair(f"{n} {SENTENCES[source]}", f"{n} {SENTENCES[target]}", f"f:{n + 1}") for n in range(count)]


def examine(pairs: list[Pair], **codes: str) -> Diagnosis:
    return Doctor(DoctorSettings(**codes)).examine(PairStream(lambda: pairs))  # type: ignore[arg-type]


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_known_and_strange_everywhere_else(code: str):
    text = SENTENCES[code]
    assert identify_language(text) == label_of_code(code)
    for other in SENTENCES:
        stranger = expect_language(label_of_code(other)).detect_other_language(text)
        assert stranger in ("", label_of_code(code)), other
        assert not (stranger and other == code)
    far = "fr" if SCRIPT_OF[code] != "latin" else "ru"
    assert expect_language(far).detect_other_language(text) == label_of_code(code) or SCRIPT_OF[code] == SCRIPT_OF[far]


@pytest.mark.parametrize(
    "text", ["Le chat.", "Voilà un très bon vin", "C'est la vie, said Jean-Paul de la Tour.", "Да."]
)
def test_short_and_mixed_sentences_are_not_judged(text: str):
    assert expect_language("en").detect_other_language(text) == ""


def test_neighbours_do_not_accuse_each_other():
    danish = "Jeg har ikke set det, men han er i huset med de andre og kan komme ud når vi vil."
    assert (
        expect_language("nb").detect_other_language(danish) == expect_language("da").detect_other_language(danish) == ""
    )
    assert expect_language("ja").detect_other_language("東京都知事選挙管理委員会") == ""
    assert expect_language("cyrillic").detect_other_language(SENTENCES["ru"]) == ""


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
    diagnosis = doctor.examine(PairStream(lambda: pairs))
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
    assert examine(corpus("es", "fr"), source="gl", target="br").findings == ()
    assert label_of_code("gl") == "" and expect_language("").detect_other_language(SENTENCES["fr"]) == ""


def test_labels_agree_within_a_script_only_if_one_names_nothing_more():
    assert (
        labels_agree("cyrillic", "ru")
        and labels_agree("ru", "ru")
        and not labels_agree("uk", "ru")
        and not labels_agree("greek", "ru")
    )


def test_the_tables_are_sound():
    assert all(word == word.lower() and word.isalpha() for words in FUNCTION_WORDS.values() for word in words)
    assert all(len(words) >= 30 for words in FUNCTION_WORDS.values())
    assert FUNCTION_WORDS.keys() <= SCRIPT_OF.keys() and set(SCRIPT_OF.values()) <= SCRIPT_BLOCKS.keys()
    for code, words in FUNCTION_WORDS.items():
        low_high = SCRIPT_BLOCKS[SCRIPT_OF[code]]
        assert all(any(low <= ord(c) <= high for low, high in low_high) for word in words for c in word), code
