"""Sentences of tagged words are read from columns, from lists and from spans of characters."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats.labeled import TaggedSentence, read_tagged_sentences, write_tagged_sentences
from regard.formats.labeled.spans import Span, tag_spans


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


SPANS = st.lists(st.integers(0, 12), max_size=6, unique=True).map(sorted)


@settings(max_examples=150, deadline=None)
@given(st.text("ab .", min_size=12, max_size=12), SPANS, st.randoms())
def test_words_of_spans_are_those_between_all_bounds(text, bounds, random):
    """By characters: a word ends at a blank, at a mark, and at the bounds of spans; its tag is that of its span."""
    spans = [Span(start, end, f"l{start}") for start, end in zip(bounds[::2], bounds[1::2], strict=False)]
    expected, begun = [], set()
    for position, char in enumerate(text):
        span = next((s for s in spans if s.start <= position < s.end), None)
        if char == " ":
            continue
        before = text[position - 1] if position else " "
        if before in " ." or char == "." or position in bounds[: 2 * len(spans)]:
            tag = "O" if span is None else f"{'I' if span in begun else 'B'}-{span.label}"
            expected.append(["", tag])
        begun.add(span)
        expected[-1][0] += char
    random.shuffle(spans)
    found = tag_spans(text, spans, "here")
    assert [list(pair) for pair in zip(found.words, found.tags, strict=True)] == expected and found.location == "here"


@pytest.mark.parametrize("bounds", [(0, 0), (2, 1), (-1, 1), (0, 6), (5, 6)])
def test_a_span_has_characters_inside_of_its_text(bounds):
    with pytest.raises(FormatError, match=rf"here: the span {bounds[0]}-{bounds[1]} is not inside the text of 5 char"):
        tag_spans("ab cd", [Span(*bounds, "x")], "here")
    assert tag_spans("ab cd", [Span(0, 5, "x")], "here").tags == ("B-x", "I-x")
    with pytest.raises(FormatError, match="the span 2-5 overlaps with an earlier one"):
        tag_spans("ab cd", [Span(2, 5, "x"), Span(0, 3, "y")], "here")
    assert tag_spans("ab cd", [Span(3, 5, "x"), Span(0, 3, "y")], "here").tags == ("B-y", "B-x")


@pytest.mark.parametrize(
    "item", [[0, 1, 2], ["0", 1, "x"], [0, 1, "x", 3], {"start": 0, "end": 1}, {"end": 1, "label": "x"}, 7]
)
def test_what_is_no_span_is_shown(tmp_path, item):
    with pytest.raises(FormatError) as error:
        read(write_json(tmp_path / "a.jsonl", {"text": "ab", "spans": [item]}))
    assert str(error.value).endswith(
        f"a.jsonl:1: {str(item)[:60]} is not a span; expected start, end (numbers) and label (a text)"
    )


def test_keys_may_have_other_names_and_lists_come_before_spans(tmp_path):
    path = write_json(
        tmp_path / "a.jsonl",
        {"words": ["a"], "labels": ["B-x"], "text": "b", "spans": []},
        {"tokens": ["c"], "pos_tags": ["N"]},
        {"text": "d", "entities": [{"start": 0, "end": 1, "label": "y"}]},
        {"tokens": [], "tags": []},
    )
    assert read(path) == [(("a",), ("B-x",)), (("c",), ("N",)), (("d",), ("B-y",)), ((), ())]
    for row in ({"text": 3, "spans": []}, {"tokens": ["a"], "spans": []}):
        with pytest.raises(FormatError, match="expected the keys tokens and tags, or text and spans; it has: '"):
            read(write_json(tmp_path / "b.jsonl", row))
    for row in ({"tokens": "ab", "tags": ["x", "y"]}, {"tokens": ["a"], "tags": "x"}, {"tokens": [1], "tags": ["x"]}):
        with pytest.raises(FormatError, match="words and tags must be lists of texts"):
            read(write_json(tmp_path / "b.jsonl", row))


def test_columns_of_any_width_have_the_word_first_and_the_tag_last(tmp_path):
    (tmp_path / "a.tsv").write_text("# a b c\nx\ty z\tB-q \n# \tu\tO\n\n-DOCSTART- O\nv O")
    found = list(read_tagged_sentences([tmp_path / "a.tsv"]))
    assert [(s.words, s.tags, s.location.rpartition(":")[2]) for s in found] == [
        (("x", "# "), ("B-q", "O"), "2"),
        (("v",), ("O",), "6"),
    ]
    for line in ("x\t ", "x"):
        (tmp_path / "b.txt").write_text(f"a O\n{line}\n")
        with pytest.raises(FormatError) as error:
            read(tmp_path / "b.txt")
        assert str(error.value).endswith(
            f"b.txt:2: expected a word and a tag, separated by a tab or a space, got {line!r}"
        )


def test_texts_with_labels_are_no_words_with_tags(tmp_path):
    (tmp_path / "a.tsv").write_text("sentence\tlabel\na good film\t1\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("__label__1 good\n", encoding="utf-8")
    for name in ("a.tsv", "a.txt"):
        with pytest.raises(FormatError, match=rf"{name}: has texts with labels; expected words with tags"):
            list(read_tagged_sentences([tmp_path / name]))
