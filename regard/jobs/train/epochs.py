"""Epochs of a run."""

from collections.abc import Sequence

from regard.jobs.tasks.registry import task_of
from regard.run import Run
from regard.training.loop import Step


def count_epochs(run: Run, steps: Sequence[Step]) -> float:
    """Epochs of a training, with a fraction."""
    position = steps[-1].data_position
    return float(position.epoch + position.batch / count_epoch_batches(run, steps))


def count_epoch_batches(run: Run, steps: Sequence[Step]) -> int:
    """Batches of an epoch: as the data has them or, where a run has no data, as many as its longest epoch had.

    A run may end before its first epoch does, so its log alone does not tell.
    """
    longest = max((step.data_position.batch for step in steps), default=1)
    if not (run.config.exists() and run.tokens_manifest.exists()):
        return max(1, longest)
    config = run.load_config()
    task = task_of(config)
    return max(1, longest, task.build_batches(config, task.open_data(run, config)).count_batches())
