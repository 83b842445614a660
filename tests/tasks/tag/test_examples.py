"""What is stored of a sentence is restored."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.formats.labeled import TaggedSentence
from regard.tasks.stored_parts import SEPARATOR
from regard.tasks.tag.examples import restore_sentence, restore_tags, store_sentence

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=SEPARATOR), max_size=5)


@settings(max_examples=50)
@given(st.lists(st.tuples(WORDS, st.sampled_from(["O", "B-x", "I-é x"])), max_size=7), st.text(max_size=3))
def test_a_sentence_is_restored(rows: list[tuple[str, str]], location: str):
    words, tags = (tuple(column) for column in (zip(*rows, strict=True) if rows else ((), ())))
    sentence = TaggedSentence(words, tags, location)
    assert restore_sentence(store_sentence(sentence)) == sentence
    assert restore_tags(store_sentence(sentence).target) == tags


def test_a_separator_in_a_word_adds_no_word():
    sentence = TaggedSentence((f"a{SEPARATOR}b", "c"), ("O", "B-x"))
    assert restore_sentence(store_sentence(sentence)).words == ("a b", "c")
