"""Files of predictions are compared with labels: one for each text, several, tags of spans, plain tags."""

import json

import pytest

import regard
from regard.cli import main
from regard.errors import RegardError
from regard.formats.labeled import read_labeled_texts

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
