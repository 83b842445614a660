"""`regard classify` as people type it: one line in, one line out."""

import json
from pathlib import Path

import pytest

from regard.cli import main
from tests.cli.test_cli import regard as run_program


def typed(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert end.value.code == 0, err
    return out


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("the play was superb\n\nthe walk was awful\n", encoding="utf-8")
    return path


def test_a_line_gets_its_label_and_a_blank_line_stays_blank(classifier: Path, texts: Path, capfd):
    assert typed(capfd, "classify", classifier, texts).split("\n") == ["pos", "", "neg", ""]


def test_standard_input_and_a_file_give_the_same(classifier: Path, texts: Path, capfd):
    result = run_program("classify", classifier, stdin=texts.read_text(encoding="utf-8"))
    assert result.returncode == 0 and result.stdout == typed(capfd, "classify", classifier, texts)


def test_probabilities_are_columns_in_the_order_of_the_labels(classifier: Path, texts: Path, capfd):
    rows = [line.split("\t") for line in typed(capfd, "classify", classifier, texts, "--probabilities").splitlines()]
    assert [len(row) for row in rows] == [3, 1, 3]
    for label, *numbers in (rows[0], rows[2]):
        assert sum(map(float, numbers)) == pytest.approx(1, abs=2e-4)
        assert max(numbers) == numbers[["neg", "pos"].index(label)]


def test_json_has_the_text_and_all_probabilities(classifier: Path, texts: Path, capfd):
    rows = [json.loads(line) for line in typed(capfd, "classify", classifier, texts, "--json").splitlines()]
    assert [row["text"] for row in rows] == texts.read_text(encoding="utf-8").splitlines()
    assert rows[0]["probability"] == rows[0]["probabilities"]["pos"] > 0.5
    assert rows[1] == {"text": "", "label": None, "probability": None, "probabilities": {}}


def test_what_is_less_probable_than_asked_for_is_rejected(classifier: Path, tmp_path: Path, capfd):
    texts = tmp_path / "doubtful.txt"
    texts.write_text("the play was superb\nawful superb dull great\nthe room\n", encoding="utf-8")
    rows = [json.loads(line) for line in typed(capfd, "classify", classifier, texts, "--json").splitlines()]
    low, *_, high = sorted(row["probability"] for row in rows)
    limit = (low + high) / 2
    labels = typed(capfd, "classify", classifier, texts, "--reject", limit).split()
    assert labels == [row["label"] if row["probability"] >= limit else "?" for row in rows] and "?" in labels


OTHER_COMMANDS = {
    "translate": ("cannot translate",),
    "prune": ("cannot be pruned", "--out", "half"),
    "export": ("cannot be exported", "--to", "marian"),
}


@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_commands_of_translators_name_the_one_that_fits_a_classifier(
    command: str, classifier: Path, capfd, monkeypatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    sentence, *options = OTHER_COMMANDS[command]
    with pytest.raises(SystemExit) as end:
        main([command, str(classifier), *options])
    err = capfd.readouterr().err
    assert end.value.code == 2 and sentence in err and f"regard classify {classifier}" in err
    assert err.count("\n") == 1 and not list(tmp_path.iterdir())
