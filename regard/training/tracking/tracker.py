"""What every tracker does, and the check that its package is installed."""

import importlib
from collections.abc import Iterable

from regard.errors import ConfigError
from regard.evaluation import Evaluation
from regard.training.loop import Step
from regard.training.validate import Validation


class NullTracker:
    """Tracks nothing: of a run without `train.track`, and of a process that is not the main process."""

    @property
    def size_bytes(self) -> int:
        """Bytes written so far, from which a resumed run continues; a checkpoint records them."""
        return 0

    def write_step(self, step: Step) -> None:
        """Track an optimizer step."""

    def write_validation(self, validation: Validation) -> None:
        """Track a validation."""

    def write_evaluation(self, step: int, set_name: str, evaluation: Evaluation) -> None:
        """Track the scores of the finished model."""

    def close(self) -> None:
        """Close the files."""


def require_installed(trackers: Iterable[str]) -> None:
    """Refuse a tracker whose package is not installed."""
    for tracker in trackers:
        try:
            importlib.import_module(f"{__package__}.{tracker}")
        except ImportError:
            raise ConfigError(
                f"train.track={tracker} needs the package {tracker}, which is not installed; "
                f"pip install 'regard[track]'"
            ) from None
