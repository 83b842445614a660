"""Checkpoints: all that is needed to go on bit for bit, without pickle, safe against a kill at any moment.

Dropout is a function of (seed, step) and the order of the data one of (seed, epoch), so what must be kept is short:
weights, optimiser, place in the data, and what the dev set has said so far.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torch import Tensor, nn

from regard.data.batch import Place
from regard.errors import RunError
from regard.model import weights
from regard.run import Run, aside
from regard.training.ema import Ema
from regard.training.optim import Optimizers

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


@dataclass
class Checkpoints:
    """Saves and restores the parts of a run."""

    run: Run
    model: nn.Module
    optimizers: Optimizers
    ema: Ema
    every: int
    keep: int

    def collect(self) -> None:
        """Bring here what other processes hold: nothing, unless each has a share."""

    @contextmanager
    def judged(self) -> Iterator[dict[str, Tensor]]:
        """The weights that are judged and translated with."""
        with self.ema.applied():
            yield weights.tensors_of(self.model)

    def kept(self) -> dict[str, Tensor]:
        """What else is needed to go on."""
        moments = {OPTIMIZER + name: tensor for name, tensor in self.optimizers.tensors().items()}
        return moments | {AVERAGE + name: tensor for name, tensor in self.ema.tensors().items()}

    def take(self, judged: Mapping[str, Tensor], where: str) -> None:
        """Give the model these weights."""
        weights.load_into(self.model, judged, where)

    def place(self, tensor: Tensor, like: Tensor) -> Tensor:
        """A saved tensor where its parameter lives."""
        return tensor.to(like.device)

    def save(self, state: State) -> None:
        """Write everything aside and rename it; it counts once latest.json names it. Then make room."""
        step = state.step
        with self.judged() as tensors, aside(self.run.weights(step)) as path:
            weights.write(tensors, path)
        with aside(self.run.resume_tensors(step)) as path:
            weights.write(self.kept(), path)
        self.run.write_json(self.run.resume_state(step), asdict(state))
        self.run.seal(self.run.weights(step), self.run.resume_tensors(step), self.run.resume_state(step))
        self.run.write_json(self.run.latest, {"step": step})
        self._prune(state)

    def load(self) -> State:
        """Take up the latest checkpoint; a run that has none yet starts at 0."""
        if not self.run.latest.exists():
            if self.run.best.exists():  # which is never written before latest.json
                raise RunError(f"{self.run.latest}: missing. Restore it from a copy, or train again with --overwrite.")
            return State()
        step = int(self.run.read_json(self.run.latest)["step"])
        state = _state(self.run, self.run.verify(self.run.resume_state(step)))
        judged = weights.read(self.run.verify(self.run.weights(step)))
        tensors = weights.read(self.run.verify(self.run.resume_tensors(step)))
        self.take(judged, str(self.run.weights(step)))
        self.optimizers.restore(_of(OPTIMIZER, tensors), self.place)
        self.ema.restore(judged, _of(AVERAGE, tensors), self.place)
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


def _of(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _state(run: Run, path: Path) -> State:
    fields = run.read_json(path)
    try:
        return State(**{**fields, "place": Place(**fields["place"])})
    except (TypeError, KeyError) as error:
        raise RunError(f"{path}: not the state of a run ({error})") from None
