"""The length of an epoch is that of the data, not of what a short run has seen of it."""

from pathlib import Path

import pytest

from regard.data.batch import DataPosition
from regard.jobs.train import fit
from regard.jobs.train.epochs import count_epoch_batches
from regard.jobs.train.events import TrainingFinished
from regard.run import Run
from regard.training.loop import Step
from regard.tuning.analysis.curves import read_log_curves
from regard.tuning.measure import summarize_log


@pytest.mark.parametrize("epochs", [0.25, 1.25])
def test_epochs_are_counted_with_their_fraction_everywhere(tiny, tmp_path: Path, epochs: float):
    config = tiny(f"train.epochs={epochs}", "train.validation_sentences=0", "data.test=[]")
    events = list(fit.train_run(tmp_path / "run", config, False, lambda: False))
    run = Run(tmp_path / "run")
    curves = read_log_curves(run, "epochs")
    counts = [event.epochs for event in events if isinstance(event, TrainingFinished)]
    assert curves is not None
    assert [*counts, summarize_log(run).epochs, curves.steps[-1].x] == pytest.approx([epochs] * 3, abs=0.05)


def test_a_run_without_its_data_is_counted_by_its_longest_epoch(tmp_path: Path):
    steps = [
        Step(number, position, loss=1.0, accuracy=0.5, tokens=7, learning_rate=0.1, grad_norm=1.0, seconds=0.1)
        for number, position in enumerate([DataPosition(0, 7), DataPosition(1, 3)], start=1)
    ]
    assert count_epoch_batches(Run(tmp_path), steps) == 7 and count_epoch_batches(Run(tmp_path), []) == 1
