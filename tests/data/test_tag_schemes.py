"""Schemes of tags are told apart, and a sentence that breaks its scheme is found."""

import pytest

from regard.data.tag_schemes import TagScheme, detect_scheme, has_several, split_tag, types_of

SENTENCES = {
    "BIO": ["B-x I-x O B-y", "O O B-x B-x I-x"],
    "IOB1": ["I-x I-x O I-y", "O I-x B-x I-x"],
    "BIOES": ["B-x E-x O S-y", "B-x I-x E-x"],
    "plain": ["DET NOUN VERB", "PRON VERB"],
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_scheme_is_detected_and_its_own_sentences_are_whole(name):
    sentences = [sentence.split() for sentence in SENTENCES[name]]
    scheme = detect_scheme(sentences)
    assert scheme == TagScheme(name)
    assert [scheme.find_break(sentence) for sentence in sentences] == ["", ""]


def test_bilou_is_bioes():
    assert detect_scheme([["B-x", "L-x", "U-y"]]) == TagScheme("BIOES")


@pytest.mark.parametrize(
    ("name", "tags", "reason"),
    [
        ("BIO", "O I-x", "I-x after O at word 2"),
        ("BIO", "B-x I-y", "I-y after B-x at word 2"),
        ("BIO", "I-x", "I-x after O at word 1"),
        ("BIO", "O B-x,B-y", "word 2 has several tags: B-x,B-y"),
        ("IOB1", "O B-x", "B-x after O at word 2"),
        ("IOB1", "I-y B-x", "B-x after I-y at word 2"),
        ("BIOES", "B-x O", "O after B-x at word 2"),
        ("BIOES", "O E-x", "E-x after O at word 2"),
        ("BIOES", "B-x E-y", "E-y after B-x at word 2"),
        ("BIOES", "O B-x", "B-x at the end"),
    ],
)
def test_a_break_is_found_at_its_word(name, tags, reason):
    assert TagScheme(name).find_break(tags.split()) == reason


def test_tags_are_taken_apart():
    assert split_tag("B-creative-work") == ("B", "creative-work") and split_tag("O") == ("O", "")
    assert types_of(["O", "I-x", "B-y", "B-x"]) == ("x", "y") and types_of(["NOUN"]) == ("NOUN",)
    assert has_several("B-a|I-b") and not has_several("B-a,b")
