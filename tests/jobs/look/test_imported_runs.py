"""Runs that were trained elsewhere are looked into by the same doors, or a sentence says why not."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.jobs.convert import import_folder
from regard.jobs.look.inspected_run import open_inspected_run
from regard.jobs.look.senses import analyze_senses, read_sentences
from regard.jobs.senses.open_reader import open_word_reader
from tests.interchange import test_bert as bert
from tests.interchange import test_marian as marian
from tests.jobs.look.test_page import FAITHFULNESS, SENTENCE, refuses, says

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def opus(tmp_path_factory) -> Path:
    """A Marian folder by the transformers library, with random weights, as a run."""
    scratch = tmp_path_factory.mktemp("opus")
    with torch.no_grad():
        import_folder(marian.make(scratch / "theirs"), scratch / "run")
    return scratch / "run"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """A BERT folder by the transformers library, with random weights, as a run."""
    scratch = tmp_path_factory.mktemp("bert")
    with torch.no_grad():
        import_folder(bert.make(scratch / "theirs"), scratch / "run")
    return scratch / "run"


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("The king saw a house.\nThe house was old.\nMy house is green.\n", encoding="utf-8")
    return path


def head_read(page) -> str:
    page.wait_for_selector("body[data-ready]")
    return page.locator("#readout output").first.inner_text()


def test_a_marian_run_is_looked_into_page_and_all(opus, tmp_path, capsys, opened):
    path, npz = tmp_path / "look.html", tmp_path / "look.npz"
    pair = (SENTENCE, "Le vieux roi a vu les maisons rouges.")  # random weights would write a long nonsense
    told = says(capsys, "look", opus, *pair, "--sentences", "3", "--out", path, "--npz", npz)
    assert "heads measured on 3 sentences of the built-in corpus" in told and "decoder.2.cross.2" in told
    with np.load(npz) as kept:
        weights = kept["cross.2.weights"][1]
    best = int(weights[0].argmax())
    page = opened(path, f"#kind=cross&heads=2.1&view=heat&q=0&k={best}")
    assert head_read(page) == f"{weights[0, best]:.3f}" and page.locator("#map button").count() == 9
    assert page.locator(FAITHFULNESS).is_visible()


def test_a_marian_run_shows_positions_words_and_heads(opus, text, capsys):
    told = says(capsys, "look", opus, "--positions", "--num-positions", "5")
    assert "encoder: positions sinusoidal" in told and "distance explains 100%" in told
    assert "'house' in 3 sentences" in says(capsys, "senses", opus, "house", text)
    assert "decoder.2.cross.1" in says(capsys, "heads", opus, "--sentences", "2")


def test_a_marian_run_is_pruned_and_says_that_it_was_not_fine_tuned(opus, tmp_path, capsys):
    pairs = tmp_path / "dev.tsv"
    pairs.write_text("".join(f"{p.source}\t{p.target}\n" for p in marian.SPLITS.dev[:3]), encoding="utf-8")
    told = says(capsys, "prune", opus, "--keep", "18", "--dev", pairs, "--out", tmp_path / "half", "--device", "cpu")
    assert "18 of 24 heads" in " ".join(told.split()) and "without fine-tuning" in " ".join(told.split())
    command = f"regard compare {opus} {tmp_path / 'half'} --on test.en test.fr"
    assert "".join(command.split()) in "".join(told.replace("\\\n", "").split())  # where it wraps depends on the path
    assert isinstance(open_inspected_run(tmp_path / "half").make_example("The king."), object)


def test_an_encoder_alone_is_looked_into_page_and_all(encoder, tmp_path, capsys, opened):
    path, npz = tmp_path / "look.html", tmp_path / "look.npz"
    told = says(capsys, "look", encoder, SENTENCE, "--sentences", "3", "--out", path, "--npz", npz)
    assert "encoder.2.self.2" in told and "comes from the source" not in told
    with np.load(npz) as kept:
        weights = kept["encoder.1.weights"][2]
    best = int(weights[3].argmax())
    page = opened(path, f"#kind=encoder&heads=1.2&view=heat&q=3&k={best}")
    assert head_read(page) == f"{weights[3, best]:.3f}" and page.locator("#map button").count() == 9
    assert "permuted" not in page.locator(FAITHFULNESS).inner_text()  # it has no output that could change
    assert "positions learned" in says(capsys, "look", encoder, "--positions", "--num-positions", "99")


def test_what_an_encoder_cannot_do_is_told_in_a_sentence(encoder, tmp_path, capsys):
    assert "is an imported encoder, and cannot be pruned" in refuses(
        capsys, "prune", encoder, "--dev", "x", "--out", tmp_path / "half"
    )
    wrong = refuses(capsys, "look", encoder, SENTENCE, "--head", "decoder.0.cross.0", "--no-measure")
    assert "this model has encoder.0.self to encoder.2.self" in wrong
    translated = refuses(capsys, "look", encoder, SENTENCE, "Le vieux roi.", "--no-measure")
    assert "reads one text, and two were given" in translated
    empty = tmp_path / "empty.txt"
    for text in ("", " \n\n", "word " * 2_000 + "\n"):
        empty.write_text(text, encoding="utf-8")
        assert "empty.txt: nothing to measure on" in refuses(capsys, "heads", encoder, empty)
    assert "reads one file of text, and 2 were given" in refuses(capsys, "heads", encoder, empty, empty)
    for wish in (["--pharaoh", "x"], ["--gold", "x"], ["--keep-only"], ["--ablate", "mean"]):
        assert f"{wish[0]} needs a translator" in refuses(capsys, "heads", encoder, *wish)
    start = refuses(capsys, "look", encoder, SENTENCE, "--no-measure", "--compare-with", "start")
    assert "was imported or pruned, not trained: it has no initial weights" in start


def test_minilm_parts_the_banks_of_money_and_rivers_in_context_and_not_in_its_table(tmp_path):
    import_folder(bert.minilm(), tmp_path / "run")
    story = analyze_senses(open_word_reader(tmp_path / "run"), "bank", *read_sentences(EXAMPLES / "bank.tsv", "bank"))
    found = {layer.layer: (layer.sense_auc, layer.nearest_sense_accuracy) for layer in story.layers}
    assert found["static"] == (0.5, pytest.approx(7 / 15))  # one and the same vector: chance
    assert found["with position"][0] < 0.65
    contextual = [found[f"layer {i}"] for i in range(6)]
    assert min(auc for auc, _ in contextual) > 0.85 and max(auc for auc, _ in contextual) > 0.95
    assert min(nearest for _, nearest in contextual) > 0.85
    story = analyze_senses(open_word_reader(tmp_path / "run"), "run", *read_sentences(EXAMPLES / "run.tsv", "run"))
    assert story.layers[0].sense_auc == 0.5 and max(layer.sense_auc or 0 for layer in story.layers) > 0.7
