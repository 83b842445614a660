"""Calling functions for a check: for values, for gradients, for what becomes of the inputs."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, Draws, Function, Inputs, Observation
from regard.labs.checker.comparison import match_form

DescribeError = Callable[[BaseException], str]


class CallError(Exception):
    """The function raised something: the message says what and where."""


@dataclass
class StudentFunction:
    """A student's function: called with copies, its results checked for their form."""

    assignment: Assignment
    function: Function
    describe_error: DescribeError
    worst_error: float = 0.0
    dtypes: set[torch.dtype] = field(default_factory=set)
    references: dict[tuple[tuple[str, int], ...], tuple[Inputs, Any]] = field(default_factory=dict)
    """What the reference returned, by the identity of its arguments, which are kept so that this stays theirs."""

    def __call__(self, **inputs: Any) -> Any:
        return self._call(copy_inputs(inputs), self.reference(**inputs))

    def reference(self, **inputs: Any) -> Any:
        key = tuple((name, id(value)) for name, value in inputs.items())
        if key not in self.references:
            self.references[key] = (inputs, self.assignment.reference(**copy_inputs(inputs)))
        return self.references[key][1]

    def gradients(self, inputs: Inputs) -> dict[str, Observation]:
        expected = self.reference(**inputs)
        try:
            returned = gradients_of(lambda **copies: self._call(copies, expected), inputs)
        except RuntimeError as error:  # of the backward pass, as after a change in place
            raise CallError(self.describe_error(error)) from error
        right = gradients_of(self.assignment.reference, inputs)
        return {name: Observation(returned[name], right[name], f"gradient of {name}") for name in right}

    def inputs_afterwards(self, inputs: Inputs) -> dict[str, Observation]:
        copies = copy_inputs(inputs)
        self._call(copies, self.reference(**inputs))
        before = dict(named_tensors(inputs))
        return {name: Observation(after, before[name], name) for name, after in named_tensors(copies)}

    def _call(self, copies: Inputs, expected: Any) -> Any:
        try:
            returned = self.function(**copies)
        except Exception as error:
            raise CallError(self.describe_error(error)) from error
        value = match_form(returned, expected, self.assignment.outputs)
        tensors = value if isinstance(value, tuple) else (value,)
        self.dtypes |= {one.dtype for one in tensors if isinstance(one, Tensor) and one.is_floating_point()}
        return value


def copy_inputs(inputs: Inputs) -> dict[str, Any]:
    """The same inputs in memory of their own, which the function may spoil."""
    return {name: _map_tensors(value, Tensor.clone) for name, value in inputs.items()}


def named_tensors(inputs: Inputs) -> Iterator[tuple[str, Tensor]]:
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}['{key}']", tensor) for key, tensor in value.items())


def gradients_of(function: Function, inputs: Inputs) -> dict[str, Tensor]:
    """The gradient of each floating-point input; 0 for one that the result does not depend on."""
    leaves = {
        name: value.clone().requires_grad_() for name, value in named_tensors(inputs) if value.is_floating_point()
    }
    names = iter(leaves)
    # Clones of the leaves, so that a function that works in place gets as far as one that does not.
    copies = {
        name: _map_tensors(value, lambda x: leaves[next(names)].clone() if x.is_floating_point() else x.clone())
        for name, value in inputs.items()
    }
    returned = function(**copies)
    total = sum(
        ((one.double() * _cotangent(one)).sum() for one in (returned if isinstance(returned, tuple) else (returned,))),
        torch.zeros((), dtype=torch.float64),
    )
    if not total.requires_grad:
        return {name: torch.zeros_like(leaf) for name, leaf in leaves.items()}
    gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, gradients, strict=True))


def _cotangent(value: Tensor) -> Tensor:
    """Fixed numbers, none of them alike."""
    return torch.arange(1.0, value.numel() + 1, dtype=torch.float64).mul(2.4).sin().reshape(value.shape)


def _map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_tensors(one, change) for key, one in value.items()}
    return value


@functools.lru_cache(maxsize=32)
def _inputs_of(make_inputs: Callable[[Draws], dict[str, list[Inputs]]], seed: int) -> dict[str, list[Inputs]]:
    return make_inputs(Draws(seed))


def assignment_inputs(assignment: Assignment, seed: int) -> dict[str, list[Inputs]]:
    """The inputs of an assignment by kind, from small to large."""
    return _inputs_of(assignment.make_inputs, seed)
