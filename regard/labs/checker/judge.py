"""Judging a function: its truths one by one, then the known mistakes that it makes."""

from typing import Any

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, Function, Inputs, Truth
from regard.labs.checker.calls import CallError, DescribeError, StudentFunction, assignment_inputs
from regard.labs.checker.comparison import FULL_PRECISION, TOLERANCE, FormError, find_difference, largest_error
from regard.labs.checker.mistakes import name_mistakes
from regard.labs.checker.results import CheckResult, Counterexample


def judge(
    assignment: Assignment, function: Function, seed: int = 1, describe_error: DescribeError = repr
) -> CheckResult:
    """Check every truth of an assignment, and name the known mistakes if one does not hold."""
    student = StudentFunction(assignment, function, describe_error)
    kinds = assignment_inputs(assignment, seed)
    passed, failed, first = [], [], None
    for truth in assignment.truths:
        counterexample = find_counterexample(truth, student, kinds)
        if counterexample is None:
            passed.append(truth.sentence)
        else:
            failed.append(truth.sentence)
            first = first or counterexample
    mistake = name_mistakes(assignment, function, seed) if failed else ""
    precision = "" if failed else _describe_precision(student)
    return CheckResult(assignment.name, tuple(passed), tuple(failed), first, mistake, precision)


def find_counterexample(
    truth: Truth, student: StudentFunction, kinds: dict[str, list[Inputs]]
) -> Counterexample | None:
    """The first inputs that break a truth, from small to large, or None."""
    # By size first, so that a kind that comes later can have the smallest.
    cases = [(kind, n, inputs) for kind in truth.kinds for n, inputs in enumerate(kinds[kind])]
    for kind, _, inputs in sorted(cases, key=lambda case: case[1]):
        try:
            observations = list(truth.measure(student, inputs))
        except (FormError, CallError) as error:
            return Counterexample(kind, describe_sizes(inputs), problem=str(error))
        except Exception as error:  # of the truth, which cannot use what was returned
            problem = f"what it returns cannot be used: {type(error).__name__}: {error}"
            return Counterexample(kind, describe_sizes(inputs), problem=problem)
        for returned, expected, name in observations:
            tolerance = 0.0 if truth.exact else TOLERANCE
            difference = find_difference(returned, expected, name, tolerance)
            if difference is not None:
                return Counterexample(kind, describe_sizes(inputs), difference)
            if not truth.exact:
                student.worst_error = max(student.worst_error, largest_error(returned, expected))
    return None


def describe_sizes(inputs: Inputs) -> str:
    """The arguments, tensors by their shapes."""
    return ", ".join(part for name, value in inputs.items() if (part := _describe_input(name, value)))


def _describe_input(name: str, value: Any) -> str:
    if isinstance(value, Tensor):
        shape = tuple(value.shape)
        if value.numel() <= 8 and not value.is_floating_point():
            return f"{name} {value.int().tolist() if value.dtype == torch.bool else value.tolist()}"
        return f"{name} {shape}" if shape else f"{name} of no dimension"
    if isinstance(value, dict):
        return f"{name} for D = {len(next(iter(value.values())))}"
    if value is None:
        return ""
    return f"{name} = {value}" if isinstance(value, int | float) else str(value)


def _describe_precision(student: StudentFunction) -> str:
    if not student.dtypes:
        return "exactly"
    name = "float32" if torch.float32 in student.dtypes else "float64"
    if student.worst_error <= FULL_PRECISION:
        return f"correct to 1e-9, in {name}"
    digits = next(exponent for exponent in range(9, 0, -1) if student.worst_error <= 10.0**-exponent)
    note = "" if name == "float32" else ", with a part that is computed in float32"
    return f"correct to 1e-{digits}, in {name}{note}"
