"""Texts without some of their words."""

import pytest

from regard.data.tokenizers.text_tokenizer import SentencePieceText
from regard.data.tokenizers.tokenizer import train_tokenizer
from regard.inspection.decisions.erasure import erase_words, masking_costs
from regard.languages import split_words
from tests.inspection.decisions.test_attribution import make_classifier
from tests.tasks.conftest import TEXTS


@pytest.mark.parametrize(
    ("text", "numbers", "expected"),
    [
        ("a good film", [1], "a film"),
        ("a good film", [0], "good film"),
        ("a good film.", [3], "a good film"),
        ("a good film.", [0, 2], "good ."),
        ("good/bad film", [1], "good bad film"),
        ("l'homme dort", [0], "homme dort"),
        ("film", [0], ""),
        ("a good film", [], "a good film"),
        ("  a  good  film", [1], "a  film"),
    ],
)
def test_erased_words_leave_their_neighbors_as_they_are(text, numbers, expected):
    assert erase_words(text, numbers) == expected
    kept = [word for n, word in enumerate(split_words(text)) if n not in numbers]
    assert split_words(expected) == kept


def test_a_script_without_spaces_gets_none():
    text = "我喜欢这部电影"
    words = split_words(text)
    assert erase_words(text, [1]) == "".join(word for n, word in enumerate(words) if n != 1)


def test_without_a_mask_token_nothing_is_masked():
    classifier = make_classifier("encoder")
    without_mask = SentencePieceText(train_tokenizer(TEXTS, 307, "bpe"))
    assert without_mask.mask_id is None
    classifier.tokenizer = without_mask
    assert masking_costs(classifier, [], [], None) is None
