"""Named points of observation, free until they are hooked.

with record(model, "decoder.layers.*.cross_attn.weights") as tensors:
    model(source, target)
tensors["decoder.layers.0.cross_attn.weights"]      # (B, H, Tq, Tk)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import Tensor, nn

from regard.errors import ModelError


class Tap(nn.Identity):
    """A point of observation: passes on what it is given."""

    @property
    def is_hooked(self) -> bool:
        return bool(self._forward_hooks)


NO_TAP = Tap()
"""Passes on what it is given, and is part of no model."""


@dataclass(frozen=True)
class Record(Mapping[str, Tensor]):
    """What passed through taps, by name; of a tap that was passed several times, the last."""

    tensors: dict[str, Tensor] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def named_taps(model: nn.Module) -> dict[str, Tap]:
    """Every tap of a model by the path of its module."""
    return {path: module for path, module in model.named_modules() if isinstance(module, Tap)}


def match_taps(model: nn.Module, *patterns: str) -> dict[str, Tap]:
    """The taps whose names match one of the patterns."""
    all_taps = named_taps(model)
    matches = {name: tap for name, tap in all_taps.items() if any(fnmatchcase(name, p) for p in patterns)}
    if not matches:
        raise ModelError(f"no tap matches {' or '.join(patterns)}; available: {', '.join(all_taps)}")
    return matches


def attention_path(name: str) -> str:
    """The module path of an attention that people call decoder.3.cross: decoder.layers.3.cross_attn."""
    stack, layer, kind = name.split(".")
    return f"{stack}.layers.{layer}.{kind}_attn"


@contextmanager
def record(model: nn.Module, *patterns: str, gradients: bool = False) -> Iterator[Record]:
    """Record the taps whose names match one of the patterns, for as long as the block lasts.

    With `gradients`, a backward pass leaves its gradient in the `.grad` of each tensor.
    """
    selected_taps = match_taps(model, *patterns)
    activations = Record()

    def make_hook(name: str) -> object:
        def hook(module: nn.Module, inputs: object, output: Tensor) -> None:
            activations.tensors[name] = output
            if gradients:
                output.retain_grad()

        return hook

    handles = [tap.register_forward_hook(make_hook(name)) for name, tap in selected_taps.items()]  # type: ignore[arg-type]
    try:
        yield activations
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def alter(model: nn.Module, changes: Mapping[str, Callable[[Tensor], Tensor]]) -> Iterator[None]:
    """Let the taps whose names match a pattern pass on something else than they are given, while the block lasts.

    with alter(model, {"decoder.layers.*.cross_attn.head_outputs": lambda x: x * gates}):
        model(source, target)
    """
    changed_taps = [(tap, change) for name, change in changes.items() for tap in match_taps(model, name).values()]

    def make_hook(change: Callable[[Tensor], Tensor]) -> Callable[[nn.Module, object, Tensor], Tensor]:
        return lambda module, inputs, output: change(output)

    handles = [tap.register_forward_hook(make_hook(change)) for tap, change in changed_taps]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
