"""Sentences of tagged words are read from columns, from lists and from spans of characters."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats.labeled import TaggedSentence, read_tagged_sentences, write_tagged_sentences


def read(path):
    return [(sentence.words, sentence.tags) for sentence in read_tagged_sentences([path])]


def write_json(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_columns_may_be_separated_by_tabs_or_spaces(tmp_path):
    text = "-DOCSTART- -X- O\n\nAlex NNP B-PER\nsings VBZ O\n\n\nIn\tO\nNew York\tB-LOC\n"
    (tmp_path / "a.conll").write_text(text)
    assert read(tmp_path / "a.conll") == [
        (("Alex", "sings"), ("B-PER", "O")),
        (("In", "New York"), ("O", "B-LOC")),
    ]
    assert [s.location.rpartition(":")[2] for s in read_tagged_sentences([tmp_path / "a.conll"])] == ["3", "7"]


def test_a_hash_is_a_word_where_it_has_a_tag(tmp_path):
    (tmp_path / "a.conll").write_text("# sent_id = 1\nsay O\n# O\nx O\n")
    assert read(tmp_path / "a.conll") == [(("say", "#", "x"), ("O", "O", "O"))]


def test_lists_of_words_and_tags(tmp_path):
    path = write_json(tmp_path / "a.jsonl", {"tokens": ["Alex", "sings"], "ner_tags": ["B-PER", "O"]})
    assert read(path) == [(("Alex", "sings"), ("B-PER", "O"))]


def test_spans_become_tags_of_the_words_they_cover(tmp_path):
    spans = [{"start": 17, "end": 25, "label": "LOC"}, {"start": 0, "end": 4, "label": "PER"}]
    path = write_json(tmp_path / "a.jsonl", {"text": "Alex, sings in a New York-based band.", "spans": spans})
    words, tags = read(path)[0]
    tagged = dict(zip(words, tags, strict=True))
    assert tagged["Alex"] == "B-PER" and tagged[","] == "O"
    assert (tagged["New"], tagged["York"], tagged["based"]) == ("B-LOC", "I-LOC", "O")


def test_a_word_is_split_where_a_span_ends_inside_it(tmp_path):
    path = write_json(tmp_path / "a.jsonl", {"text": "Berliner", "entities": [[0, 6, "LOC"]]})
    assert read(path) == [(("Berlin", "er"), ("B-LOC", "O"))]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a"], "tags": ["O", "O"]}, "has 1 words and 2 tags; expected a tag for each word"),
        ({"tokens": ["a"], "tags": [3]}, "lists of texts .tags as names, not as numbers."),
        ({"text": "ab", "spans": [[0, 3, "x"]]}, "the span 0-3 is not inside the text of 2 characters"),
        ({"text": "ab", "spans": [[0, 2, "x"], [1, 2, "y"]]}, "the span 1-2 overlaps with an earlier one"),
        ({"text": "ab", "spans": [[0, 2]]}, r"\[0, 2\] is not a span"),
        ({"text": "ab", "spans": 3}, "expected a list of spans"),
        ({"text": "ab"}, "expected the keys tokens and tags, or text and spans; it has: 'text'"),
    ],
)
def test_wrong_objects_are_named(tmp_path, row, message):
    with pytest.raises(FormatError, match=rf"a.jsonl:1: .*{message}"):
        read(write_json(tmp_path / "a.jsonl", row))


def test_wrong_files_are_named(tmp_path):
    (tmp_path / "a.conll").write_text("Alex B-PER\nsings\n")
    with pytest.raises(FormatError, match=r"a.conll:2: expected a word and a tag"):
        read(tmp_path / "a.conll")
    with pytest.raises(FormatError, match="is a folder; expected files of words and tags"):
        read(tmp_path)
    (tmp_path / "a.pdf").write_text("x")
    with pytest.raises(FormatError, match=r"a document \(.pdf\), which is not supported"):
        read(tmp_path / "a.pdf")


WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)
TAG = st.sampled_from(["O", "B-x", "I-x", "B-y"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(WORD, TAG), min_size=1, max_size=5), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("tags") / "a.conll"
    columns = [tuple(zip(*sentence, strict=True)) for sentence in sentences]
    write_tagged_sentences(path, [TaggedSentence(words, tags) for words, tags in columns])
    assert read(path) == columns
