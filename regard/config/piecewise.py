"""Settings that may change over training: a number, or points of progress and number that straight lines connect."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

SYNTAX = "a number, or points progress:value, where progress rises from 0 to 1, as in 0.8:0.1,1:0"
EXAMPLE = "(0.1 for 80 % of training, then in a line to 0; two points at one progress are a jump)"


@dataclass(frozen=True)
class PiecewiseLinear:
    """A number as a function of the progress of training; constant before the first point and after the last one.

    Written as in XLM (Lample and Conneau 2019), with progress in place of steps: "0.8:0.1,1:0".
    """

    points: tuple[tuple[float, float], ...]

    def at(self, progress: float) -> float:
        """The number at this progress; at a jump, the one after it."""
        for (start, first), (end, last) in itertools.pairwise(self.points):
            if start <= progress < end:
                return first + (last - first) * (progress - start) / (end - start)
        return self.points[0][1] if progress < self.points[0][0] else self.points[-1][1]

    def share_above_zero(self) -> float:
        """The share of training in which the number is above 0."""
        padded = ((0.0, self.points[0][1]), *self.points, (1.0, self.points[-1][1]))
        return sum(end - start for (start, first), (end, last) in itertools.pairwise(padded) if max(first, last) > 0)

    def __str__(self) -> str:
        return ",".join(f"{progress:g}:{value:g}" for progress, value in self.points)

    def __format__(self, spec: str) -> str:
        return str(self)  # where a message shows a number by some format, it shows the points


Scheduled = float | PiecewiseLinear
"""The value of a setting that may change over training."""


def value_at(setting: Scheduled, progress: float) -> float:
    """The value of a setting at this progress of training."""
    return setting.at(progress) if isinstance(setting, PiecewiseLinear) else setting


def share_above_zero(setting: Scheduled) -> float:
    """The share of training in which a setting is above 0."""
    return setting.share_above_zero() if isinstance(setting, PiecewiseLinear) else float(setting > 0)


def parse_points(text: str) -> Scheduled:
    """The setting that a text like 0.8:0.1,1:0 stands for; one value throughout is a plain number."""
    try:
        points = tuple((float(progress), float(value)) for progress, value in map(_split_point, text.split(",")))
    except ValueError:
        raise ValueError(f"expected {SYNTAX} {EXAMPLE}") from None
    places = [progress for progress, _ in points]
    if not all(0 <= place <= 1 for place in places) or not all(math.isfinite(value) for _, value in points):
        raise ValueError(f"progress is a share of training, from 0 to 1; expected {SYNTAX} {EXAMPLE}")
    if places != sorted(places) or max(map(places.count, places)) > 2:
        raise ValueError(f"points come in the order of progress, at most two at the same; expected {SYNTAX} {EXAMPLE}")
    values = {value for _, value in points}
    return values.pop() if len(values) == 1 else PiecewiseLinear(points)


def _split_point(point: str) -> tuple[str, str]:
    progress, colon, value = point.partition(":")
    if not colon:
        raise ValueError(point)
    return progress, value


@dataclass(frozen=True)
class ScheduledBounds:
    """An annotation for settings of the type `Scheduled`: the bounds of a number, or of the number of every point."""

    ge: float
    le: float | None = None
    lt: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        number = core_schema.float_schema(ge=self.ge, le=self.le, lt=self.lt, allow_inf_nan=False)
        return core_schema.no_info_wrap_validator_function(
            _validate, number, serialization=core_schema.plain_serializer_function_ser_schema(_serialize)
        )


def _validate(value: Any, validate_number: core_schema.ValidatorFunctionWrapHandler) -> Scheduled:
    try:
        setting = parse_points(value) if isinstance(value, str) and ":" in value else value
    except ValueError as error:
        raise PydanticCustomError("points", "{reason}", {"reason": str(error)}) from None
    if not isinstance(setting, PiecewiseLinear):
        return validate_number(setting)
    for _, number in setting.points:
        validate_number(number)
    return setting


def _serialize(setting: Scheduled) -> float | str:
    return str(setting) if isinstance(setting, PiecewiseLinear) else setting
