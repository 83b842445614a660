"""Comparing what a function returns with what it should: its form first, then its numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

TOLERANCE = 3e-5
"""Relative to the largest expected number: what float32 reaches. Inputs are such that every mistake shows above it."""
FULL_PRECISION = 1e-9
"""What float64 reaches."""
DTYPES = (torch.float64, torch.float32)
SHOWN = 8  # numbers of a row


class FormError(Exception):
    """What was returned is not of the kind, shape or dtype that was asked for."""


@dataclass(frozen=True)
class Difference:
    """The first row that is not as expected."""

    where: str
    expected: str
    returned: str


def match_form(returned: Any, expected: Any, names: Sequence[str]) -> Any:
    """What was returned, in the types of what was expected; FormError if it has another form.

    Names say what the values are: one, or one for each member of a tuple.
    """
    if isinstance(expected, Tensor):
        return _match_tensor(returned, expected, names[0])
    if isinstance(expected, tuple):
        if not isinstance(returned, tuple | list) or len(returned) != len(expected):
            raise FormError(f"it returns {describe_kind(returned)}; expected a tuple of {' and '.join(names)}")
        each = names if len(names) == len(expected) else [f"{names[0]}[{n}]" for n in range(len(expected))]
        return tuple(match_form(one, like, [name]) for one, like, name in zip(returned, expected, each, strict=True))
    if isinstance(expected, list):
        items = returned.tolist() if isinstance(returned, Tensor) else returned
        if not isinstance(items, list | tuple):
            raise FormError(f"it returns {describe_kind(returned)}; expected a list: {names[0]}")
        return [match_form(item, expected[0], names) for item in items] if expected else list(items)
    return _match_number(returned, expected, names[0])


def _match_tensor(returned: Any, expected: Tensor, name: str) -> Tensor:
    if not isinstance(returned, Tensor):
        raise FormError(f"it returns {describe_kind(returned)}; expected a tensor: {name}")
    if returned.shape != expected.shape:
        raise FormError(f"it returns {name} in the shape {tuple(returned.shape)}; expected {tuple(expected.shape)}")
    right = returned.dtype in DTYPES if expected.is_floating_point() else returned.dtype == expected.dtype
    if not right:
        wanted = "float64, as its inputs are, or float32" if expected.is_floating_point() else _dtype(expected)
        raise FormError(f"it returns {name} as {_dtype(returned)}; expected {wanted}")
    return returned


def _match_number(returned: Any, expected: float, name: str) -> float:
    value = returned.item() if isinstance(returned, Tensor) and returned.numel() == 1 else returned
    kinds = int if isinstance(expected, int) else int | float
    if not isinstance(value, kinds) or isinstance(value, bool):
        wanted = "an integer" if isinstance(expected, int) else "a number"
        raise FormError(f"it returns {describe_kind(returned)}; expected {wanted}: {name}")
    return type(expected)(value)


def describe_kind(value: Any) -> str:
    """The kind of a value, in a few words."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and dtype {_dtype(value)}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a value of type {type(value).__name__}"


def largest_error(returned: Any, expected: Any) -> float:
    """The largest difference, relative to the largest expected number if above 1; inf if they do not compare."""
    if isinstance(expected, Tensor):
        return _tensor_error(returned, expected)
    if isinstance(expected, tuple | list):
        if len(returned) != len(expected):
            return math.inf
        return max((largest_error(one, other) for one, other in zip(returned, expected, strict=True)), default=0.0)
    if isinstance(expected, float):
        return _tensor_error(torch.tensor(returned), torch.tensor(expected))
    return 0.0 if returned == expected else math.inf


def _tensor_error(returned: Tensor, expected: Tensor) -> float:
    if not expected.numel():
        return 0.0
    scale = max(1.0, float(expected.double().nan_to_num(0, 0, 0).abs().max()))
    return float(_entry_errors(returned, expected).max()) / scale


def _entry_errors(returned: Tensor, expected: Tensor) -> Tensor:
    """The absolute difference of each entry; 0 where both are the same infinity or both NaN, inf where one alone is."""
    one, other = returned.detach().double(), expected.detach().double()
    same = (one == other) | (one.isnan() & other.isnan())
    return (one - other).abs().masked_fill(same, 0.0).nan_to_num(math.inf, math.inf)


def find_difference(returned: Any, expected: Any, name: str, tolerance: float = TOLERANCE) -> Difference | None:
    """Where two values of the same form differ first, or None."""
    if largest_error(returned, expected) <= tolerance:
        return None
    if isinstance(expected, tuple) and len(returned) == len(expected) and isinstance(expected[0], Tensor):
        pairs = zip(returned, expected, strict=True)
        return next(
            filter(None, (find_difference(*pair, f"{name}[{n}]", tolerance) for n, pair in enumerate(pairs))), None
        )
    if not isinstance(expected, Tensor):
        return Difference(name, _format_plain(expected), _format_plain(returned))
    if not expected.dim():
        return Difference(name, *_format_rows(expected[None], returned[None], range(1)))
    scale = max(1.0, float(expected.double().nan_to_num(0, 0, 0).abs().max()))
    wrong = (_entry_errors(returned, expected) > tolerance * scale).nonzero()[0].tolist()
    row = tuple(wrong[:-1])
    first = max(0, wrong[-1] - SHOWN + 1)
    place = f"{name}[{', '.join(map(str, row))}]" if row else name
    columns = range(first, min(first + SHOWN, expected.shape[-1]))
    return Difference(place, *_format_rows(expected[row], returned[row], columns))


def _format_rows(expected: Tensor, returned: Tensor, columns: range) -> tuple[str, str]:
    """Both rows, with as many digits as it takes to see that they differ."""
    for digits in (4, 7, 12):
        texts = [_format_row(row.detach(), columns, digits) for row in (expected, returned)]
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def _format_row(row: Tensor, columns: range, digits: int) -> str:
    numbers = [row[n].item() for n in columns]
    parts = [str(number) if isinstance(number, bool) else f"{number:.{digits}g}" for number in numbers]
    before, after = "… " if columns.start else "", " …" if columns.stop < len(row) else ""
    return f"[{before}{', '.join(parts)}{after}]" if len(row) > 1 else parts[0]


def _format_plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_format_plain, value[:SHOWN]))
        inner += ", …" if len(value) > SHOWN else ""
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return str(value)


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
