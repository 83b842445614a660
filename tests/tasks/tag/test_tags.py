"""Tags, and which may follow which."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from regard.data.tag_schemes import find_spans, find_valid_spans
from regard.data.tokenizers.text_tokenizer import EncodedWords
from regard.errors import DataError
from regard.files import parse_json
from regard.tasks.tag.tags import TagSet

SENTENCES = {
    "BIO": ["B-x I-x O B-y", "O O B-x B-x I-x"],
    "IOB1": ["I-x I-x O I-y", "O O I-x B-x I-x"],
    "BIOES": ["B-x E-x O S-y", "O O S-x B-x E-x"],
}
PLAIN = [["DET", "NOUN", "VERB"], ["PRON", "VERB"]]


def make(name: str) -> list[list[str]]:
    return [sentence.split() for sentence in SENTENCES[name]]


@pytest.mark.parametrize("name", SENTENCES)
def test_every_scheme_of_the_same_spans_has_the_same_tags(name: str):
    tags = TagSet.of(make(name))
    assert tags == TagSet.of(make("BIO")) == TagSet.of(reversed(make(name)))
    assert tags.tags == ("B-x", "B-y", "I-x", "I-y", "O") and tags.counts == (3, 1, 2, 0, 3) and tags.scheme == "BIO"
    assert [tags.encode(sentence) for sentence in make(name)] == [tags.encode(sentence) for sentence in make("BIO")]
    for sentence in make(name):
        decoded = [tags.tags[i] for i in tags.encode(sentence)]
        assert tags.find_spans(decoded) == find_spans(sentence) == find_valid_spans(decoded, "BIO")
    assert parse_json(json.dumps(asdict(tags)), TagSet) == tags
    assert tags.default == "O"


def test_plain_tags_stay_as_they_are_and_may_follow_each_other():
    tags = TagSet.of(PLAIN)
    assert tags.tags == ("DET", "NOUN", "PRON", "VERB") and tags.scheme == "plain" and tags.default == "VERB"
    assert tags.starts.all() and tags.transitions.all() and tags.transitions.shape == (4, 4)
    assert [tags.tags[i] for i in tags.encode(PLAIN[0])] == PLAIN[0]
    assert [tuple(span) for span in tags.find_spans(PLAIN[1])] == [("PRON", 0, 1), ("VERB", 1, 2)]
    assert parse_json(json.dumps(asdict(tags)), TagSet) == tags
    frequencies = np.array([1, 1, 1, 2]) / 5
    assert tags.entropy == pytest.approx(-(frequencies * np.log(frequencies)).sum())


def test_a_span_is_continued_by_its_own_type_alone():
    tags = TagSet.of(make("BIO"))
    forbidden = {("O", "I-x"), ("O", "I-y"), ("B-x", "I-y"), ("B-y", "I-x"), ("I-x", "I-y"), ("I-y", "I-x")}
    for i, previous in enumerate(tags.tags):
        for j, tag in enumerate(tags.tags):
            assert tags.transitions[i, j] == ((previous, tag) not in forbidden)
    assert [tag for tag, may_start in zip(tags.tags, tags.starts, strict=True) if not may_start] == ["I-x", "I-y"]


def test_targets_stand_at_first_tokens():
    tags = TagSet.of(make("BIO"))
    encoded = EncodedWords([7, 8, 9, 10, 11, 3], [0, -1, 2, 3])
    assert tags.make_targets(encoded, ["B-x", "I-x", "O", "B-y"]) == [1, 0, 5, 2, 0, 0]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [([], "no word of the training data has a tag"), ([["O", "O"]], "have the tag 'O'; expected at least two")],
)
def test_what_cannot_be_told_apart_is_refused(sentences, message):
    with pytest.raises(DataError, match=message):
        TagSet.of(sentences)


def test_unknown_tags_and_damaged_sets_are_refused():
    tags = TagSet.of(make("BIO"))
    with pytest.raises(DataError, match="the tag 'B-new' does not occur in the training data; correct it"):
        tags.encode(["O", "B-new"])
    for damage in ({"tags": ("B-x", "O")}, {"tags": tags.tags[::-1]}, {"tags": (), "counts": ()}):
        with pytest.raises(ValueError, match="alphabetical order"):
            replace(tags, **damage)
    for damage in ({"scheme": "IOB1"}, {"tags": ("B-x", "B-y", "I-x", "I-y", "P")}):
        with pytest.raises(ValueError, match="must be BIO"):
            replace(tags, **damage)
