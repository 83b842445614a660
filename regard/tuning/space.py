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

ParamValue = str | int | float | bool
Params = dict[str, ParamValue]
"""A combination: settings by their dotted names."""

MAX_GRID_SIZE = 20_000
MAX_ATTEMPTS = 2_000
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"\s*(log\s+)?({NUMBER})\s*\.\.\s*({NUMBER})(?:\s+by\s+({NUMBER}))?\s*")


@dataclass(frozen=True)
class Categorical:
    """One of several values."""

    values: tuple[ParamValue, ...]

    def sample(self, rng: random.Random) -> ParamValue:
        return rng.choice(self.values)

    def all_values(self) -> tuple[ParamValue, ...]:
        return self.values


@dataclass(frozen=True)
class Range:
    """Any number between two; whole ones where ends and step are whole; by ratio instead of difference if `log`."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def is_integer(self) -> bool:
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 1))

    def sample(self, rng: random.Random) -> ParamValue:
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
            return max(int(self.low), min(int(self.high), round(value))) if self.is_integer else value
        if self.step:
            return self._value_at(rng.randrange(self._num_values()))
        return rng.randint(int(self.low), int(self.high)) if self.is_integer else rng.uniform(self.low, self.high)

    def grid_values(self) -> tuple[ParamValue, ...] | None:
        """Every value, where they can be counted: by the step, or by ones."""
        return None if self.log else self.all_values()

    def all_values(self) -> tuple[ParamValue, ...] | None:
        """Every value that can be drawn; None where there is no end to them."""
        if not (self.step or self.is_integer) or self._num_values() > MAX_GRID_SIZE:
            return None
        return tuple(self._value_at(n) for n in range(self._num_values()))

    def _num_values(self) -> int:
        return int((self.high - self.low) / (self.step or 1) + 1e-9) + 1

    def _value_at(self, index: int) -> ParamValue:
        value = self.low + index * (self.step or 1)
        return int(value) if self.is_integer else float(f"{value:.10g}")


Distribution = Categorical | Range


def parse_distribution(name: str, value: Any) -> Distribution:
    """A list, a table of low and high, or text like `0.1..0.4`, `log 1e-4..1e-2` and `2..8 by 2`."""
    if isinstance(value, str) and (range_match := RANGE.fullmatch(value)):
        log, low, high, step = range_match.groups()
        return _build_range(
            name, _parse_number(low), _parse_number(high), bool(log), _parse_number(step) if step else None
        )
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - {"low", "high", "log", "step"})
        if unknown or not {"low", "high"} <= set(value):
            raise ConfigError(f"space: {name}: a range has low and high, and perhaps log or step, not {dict(value)}")
        return _build_range(name, value["low"], value["high"], bool(value.get("log", False)), value.get("step"))
    if isinstance(value, list) and value and all(isinstance(one, ParamValue) for one in value):
        if len(set(value)) < len(value):
            raise ConfigError(f"space: {name}: a value comes twice in {value}; give each once")
        if not all(math.isfinite(one) for one in value if isinstance(one, float)):
            raise ConfigError(f"space: {name}: {value} has a number without end; give numbers that can be tried")
        return Categorical(tuple(value))
    raise ConfigError(
        f'space: {name}={value!r}: expected choices such as [2, 4, 6], a range such as "0.1..0.4", '
        f'or a log range such as "log 1e-4..1e-2"'
    )


def parse_over(text: str) -> tuple[str, Distribution]:
    """`--over NAME=values`: `a,b,c`, `lo..hi`, `log lo..hi`, `lo..hi by step`, or one value."""
    name, equals, values = text.partition("=")
    name, values = name.strip(), values.strip()
    if not equals or not name or not values:
        raise ConfigError(
            f"--over {text}: expected name=values, as in --over model.layers=2,4,6 or model.dropout=0.1..0.4"
        )
    if RANGE.fullmatch(values):
        return name, parse_distribution(name, values)
    return name, parse_distribution(name, [_parse_value(one.strip()) for one in values.split(",")])


def _build_range(name: str, low: Any, high: Any, log: bool, step: Any) -> Range:
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


def params_key(params: Params) -> tuple[tuple[str, ParamValue], ...]:
    """What two combinations share if they are the same; numbers to ten digits, since steps add up in several ways."""
    return tuple((name, float(f"{v:.10g}") if isinstance(v, float) else v) for name, v in sorted(params.items()))


def _parse_number(text: str) -> float:
    return float(text) if re.search(r"[.eE]", text) else int(text)


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@dataclass(frozen=True)
class SearchSpace:
    """Settings that vary, each over its choices, and what must hold between them."""

    distributions: Mapping[str, Distribution]
    conditions: tuple[str, ...] = ()

    def grid(self) -> Iterator[Params]:
        """Every combination, in order: the last setting changes fastest."""
        values = [self._grid_values(name, choice) for name, choice in self.distributions.items()]
        if math.prod(map(len, values)) > MAX_GRID_SIZE:
            raise ConfigError(
                f'a grid of more than {MAX_GRID_SIZE:,} combinations; take fewer values, or sampler = "tpe"'
            )
        for combination in itertools.product(*values):
            yield dict(zip(self.distributions, combination, strict=True))

    def all_params(self) -> Iterator[Params] | None:
        """Every combination that can be drawn; None where there are too many to look at."""
        values = [choice.all_values() for choice in self.distributions.values()]
        finite_values = [one for one in values if one is not None]
        if len(finite_values) < len(values) or math.prod(map(len, finite_values)) > MAX_GRID_SIZE:
            return None
        return (
            dict(zip(self.distributions, combination, strict=True)) for combination in itertools.product(*finite_values)
        )

    def sample(self, rng: random.Random, is_valid: Callable[[Params], bool]) -> Params:
        """A random combination that is allowed."""
        for _ in range(MAX_ATTEMPTS):
            params = {name: choice.sample(rng) for name, choice in self.distributions.items()}
            if is_valid(params):
                return params
        raise ConfigError(NO_VALID_PARAMS.format(tries=f"{MAX_ATTEMPTS:,} drawn at random"))

    def _grid_values(self, name: str, distribution: Distribution) -> tuple[ParamValue, ...]:
        values = distribution.values if isinstance(distribution, Categorical) else distribution.grid_values()
        if values is None:
            raise ConfigError(
                f"space: {name}: a grid needs values that can be counted; give choices, a range by steps "
                f'("{getattr(distribution, "low", 0)}..{getattr(distribution, "high", 1)} by 0.1"), or another sampler'
            )
        return values


NO_VALID_PARAMS = (
    "the space has no valid combination: of {tries} none satisfies every condition and every rule of the settings "
    "(model.heads divides model.dim, say). Widen the choices or drop a condition."
)


def apply_params(base: Config, params: Mapping[str, ParamValue]) -> Config:
    """The base settings with a combination put into them."""
    table = base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    for name, value in params.items():
        settings.set_nested(table, name, value)
    return settings.build(table)


def make_constraint(base: Config, conditions: Sequence[str]) -> Callable[[Params], bool]:
    """Whether a combination satisfies the conditions and makes valid settings."""
    parsed_conditions = [Condition.parse(text) for text in conditions]

    def is_valid(params: Params) -> bool:
        try:
            config = apply_params(base, params)
        except ConfigError:
            return False
        values = settings.flatten(config.model_dump(mode="json"))
        return all(test.holds(values) for test in parsed_conditions)

    return is_valid


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
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
    def parse(cls, text: str) -> "Condition":
        try:
            tree = ast.parse(text, mode="eval").body
            setting_names = dict.fromkeys((setting.name for setting in settings.describe()), 1)
            _validate_expression(tree, setting_names, text)
        except SyntaxError:
            raise ConfigError(f"condition {text!r}: not an expression; {EXPECTED_SYNTAX}") from None
        return cls(text, tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        try:
            return bool(_evaluate(self.tree, values))
        except (TypeError, ValueError, ArithmeticError):
            raise ConfigError(
                f"condition {self.text!r}: cannot be computed for {_format_values(self.tree, values)}"
            ) from None


EXPECTED_SYNTAX = 'write it like "model.dim % model.heads == 0" or "model.layers * model.dim <= 1536"'


def _validate_expression(node: ast.expr, setting_names: Mapping[str, Any], text: str) -> None:
    """Refuse whatever is not arithmetic over known settings, before it is ever computed."""
    match node:
        case ast.Constant(value=int() | float() | str() | bool()):
            return
        case ast.Attribute() | ast.Name():
            if ast.unparse(node) not in setting_names:
                raise ConfigError(
                    f"condition {text!r}: no setting is called {ast.unparse(node)!r}; see `regard settings`"
                )
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            _validate_expression(left, setting_names, text)
            _validate_expression(right, setting_names, text)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            _validate_expression(operand, setting_names, text)
        case ast.BoolOp(values=values):
            for value in values:
                _validate_expression(value, setting_names, text)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in OPERATORS for op in ops):
            for value in (left, *others):
                _validate_expression(value, setting_names, text)
        case _:
            raise ConfigError(f"condition {text!r}: {ast.unparse(node)!r} is not understood; {EXPECTED_SYNTAX}")


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.UnaryOp(op=op, operand=operand):
            operand_value = _evaluate(operand, values)
            return not operand_value if isinstance(op, ast.Not) else -operand_value
        case ast.BoolOp(op=op, values=parts):
            combine = all if isinstance(op, ast.And) else any
            return combine(_evaluate(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=others):
            part_values = [_evaluate(part, values) for part in (left, *others)]
            return all(
                OPERATORS[type(op)](a, b) for op, (a, b) in zip(ops, itertools.pairwise(part_values), strict=True)
            )
        case _:
            return values[ast.unparse(node)]


def _format_values(tree: ast.expr, values: Mapping[str, Any]) -> str:
    names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return ", ".join(f"{name}={values[name]}" for name in sorted(names & values.keys()))
