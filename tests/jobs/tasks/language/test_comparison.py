"""Language models are compared on the same text: by bits per byte with any tokenizers, or by the same masked tokens."""

import shutil
from pathlib import Path

import pytest

import regard
from regard import config as settings
from regard.errors import RegardError
from regard.jobs.tasks.registry import get_task
from regard.run import Run, write_text
from tests.jobs.tasks.language.conftest import SMALL


@pytest.fixture(scope="module")
def other(documents, tmp_path_factory) -> Path:
    """A causal language model with more tokens."""
    folder = tmp_path_factory.mktemp("other") / "other"
    regard.train(documents["one"], task="causal-lm", out=folder, steps=3, settings=SMALL | {"data.vocab_size": 353})
    return folder


def copy_run(run: Run, folder: Path, values: dict) -> Path:
    """A copy of a run, with other settings."""
    shutil.copytree(run.folder, folder)
    write_text(Run(folder).config, settings.dump(settings.with_values(run.load_config(), values)))
    return folder


def test_bits_are_paired_by_parts_of_the_text_whatever_the_tokens(run_of, other, documents):
    first = run_of("causal-lm").folder
    comparison = regard.compare(first, other, on=documents["many"])
    one, two = comparison.systems
    assert comparison.units == "segments" and len(comparison.texts) == len(one.answers) == len(two.answers)
    assert "".join(comparison.texts) == documents["many"].read_text(encoding="utf-8")
    assert list(one.scores) == list(two.scores) == ["bits_per_byte"], "perplexities per token cannot be compared"
    assert comparison.notes[0].startswith("The tokenizers differ")
    test = comparison.tests["bits_per_byte"][two.name]
    assert test.difference == pytest.approx(two.scores["bits_per_byte"].value - one.scores["bits_per_byte"].value)
    counted = two.counted["bits_per_byte"]
    assert counted.value == pytest.approx(two.scores["bits_per_byte"].value)
    assert counted.counts.total()[1] == documents["many"].stat().st_size
    assert (comparison.best is one) == (test.difference > 0)


def test_the_same_tokens_have_perplexities(run_of, documents, tmp_path):
    run = run_of("causal-lm")
    twin = copy_run(run, tmp_path / "twin", {})
    comparison = regard.compare(run.folder, twin, on=documents["many"])
    assert list(comparison.baseline.scores) == ["bits_per_byte", "perplexity"]
    assert (
        comparison.tests["bits_per_byte"]["twin"].verdict == "the same predictions" and comparison.best.name != "twin"
    )


def test_masked_tokens_are_the_same_or_refused(run_of, documents, tmp_path):
    run = run_of("masked-lm")
    twin = copy_run(run, tmp_path / "twin", {"train.learning_rate": 0.5})
    comparison = regard.compare(run.folder, twin, on=documents["one"])
    one, two = comparison.systems
    assert comparison.units == "passages" and one.answers == two.answers and comparison.decisive == "loss"
    assert one.counted["loss"].value == pytest.approx(one.scores["loss"].value)
    assert one.counted["accuracy"].value == pytest.approx(one.scores["accuracy"].value)
    rate = copy_run(run, tmp_path / "rate", {"masked_lm.mask_rate": 0.3})
    with pytest.raises(
        RegardError, match=r"has masked_lm.mask_rate=0.3, but .* has 0.15; masked losses are comparable"
    ):
        regard.compare(run.folder, rate, on=documents["one"])
    tokens = copy_run(run, tmp_path / "tokens", {})
    Run(tokens).tokenizer().write_bytes(b"another")
    Run(tokens).record_checksums(Run(tokens).tokenizer())
    with pytest.raises(RegardError, match="has another tokenizer than"):
        regard.compare(run.folder, tokens, on=documents["one"])


@pytest.mark.parametrize("task", ["causal-lm", "masked-lm"])
def test_files_are_no_systems(task, run_of, documents):
    with pytest.raises(RegardError, match=r"one.txt: is a file; language models are compared by the probabilities"):
        regard.compare(run_of(task).folder, documents["one"], on=documents["many"])


def test_a_run_has_what_each_part_of_its_dev_set_counts(run_of):
    """The score of the counts that are read back is that of the whole set, up to the digits of the table."""
    for task, metric in (("causal-lm", "bits_per_byte"), ("masked-lm", "loss"), ("masked-lm", "accuracy")):
        run = run_of(task)
        counted = get_task(task).count_stored(run, "test", metric)
        expected = run.read_json(run.scores("test"))["scores"][metric]["value"]
        assert counted.value == pytest.approx(expected, abs=2e-3) and counted.num_examples > 3
        assert get_task(task).count_stored(run, "nowhere", metric) is None
        assert get_task(task).count_stored(run, "test", "bleu") is None
