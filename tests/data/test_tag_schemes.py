"""Schemes of tags are told apart, and a sentence that breaks its scheme is found."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.tag_schemes import (
    PLAIN,
    TagScheme,
    detect_scheme,
    find_spans,
    find_valid_spans,
    has_several,
    split_tag,
    to_bio,
    types_of,
)

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


@pytest.mark.parametrize("name", ["BIO", "IOB1", "BIOES"])
@given(st.lists(st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "xy")]), max_size=13))
def test_bio_has_the_same_spans_and_is_whole(name: str, tags: list[str]):
    bio = to_bio(tags, TagScheme(name))
    assert len(bio) == len(tags) and TagScheme("BIO").find_break(bio) == ""
    assert find_spans(bio) == find_valid_spans(bio, "BIO") == find_spans(tags)
    assert to_bio(bio, TagScheme("BIO")) == bio


def test_plain_tags_are_no_spans():
    assert to_bio(["NOUN", "B-x", "O"], TagScheme("plain")) == ["NOUN", "B-x", "O"]


@pytest.mark.parametrize("name", SENTENCES)
@given(st.lists(st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "xy")]), max_size=5))
def test_a_sentence_is_whole_where_every_tag_may_follow_the_one_before(name: str, tags: list[str]):
    scheme = TagScheme(name)
    assert (scheme.find_break(tags) == "") == all(map(scheme.allows, ["O", *tags], [*tags, "O"]))


TAGS = ("O", "B-x", "I-x", "E-x", "S-x", "B-y", "I-y", "E-y", "S-y")
LETTERS = dict(zip(TAGS, "OBIESbies", strict=True))
"""A letter for each tag, so that sentences are strings."""


def all_sentences(tags: tuple[str, ...], length: int):
    return [sentence for n in range(length + 1) for sentence in itertools.product(tags, repeat=n)]


def spell(tags) -> str:
    return "".join(LETTERS[tag] for tag in tags)


def spans_of(pattern: str, tags) -> list[tuple[str, int, int]]:
    matches = re.finditer(pattern, spell(tags))
    return [("x" if match[0].isupper() else "y", match.start(), match.end()) for match in matches]


def test_spans_are_those_of_conlleval_in_every_sentence():
    """A span begins with B or S, after the end of another, or with another type; it goes on until one of these."""
    for tags in all_sentences(TAGS, 4):
        expected: list[list[object]] = []
        before = "O"
        for position, tag in enumerate(tags):
            if tag != "O":
                if tag[0] in "BS" or before[0] in "OES" or before[1:] != tag[1:]:
                    expected.append([tag[2:], position, position])
                expected[-1][2] = position + 1
            before = tag
        assert [list(span) for span in find_spans(tags)] == expected, tags


def test_spans_to_the_letter_are_those_of_a_pattern():
    for tags in all_sentences(TAGS, 4):
        assert find_valid_spans(tags, "BIO") == spans_of("BI*|bi*", tags), tags
        assert find_valid_spans(tags, "BIOES") == spans_of("S|s|BI*E|bi*e", tags), tags


@pytest.mark.parametrize(
    ("name", "tags", "whole"),
    [
        ("BIO", ("O", "B-x", "I-x", "B-y", "I-y"), "(?:O|BI*|bi*)*"),
        ("IOB1", ("O", "B-x", "I-x", "B-y", "I-y"), "(?:O|IB?(?:I|B)*|ib?(?:i|b)*)*"),
        ("BIOES", TAGS, "(?:O|S|s|BI*E|bi*e)*"),
    ],
)
def test_a_sentence_is_whole_where_its_pattern_is(name: str, tags: tuple[str, ...], whole: str):
    for sentence in all_sentences(tags, 4):
        found = TagScheme(name).find_break(sentence)
        assert (not found) == bool(re.fullmatch(whole, spell(sentence))), (sentence, found)
    assert TagScheme(PLAIN).find_break(["NOUN", "I-x", "B-a,B-b"]) == ""


def test_most_spans_decide_about_a_scheme():
    for sentences, name in (
        (["I-x O B-x"], "BIO"),  # as many of both
        (["I-x O I-x O B-x"], "IOB1"),
        (["B-x I-x I-x I-x"], "BIO"),  # what goes on begins nothing
        (["I-x B-x B-x B-x"], "IOB1"),  # nor does what follows its own type
        (["I-x", "I-x", "B-y"], "IOB1"),  # every sentence begins anew
        (["I-x I-y B-x"], "IOB1"),
        (["NOUN B-x"], "BIO"),
        (["NOUN VERB B-x"], "plain"),
        (["O O O O B-x"], "BIO"),
        (["B-x I-x S-x"], "BIOES"),
        (["B-x L-x"], "BIOES"),
        (["O O"], "BIO"),
    ):
        assert detect_scheme([sentence.split() for sentence in sentences]).name == name, sentences
