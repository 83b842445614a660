"""Truths that every assignment has, from the simplest to the strictest: form, inputs untouched, values, gradients."""

from collections.abc import Iterator

from torch import Tensor

from regard.labs.checker.assignment import CheckedFunction, Inputs, Observation, Truth


def returns(what: str, *kinds: str) -> Truth:
    """It returns something of the right form at all, and numbers that are numbers."""
    return Truth(f"it returns {what}", kinds, _finite)


def leaves_inputs_alone(*kinds: str) -> Truth:
    return Truth("it leaves its inputs as they were", kinds, _inputs_afterwards, exact=True)


def equals_reference(what: str, *kinds: str) -> Truth:
    """Parity of values."""
    return Truth(f"{what} equal those of Regard", kinds, _values)


def gradients_equal_reference(*kinds: str) -> Truth:
    """Parity of gradients."""
    return Truth("the gradients of its inputs equal those of Regard", kinds, _gradients)


def _finite(function: CheckedFunction, inputs: Inputs) -> Iterator[Observation]:
    returned, expected = function(**inputs), function.reference(**inputs)
    single = isinstance(expected, Tensor)
    for one, right in zip(*([(returned,), (expected,)] if single else [returned, expected]), strict=False):
        if isinstance(right, Tensor) and bool((right.isfinite() & ~one.isfinite()).any()):
            yield Observation(one, right)


def _inputs_afterwards(function: CheckedFunction, inputs: Inputs) -> Iterator[Observation]:
    yield from function.inputs_afterwards(inputs).values()


def _values(function: CheckedFunction, inputs: Inputs) -> Iterator[Observation]:
    yield Observation(function(**inputs), function.reference(**inputs))


def _gradients(function: CheckedFunction, inputs: Inputs) -> Iterator[Observation]:
    yield from function.gradients(inputs).values()
