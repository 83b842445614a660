"""A run of any task begins with the parts of another run that fit; what was taken and what is new is said."""

from pathlib import Path

import pytest
import torch

from regard import config as settings
from regard.config import TASK_ARCHITECTURES, Config
from regard.errors import ConfigError
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.events import Note
from regard.jobs.train.fit import train_run
from regard.jobs.train.init_from import choose_architecture, inherit_settings
from regard.model import weights
from regard.run import Run
from tests.jobs.tasks.classification.test_task import make_config, make_texts, never


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_task("classify")), "write_report", lambda *arguments: None)


def train_from(origin: Path, folder: Path, tmp_path: Path, *changes: str) -> tuple[Run, list[str]]:
    sizes = ("model.dim", "model.heads", "model.layers", "model.ffn", "data.vocab_size")
    config = make_config(tmp_path, make_texts(), "train.steps=1", "train.learning_rate=1e-30", *changes)
    table = settings.flatten(config.model_dump(mode="json", exclude_none=True, exclude_unset=True))
    config = settings.with_values(
        Config(task="classify"), {k: v for k, v in table.items() if k not in sizes and k != "task"}
    )
    notes = [event.text for event in train_run(folder, config, False, never, origin) if isinstance(event, Note)]
    return Run(folder), notes


def test_another_classifier_gives_all_but_its_labels(classifier: Path, tmp_path: Path):
    run, notes = train_from(classifier, tmp_path / "new", tmp_path)
    old, new = weights.read(Run(classifier).best_weights()), weights.read(run.weights(1))
    assert all(torch.equal(old[name], new[name]) for name in new if name.startswith("encoder."))
    config, origin = run.load_config(), Run(classifier).load_config()
    assert config.model.dim == origin.model.dim and config.train.init_from == str(classifier)
    assert any(note.startswith("initialized from") for note in notes)


def test_where_the_labels_are_others_the_output_is_new(classifier: Path, tmp_path: Path):
    for name in ("train", "dev", "test"):
        (tmp_path / name).mkdir()
    texts = make_texts(several=False)
    extra = [type(texts[0])(f"{text.text} blue {i}", ("blue",)) for i, text in enumerate(texts)]
    config = make_config(tmp_path, texts + extra, "train.steps=1")
    table = settings.flatten(config.model_dump(mode="json", exclude_none=True, exclude_unset=True))
    values = {
        name: value
        for name, value in table.items()
        if name.startswith(("data.train", "data.dev", "data.test", "data.keep", "train."))
    }
    config = settings.with_values(Config(task="classify"), values)
    events = list(train_run(tmp_path / "new", config, False, never, classifier))
    notes = [event.text for event in events if isinstance(event, Note)]
    assert "taken: encoder.embedding, encoder.layers, encoder.norm; new: output" in notes
    assert "not used of the initial weights: output" in notes
    old, new = (
        weights.read_shapes(path) for path in (Run(classifier).best_weights(), Run(tmp_path / "new").weights(1))
    )
    assert old["output.weight"][0] == 2 and new["output.weight"][0] == 3


def test_an_encoder_is_part_of_a_translator_but_no_decoder(tmp_path: Path):
    run = Run(tmp_path)
    whole, encoder = Config(), settings.build({"model": {"architecture": "encoder"}})
    for task, architectures in TASK_ARCHITECTURES.items():
        wanted = settings.build({"task": task})
        expected = next((one for one in architectures if one in ("encoder-decoder", "encoder", "decoder")), None)
        assert choose_architecture(run, whole, wanted) == expected
    assert choose_architecture(run, encoder, settings.build({"task": "tag"})) == "encoder"
    with pytest.raises(
        ConfigError, match="has the architecture encoder, but --task causal-lm needs decoder; leave out --from"
    ):
        choose_architecture(run, encoder, settings.build({"task": "causal-lm"}))


def write_run(folder: Path, *changes: str) -> Run:
    folder.mkdir()
    run = Run(folder)
    run.config.write_text(settings.dump(settings.override(Config(), ["model.layers=2", *changes])), encoding="utf-8")
    return run


@pytest.mark.parametrize(
    ("task", "assignment", "value"),
    [
        ("classify", "model.layers=3", "model.layers=2"),
        ("classify", "model.encoder_layers=3", "model.encoder_layers=2"),
        ("causal-lm", "model.decoder_layers=3", "model.decoder_layers=2"),
        ("translate", "model.architecture=decoder", "model.architecture=encoder-decoder"),
    ],
)
def test_a_setting_that_the_part_of_a_run_decides_is_refused_unless_it_is_the_same(tmp_path, task, assignment, value):
    run = write_run(tmp_path / "translator")
    with pytest.raises(ConfigError) as error:
        inherit_settings(run, settings.override(Config(), [f"task={task}", assignment]))
    assert str(error.value) == f"{assignment} contradicts --from {run.folder}, whose weights have {value}; leave it out"
    same = inherit_settings(run, settings.override(Config(), [f"task={task}", value]))
    assert same.model.depth(same.model.architecture.split("-")[0]) == 2


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "encoder-decoder"])
def test_the_part_that_is_named_is_taken(tmp_path: Path, architecture: str):
    run = write_run(tmp_path / "translator")
    config = settings.override(Config(), ["task=classify", f"model.architecture={architecture}"])
    assert inherit_settings(run, config).model.architecture == architecture


def test_a_task_that_another_run_does_not_fit_is_not_proposed(tmp_path: Path):
    decoder = settings.override(Config(), ["task=causal-lm", "model.architecture=decoder"])
    with pytest.raises(ConfigError) as error:
        choose_architecture(Run(tmp_path), decoder, Config())
    assert "--task translate needs encoder-decoder" in str(error.value)
    assert str(error.value).endswith("It fits --task classify, tag, causal-lm, embed")
