"""A run of any task on files: read as it was trained, beside opponents, with a note on what it was trained on."""

import csv
import shutil
from pathlib import Path

import pytest

import regard
from regard.errors import ConfigError, DataError, FormatError
from regard.jobs.evaluate import read_set_scores, scored_sets
from regard.run import Run


@pytest.fixture
def copy(classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(classifier, tmp_path / "run"))


def test_files_of_a_set_are_complete_and_are_written_again_under_the_same_name(
    copy: Path, reviews: Path, tmp_path: Path
):
    mixed = tmp_path / "mixed.csv"
    lines = [(reviews / f"{name}.csv").read_text(encoding="utf-8").splitlines() for name in ("test", "train")]
    mixed.write_text("\n".join([*lines[0], *lines[1][1:8]]) + "\n", encoding="utf-8")
    result = regard.evaluate(copy, mixed)
    count = len(lines[0]) - 1 + 7
    assert result.num_examples == count and result.num_contaminated == 7
    assert "7 of 44 texts occur in the training text" in result.describe_contamination()
    rows = result.example_scores.read_text(encoding="utf-8").splitlines()
    assert len(rows) == count + 1
    with Run(copy).confusion("mixed").open(encoding="utf-8") as file:
        cells = [list(map(int, row[1:])) for row in list(csv.reader(file))[1:]]
    assert sum(map(sum, cells)) == count
    assert 100 * (cells[0][0] + cells[1][1]) / count == pytest.approx(result.scores["accuracy"].value)
    assert len(list(result.mistakes.rows())) == cells[0][1] + cells[1][0] > 0
    probabilities = [row["probability"] for row in result.mistakes.rows()]
    assert probabilities == sorted(probabilities, reverse=True)
    regard.evaluate(copy, mixed)
    assert scored_sets(Run(copy)) == ["mixed", "test"]
    assert read_set_scores(Run(copy), "mixed").files == (str(mixed),)
    assert regard.open_run(copy).scores["mixed"]["accuracy"].value == result.scores["accuracy"].value
    assert "44 texts" in repr(result) and "memorization" in result._repr_html_()


def test_what_cannot_be_scored_is_refused(classifier: Path, tmp_path: Path):
    path = tmp_path / "bad.csv"
    path.write_text("text,label\na,pos\nb,\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"bad.csv:3: has 0 labels; expected one"):
        regard.evaluate(classifier, path)
    path.write_text("text,label\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no texts to evaluate on"):
        regard.evaluate(classifier, path)
    path.write_text("words,rating\na,b\n", encoding="utf-8")
    with pytest.raises(FormatError, match="words"):
        regard.evaluate(classifier, path)
    with pytest.raises(ConfigError, match="has no BLEU"):
        regard.evaluate(classifier, path, lowercase=True)
