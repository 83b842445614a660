"""Texts become the terms that other search engines count, in every language."""

import pytest

from regard.errors import ConfigError
from regard.retrieval.lexical.analyzer import STEMMERS, STOP_WORDS, Analyzer, AnalyzerSettings, choose_analyzer


def terms(text: str, language: str, stemmer: str = "auto") -> list[str]:
    return Analyzer(choose_analyzer(language, stemmer)).find_terms(text)


def test_english_has_porter_stems_and_the_stop_words_of_lucene():
    assert terms("The wings, and FLOWS of heated_slabs in 1958!", "en") == ["wing", "flow", "heat", "slab", "1958"]
    assert terms("These being its ands", "en") == ["be", "it", "and"]  # a stem that is a stop word is counted
    assert len(STOP_WORDS["lucene-en"]) == 33
    assert choose_analyzer("eng") == AnalyzerSettings("en", "porter", "lucene-en")


def test_other_languages_have_their_stems_and_no_stop_words():
    assert terms("Les chevaux de la reine", "fr") == ["le", "cheval", "de", "la", "rein"]
    assert terms("Die Häuser", "de") == ["die", "haus"]
    assert terms("Какие книги", "ru")[1] == "книг"
    assert terms("les chevaux", "xx") == ["les", "chevaux"]
    assert terms("the wings", "en", stemmer="none") == ["wings"]


def test_a_word_keeps_its_marks_and_case_and_width_do_not_count():
    decomposed = "cafe\u0301"
    assert terms(decomposed, "") == terms("CAFÉ", "") == ["café"]
    assert terms("हिन्दी भाषा", "") == ["हिन्दी", "भाषा"]
    assert terms("ＡＢ１", "") == ["ab1"]


def test_scripts_without_blanks_give_pairs_of_characters():
    assert terms("東京都 2020年x", "ja") == ["東京", "京都", "2020", "年", "x"]
    assert terms("", "ja") == terms(" ,;", "en") == []


def test_every_stemmer_exists_and_an_unknown_one_is_refused():
    for language in STEMMERS:
        assert terms("x", language) == ["x"]
    with pytest.raises(ConfigError, match="--stemmer lovins: expected auto, none or one of arabic"):
        choose_analyzer("en", "lovins")


def test_an_endless_word_is_cut():
    assert [len(term) for term in terms("x" * 100_000, "en")] == [255]
