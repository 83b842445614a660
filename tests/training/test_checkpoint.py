"""What a checkpoint keeps and what it deletes."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.config import TrainConfig
from regard.data.batch import DataPosition
from regard.run import BestWeights, Run
from regard.training.checkpoint import CheckpointManager, TrainingState
from regard.training.ema import build_ema
from regard.training.optim import build_optimizers


@pytest.fixture
def checkpoints(tmp_path: Path) -> CheckpointManager:
    model = torch.nn.Linear(3, 5)
    return CheckpointManager(
        Run(tmp_path), model, build_optimizers(TrainConfig(), model), build_ema(model, 0.0), save_every=10, keep_last=2
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_only_files_of_steps_are_deleted_and_a_file_that_is_gone_already_is_no_error(
    checkpoints, tmp_path, monkeypatch
):
    for folder in ("weights", "resume"):
        (tmp_path / folder).mkdir()
        for name in ("1 copy.safetensors", "0000003x.json", "notes"):
            (tmp_path / folder / name).write_text("mine")
    unlink = Path.unlink

    def unlink_twice(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok=True)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_twice)
    for step in (3, 5):
        checkpoints.save(TrainingState(step))
    run, mine = Run(tmp_path), ["0000003x.json", "1 copy.safetensors", "notes"]
    assert names(tmp_path / "weights") == sorted([*mine, run.weights(5).name])
    assert names(tmp_path / "resume") == sorted([*mine, run.resume_tensors(5).name, run.resume_state(5).name])


def test_the_weights_that_best_names_are_kept_whatever_the_state_says(checkpoints, tmp_path):
    run = Run(tmp_path)
    checkpoints.save(TrainingState(3))
    run.write_best(BestWeights(run.weights(3).relative_to(tmp_path).as_posix(), 3, None, "loss"))
    checkpoints.save(TrainingState(5, best_step=4))
    assert run.saved_steps() == [3, 5]


def test_what_is_averaged_ends_with_the_last_step(checkpoints, tmp_path):
    run = Run(tmp_path)
    run.weights(1).parent.mkdir(parents=True, exist_ok=True)
    for step in (5, 10, 20, 27, 30, 33):
        run.weights(step).write_bytes(b"")
    assert checkpoints.paths_to_average(27) == [run.weights(20), run.weights(27)]
    assert checkpoints.paths_to_average(30) == [run.weights(20), run.weights(30)]
    assert replace(checkpoints, keep_last=9).paths_to_average(33) == [run.weights(n) for n in (10, 20, 30, 33)]


def test_a_state_begins_with_nothing():
    assert TrainingState() == TrainingState(0, DataPosition(0, 0), 0.0, 0, 0, None, None, 0)
