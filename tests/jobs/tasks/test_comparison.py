"""Files of predictions are compared with labels: one for each text, several, tags of spans, plain tags."""

import json

import pytest

import regard
from regard.cli import main
from regard.errors import RegardError
from regard.formats.labeled import read_labeled_texts, read_tagged_sentences
from regard.tuning.pages.task_comparison import describe_tests

TEXTS = [(f"text {n}", "abc"[n % 3]) for n in range(30)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{text},{label}" for text, label in TEXTS]
    (tmp_path / "test.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    (tmp_path / "right.txt").write_text("".join(f"{label}\n" for _, label in TEXTS))
    (tmp_path / "always.txt").write_text("a\n" * 30)
    return tmp_path


def run_compare(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["compare", *arguments, "--on", "test.csv", "--task", "classify"])
    assert not end.value.code
    return capsys.readouterr().out


def test_right_predictions_are_better_than_one_class(folder):
    comparison = regard.compare("always.txt", "right.txt", on="test.csv", task="classify")
    assert (
        comparison.best.name == "right.txt" and "'a', the most frequent label, has accuracy 33.3" in comparison.notes[0]
    )
    assert comparison.systems[0].scores["accuracy"].value == pytest.approx(100 / 3)
    assert comparison.tests["macro_f1"]["right.txt"].verdict == "significant by both tests"
    assert "right.txt" in repr(comparison) and str(comparison).startswith("always.txt: accuracy 33.33")


def test_predictions_are_read_from_tables_and_fasttext(folder):
    (folder / "p.jsonl").write_text("".join(json.dumps({"prediction": label}) + "\n" for _, label in TEXTS))
    (folder / "p.csv").write_text("id,predicted\n" + "".join(f"{n},{label}\n" for n, (_, label) in enumerate(TEXTS)))
    (folder / "fast.txt").write_text("".join(f"__label__{label} 0.97\n" for _, label in TEXTS))
    comparison = regard.compare("right.txt", "p.jsonl", "p.csv", "fast.txt", on="test.csv", task="classify")
    assert [system.scores["accuracy"].value for system in comparison.systems] == [100] * 4
    assert {test.verdict for test in comparison.tests["accuracy"].values()} == {"the same predictions"}


def test_several_labels_are_counted_one_by_one(folder):
    (folder / "gold.jsonl").write_text('{"text": "t", "label": ["a", "b"]}\n{"text": "u", "label": ["c"]}\n')
    (folder / "p.jsonl").write_text('{"label": ["a"]}\n{"label": ["c", "d"]}\n')
    (system,) = regard.compare("p.jsonl", on="gold.jsonl", task="classify").systems
    assert {name: round(score.value, 2) for name, score in system.scores.items()} == {
        "f1": 66.67,
        "precision": 66.67,
        "recall": 66.67,
    }


def test_plain_tags_are_counted_word_by_word(folder):
    (folder / "gold.conll").write_text("a DET\nb NOUN\n\nc VERB\n")
    (folder / "p.conll").write_text("a DET\nb VERB\n\nc VERB\n")
    (system,) = regard.compare("p.conll", on="gold.conll", task="tag").systems
    assert system.scores["f1"].value == pytest.approx(100 * 2 / 3) and "mode:words" in system.scores["f1"].signature


def test_a_page_with_confusion_matrices_is_written(folder, capsys):
    out = run_compare(capsys, "always.txt", "right.txt", "--out", "page")
    assert " ".join(out.split()).startswith(
        "right.txt has the highest macro-F1 on 30 texts: 100.0, 83.3 more than always.txt;"
    )
    assert "Always predicting 'a', the most frequent label, has accuracy 33.3." in " ".join(out.split())
    page = (folder / "page" / "report.html").read_text(encoding="utf-8")
    assert "Classes: always.txt" in page and "right.txt has no errors." in page
    assert (folder / "page" / "confusion-0.csv").read_text().splitlines() == [
        "gold,a,b,c",
        "a,10,0,0",
        "b,10,0,0",
        "c,10,0,0",
    ]
    rows = (folder / "page" / "predictions.tsv").read_text().splitlines()
    assert rows[:2] == ["text\tgold\talways.txt\tright.txt", "text 0\ta\ta\ta"] and len(rows) == 31


def test_json_has_values_and_p_values(folder, capsys):
    values = json.loads(run_compare(capsys, "always.txt", "right.txt", "--json"))
    assert values["right.txt"]["accuracy"]["value"] == 100 and values["right.txt"]["mcc"]["p_bootstrap"] < 0.05


@pytest.mark.parametrize(
    ("systems", "files", "task", "message"),
    [
        (["right.txt"], [], "classify", "no test texts: give them with --on"),
        ([], ["test.csv"], "classify", "nothing to compare: give run folders, or files of predictions"),
        (["right.txt"], ["test.csv"], "sing", "task='sing'"),
        (["."], ["test.csv"], "classify", "not a run folder"),
        (
            ["test.csv", "short.txt"],
            ["test.csv"],
            "classify",
            "short.txt has 1 predictions, but the test set has 30 texts",
        ),
        (["short.conll"], ["gold.conll"], "tag", r"short.conll:1: the sentence has 1 words, but gold.conll:1 has 2"),
        (["gold.conll"], ["empty.conll"], "tag", "has no sentences to compare with"),
        (["empty.csv"], ["test.csv"], "classify", r"empty.csv: is empty; expected a header"),
        (["nowhere.txt"], ["test.csv"], "classify", "nowhere.txt: no such run or file"),
    ],
)
def test_mistakes_are_one_sentence(folder, systems, files, task, message):
    (folder / "short.txt").write_text("a\n")
    (folder / "empty.csv").write_text("")
    (folder / "gold.conll").write_text("a B-x\nb O\n")
    (folder / "short.conll").write_text("a B-x\n")
    (folder / "empty.conll").write_text("\n")
    with pytest.raises(RegardError, match=message):
        regard.compare(*systems, on=files, task=task)


def test_tags_have_no_columns(folder):
    (folder / "gold.conll").write_text("a B-x\n")
    with pytest.raises(RegardError, match="--label names a column of a table, which --task tag does not read"):
        regard.compare("gold.conll", on="gold.conll", task="tag", label="2")


def test_a_run_is_compared_by_what_it_predicts(classifier, reviews, tmp_path):
    """A run, and a file of its own predictions: the same scores, and no difference to test."""
    texts = [row.text for row in read_labeled_texts([reviews / "test.csv"])]
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{one.label}\n" for one in regard.load(classifier).classify(texts)), encoding="utf-8")
    comparison = regard.compare(classifier, path, on=reviews / "test.csv", out=tmp_path / "out")
    run, file = comparison.systems
    assert run.answers == file.answers and run.scores == file.scores
    assert (tmp_path / "out" / "report.html").exists()


SCHEMES = {
    "BIO": ("B-x I-x O B-x", "O B-y B-y O", "B-z O"),
    "IOB1": ("I-x I-x O I-x", "O I-y B-y O", "I-z O"),
    "BIOES": ("B-x E-x O S-x", "O S-y S-y O", "S-z O"),
}
PREDICTED = ("B-x I-x O O", "O B-y O O", "B-z B-x")


def write_tags(path, sentences) -> None:
    rows = ["".join(f"w{n} {tag}\n" for n, tag in enumerate(tags.split())) for tags in sentences]
    path.write_text("\n".join(rows))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_of_any_scheme_are_compared_as_bio(folder, scheme):
    """Three of five spans are found, among four; the same spans in another scheme are all of them."""
    write_tags(folder / "gold.conll", SCHEMES[scheme])
    write_tags(folder / "p.conll", PREDICTED)
    for name, sentences in SCHEMES.items():
        write_tags(folder / f"{name}.conll", sentences)
    comparison = regard.compare("p.conll", *(f"{name}.conll" for name in SCHEMES), on="gold.conll")
    predicted, *same = comparison.systems
    assert predicted.scores["f1"].value == pytest.approx(100 * 2 * 3 / (5 + 4))
    assert [system.scores["f1"].value for system in same] == [100] * 3
    assert comparison.gold == [tuple(tags.split()) for tags in SCHEMES["BIO"]]
    if scheme == "BIO":
        assert predicted.scores["strict_f1"].value == pytest.approx(100 * 2 * 3 / (5 + 4)) and comparison.notes == ()
        assert [system.scores["strict_f1"].value for system in same] == [100, pytest.approx(100 * 2 / 6), 100]
    else:  # what is converted follows the scheme always
        assert all("strict_f1" not in system.scores for system in comparison.systems)
        assert comparison.notes == (f"The tags of the test set are {scheme}; all tags are compared as BIO.",)
    assert comparison.describe(0, comparison.gold[0]) == "w0 w1 (x); w3 (x)" and comparison.part_title == "Types"


def test_a_tagger_has_the_same_score_by_gold_tags_of_every_scheme(tagger_run, tagged, tmp_path):
    sentences = list(read_tagged_sentences([tagged / "test.conll"]))
    plain = regard.compare(tagger_run, on=tagged / "test.conll").systems[0].scores["f1"]
    for scheme, prefixes in (("IOB1", {"B": "I", "I": "I"}), ("BIOES", {})):
        converted = [
            " ".join(f"{prefixes[tag[0]]}{tag[1:]}" if tag[0] in prefixes else tag for tag in sentence.tags)
            if prefixes
            else " ".join(to_bioes(sentence.tags))
            for sentence in sentences
        ]
        rows = [
            "".join(f"{word} {tag}\n" for word, tag in zip(sentence.words, tags.split(), strict=True))
            for sentence, tags in zip(sentences, converted, strict=True)
        ]
        (tmp_path / "test.conll").write_text("\n".join(rows))
        comparison = regard.compare(tagger_run, on=tmp_path / "test.conll")
        assert comparison.systems[0].scores["f1"] == plain and scheme in comparison.notes[0]


def to_bioes(tags: tuple[str, ...]) -> list[str]:
    following = (*tags[1:], "O")
    ends = {"B": "S", "I": "E"}
    return [
        f"{ends[tag[0]]}{tag[1:]}" if tag[0] in ends and next_tag[0] != "I" else tag
        for tag, next_tag in zip(tags, following, strict=True)
    ]


def test_runs_of_two_tasks_are_refused_before_anything_is_read(classifier, tagger_run, reviews):
    with pytest.raises(RegardError, match=r"with --task classify, .*with --task tag: only runs of one task"):
        regard.compare(classifier, tagger_run, on=reviews / "test.csv")
    with pytest.raises(RegardError, match=r"\(--task classify\), and cannot tag"):
        regard.compare(classifier, on="nowhere.conll", task="tag")


def test_the_columns_of_a_test_set_are_those_of_the_first_run_unless_named(classifier, reviews, tmp_path):
    rows = (reviews / "test.csv").read_text(encoding="utf-8").replace("text,label", "first,second")
    (tmp_path / "test.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(RegardError, match="column"):
        regard.compare(classifier, on=tmp_path / "test.csv", text="third", label="second")
    named = regard.compare(classifier, on=tmp_path / "test.csv", text="first", label="second")
    assert named.systems[0].scores == regard.compare(classifier, on=reviews / "test.csv").systems[0].scores


def test_what_the_test_set_is_for_says_what_files_are_compared(folder):
    assert regard.compare("right.txt", on="test.csv").units == "texts"
    (folder / "odd.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RegardError, match=r"odd.csv: does not say what to train for; name it with --task"):
        regard.compare("right.txt", on="odd.csv")


def test_few_differing_answers_have_a_verdict_and_no_p_value(folder):
    lines = (folder / "right.txt").read_text().splitlines()
    (folder / "near.txt").write_text("".join(f"{line}\n" for line in ["b", "a", *lines[2:]]))
    comparison = regard.compare("right.txt", "near.txt", on="test.csv")
    sentences = list(describe_tests(comparison))
    assert all("only 2 of the predictions differ, too few for a test" in text for text in sentences)
    assert not any("p = " in text for text in sentences)
