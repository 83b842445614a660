"""`regard doctor` on labeled text."""

import json
from pathlib import Path

import pytest

import regard
from regard.cli import main


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    try:
        main(["doctor", *map(str, arguments)])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    rows = [f'"number {n}, a text",{"good" if n % 2 else "bad"}' for n in range(20)]
    (tmp_path / "train.csv").write_text("\n".join(["review,label", *rows, ",good"]) + "\n")
    (tmp_path / "test.csv").write_text('review,label\n"NUMBER 3, a text",good\nnew words,bad\n')
    return tmp_path


def test_labeled_text_is_checked_and_cleaned(reviews, capsys):
    files = (reviews / "train.csv", "--test", reviews / "test.csv", "--task", "classify")
    code, out, _ = run(capsys, *files, "--fix", reviews / "clean", "--json")
    diagnosis = json.loads(out)
    assert code == 0 and diagnosis["unit"] == "texts"
    assert [(f["split"], f["kind"], f["count"]) for f in diagnosis["findings"] if f["action"] == "dropped"] == [
        ("train", "blank", 1),
        ("train", "overlap", 1),
    ]
    again = regard.doctor(reviews / "clean" / "train.jsonl", test=reviews / "clean" / "test.jsonl", task="classify")
    assert again.pairs_read == 19 and not again.findings


def test_the_answer_comes_first(reviews, capsys):
    _, out, _ = run(capsys, reviews / "train.csv", "--task", "classify")
    assert out.startswith("This corpus can be trained on: 20 of 21 texts remain.")
    assert "`regard train`" not in out


def test_tagged_words_are_checked_and_written(tmp_path, capsys):
    (tmp_path / "a.conll").write_text("Alex B-x\nsings O\n\n\nO O\n", encoding="utf-8")
    code, out, _ = run(capsys, tmp_path / "a.conll", "--task", "tag", "--fix", tmp_path / "clean")
    assert code == 0 and "1 type of spans, tagged by BIO" in out
    assert (tmp_path / "clean" / "train.conll").read_text() == "Alex\tB-x\nsings\tO\n\nO\tO\n\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "sing"], "task=sing: expected one of translate, classify, tag"),
        (["--task", "tag", "--label-column", "x"], "the columns of words and tags are fixed"),
        (["--label-column", "x"], "columns are named for texts with labels: add task=classify"),
        (["--task", "classify", "--label-column", "x"], "has no column 'x'; it has: 'review', 'label'"),
        (["--task", "classify", "--text", "x"], "has no column 'x'; it has: 'review', 'label'"),
        (["--task", "classify", "--fix", "FOLDER"], "train.jsonl: would be overwritten"),
        (["--task", "classify", "--keep", "blanks"], "did you mean 'blank'"),
    ],
)
def test_mistakes_are_one_sentence(reviews, capsys, arguments, message):
    file = reviews / "train.csv"
    if "FOLDER" in arguments:
        file = reviews / "train.jsonl"
        file.write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n')
    code, _, err = run(capsys, file, *[reviews if word == "FOLDER" else word for word in arguments])
    assert code == 2 and message in " ".join(err.split()) and err.count("error:") == 1


def test_an_empty_table_is_refused(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,label\n")
    code, _, err = run(capsys, tmp_path / "a.csv", "--task", "classify")
    assert code == 2 and "has no text; expected rows with a text and a label" in " ".join(err.split())
