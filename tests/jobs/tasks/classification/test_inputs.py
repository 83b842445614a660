"""Lines for a classifier: texts, or two columns of them."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from regard.errors import FormatError
from regard.jobs.tasks.classification import inputs
from regard.jobs.tasks.classification.inputs import classify_lines, split_pair
from regard.tasks.classify.classifier import Classification


class EchoClassifier:
    """Its label is what it was given."""

    def classify(self, texts: Sequence[object], reject: float) -> list[Classification]:
        return [Classification((repr(text),), 1.0, {}) for text in texts]


@pytest.mark.parametrize("chunk_lines", [1, 2, 3, 7])
def test_order_and_blank_lines_are_kept_over_the_borders_of_chunks(chunk_lines: int, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_LINES", chunk_lines)
    lines = ["a", "", "b", " ", "c", "d"]
    results = list(classify_lines(EchoClassifier(), lines, False, 0.0, str))
    assert [one.text for one in results] == lines
    labels = [one.classification.label if one.classification else "" for one in results]
    assert labels == ["'a'", "", "'b'", "", "'c'", "'d'"]


def test_pairs_are_two_columns_and_an_error_names_the_line(monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_LINES", 2)
    results = classify_lines(EchoClassifier(), ["a\tb", "", "c\td"], True, 0.0, str)
    labels = [one.classification.label for one in results if one.classification]
    assert labels == ["('a', 'b')", "('c', 'd')"]
    with pytest.raises(FormatError, match=r"^line 4: has 1 columns; .*expected two"):
        list(classify_lines(EchoClassifier(), ["a\tb", "a\tb", "", "c"], True, 0.0, lambda n: f"line {n}"))
    with pytest.raises(FormatError, match="has 3 columns"):
        split_pair("a\tb\tc", "x")


def test_a_run_without_its_texts_is_asked_for_its_settings(tmp_path):
    for column in ("", "second"):
        config = SimpleNamespace(classify=SimpleNamespace(text_pair=column))
        run = SimpleNamespace(texts_manifest=tmp_path / "none", load_config=lambda config=config: config)
        assert inputs.classifies_pairs(run) == bool(column)
