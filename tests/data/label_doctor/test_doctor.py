"""Every problem that is planted in labeled text is found, at its place, and nothing else is."""

import pytest

from regard.data.doctor import Action
from regard.data.label_doctor import LABEL_KINDS, LabelDoctor, LabelStream, view_labeled_text, view_tagged_sentence
from regard.data.label_doctor.parts import PartIndex
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


def details(diagnosis) -> dict[tuple[str, str], list[tuple[str, str, str, str]]]:
    return {
        (f.split, f.kind.name): [(e.note, e.source, e.target, e.detail) for e in f.examples] for f in diagnosis.findings
    }


def test_what_is_dropped_is_counted_once_and_what_is_noted_goes_on():
    rows = [*CLEAN, (" ", ""), ("", "x"), CLEAN[3], (CLEAN[3][0], "y"), (CLEAN[3][0], "x")]
    diagnosis = examine(rows)
    assert details(diagnosis) == {
        ("train", "blank"): [("f:21", " ", "", ""), ("f:22", "", "x", "")],
        ("train", "contradiction"): [("f:24", CLEAN[3][0], "y", "earlier: x")],
        ("train", "duplicate"): [("f:23", CLEAN[3][0], "x", ""), ("f:25", CLEAN[3][0], "x", "")],
    }
    assert [f.total for f in diagnosis.findings] == [25] * 3
    assert sorted(n for n in range(25) if n in diagnosis.dropped_pairs["train"]) == [20, 21]
    kept = details(examine(rows, keep=["blank"]))
    assert kept["train", "unlabeled"] == [("f:21", " ", "", "")] and len(kept["train", "blank"]) == 2


def test_broken_tags_can_be_dropped_and_say_what_breaks_them():
    sentences = [(f"word{n} Alex", "O B-x") for n in range(7)] + [("a b", "O I-x")]
    views = [
        view_tagged_sentence(TaggedSentence(tuple(words.split()), tuple(tags.split()), f"f:{n}"), TagScheme("BIO"))
        for n, (words, tags) in enumerate(sentences, start=1)
    ]
    stream_of_tags = LabelStream(lambda: views, "BIO")
    assert details(LabelDoctor().examine(stream_of_tags)) == {
        ("train", "broken_tags"): [("f:8", "a b", "x", "I-x after O at word 2")]
    }
    dropped = LabelDoctor(drop=frozenset({"broken_tags"})).examine(stream_of_tags)
    assert (dropped.pairs_read, dropped.pairs_kept) == (8, 7) and 7 in dropped.dropped_pairs["train"]


def test_of_similar_classes_the_rarer_one_is_named_first():
    rows = [(f"text {n} of a kind", "X x") for n in range(5)] + [(f"another text {n}", "xX") for n in range(7)]
    assert details(examine(rows))["train", "similar_classes"] == [("f:1", "text 0 of a kind", "X x", "'X x' and 'xX'")]


@pytest.mark.parametrize(("count", "is_tiny"), [(4, True), (5, False)])
def test_five_texts_are_enough_for_a_class(count: int, is_tiny: bool):
    rows = CLEAN + [(f"more text {n} of it", "z") for n in range(count)]
    expected = {("train", "tiny_class"): [("f:21", "more text 0 of it", "z", f"'z': {count}")]} if is_tiny else {}
    assert details(examine(rows)) == expected


@pytest.mark.parametrize(("count", "is_dominant"), [(90, False), (91, True)])
def test_a_class_of_more_than_nine_tenths_dominates(count: int, is_dominant: bool):
    rows = [(f"text {n}", "x" if n < count else "y") for n in range(100)]
    found_kinds = details(examine(rows))
    assert ("train", "dominant_class") in found_kinds or not is_dominant
    assert found_kinds.get(("train", "dominant_class")) == ([("f:1", "text 0", "x", "'x'")] if is_dominant else None)


def test_no_text_has_no_class_and_one_class_is_refused():
    assert examine([]).findings == () and examine([]).splits[0].description == "0 classes"
    one = examine([(f"text {n}", "x") for n in range(9)])
    assert details(one) == {("train", "single_class"): [("f:1", "text 0", "x", "'x'")]}
    assert one.refused_findings[0].total == 1 and one.splits[0].description == "1 class"


def test_examples_are_few_and_counts_are_whole():
    rows = CLEAN + [(f"more text {n}", f"label {n}") for n in range(9)] + [CLEAN[0]] * 9
    diagnosis = LabelDoctor(examples=3).examine(stream(rows), stream([("some dev text here", "q")] * 9))
    counts = {(f.split, f.kind.name): (f.count, len(f.examples)) for f in diagnosis.findings}
    assert counts == {
        ("train", "duplicate"): (9, 3),
        ("train", "tiny_class"): (9, 3),
        ("dev", "unseen_class"): (1, 1),
        ("dev", "missing_class"): (11, 3),
        ("dev", "duplicate"): (8, 3),
    }
    shown = details(diagnosis)
    assert shown["dev", "unseen_class"] == [("f:1", "some dev text here", "q", "'q': 9 texts")]
    assert [one[3] for one in shown["dev", "missing_class"]] == ["'y'", "'x'", "'label 0'"]


@pytest.mark.parametrize(
    ("tags", "scheme", "text"),
    [
        ("B-x B-y", "BIO", "2 types of spans, tagged by BIO"),
        ("B-x O", "IOB1", "1 type of spans, tagged by IOB1"),
        ("NOUN VERB", "plain", "2 tags"),
    ],
)
def test_a_split_says_how_it_is_tagged(tags: str, scheme: str, text: str):
    views = [view_tagged_sentence(TaggedSentence(("a", "b"), tuple(tags.split())), TagScheme(scheme))]
    assert LabelDoctor().examine(LabelStream(lambda: views, scheme)).splits[0].description == text


def test_a_pair_is_one_text_and_labels_are_a_set():
    view = view_labeled_text(LabeledText("a", ("y", "x", "y"), "b", "f:1"))
    assert (view.text, view.classes, view.answer, view.location) == ("a\tb", ("x", "y"), ("x", "y"), "f:1")
    assert view_labeled_text(LabeledText("", ("x",), "")).text == "" and not view.broken_tags


@pytest.mark.parametrize(
    ("part", "longer", "is_part"),
    [
        ("a b c", "a b c d", True),
        ("a b c", "z a b c", True),
        ("a b c", "a b c", False),
        ("a b", "a b c", False),
        ("a b c d", "a b c e a b c d f", True),
        ("a b d", "a b c d", False),
        ("A, b; C!", "x a b c", True),
    ],
)
def test_a_part_has_three_words_in_order_and_is_shorter(part: str, longer: str, is_part: bool):
    index = PartIndex([part, "", "other words here"])
    index.add_longer("nothing of it at all", "g:1")
    index.add_longer(longer, "f:1")
    index.add_longer(f"{longer} again", "f:2")
    if is_part:
        assert index.find(part) == "f:1"
    assert (index.find(part) == "f:1") == is_part and index.find("other words here") == ""


def test_what_is_about_classes_cannot_be_dropped():
    about_classes = [kind for kind in LABEL_KINDS.values() if kind.unit == "classes"]
    assert about_classes and not any(kind.droppable for kind in about_classes)
    for kind in about_classes:
        with pytest.raises(ConfigError, match=f"data.drop does not apply to '{kind.name}'"):
            LabelDoctor(drop=frozenset({kind.name}))
