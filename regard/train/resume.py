"""Checkpoints: all that is needed to go on bit for bit, without pickle, safe against a kill at any moment.

Dropout is a function of (seed, step) and the order of the data one of (seed, epoch), so what must be kept is short:
weights, optimiser, place in the data, and what the dev set has said so far.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torch import nn

from regard.data.batch import Place
from regard.errors import RunError
from regard.model import weights
from regard.run import Run, aside
from regard.train.ema import Ema
from regard.train.optim import Optimizers

OPTIMIZER, AVERAGE = "optimizer:", "average:"


@dataclass(frozen=True)
class State:
    """Where a run stands."""

    step: int = 0
    place: Place = field(default_factory=Place)
    elapsed: float = 0.0
    log_bytes: int = 0
    best_step: int | None = None
    best_cost: float | None = None
    worse: int = 0
    """Checks since the best one."""

    def judged(self, step: int, cost: float) -> "State":
        """The state after a check."""
        if self.best_cost is None or cost < self.best_cost:
            return replace(self, best_step=step, best_cost=cost, worse=0)
        return replace(self, worse=self.worse + 1)


@dataclass(frozen=True)
class Checkpoints:
    """Saves and restores the parts of a run."""

    run: Run
    model: nn.Module
    optimizers: Optimizers
    ema: Ema
    every: int
    keep: int

    def save(self, state: State) -> None:
        """Write everything aside and rename it; it counts once latest.json names it. Then make room."""
        step = state.step
        with self.ema.applied(), aside(self.run.weights(step)) as path:
            weights.write(weights.tensors_of(self.model), path)
        tensors = {OPTIMIZER + name: tensor for name, tensor in self.optimizers.tensors().items()}
        tensors |= {AVERAGE + name: tensor for name, tensor in self.ema.tensors().items()}
        with aside(self.run.resume_tensors(step)) as path:
            weights.write(tensors, path)
        self.run.write_json(self.run.resume_state(step), asdict(state))
        self.run.seal(self.run.weights(step), self.run.resume_tensors(step), self.run.resume_state(step))
        self.run.write_json(self.run.latest, {"step": step})
        self._prune(state)

    def load(self) -> State:
        """Take up the latest checkpoint; a run that has none yet starts at 0."""
        self.run.sweep()
        if not self.run.latest.exists():
            if self.run.best.exists():  # which is never written before latest.json
                raise RunError(f"{self.run.latest}: missing. Restore it from a copy, or train again with --overwrite.")
            return State()
        step = int(self.run.read_json(self.run.latest)["step"])
        state = _state(self.run, self.run.verify(self.run.resume_state(step)))
        judged = weights.read(self.run.verify(self.run.weights(step)))
        tensors = weights.read(self.run.verify(self.run.resume_tensors(step)))
        weights.load_into(self.model, judged, str(self.run.weights(step)))
        self.optimizers.restore(
            {name.removeprefix(OPTIMIZER): t for name, t in tensors.items() if name.startswith(OPTIMIZER)}
        )
        self.ema.restore(
            judged, {name.removeprefix(AVERAGE): t for name, t in tensors.items() if name.startswith(AVERAGE)}
        )
        self._prune(state)
        return state

    def to_average(self, last: int) -> list[Path]:
        """The weights that the final average is made of: the last few regular checkpoints and the final one."""
        steps = [step for step in self.run.saved_steps() if self._regular(step) or step == last]
        return [self.run.weights(step) for step in steps if step <= last][-self.keep :]

    def _regular(self, step: int) -> bool:
        return step % self.every == 0

    def _prune(self, state: State) -> None:
        """Keep what averaging, the best and the latest checkpoint need, and nothing that was never completed."""
        saved = [step for step in self.run.saved_steps() if step <= state.step]
        needed = {state.step, state.best_step, *[step for step in saved if self._regular(step)][-self.keep :]}
        in_use = self.run.read_json(self.run.best)["weights"] if self.run.best.exists() else ""
        for path in (self.run.folder / "weights").glob("[0-9]*"):
            if int(path.stem) not in needed and path.name != Path(in_use).name:
                path.unlink(missing_ok=True)
        for path in (self.run.folder / "resume").glob("[0-9]*"):
            if int(path.stem) != state.step:
                path.unlink(missing_ok=True)


def _state(run: Run, path: Path) -> State:
    fields = run.read_json(path)
    try:
        return State(**{**fields, "place": Place(**fields["place"])})
    except (TypeError, KeyError) as error:
        raise RunError(f"{path}: not the state of a run ({error})") from None
