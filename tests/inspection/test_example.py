"""Words of an example as Pharaoh files count them."""

from regard.inspection.example import TokenizedText, count_pharaoh_words
from regard.languages import split_words


def side(text: str) -> TokenizedText:
    return TokenizedText(text, (), (), (), tuple(split_words(text)), ())


def test_words_are_split_at_spaces_where_there_are_any():
    assert count_pharaoh_words([side("don't stop, l'homme")]) == [[0, 1, 1, 2, 2]]


def test_a_line_without_spaces_is_not_one_word():
    (numbers,) = count_pharaoh_words([side("他说那本书在桌子上")])
    assert numbers == list(range(len(split_words("他说那本书在桌子上")))) and len(numbers) > 3


def test_text_that_was_segmented_keeps_its_words():
    (numbers,) = count_pharaoh_words([side("他 说 那本书 在 桌子上")])
    assert max(numbers) == 4
