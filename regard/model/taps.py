"""Named places to look, free until somebody watches.

with record(model, "decoder.*.cross.weights") as seen:
    model(source, target)
seen["decoder.0.cross.weights"]      # (B, H, Tq, Tk)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import Tensor, nn

from regard.errors import ModelError


class Tap(nn.Identity):
    """A place to look: hands on what it is given."""

    @property
    def watched(self) -> bool:
        return bool(self._forward_hooks)


@dataclass(frozen=True)
class Record(Mapping[str, Tensor]):
    """What taps saw, by name; of a tap that was passed several times, the last."""

    tensors: dict[str, Tensor] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of a model by its name, which is its path without the word `layers`."""
    return {path.replace(".layers.", "."): module for path, module in model.named_modules() if isinstance(module, Tap)}


@contextmanager
def record(model: nn.Module, *patterns: str) -> Iterator[Record]:
    """Watch the taps whose names fit one of the patterns, for as long as the block lasts."""
    every = taps(model)
    chosen = {name: tap for name, tap in every.items() if any(fnmatchcase(name, p) for p in patterns)}
    if not chosen:
        raise ModelError(f"no tap is called {' or '.join(patterns)}; there are: {', '.join(every)}")
    seen = Record()

    def watcher(name: str) -> object:
        def watch(module: nn.Module, given: object, out: Tensor) -> None:
            seen.tensors[name] = out

        return watch

    handles = [tap.register_forward_hook(watcher(name)) for name, tap in chosen.items()]  # type: ignore[arg-type]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def alter(model: nn.Module, changes: Mapping[str, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Let taps hand on something else than they are given, for as long as the block lasts.

    with alter(model, {"decoder.0.cross.mixed": lambda x: x * gates}):
        model(source, target)
    """
    every = taps(model)
    if unknown := changes.keys() - every.keys():
        raise ModelError(f"no tap is called {' or '.join(sorted(unknown))}; there are: {', '.join(every)}")

    def changer(change: Callable[[Tensor], Tensor]) -> Callable[[nn.Module, object, Tensor], Tensor]:
        return lambda module, given, out: change(out)

    handles = [every[name].register_forward_hook(changer(change)) for name, change in changes.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
