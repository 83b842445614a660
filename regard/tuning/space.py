"""What may vary: choices, ranges and log ranges of settings, and conditions between them."""

import ast
import itertools
import math
import operator
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError

Plain = str | int | float | bool
Point = dict[str, Plain]
"""A combination: settings by their dotted names."""

MOST_POINTS = 20_000
TRIES = 2_000
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"\s*(log\s+)?({NUMBER})\s*\.\.\s*({NUMBER})(?:\s+by\s+({NUMBER}))?\s*")


@dataclass(frozen=True)
class Choices:
    """One of several values."""

    values: tuple[Plain, ...]

    def draw(self, rng: random.Random) -> Plain:
        return rng.choice(self.values)

    def every(self) -> tuple[Plain, ...]:
        return self.values


@dataclass(frozen=True)
class Range:
    """Any number between two; whole ones where ends and step are whole; by ratio instead of difference if `log`."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def whole(self) -> bool:
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 1))

    def draw(self, rng: random.Random) -> Plain:
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
            return max(int(self.low), min(int(self.high), round(value))) if self.whole else value
        if self.step:
            return self._at(rng.randrange(self._count()))
        return rng.randint(int(self.low), int(self.high)) if self.whole else rng.uniform(self.low, self.high)

    def steps(self) -> tuple[Plain, ...] | None:
        """Every value, where they can be counted: by the step, or by ones."""
        return None if self.log else self.every()

    def every(self) -> tuple[Plain, ...] | None:
        """Every value that can be drawn; None where there is no end to them."""
        if not (self.step or self.whole) or self._count() > MOST_POINTS:
            return None
        return tuple(self._at(n) for n in range(self._count()))

    def _count(self) -> int:
        return int((self.high - self.low) / (self.step or 1) + 1e-9) + 1

    def _at(self, n: int) -> Plain:
        value = self.low + n * (self.step or 1)
        return int(value) if self.whole else float(f"{value:.10g}")


Choice = Choices | Range


def read_choice(name: str, value: Any) -> Choice:
    """A list, a table of low and high, or text like `0.1..0.4`, `log 1e-4..1e-2` and `2..8 by 2`."""
    if isinstance(value, str) and (found := RANGE.fullmatch(value)):
        log, low, high, step = found.groups()
        return _range(name, _number(low), _number(high), bool(log), _number(step) if step else None)
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - {"low", "high", "log", "step"})
        if unknown or not {"low", "high"} <= set(value):
            raise ConfigError(f"space: {name}: a range has low and high, and perhaps log or step, not {dict(value)}")
        return _range(name, value["low"], value["high"], bool(value.get("log", False)), value.get("step"))
    if isinstance(value, list) and value and all(isinstance(one, Plain) for one in value):
        if len(set(value)) < len(value):
            raise ConfigError(f"space: {name}: a value comes twice in {value}; give each once")
        if not all(math.isfinite(one) for one in value if isinstance(one, float)):
            raise ConfigError(f"space: {name}: {value} has a number without end; give numbers that can be tried")
        return Choices(tuple(value))
    raise ConfigError(
        f'space: {name}={value!r}: expected choices such as [2, 4, 6], a range such as "0.1..0.4", '
        f'or a log range such as "log 1e-4..1e-2"'
    )


def read_over(text: str) -> tuple[str, Choice]:
    """`--over NAME=values`: `a,b,c`, `lo..hi`, `log lo..hi`, `lo..hi by step`, or one value."""
    name, equals, values = text.partition("=")
    name, values = name.strip(), values.strip()
    if not equals or not name or not values:
        raise ConfigError(
            f"--over {text}: expected name=values, as in --over model.layers=2,4,6 or model.dropout=0.1..0.4"
        )
    if RANGE.fullmatch(values):
        return name, read_choice(name, values)
    return name, read_choice(name, [_value(one.strip()) for one in values.split(",")])


def _range(name: str, low: Any, high: Any, log: bool, step: Any) -> Range:
    ends = (low, high) if step is None else (low, high, step)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        raise ConfigError(f"space: {name}: the ends of a range are numbers, not {low!r} and {high!r}")
    finite = all(map(math.isfinite, ends)) and math.isfinite((high - low) / (step or 1))
    if not low < high or not finite or (log and low <= 0) or (step is not None and (step <= 0 or log)):
        raise ConfigError(
            f"space: {name}: {'log ' if log else ''}{low}..{high}{f' by {step}' if step else ''} is no range: "
            f"the low end comes first, both can be reached, a log range begins above 0 and has no step"
        )
    return Range(low, high, log, step)


def key(point: Point) -> tuple[tuple[str, Plain], ...]:
    """What two combinations share if they are the same; numbers to ten digits, since steps add up in several ways."""
    return tuple((name, float(f"{v:.10g}") if isinstance(v, float) else v) for name, v in sorted(point.items()))


def _number(text: str) -> float:
    return float(text) if re.search(r"[.eE]", text) else int(text)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@dataclass(frozen=True)
class Space:
    """Settings that vary, each over its choices, and what must hold between them."""

    choices: Mapping[str, Choice]
    conditions: tuple[str, ...] = ()

    def points(self) -> Iterator[Point]:
        """Every combination, in order: the last setting changes fastest."""
        values = [self._listed(name, choice) for name, choice in self.choices.items()]
        if math.prod(map(len, values)) > MOST_POINTS:
            raise ConfigError(
                f'a grid of more than {MOST_POINTS:,} combinations; take fewer values, or sampler = "tpe"'
            )
        for combination in itertools.product(*values):
            yield dict(zip(self.choices, combination, strict=True))

    def every(self) -> Iterator[Point] | None:
        """Every combination that can be drawn; None where there are too many to look at."""
        values = [choice.every() for choice in self.choices.values()]
        found = [one for one in values if one is not None]
        if len(found) < len(values) or math.prod(map(len, found)) > MOST_POINTS:
            return None
        return (dict(zip(self.choices, combination, strict=True)) for combination in itertools.product(*found))

    def draw(self, rng: random.Random, allowed: Callable[[Point], bool]) -> Point:
        """A random combination that is allowed."""
        for _ in range(TRIES):
            point = {name: choice.draw(rng) for name, choice in self.choices.items()}
            if allowed(point):
                return point
        raise ConfigError(NOTHING_FITS.format(tries=f"{TRIES:,} drawn at random"))

    def _listed(self, name: str, choice: Choice) -> tuple[Plain, ...]:
        values = choice.values if isinstance(choice, Choices) else choice.steps()
        if values is None:
            raise ConfigError(
                f"space: {name}: a grid needs values that can be counted; give choices, a range by steps "
                f'("{getattr(choice, "low", 0)}..{getattr(choice, "high", 1)} by 0.1"), or another sampler'
            )
        return values


NOTHING_FITS = (
    "the space has no valid combination: of {tries} none satisfies every condition and every rule of the settings "
    "(model.heads divides model.dim, say). Widen the choices or drop a condition."
)


def configured(base: Config, point: Mapping[str, Plain]) -> Config:
    """The base settings with a combination put into them."""
    table = base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    for name, value in point.items():
        settings.set_nested(table, name, value)
    return settings.build(table)


def allows(base: Config, conditions: Sequence[str]) -> Callable[[Point], bool]:
    """Whether a combination satisfies the conditions and makes valid settings."""
    tests = [Condition.read(text) for text in conditions]

    def allowed(point: Point) -> bool:
        try:
            config = configured(base, point)
        except ConfigError:
            return False
        values = settings.flatten(config.model_dump(mode="json"))
        return all(test.holds(values) for test in tests)

    return allowed


OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """An expression over settings that must be true: `model.dim % model.heads == 0`. Only arithmetic is understood."""

    text: str
    tree: ast.expr

    @classmethod
    def read(cls, text: str) -> "Condition":
        try:
            tree = ast.parse(text, mode="eval").body
            known = dict.fromkeys((setting.name for setting in settings.describe()), 1)
            _names(tree, known, text)
        except SyntaxError:
            raise ConfigError(f"condition {text!r}: not an expression; {EXPECTED}") from None
        return cls(text, tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        try:
            return bool(_worth(self.tree, values))
        except (TypeError, ValueError, ArithmeticError):
            raise ConfigError(f"condition {self.text!r}: cannot be computed for {_told(self.tree, values)}") from None


EXPECTED = 'write it like "model.dim % model.heads == 0" or "model.layers * model.dim <= 1536"'


def _names(node: ast.expr, known: Mapping[str, Any], text: str) -> None:
    """Refuse whatever is not arithmetic over known settings, before it is ever computed."""
    match node:
        case ast.Constant(value=int() | float() | str() | bool()):
            return
        case ast.Attribute() | ast.Name():
            if ast.unparse(node) not in known:
                raise ConfigError(
                    f"condition {text!r}: no setting is called {ast.unparse(node)!r}; see `regard settings`"
                )
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            _names(left, known, text)
            _names(right, known, text)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            _names(operand, known, text)
        case ast.BoolOp(values=values):
            for value in values:
                _names(value, known, text)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in OPERATIONS for op in ops):
            for value in (left, *others):
                _names(value, known, text)
        case _:
            raise ConfigError(f"condition {text!r}: {ast.unparse(node)!r} is not understood; {EXPECTED}")


def _worth(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATIONS[type(op)](_worth(left, values), _worth(right, values))
        case ast.UnaryOp(op=op, operand=operand):
            worth = _worth(operand, values)
            return not worth if isinstance(op, ast.Not) else -worth
        case ast.BoolOp(op=op, values=parts):
            together = all if isinstance(op, ast.And) else any
            return together(_worth(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            worths = [_worth(part, values) for part in (left, *others)]
            return all(OPERATIONS[type(op)](a, b) for op, (a, b) in zip(ops, itertools.pairwise(worths), strict=True))
        case _:
            return values[ast.unparse(node)]


def _told(tree: ast.expr, values: Mapping[str, Any]) -> str:
    names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return ", ".join(f"{name}={values[name]}" for name in sorted(names & values.keys()))
