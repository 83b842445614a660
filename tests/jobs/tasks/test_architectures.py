"""Tasks in their other architectures: trained, resumed, loaded and refused as in the first."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard import config as settings
from regard.config import ARCHITECTURE_REASONS, SOURCE_TARGET_TASKS, TASK_ARCHITECTURES, Config
from regard.errors import ConfigError, ModelError, RegardError, RunError
from regard.jobs.load import load, load_language_model
from regard.jobs.look.decisions import explain_text
from regard.jobs.look.inspected_run import open_inspected_run
from regard.jobs.prune import require_translator
from regard.jobs.tasks.registry import get_task, open_predictor
from regard.jobs.train.fit import resume_run, train_run
from regard.model import weights
from regard.model.single_stack import DecoderOnly, SourceTargetDecoder, TextEncoderDecoder
from regard.run import Run
from tests.commands import run_command
from tests.jobs.tasks.conftest import PREDICT
from tests.jobs.tasks.test_every_task import REGULAR, never
from tests.jobs.train.test_fit import assert_same

MODELS = {
    ("translate", "decoder"): SourceTargetDecoder,
    ("summarize", "decoder"): SourceTargetDecoder,
    ("classify", "encoder-decoder"): TextEncoderDecoder,
    ("tag", "encoder-decoder"): TextEncoderDecoder,
    ("embed", "decoder"): DecoderOnly,
}
ConfigOf = Callable[..., Config]


@pytest.mark.parametrize(("task", "architecture"), MODELS)
def test_five_steps_and_five_are_ten_bit_for_bit(
    task: str, architecture: str, config_of: ConfigOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    writes = task in SOURCE_TARGET_TASKS
    if not writes:  # whose report has no attention to draw
        monkeypatch.setattr(type(get_task(task)), "write_report", lambda *arguments: None)
    of_run = (*REGULAR, f"model.architecture={architecture}", "data.joint_vocab=true")
    for name, steps in (("whole", 10), ("parts", 5)):
        list(train_run(tmp_path / name, config_of(task, *of_run, f"train.steps={steps}"), False, never))
    list(resume_run(tmp_path / "parts", {"train.steps": 10}, never))
    assert_same(tmp_path / "whole", tmp_path / "parts")
    predictor = open_predictor(tmp_path / "whole", task, "cpu")
    assert isinstance(predictor.model, MODELS[task, architecture])
    texts = ["the king sees a dog", "Ann", "a superb film in Rome, and the old house"]
    together = PREDICT[task](predictor, texts)
    for text, one in zip(texts, together, strict=True):
        (alone,) = PREDICT[task](predictor, [text])
        assert alone == (one if writes else pytest.approx(one, abs=1e-5))
    if task != "translate":
        with pytest.raises(RunError, match=rf"\(--task {task}\), and cannot translate"):
            load(tmp_path / "whole")
        if architecture == "encoder-decoder":
            with pytest.raises(RunError, match="cannot be inspected: it reads a text in two stacks"):
                open_inspected_run(tmp_path / "whole")
    else:
        with pytest.raises(RunError, match=r"is a translator \(--task translate\), and cannot generate text"):
            load_language_model(tmp_path / "whole")
    if writes:
        with pytest.raises(RunError, match="cannot be inspected: it is a decoder alone, without cross-attention"):
            open_inspected_run(tmp_path / "whole")
    if task == "classify":
        with pytest.raises(ModelError, match="this classifier has an encoder and a decoder"):
            explain_text(predictor, texts[0])
    with pytest.raises(RunError, match="cannot be pruned"):
        require_translator(Run(tmp_path / "whole").load_config(), tmp_path / "whole")


def test_two_processes_train_a_decoder_to_translate_as_one_does(config_of: ConfigOf, tmp_path: Path):
    exact = ("train.precision=float64", "model.dropout=0", "train.schedule=inverse-sqrt", "train.steps=3")
    for name, ranks, batches in (("one", 1, 2), ("two", 2, 1)):
        own = (f"train.accumulate_batches={batches}", "model.architecture=decoder")
        config = config_of("translate", *exact, *own, "train.validation_sentences=0")
        (tmp_path / f"{name}.toml").write_text(settings.dump(config), encoding="utf-8")
        output = tmp_path / f"{name}.txt"
        assert run_command(["train", f"{name}.toml", "--out", name], tmp_path, output, ranks=ranks) == 0, (
            output.read_text()
        )
    one, two = (weights.read(Run(tmp_path / name).weights(3)) for name in ("one", "two"))
    assert one.keys() == two.keys() and next(iter(one.values())).dtype == torch.float64
    for name in one:
        assert_close(two[name], one[name], rtol=0, atol=1e-9)


def test_every_architecture_is_trained_or_refused_with_its_reason(config_of: ConfigOf, tmp_path: Path):
    for task, trained in TASK_ARCHITECTURES.items():
        for architecture in ("encoder", "decoder", "encoder-decoder"):
            reason = ARCHITECTURE_REASONS.get((task, architecture))
            assert (reason is None) == (architecture in trained)
            if reason and task != "embed":
                with pytest.raises(ConfigError, match=f"--task {task} trains .*{reason}"):
                    list(
                        train_run(tmp_path / "run", config_of(task, f"model.architecture={architecture}"), False, never)
                    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["train.guided_alignment=0.3"], "train.guided_alignment: a decoder alone has no cross-attention to guide"),
        (["data.joint_vocab=false"], "data.joint_vocab=false: a decoder alone has one vocabulary"),
        (["train.head_stats_every=5"], "train.head_stats_every: a decoder alone has no cross-attention"),
        (
            ["model.positions.kind=learned", "model.positions.length=513", "data.max_length=256"],
            "is less than data.max_length=256 for each of source and target",
        ),
    ],
)
def test_settings_that_a_decoder_alone_has_no_use_for_are_refused(config_of: ConfigOf, changes, message: str):
    with pytest.raises(RegardError, match=message):
        config_of("translate", "model.architecture=decoder", *changes)
    assert config_of("translate", *changes)
