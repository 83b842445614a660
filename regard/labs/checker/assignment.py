"""Assignment: a function for students to write, what is true of it, and which mistakes are known.

Inputs come in kinds (ordinary ones, a query that may attend to nothing, large scores …), each from small to large. A
truth is checked on one kind or more, and the first inputs that break it are the counter-example. A known mistake is an
edit of a correct implementation.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from regard.errors import LabError

Function = Callable[..., Any]
Inputs = Mapping[str, Any]
"""Arguments by name: tensors, dictionaries of tensors, numbers, functions."""


class Draws:
    """Random inputs from a seed, in float64."""

    def __init__(self, seed: int):
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """From `low` to `high` - 1."""
        return torch.randint(low, high, shape, generator=self.generator)

    def mask(self, *shape: int) -> Tensor:
        """A random mask that leaves each row at least its first key."""
        mask = torch.rand(shape, generator=self.generator) < 0.6
        mask[..., 0] = True
        return mask


class Observation(NamedTuple):
    """What a truth compares."""

    returned: Any
    expected: Any
    name: str = "result"


class CheckedFunction(Protocol):
    """A student's function, as truths see it."""

    def __call__(self, **inputs: Any) -> Any:
        """What it returns for copies of the inputs, if that has the right form."""
        ...

    def reference(self, **inputs: Any) -> Any:
        """What Regard returns."""
        ...

    def gradients(self, inputs: Inputs) -> dict[str, Observation]:
        """The gradient of each floating-point input, of a sum of all that is returned with random weights."""
        ...

    def inputs_afterwards(self, inputs: Inputs) -> dict[str, Observation]:
        """Each tensor among the inputs as the function leaves it."""
        ...


Measure = Callable[[CheckedFunction, Inputs], Iterable[Observation]]


@dataclass(frozen=True)
class Truth:
    """A sentence that is true of every correct implementation."""

    sentence: str
    kinds: tuple[str, ...]
    measure: Measure
    exact: bool = False
    """Whether the values must be equal to the last bit."""


@dataclass(frozen=True)
class Mistake:
    """A known mistake: what such an implementation does, and the implementation."""

    sentence: str
    """Goes on after "an implementation that"."""
    function: Function


@dataclass(frozen=True)
class Assignment:
    """A function to write."""

    reference: Function
    """Its signature and docstring are those of the assignment, its body calls what Regard runs."""
    outputs: tuple[str, ...]
    """Each value that is returned, with its shape."""
    steps: tuple[str, ...]
    """The equation step by step, for those who ask for it."""
    make_inputs: Callable[[Draws], dict[str, list[Inputs]]]
    truths: tuple[Truth, ...]
    mistakes: tuple[Mistake, ...]
    differentiable: bool = True
    shapes: tuple[Function, ...] = field(default=())
    """Functions whose comments say the shapes of what is computed on the way."""

    @property
    def name(self) -> str:
        return self.reference.__name__


def edits(correct: Function, *table: tuple[str, *tuple[str, ...]]) -> tuple[Mistake, ...]:
    """Known mistakes as edits of a correct implementation: a sentence, then what is replaced and by what, in turn."""
    return tuple(Mistake(sentence, _edit(correct, replacements)) for sentence, *replacements in table)


def _edit(correct: Function, replacements: Sequence[str]) -> Function:
    source = textwrap.dedent(inspect.getsource(correct))
    for old, new in zip(replacements[::2], replacements[1::2], strict=True):
        if source.count(old) != 1:
            raise LabError(f"{correct.__name__}() has {source.count(old)} times {old!r}, which an edit replaces")
        source = source.replace(old, new)
    names = dict(correct.__globals__)
    exec(compile(source, f"<an edit of {correct.__name__}>", "exec"), names)
    return names[correct.__name__]
