"""What every tracker does, and the check that its package is installed."""

import importlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from regard.errors import ConfigError
from regard.evaluation import Evaluation
from regard.training.loop import Step
from regard.training.validate import Validation

FILE_PREFIX = "events.out.tfevents."  # TensorBoard reads files that are named so
OWN_NAME = re.compile(re.escape(FILE_PREFIX) + "[0-9]{8}")  # files of other programs have a time and a host there


class NullTracker:
    """Tracks nothing: of a session without `train.track`, and of a process that is not the main process."""

    def __init__(self, tracked_bytes: int = 0):
        self._tracked_bytes = tracked_bytes  # by the session before

    @property
    def size_bytes(self) -> int:
        """Size of the last event file, from which a resumed run continues; a checkpoint records it."""
        return self._tracked_bytes

    def write_step(self, step: Step) -> None:
        """Track an optimizer step."""

    def write_validation(self, validation: Validation) -> None:
        """Track a validation."""

    def write_evaluation(self, step: int, set_name: str, evaluation: Evaluation) -> None:
        """Track the scores of the finished model."""

    def close(self) -> None:
        """Close the files."""


def drop_later_events(folder: Path, step: int, keep_bytes: int) -> None:
    """Delete the event files of sessions that start at this step or later, and cut the last of the others.

    `step` is that of a checkpoint, `keep_bytes` the size of the last event file when it was saved. A session that does
    not track does the same, so that the files are always those of the checkpoint. Files of other programs stay.
    """
    paths = sorted(path for path in folder.glob(f"{FILE_PREFIX}*") if OWN_NAME.fullmatch(path.name))
    later_paths = [path for path in paths if int(path.name.removeprefix(FILE_PREFIX)) >= step]
    for path in later_paths:
        path.unlink()
    for path in paths[: len(paths) - len(later_paths)][-1:]:
        os.truncate(path, min(keep_bytes, path.stat().st_size))


def require_installed(trackers: Iterable[str]) -> None:
    """Refuse a tracker whose package is not installed."""
    for tracker in trackers:
        try:
            importlib.import_module(f"{__package__}.{tracker}")
        except ImportError:
            raise ConfigError(
                f"train.track={tracker} needs the package {tracker}, which is not installed; "
                f"in Regard's source folder: pip install '.[track]'"
            ) from None
