"""`regard look` on a trained classifier: from a file of labeled texts to the words that its decisions rest on."""

import csv
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.display.looks import format_look
from regard.errors import ConfigError, DataError
from regard.inspection.decisions.attribution import ERASURE, GRADIENT
from regard.jobs.look.decision_page import MAX_TOKENS, render_text, render_texts
from regard.jobs.look.decisions import DecisionInspection, explain_text, measure_texts, read_words
from tests.inspection.decisions.conftest import make_linear_classifier

LOG_ODDS = {"refund": 3.0, "thanks": -2.0, "film": 0.0} | {f"filler{n}": -0.1 for n in range(31)}
SETTINGS = {
    "model.dim": 16,
    "model.layers": 1,
    "model.heads": 2,
    "model.ffn": 16,
    "model.dropout": 0.0,
    "data.vocab_size": 307,
    "train.learning_rate": 0.01,
}


def make_rows(count: int) -> list[tuple[str, str]]:
    rng = np.random.default_rng(17)
    fillers = ["the", "order", "is", "late", "we", "ask", "box", "day", "it", "was", "a", "shop", "did", "you", "so"]
    return [
        (" ".join(rng.permutation([*rng.choice(fillers, 7), ("thanks", "refund")[n % 2]])), ("calm", "angry")[n % 2])
        for n in range(count)
    ]


def write_table(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run that has learned that `refund` is angry, its texts, and a list of words."""
    path = tmp_path_factory.mktemp("decisions")
    write_table(path / "train.tsv", make_rows(307))
    write_table(path / "new.tsv", make_rows(61))
    (path / "words.txt").write_text("Refund\n\nthanks\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regard.train(path / "train.tsv", task="classify", out=path / "run", steps=60, settings=SETTINGS)
    return path


def test_the_decision_about_a_text_is_explained_in_terminal_page_and_file(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = "we ask a refund so it was late"
    arguments = ["look", str(folder / "run"), text, "--out", str(tmp_path / "p.html"), "--csv", str(tmp_path / "p.csv")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "The decision is angry" in result.output and "rests most on “refund”" in " ".join(result.output.split())
    assert re.search(r"word +gradient x input +attention +rollout +erasure +masking", result.output)
    assert "rank agreement over 8 words" in result.output
    with (tmp_path / "p.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["word"] for row in rows] == text.split()
    assert max(rows, key=lambda row: float(row["erasure"]))["word"] == "refund"
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "The decision is angry" in page and "encoder.0.self.1" in page and "http-equiv" in page
    calm = regard.look(folder / "run", text, label="calm")
    assert calm.text.decision.label == "calm" and "Explained is calm" in str(calm)
    assert calm.text.decision.measures[ERASURE].argmin() == 3  # what supports one label opposes the other


def test_many_texts_are_measured_with_listed_words_and_keywords(folder, tmp_path):
    arguments = ["look", str(folder / "run"), "--data", str(folder / "new.tsv"), "--words", str(folder / "words.txt")]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "p.html")])
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "61 texts of" in output and "decisions for this class change without refund" in output
    assert "erasure: listed words have" in output and "more than another word of the same text" in output
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("Do the measures agree?", "Listed words", "Keywords"))
    by_position, own = regard.look(folder / "run", folder / "new.tsv"), regard.look(folder / "run", sentences=7)
    assert by_position.texts.listed is None and by_position.texts.num_texts == 61
    assert own.texts.num_texts == 7 and own.texts.name == "the run's dev set"
    assert own.texts == regard.look(folder / "run", sentences=7).texts  # the same sample, the same numbers


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a", "b"], {}, "2 texts: expected one"),
        (["a"], {"data": "new.tsv"}, "a text and --data"),
        (["a"], {"words": "words.txt"}, "--words measures many texts"),
        ([], {"label": "angry"}, "--label needs one text"),
        (["a"], {"positions": True}, "--positions does not apply to a classifier"),
        (["a"], {"head": "encoder.0.self.0"}, "--head does not apply to a classifier"),
        (["a"], {"label": "sad"}, "no label 'sad'; this classifier has angry, calm"),
        ([" "], {}, "it has no words"),
        (["nothing.tsv"], {}, "nothing.tsv: no such file"),
    ],
)
def test_requests_that_make_no_sense_say_why(folder, texts, options, message, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises((ConfigError, DataError), match=re.escape(message)):
        regard.look("run", *texts, **options)


def test_a_translator_has_no_decisions(tmp_path):
    from regard.jobs.look.inspections import LookOptions, inspect

    with pytest.raises(ConfigError, match="--label needs a classifier"):
        inspect(LookOptions(tmp_path, ["a dog"], label="angry"))
    with pytest.raises(ConfigError, match="nothing to inspect"):
        inspect(LookOptions(tmp_path))


def test_pairs_and_empty_lists_are_refused(folder, tmp_path):
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(DataError, match="is empty; expected words"):
        read_words(tmp_path / "empty.txt")
    (tmp_path / "pairs.tsv").write_text("text\ttext_pair\tlabel\na dog\ta cat\tcalm\n", encoding="utf-8")
    with pytest.raises(DataError, match="pairs of texts"):
        regard.look(folder / "run", data=tmp_path / "pairs.tsv")


def test_what_is_said_follows_from_the_numbers():
    classifier = make_linear_classifier(LOG_ODDS)
    explained = explain_text(classifier, "film refund filler1 thanks filler2")
    p, without = (1 / (1 + math.exp(-odds)) for odds in (0.8, -2.2))
    assert explained.describe() == (
        f"The decision is yes, with a probability of {p:.0%}. It rests most on “refund”: without this word, it has "
        f"{without:.0%}."
    )
    assert "rests on no single word" in explain_text(classifier, "filler1 filler2 filler3").describe()
    table = explained.tabulate()
    assert table["word"] == ("film", "refund", "filler1", "thanks", "filler2")
    assert table.numbers("erasure")[0] == pytest.approx(0, abs=1e-6)
    lines = format_look(DecisionInspection({}, text=explained), 100)
    assert any("refund" in line and "+" in line for line in lines)
    assert explained.decision.measures[GRADIENT].argmax() == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_views_fit_any_terminal(width):
    classifier = make_linear_classifier(LOG_ODDS)
    texts = [f"refund filler{n}" for n in range(7)] + [f"thanks filler{n} film" for n in range(7)]
    one = DecisionInspection({}, text=explain_text(classifier, texts[0]), notes=("a note",))
    many = DecisionInspection({}, texts=measure_texts(classifier, texts, "new", ["refund"]))
    for inspection in (one, many):
        lines = format_look(inspection, width)
        assert max(map(len, lines)) <= width, lines
    assert "2 words are too few to compare" in " ".join(" ".join(format_look(one, width)).split())
    assert repr(one).startswith("<DecisionInspection>") and "a note" in str(one)


def test_pages_are_drawn_of_few_texts_and_of_long_ones():
    classifier = make_linear_classifier(LOG_ODDS)
    classifier.max_length = 3 * MAX_TOKENS
    long = explain_text(classifier, "filler1 refund " * MAX_TOKENS)
    page = render_text(long, "mine")
    hidden = len(long.decision.text.tokens) - MAX_TOKENS
    assert hidden > 0 and f"{hidden} tokens more are not shown." in page
    few = render_texts(measure_texts(classifier, ["refund <b>"], "new"), "mine")
    assert "Too few texts have enough words" in few and "No class has enough texts" in few
