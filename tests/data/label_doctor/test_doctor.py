"""Every problem that is planted in labeled text is found, at its place, and nothing else is."""

import pytest

from regard.data.doctor import Action
from regard.data.label_doctor import LABEL_KINDS, LabelDoctor, LabelStream, view_labeled_text, view_tagged_sentence
from regard.data.tag_schemes import TagScheme
from regard.errors import ConfigError
from regard.formats.labeled import LabeledText, TaggedSentence

CLEAN = [(f"text number {n} is here", "x" if n % 2 else "y") for n in range(20)]


def stream(rows):
    examples = [
        view_labeled_text(LabeledText(text, (label,) if label else (), location=f"f:{n}"))
        for n, (text, label) in enumerate(rows, start=1)
    ]
    return LabelStream(lambda: examples)


def examine(train, dev=None, **settings):
    sets = {name: frozenset(kinds) for name, kinds in settings.items()}
    return LabelDoctor(**sets).examine(stream(train), stream(dev) if dev else None)


def found(diagnosis):
    return {(f.split, f.kind.name): (f.count, f.action, [e.note for e in f.examples]) for f in diagnosis.findings}


def test_clean_text_has_no_findings():
    diagnosis = examine(CLEAN, [("some words of dev", "x"), ("some other words", "y")])
    assert not diagnosis.findings and diagnosis.pairs_kept == 20
    assert str(diagnosis).startswith("train: 20 texts read, 20 kept; 2 classes")


@pytest.mark.parametrize(
    ("planted", "kind", "action"),
    [
        ([(" ", "x")], "blank", Action.DROPPED),
        ([("no label here", "")], "unlabeled", Action.DROPPED),
        ([("text number 3 is here", "y")], "contradiction", Action.NOTED),
        ([("text number 3 is here", "x")], "duplicate", Action.NOTED),
    ],
)
def test_a_planted_text_is_found(planted, kind, action):
    diagnosis = examine(CLEAN + planted)
    assert found(diagnosis) == {("train", kind): (1, action, ["f:21"])}
    assert diagnosis.pairs_kept == 20 + (action is Action.NOTED)


@pytest.mark.parametrize(
    ("rows", "kind", "count"),
    [
        ([(text, "x") for text, _ in CLEAN], "single_class", 1),
        (CLEAN + [(f"more text {n} of another", "X ") for n in range(5)], "similar_classes", 1),
        (CLEAN + [(f"more text {n} of another", "z") for n in range(4)], "tiny_class", 1),
        ([(text, "x") for text, _ in CLEAN * 5] + CLEAN[:10], "dominant_class", 105),
    ],
)
def test_classes_that_spoil_training_are_found(rows, kind, count):
    rows = [(f"{text} {n}", label) for n, (text, label) in enumerate(rows)]
    assert [(f.kind.name, f.count) for f in examine(rows).findings] == [(kind, count)]


def test_a_class_that_train_does_not_have_is_refused_and_named():
    diagnosis = examine(CLEAN, [("some words of dev", "x"), ("some other words", "Y")])
    (unseen,) = diagnosis.refused_findings
    assert (unseen.split, unseen.kind.name, unseen.examples[0].detail) == ("dev", "unseen_class", "'Y': 1 texts")
    assert found(diagnosis)["dev", "missing_class"][0] == 1, "a class that dev lacks is only noted"
    assert not examine(CLEAN, [("some words", "x"), ("other words", "z")], keep=["unseen_class"]).refused_findings


def test_texts_of_dev_are_dropped_from_train_without_case():
    diagnosis = examine(CLEAN, [("TEXT  number 4 is here", "y"), ("some new words", "x")])
    assert found(diagnosis) == {
        ("train", "overlap"): (1, Action.DROPPED, ["f:5"]),
        ("dev", "overlap"): (1, Action.NOTED, ["f:1"]),
    }
    assert "Train shares 1 of 2 dev texts" in diagnosis.describe_overlap()


def test_phrases_of_longer_training_texts_are_counted():
    dev = [("number 4 is", "y"), ("number 44 is", "x"), ("is here", "y"), ("4 number is", "x")]
    diagnosis = examine(CLEAN, dev)
    assert found(diagnosis) == {("dev", "part"): (1, Action.NOTED, ["f:1"])}
    assert "which flatters the scores: 1 of 4 dev texts" in diagnosis.describe_overlap()


def test_a_text_is_no_part_of_itself():
    dev = [("text number 4 is here", "y"), ("some new words", "x")]
    assert ("dev", "part") not in found(examine(CLEAN, dev, keep=["overlap"]))


def test_parts_are_found_beside_punctuation_and_without_spaces():
    train = [*CLEAN, ("A joy, really; see it!", "x"), ("私は昨日東京で友達に会いました。", "y")]
    dev = [("joy really, see", "x"), ("昨日東京で友達", "y"), ("really a joy", "x")]
    assert found(examine(train, dev)) == {("dev", "part"): (2, Action.NOTED, ["f:1", "f:2"])}


def test_kinds_can_be_dropped_and_kept():
    rows = [*CLEAN, CLEAN[3], (" ", "x")]
    assert examine(rows, drop=["duplicate"]).pairs_kept == 20
    assert examine(rows, keep=["blank"]).pairs_kept == 22
    with pytest.raises(ConfigError, match=r"data.keep: unknown finding 'blanks'; did you mean 'blank'"):
        examine(rows, keep=["blanks"])
    with pytest.raises(ConfigError, match=r"data.drop does not apply to 'blank', which is dropped by default"):
        examine(rows, drop=["blank"])


def test_tags_are_examined_by_their_scheme():
    sentences = [(f"word{n} Alex", "O B-x") for n in range(7)] + [("a b", "O I-x"), ("word3 Alex", "O O")]
    views = [
        view_tagged_sentence(TaggedSentence(tuple(words.split()), tuple(tags.split()), f"f:{n}"), TagScheme("BIO"))
        for n, (words, tags) in enumerate(sentences, start=1)
    ]
    diagnosis = LabelDoctor().examine(LabelStream(lambda: views, "BIO"))
    assert {kind: count for (_, kind), (count, _, _) in found(diagnosis).items()} == {
        "broken_tags": 1,
        "contradiction": 1,
    }
    assert "1 type of spans, tagged by BIO" in str(diagnosis)


def test_every_kind_can_be_found():
    assert set(LABEL_KINDS) == {
        *("single_class", "unseen_class", "blank", "unlabeled", "overlap", "part", "similar_classes", "tiny_class"),
        *("missing_class", "dominant_class", "broken_tags", "contradiction", "duplicate"),
    }
