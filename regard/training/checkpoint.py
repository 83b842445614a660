"""Checkpoints: everything that is needed to resume bit for bit, without pickle, safe against a kill at any moment.

Dropout is a function of (seed, step) and the order of the data one of (seed, epoch), so little must be saved: weights,
optimizer state, position in the data, and the best validation so far.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torch import Tensor, nn

from regard.data.batch import DataPosition
from regard.errors import RunError
from regard.files import Count, Finite
from regard.model import weights
from regard.run import STEP, LatestCheckpoint, Run, atomic_write
from regard.training.ema import Ema
from regard.training.optim import Optimizers

OPTIMIZER_PREFIX, EMA_PREFIX = "optimizer:", "ema:"


@dataclass(frozen=True)
class TrainingState:
    """The state of a run besides its tensors: resume/<step>.json."""

    step: Count = 0
    data_position: DataPosition = field(default_factory=DataPosition)
    elapsed: Finite = 0.0
    log_bytes: Count = 0
    tracked_bytes: Count = 0
    best_step: Count | None = None
    best_cost: Finite | None = None
    validations_without_improvement: Count = 0
    """Validations since the best one."""
    stable_step: Count | None = None
    """Once the learning rate decays: the last step before, whose checkpoint is kept for a run that is extended."""

    def after_validation(self, step: int, cost: float) -> "TrainingState":
        """The state after a validation."""
        if self.best_cost is None or cost < self.best_cost:
            return replace(self, best_step=step, best_cost=cost, validations_without_improvement=0)
        return replace(self, validations_without_improvement=self.validations_without_improvement + 1)


@dataclass
class CheckpointManager:
    """Saves and restores the parts of a run."""

    run: Run
    model: nn.Module
    optimizers: Optimizers
    ema: Ema
    save_every: int
    keep_last: int

    def gather_shards(self) -> None:
        """Collect the shards of all processes; nothing to do unless the model is sharded."""

    @contextmanager
    def evaluation_weights(self) -> Iterator[dict[str, Tensor]]:
        """The weights to validate and translate with: the moving average where there is one."""
        with self.ema.averaged_weights():
            yield weights.tensors_of(self.model)

    def resume_tensors(self) -> dict[str, Tensor]:
        """Everything else that is needed to resume."""
        moments = {OPTIMIZER_PREFIX + name: tensor for name, tensor in self.optimizers.state_tensors().items()}
        return moments | {EMA_PREFIX + name: tensor for name, tensor in self.ema.state_tensors().items()}

    def load_weights(self, tensors: Mapping[str, Tensor], where: str) -> None:
        """Load weights into the model."""
        weights.load_into(self.model, tensors, where)

    def place_tensor(self, tensor: Tensor, like: Tensor) -> Tensor:
        """A saved tensor on the device of its parameter."""
        return tensor.to(like.device)

    def save(self, state: TrainingState) -> None:
        """Write a checkpoint, which counts once latest.json names it; then delete old ones."""
        step = state.step
        with self.evaluation_weights() as tensors, atomic_write(self.run.weights(step)) as path:
            weights.write(tensors, path)
        with atomic_write(self.run.resume_tensors(step)) as path:
            weights.write(self.resume_tensors(), path)
        self.run.write_json(self.run.resume_state(step), asdict(state))
        self.run.record_checksums(self.run.weights(step), self.run.resume_tensors(step), self.run.resume_state(step))
        self.run.write_latest(LatestCheckpoint(step))
        self._delete_old(state)

    def load(self) -> TrainingState:
        """Load the latest checkpoint; a run that has none yet starts at step 0."""
        if not self.run.latest.exists():
            if self.run.best.exists():  # which is never written before latest.json
                raise RunError(f"{self.run.latest}: missing. Restore it from a copy, or train again with --overwrite.")
            return TrainingState()
        step = self.run.read_latest().step
        state = _read_state(self.run, self.run.verify(self.run.resume_state(step)))
        evaluation_weights = weights.read(self.run.verify(self.run.weights(step)))
        tensors = weights.read(self.run.verify(self.run.resume_tensors(step)))
        self.load_weights(evaluation_weights, str(self.run.weights(step)))
        self.optimizers.restore(_select_prefix(OPTIMIZER_PREFIX, tensors), self.place_tensor)
        self.ema.restore(evaluation_weights, _select_prefix(EMA_PREFIX, tensors), self.place_tensor)
        self._delete_old(state)
        return state

    def paths_to_average(self, last_step: int) -> list[Path]:
        """The weights that are averaged at the end: the last few regular checkpoints and the final one."""
        steps = [step for step in self.run.saved_steps() if self._is_regular(step) or step == last_step]
        return [self.run.weights(step) for step in steps if step <= last_step][-self.keep_last :]

    def _is_regular(self, step: int) -> bool:
        return step % self.save_every == 0

    def _delete_old(self, state: TrainingState) -> None:
        """Keep what averaging, the best and the latest checkpoint need; delete all else, incomplete checkpoints too."""
        states = [state]
        if state.stable_step is not None:  # to resume from, as if nothing had followed
            states.append(_read_state(self.run, self.run.verify(self.run.resume_state(state.stable_step))))
        needed_steps = {step for needed in states for step in self._needed_steps(needed)}
        resume_steps = {needed.step for needed in states}
        best_weights = self.run.best_weights() if self.run.best.exists() else None
        for path in (self.run.folder / "weights").glob("[0-9]*"):
            if STEP.fullmatch(path.stem) and int(path.stem) not in needed_steps and path != best_weights:
                path.unlink(missing_ok=True)
        for path in (self.run.folder / "resume").glob("[0-9]*"):
            if STEP.fullmatch(path.stem) and int(path.stem) not in resume_steps:
                path.unlink(missing_ok=True)

    def _needed_steps(self, state: TrainingState) -> set[int | None]:
        """The checkpoints whose weights a state needs."""
        saved_steps = [step for step in self.run.saved_steps() if step <= state.step]
        regular_steps = [step for step in saved_steps if self._is_regular(step)]
        return {state.step, state.best_step, *regular_steps[-self.keep_last :]}


def step_before_decay(run: Run) -> int | None:
    """The last step before the learning rate of a run began to decay; None where it has not."""
    return _read_state(run, run.verify(run.resume_state(run.read_latest().step))).stable_step


def _select_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read_state(run: Run, path: Path) -> TrainingState:
    state = run.read_json(path, TrainingState)
    if path != run.resume_state(state.step):
        raise RunError(f"{path}: not the state of a run at this step, but at step {state.step}")
    return state
