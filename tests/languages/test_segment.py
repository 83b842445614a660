"""Words of scripts without spaces."""

import pytest

from regard.languages import count_words, is_unspaced, segment, split_unspaced, split_words, word_spans

pytest.importorskip("icu4py", reason="the extra icu is not installed")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("私はPythonが好きです。", "私 は Python が 好き です 。"),
        ("他说那本书在桌子上", "他 说 那本书 在 桌子 上"),
        ("ภาษาไทยเป็นภาษา", "ภาษา ไทย เป็น ภาษา"),
        ("ខ្ញុំចង់ទៅផ្ទះ", "ខ្ញុំ ចង់ទៅ ផ្ទះ"),
        ("한국어 문장입니다.", "한국어 문장입니다 ."),  # Korean has spaces
        ("l'homme don't 東京", "l' homme don't 東京"),
    ],
)
def test_words(text: str, words: str):
    assert split_words(text) == words.split()
    assert [text[a:b] for a, b in word_spans(text)] == words.split()
    assert count_words(text) == sum(any(map(str.isalnum, w)) for w in words.split()) or not is_unspaced(text)


def test_characters_outside_the_basic_plane_move_nothing():
    """ICU counts UTF-16 units, in which these are two."""
    text = "𠮷野家で食べる😀絵文字"
    assert "".join(split_words(text)) == text and split_words(text)[-3:] == ["食べる", "😀", "絵文字"]


def test_a_lone_surrogate_is_one_character():
    assert split_words("本\ud800本") == ["本", "\ud800", "本"]


def test_without_the_segmenter_each_character_is_a_word_with_its_marks(monkeypatch):
    monkeypatch.setattr(segment, "_segmenter", lambda: segment.split_characters)
    assert list(split_unspaced("")) == []
    assert split_words("本が来た。") == ["本", "が", "来", "た", "。"]
    assert split_words("ที่นี่") == ["ที่", "นี่"]
