"""A run as it is now, read from what training writes: log, previews and settings. Nothing is computed by the model."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from regard.config import Config
from regard.errors import RegardError
from regard.files import check_shape
from regard.jobs.live.previews import Preview
from regard.jobs.tasks.registry import task_of
from regard.run import Run, is_run
from regard.training import log
from regard.training.loop import Step
from regard.training.validate import Validation

QUIET_SECONDS = 30.0
"""Without a new line in the log, after which a training in another process may have been stopped."""
RECENT_STEPS = 100
MAX_PREVIEWS, MAX_FRAMES = 400, 40
"""Predictions of each example that are shown, and pictures of the attention."""


class GrowingFile:
    """The lines of a JSON Lines file that were added since it was last read; all of them after it was replaced."""

    def __init__(self, path: Path, parse: Callable[[Path, int], tuple[list[Any], int]]):
        self.path, self._parse = path, parse
        self.items: list[Any] = []
        self._identity, self._offset = (0, 0), 0

    def update(self) -> list[Any]:
        """Everything that the file holds now."""
        try:
            status = self.path.stat()
        except OSError:
            self.items, self._identity, self._offset = [], (0, 0), 0
            return self.items
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or status.st_size < self._offset:
            self.items, self._offset = [], 0
        if status.st_size > self._offset:
            added, self._offset = self._parse(self.path, self._offset)
            self.items += added
        self._identity = identity
        return self.items


class LiveRun:
    """A run that is being trained, or has been, and what a page shows of it."""

    def __init__(self, folder: Path, is_training: Callable[[], bool] | None = None):
        self.run = Run(folder)
        self.is_training = is_training
        """Whether it is trained, where that is known: in the process that does so."""
        self._log = GrowingFile(self.run.log, log.read_from)
        self._previews = GrowingFile(self.run.previews, _read_previews)

    def snapshot(self) -> dict[str, Any]:
        """Plain values for the page."""
        table: dict[str, Any] = {"name": self.run.folder.name or str(self.run.folder), "state": "preparing"}
        try:
            if is_run(self.run.folder) and self.run.config.exists():
                table |= self._describe()
        except (RegardError, OSError) as error:  # a file that is being replaced just now
            table |= {"note": str(error)}
        return table

    def has_finished(self) -> bool:
        """Whether training has ended and the model was scored."""
        try:
            return self.run.finished()
        except (RegardError, OSError):
            return False

    def _describe(self) -> dict[str, Any]:
        config = self.run.load_config()
        task, records, previews = task_of(config), self._log.update(), self._previews.update()
        steps = [record for record in records if isinstance(record, Step)]
        validations = [record for record in records if isinstance(record, Validation)]
        seconds = sum(record.seconds for record in records)
        score = next((one.score.name for one in validations if one.score), "")
        return {
            "state": self._state(bool(steps)),
            "title": task.describe_data(config),
            "unit": task.unit,
            "words": asdict(task.prediction_words),
            "step": steps[-1].number if steps else 0,
            "seconds": seconds,
            **estimate_rest(config, steps, seconds),
            "tokens_per_second": _speed(steps),
            "score_name": "" if score == "accuracy" else score,
            "train": [
                [one.number, _finite(one.loss), 100 * one.accuracy, one.learning_rate]
                for one in log.pool_steps(records)
            ],
            "dev": [[one.step, _finite(one.loss), 100 * one.accuracy, _score(one)] for one in validations],
            **_show_previews(previews),
            "report": self.has_finished() and self.run.report.exists(),
        }

    def _state(self, has_steps: bool) -> str:
        """finished, training, quiet (no news: validated, scored, or stopped) or preparing."""
        if self.has_finished():
            return "finished"
        if self.is_training is not None and not self.is_training():
            return "stopped"
        if not has_steps:
            return "preparing"
        age = time.time() - self.run.log.stat().st_mtime
        return "training" if age < QUIET_SECONDS or self.is_training is not None else "quiet"


def estimate_rest(config: Config, steps: Sequence[Step], seconds: float) -> dict[str, Any]:
    """How far training is, from 0 to 1, and the seconds that it takes yet; None where that is not known."""
    if not steps or not seconds:
        return {"fraction": 0.0, "seconds_left": None, "last_step": config.train.last_step}
    c, position = config.train, steps[-1].data_position
    fractions = [
        steps[-1].number / c.last_step if c.last_step else 0.0,
        seconds / (60 * c.minutes) if c.minutes else 0.0,
        position.epoch / c.epochs if c.epochs else 0.0,
        sum(step.tokens for step in steps) / c.tokens if c.tokens else 0.0,
    ]
    fraction = min(1.0, max(fractions))
    left = None if fraction == 0 else seconds * (1 - fraction) / fraction
    return {"fraction": fraction, "seconds_left": left, "last_step": c.last_step}


def _speed(steps: Sequence[Step]) -> float | None:
    """Targets per second of the last steps."""
    rates = [step.tokens / step.seconds for step in steps[-RECENT_STEPS:] if step.seconds > 0]
    return median(rates) if rates else None


def _show_previews(previews: Sequence[Preview]) -> dict[str, Any]:
    """The predictions for each example in the order of steps, repeated ones left out, and attention at some of them."""
    shown = previews[-MAX_PREVIEWS:]
    samples = []
    for number, last in enumerate(shown[-1].samples if shown else ()):
        history: list[list[Any]] = []
        for preview in shown:
            same = preview.samples[number] if number < len(preview.samples) else None
            if same is not None and same.input == last.input and [same.prediction] != [row[1] for row in history[-1:]]:
                history.append([preview.step, same.prediction])
        samples.append({"input": last.input, "reference": last.reference, "history": history})
    frames = [preview for preview in shown if preview.attention is not None]
    chosen = frames[:: max(1, math.ceil(len(frames) / MAX_FRAMES))]
    chosen = [*chosen, frames[-1]] if frames and chosen[-1] is not frames[-1] else chosen
    attention = [{"step": one.step, **asdict(one.attention)} for one in chosen if one.attention]
    return {"samples": samples, "attention": attention}


def _read_previews(path: Path, offset: int) -> tuple[list[Preview], int]:
    lines, end = log.read_lines_from(path, offset)
    try:
        return [check_shape(line, Preview) for line in lines], end
    except ValueError:
        return [], end


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _score(validation: Validation) -> float | None:
    return validation.score.value if validation.score else None
