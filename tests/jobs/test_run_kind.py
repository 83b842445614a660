"""A run of another kind is named, with the command that fits it."""

from pathlib import Path

import pytest

from regard import config as settings
from regard.errors import RunError
from regard.jobs.run_kind import find_task, require_encoder, require_language_model, require_masked_language_model
from regard.run import Run

RUN = Run(Path("runs/x"))


def make(task: str, architecture: str):
    return settings.build({"task": task, "model": {"architecture": architecture}})


@pytest.mark.parametrize(
    ("task", "architecture", "kind", "command"),
    [
        ("translate", "encoder-decoder", "a translator", "regard translate runs/x"),
        ("classify", "encoder", "a classifier", "regard classify runs/x"),
        ("classify", "decoder", "a classifier", "regard classify runs/x"),
        ("tag", "decoder", "a tagger", "regard tag runs/x"),
        ("translate", "encoder", "an imported encoder", "regard.load_encoder('runs/x')"),
        ("embed", "encoder", "an embedding model", 'regard similar runs/x "a text" "another"'),
    ],
)
def test_neither_generates_nor_fills(task: str, architecture: str, kind: str, command: str):
    for require in (require_language_model, require_masked_language_model):
        with pytest.raises(RunError) as error:
            require(RUN, make(task, architecture))
        assert str(error.value).startswith(f"runs/x: is {kind}") and command in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("task", "architecture", "message"),
    [
        ("translate", "encoder-decoder", r"is a translator, and embeds no text; use it with: regard translate runs/x"),
        ("classify", "encoder", r"is a classifier, and embeds no text"),
        ("masked-lm", "encoder", r"is a masked language model, and embeds no text"),
        ("translate", "decoder", r"is a causal language model, and embeds no text; use it with: regard generate"),
    ],
)
def test_encoders_of_other_tasks_embed_no_text(task: str, architecture: str, message: str):
    with pytest.raises(RunError, match=message):
        require_encoder(RUN, make(task, architecture))


def test_an_imported_encoder_embeds_and_other_runs_do_what_they_were_trained_for():
    assert find_task(make("translate", "encoder")) == "embed" == find_task(make("embed", "encoder"))
    assert find_task(make("translate", "encoder-decoder")) == "translate"


def test_language_models_are_distinguished():
    for task in ("causal-lm", "translate"):  # an imported GPT-2 was trained for no task
        with pytest.raises(
            RunError, match=r"is a causal language model, and fills no masks; .* regard generate runs/x"
        ):
            require_masked_language_model(RUN, make(task, "decoder"))
    with pytest.raises(RunError, match=r"is a masked language model, and generates no text; .* regard fill runs/x"):
        require_language_model(RUN, make("masked-lm", "encoder"))


def test_a_run_without_weights_is_to_be_trained_further(tmp_path: Path):
    for require, config in (
        (require_language_model, make("causal-lm", "decoder")),
        (require_masked_language_model, make("masked-lm", "encoder")),
        (require_encoder, make("embed", "encoder")),
    ):
        with pytest.raises(RunError, match=r"no validated weights yet.*--resume"):
            require(Run(tmp_path), config)
        (tmp_path / "best.json").write_text("{}")
        require(Run(tmp_path), config)
        (tmp_path / "best.json").unlink()
