"""What TensorBoard reads is what the log has."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="TensorBoard is not installed (the extra `track`)",
)

from regard.config import TrainConfig  # noqa: E402
from regard.data.batch import DataPosition  # noqa: E402
from regard.errors import ConfigError  # noqa: E402
from regard.metrics import Score  # noqa: E402
from regard.run import Run  # noqa: E402
from regard.training.checkpoint import TrainingState  # noqa: E402
from regard.training.loop import Step  # noqa: E402
from regard.training.optim import build_optimizers  # noqa: E402
from regard.training.tracking.histograms import BINS, HistogramRecorder  # noqa: E402
from regard.training.tracking.tensorboard import open_tracker  # noqa: E402
from regard.training.tracking.tracker import (  # noqa: E402
    FILE_PREFIX,
    NullTracker,
    drop_later_events,
    require_installed,
)
from regard.training.validate import Validation  # noqa: E402
from tests.training.conftest import make_batch, make_loss_module  # noqa: E402


def read(folder: Path):
    sizes = {"scalars": 0, "histograms": 0, "tensors": 0}
    return event_accumulator.EventAccumulator(str(folder), sizes, purge_orphaned_data=False).Reload()


def step(number: int, muon: float | None = None) -> Step:
    return Step(number, DataPosition(), 1 / number, 0.5 / number, 7 * number, 0.01, 3.0, 0.5, muon)


def test_every_number_of_a_step_and_of_a_validation_is_shown(tmp_path: Path):
    model = make_loss_module().model
    tracker = open_tracker(Run(tmp_path), TrainConfig(), build_optimizers(TrainConfig(), model), TrainingState(5))
    tracker.write_step(step(6))
    tracker.write_step(step(7, muon=0.2))
    tracker.write_validation(Validation(7, 2.5, 0.4, Score("BLEU", 31.0, 30.0, 32.0, "tok:13a"), 1.0))
    tracker.write_validation(Validation(8, 2.25, 0.5, None, 1.0))
    assert tracker.size_bytes == (Run(tmp_path).tensorboard / f"{FILE_PREFIX}00000005").stat().st_size
    tracker.close()
    events = read(Run(tmp_path).tensorboard)
    found = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    expected = {
        "train/loss": [(6, 1 / 6), (7, 1 / 7)],
        "train/accuracy": [(6, 0.5 / 6), (7, 0.5 / 7)],
        "train/learning_rate": [(6, 0.01), (7, 0.01)],
        "train/muon_learning_rate": [(7, 0.2)],
        "train/grad_norm": [(6, 3.0), (7, 3.0)],
        "train/tokens_per_second": [(6, 84.0), (7, 98.0)],
        "dev/loss": [(7, 2.5), (8, 2.25)],
        "dev/accuracy": [(7, 0.4), (8, 0.5)],
        "dev/bleu": [(7, 31.0)],
    }
    assert found.keys() == expected.keys() and not events.Tags()["histograms"]
    for tag, points in expected.items():
        assert found[tag] == [(at, pytest.approx(value)) for at, value in points]
    (text,) = events.Tensors("dev/bleu_signature")
    assert [dim.size for dim in text.tensor_proto.tensor_shape.dim] == [1]
    assert text.step == 7 and text.tensor_proto.string_val[0] == b"tok:13a"


@pytest.mark.parametrize("start", [0, 3])
def test_histograms_of_weights_and_gradients_are_those_of_every_third_step(tmp_path: Path, start: int):
    loss_module, c = make_loss_module(), TrainConfig(track=["tensorboard"], track_histograms=3)
    optimizers = build_optimizers(c, loss_module.model)
    tracker = open_tracker(Run(tmp_path), c, optimizers, TrainingState(start))
    name, kept = "encoder.layers.0.self_attn.q_proj.weight", {}
    parameter = loss_module.model.get_parameter(name)
    for number in range(start + 1, start + 8):
        loss_module(make_batch([3, 7, 2], seed=number)).objective.backward()
        gradient = parameter.grad.clone()
        optimizers.step(1.0)
        kept[number] = {"gradients": gradient, "weights": parameter.detach().clone()}
        tracker.write_step(step(number))
    tracker.close()
    events = read(Run(tmp_path).tensorboard)
    names = {name for name, _ in loss_module.model.named_parameters()}
    assert {tag.removeprefix("weights/") for tag in events.Tags()["histograms"] if tag.startswith("w")} == names
    for kind in ("gradients", "weights"):
        histograms = events.Histograms(f"{kind}/{name}")
        assert [h.step for h in histograms] == [start + 3, start + 6]
        for event in histograms:
            tensor, value = kept[event.step][kind], event.histogram_value
            assert (value.min, value.max, value.num) == pytest.approx((float(tensor.min()), float(tensor.max()), 484))
            assert (value.sum, value.sum_squares) == pytest.approx((float(tensor.sum()), float((tensor**2).sum())))
            edges = torch.linspace(float(tensor.min()), float(tensor.max()), BINS + 1, dtype=torch.double)
            assert value.bucket_limit == pytest.approx(edges[1:].tolist()) and sum(value.bucket) == 484
            counts = torch.histogram(tensor.flatten(), bins=edges).hist
            assert (torch.tensor(value.bucket) - counts).abs().sum() <= 2  # the edges themselves are rounded


def test_a_tracker_of_nothing_keeps_the_size_that_it_was_given(tmp_path: Path):
    assert NullTracker().size_bytes == 0 and NullTracker(7).size_bytes == 7


def test_only_the_last_file_before_the_checkpoint_is_cut(tmp_path: Path):
    for start in (0, 3, 5, 9):
        (tmp_path / f"{FILE_PREFIX}{start:08d}").write_bytes(b"x" * 100)
    drop_later_events(tmp_path, 5, 40)
    sizes = {path.name[-1]: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes == {"0": 100, "3": 40}
    drop_later_events(tmp_path, 0, 0)
    assert not list(tmp_path.iterdir())


def test_a_tracker_whose_package_is_missing_is_refused():
    require_installed(["tensorboard"])
    with pytest.raises(ConfigError, match=r"train.track=nothing needs the package nothing.*'\.\[track\]'"):
        require_installed(["tensorboard", "nothing"])


def test_final_scores_have_tags_of_their_own(tmp_path: Path):
    model = make_loss_module().model
    tracker = open_tracker(Run(tmp_path), TrainConfig(), build_optimizers(TrainConfig(), model), TrainingState())
    scores = {"bleu": Score("BLEU", 31.0, 30.0, 32.0, "tok:13a"), "chrf": Score("chrF2", 55.0, None, None, "nc:6")}
    evaluation = SimpleNamespace(scores=scores, loss=2.5)
    tracker.write_evaluation(7, "test", evaluation)  # type: ignore[arg-type]
    tracker.write_evaluation(7, "dev", SimpleNamespace(scores=scores, loss=None))  # type: ignore[arg-type]
    tracker.close()
    events = read(Run(tmp_path).tensorboard)
    assert {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]} == {
        "test/final_bleu": [(7, 31.0)],
        "test/final_chrf": [(7, 55.0)],
        "test/final_loss": [(7, 2.5)],
        "dev/final_bleu": [(7, 31.0)],
        "dev/final_chrf": [(7, 55.0)],
    }
    (text,) = events.Tensors("test/final_scores")
    assert events.SummaryMetadata("test/final_scores").plugin_data.plugin_name == "text"
    assert text.tensor_proto.string_val[0].decode() == f"- {scores['bleu']}\n- {scores['chrf']}"


def test_a_parameter_without_a_gradient_has_no_histogram_of_it():
    model = make_loss_module().model
    optimizers = build_optimizers(TrainConfig(), model)
    recorder = HistogramRecorder(optimizers, 1, 0)
    frozen, *others = model.parameters()
    for p in others:
        p.grad = torch.ones_like(p)
    optimizers.step(1.0)
    names = {name for name, _ in model.named_parameters()}
    found = recorder.pop_histograms(1)
    assert {tag for tag in found if tag.startswith("weights/")} == {f"weights/{name}" for name in names}
    assert {tag for tag in found if tag.startswith("gradients/")} == {
        f"gradients/{name}" for name, p in model.named_parameters() if p is not frozen
    }
