"""Search space: the values that a setting may take, and the conditions between settings."""

import ast
import functools
import itertools
import math
import operator
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

ParamValue = str | int | float | bool
Params = dict[str, ParamValue]
"""One combination: values by dotted setting name."""
ParamsKey = tuple[tuple[str, ParamValue], ...]

MAX_GRID_SIZE = 20_000
MAX_ATTEMPTS = 2_000
MAX_CHOICES = 10_000  # of one setting: each of them is checked before the first trial
NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
RANGE = re.compile(rf"\s*(log\s+)?({NUMBER})\s*\.\.\s*({NUMBER})(?:\s+by\s+({NUMBER}))?\s*")


@dataclass(frozen=True)
class Categorical:
    """One of several values."""

    values: tuple[ParamValue, ...]

    def sample(self, rng: random.Random) -> ParamValue:
        return rng.choice(self.values)

    def grid_values(self) -> tuple[ParamValue, ...]:
        return self.values

    def all_values(self) -> tuple[ParamValue, ...]:
        return self.values

    def extreme_values(self) -> tuple[ParamValue, ...]:
        return self.values

    def as_plain(self) -> list[ParamValue]:
        """The form of a study file."""
        return list(self.values)

    def to_optuna(self) -> "BaseDistribution":
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)


@dataclass(frozen=True)
class Range:
    """A number between two ends: an integer if ends and step are integers, log-uniform if `log`."""

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
        """Every value of a range with a step or of integers; None if the range has no grid."""
        return None if self.log else self.all_values()

    def all_values(self) -> tuple[ParamValue, ...] | None:
        """Every value that `sample` can return; None if the range is continuous or too large to list."""
        if not (self.step or self.is_integer) or self._num_values() > MAX_GRID_SIZE:
            return None
        return tuple(self._value_at(n) for n in range(self._num_values()))

    def extreme_values(self) -> tuple[ParamValue, ...]:
        return self.low, self.high

    def as_plain(self) -> dict[str, ParamValue]:
        """The form of a study file."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def to_optuna(self) -> "BaseDistribution":
        from optuna.distributions import FloatDistribution, IntDistribution

        # The last value: Optuna warns of an end that no step reaches.
        high = float(self._value_at(self._num_values() - 1)) if self.step else self.high
        if self.is_integer:
            return IntDistribution(int(self.low), int(high), log=self.log, step=int(self.step or 1))
        return FloatDistribution(float(self.low), float(high), log=self.log, step=self.step)

    def _num_values(self) -> int:
        return int((self.high - self.low) / (self.step or 1) + 1e-9) + 1

    def _value_at(self, index: int) -> ParamValue:
        value = self.low + index * (self.step or 1)
        return int(value) if self.is_integer else float(f"{value:.10g}")


Distribution = Categorical | Range


def parse_distribution(name: str, value: Any) -> Distribution:
    """A list, a table with low and high, or text such as `0.1..0.4`, `log 1e-4..1e-2` and `2..8 by 2`."""
    if isinstance(value, str) and (range_match := RANGE.fullmatch(value)):
        log, low, high, step = range_match.groups()
        return _build_range(
            name, _parse_number(low), _parse_number(high), bool(log), _parse_number(step) if step else None
        )
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - {"low", "high", "log", "step"})
        if unknown or not {"low", "high"} <= set(value):
            raise ConfigError(f"space: {name}: a range has low and high, and optionally log or step, not {dict(value)}")
        return _build_range(name, value["low"], value["high"], bool(value.get("log", False)), value.get("step"))
    if isinstance(value, list) and len(value) > MAX_CHOICES:
        raise ConfigError(f"space: {name}: has {len(value):,} values; at most {MAX_CHOICES:,} are allowed: use a range")
    if isinstance(value, list) and value and all(isinstance(one, ParamValue) for one in value):
        if len(set(value)) < len(value):
            raise ConfigError(f"space: {name}: a value is repeated in {value}; list each value once")
        if not all(math.isfinite(one) for one in value if isinstance(one, float)):
            raise ConfigError(f"space: {name}: a value in {value} is not finite; list finite numbers only")
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
    return name, parse_distribution(name, [settings.parse_value(one.strip()) for one in values.split(",")])


def _build_range(name: str, low: Any, high: Any, log: bool, step: Any) -> Range:
    ends = (low, high) if step is None else (low, high, step)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        raise ConfigError(f"space: {name}: the ends of a range are numbers, not {low!r} and {high!r}")
    finite = all(map(math.isfinite, ends)) and math.isfinite((high - low) / (step or 1))
    if not low < high or not finite or (log and low <= 0) or (step is not None and (step <= 0 or log)):
        raise ConfigError(
            f"space: {name}: {'log ' if log else ''}{low}..{high}{f' by {step}' if step else ''} is not a valid range: "
            f"both ends are finite and the lower one comes first; a log range starts above 0 and has no step"
        )
    return Range(low, high, log, step)


def params_key(params: Mapping[str, ParamValue]) -> ParamsKey:
    """Equal for equal combinations. Floats are compared to ten digits: sums of steps differ in the last ones."""
    return tuple((name, float(f"{v:.10g}") if isinstance(v, float) else v) for name, v in sorted(params.items()))


def _parse_number(text: str) -> float:
    return float(text) if re.search(r"[.eE]", text) else int(text)


@dataclass(frozen=True)
class SearchSpace:
    """The settings that vary, each with its distribution."""

    distributions: Mapping[str, Distribution]

    def grid(self) -> Iterator[Params]:
        """Every combination, in order: the last setting changes fastest."""
        values = [self._grid_values(name, distribution) for name, distribution in self.distributions.items()]
        if math.prod(map(len, values)) > MAX_GRID_SIZE:
            raise ConfigError(
                f'the grid has more than {MAX_GRID_SIZE:,} combinations; use fewer values, or sampler = "tpe"'
            )
        yield from self._combine(values)

    def all_params(self) -> Iterator[Params] | None:
        """Every combination that can be sampled; None if there are too many to list."""
        values = [distribution.all_values() for distribution in self.distributions.values()]
        finite_values = [one for one in values if one is not None]
        if len(finite_values) < len(values) or math.prod(map(len, finite_values)) > MAX_GRID_SIZE:
            return None
        return self._combine(finite_values)

    def sample(self, rng: random.Random, is_valid: Callable[[Params], bool]) -> Params:
        """A random combination that satisfies `is_valid`."""
        for _ in range(MAX_ATTEMPTS):
            params = {name: distribution.sample(rng) for name, distribution in self.distributions.items()}
            if is_valid(params):
                return params
        raise ConfigError(NO_VALID_PARAMS.format(attempts=f"{MAX_ATTEMPTS:,} random ones"))

    def _combine(self, values: Sequence[Sequence[ParamValue]]) -> Iterator[Params]:
        for combination in itertools.product(*values):
            yield dict(zip(self.distributions, combination, strict=True))

    def _grid_values(self, name: str, distribution: Distribution) -> tuple[ParamValue, ...]:
        values = distribution.grid_values()
        if values is None:
            low, *_, high = distribution.extreme_values()
            raise ConfigError(
                f"space: {name}: a grid needs a finite list of values; give choices, a range with a step "
                f'("{low}..{high} by 0.1"), or use another sampler'
            )
        return values


NO_VALID_PARAMS = (
    "the space has no valid combination: of {attempts}, none satisfies every condition and every constraint of the "
    "settings (model.heads must divide model.dim, for example). Widen the choices or drop a condition."
)


def make_constraint(base: Config, conditions: Sequence[str]) -> Callable[[Params], bool]:
    """A predicate: whether a combination satisfies the conditions and gives a valid config."""
    parsed_conditions = [Condition.parse(text) for text in conditions]

    def is_valid(params: Params) -> bool:
        try:
            config = settings.with_values(base, params)
        except ConfigError:
            return False
        values = settings.flatten(config.model_dump(mode="json"))
        return all(condition.holds(values) for condition in parsed_conditions)

    return is_valid


ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
MAX_CONDITIONS, MAX_CONDITION_CHARACTERS, MAX_TERMS = 20, 1_000, 50
"""Conditions are computed for every combination of a grid: their cost is bounded before the first one is."""
MAX_CONSTANT = 1e15


@dataclass(frozen=True)
class Condition:
    """A boolean expression over settings that must be true: `model.dim % model.heads == 0`. Arithmetic only."""

    text: str
    tree: ast.expr

    @classmethod
    def parse(cls, text: str) -> "Condition":
        shown = repr(text) if len(text) <= MAX_CONDITION_CHARACTERS else f"{text[:60]!r}…"
        if len(text) > MAX_CONDITION_CHARACTERS:
            raise ConfigError(f"condition {shown}: has more than {MAX_CONDITION_CHARACTERS:,} characters; split it")
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: of too many brackets
            raise ConfigError(f"condition {shown}: not an expression; {EXPECTED_SYNTAX}") from None
        # A dotted name is attributes around one name. The walk does not recurse, as all that follows does.
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and not isinstance(node, ast.Attribute)]
        if len(nodes) > MAX_TERMS:
            raise ConfigError(
                f"condition {shown}: has {len(nodes)} terms and operations, at most {MAX_TERMS} are allowed; split it"
            )
        _validate_expression(tree, {setting.name for setting in settings.describe()}, shown)
        return cls(text, tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        try:
            return bool(_evaluate(self.tree, values))
        except (TypeError, ValueError, ArithmeticError):
            raise ConfigError(
                f"condition {self.text!r}: cannot be computed for {_format_values(self.tree, values)}"
            ) from None


EXPECTED_SYNTAX = 'write it like "model.dim % model.heads == 0" or "model.layers * model.dim <= 1536"'


def _validate_expression(node: ast.expr, setting_names: Collection[str], shown: str) -> None:
    """Refuse everything but arithmetic over known settings, before anything is evaluated."""
    inner: Sequence[ast.expr] = ()
    match node:
        case ast.Constant(value=int() | float() as number) if not abs(number) <= MAX_CONSTANT:
            raise ConfigError(f"condition {shown}: a number is larger than {MAX_CONSTANT:.0e}; no setting is")
        case ast.Constant(value=int() | float() | str() | bool()):
            pass
        case ast.Attribute() | ast.Name():
            if ast.unparse(node) not in setting_names:
                raise ConfigError(f"condition {shown}: unknown setting {ast.unparse(node)!r}; see `regard settings`")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            inner = (left, right)
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            inner = (operand,)
        case ast.BoolOp(values=values):
            inner = values
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in COMPARISONS for op in ops):
            inner = (left, *comparators)
        case _:
            raise ConfigError(f"condition {shown}: {ast.unparse(node)!r} is not supported; {EXPECTED_SYNTAX}")
    for part in inner:
        _validate_expression(part, setting_names, shown)


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return ARITHMETIC[type(op)](
                _require_number(_evaluate(left, values)), _require_number(_evaluate(right, values))
            )
        case ast.UnaryOp(op=op, operand=operand):
            operand_value = _evaluate(operand, values)
            return not operand_value if isinstance(op, ast.Not) else -operand_value
        case ast.BoolOp(op=op, values=parts):
            combine = all if isinstance(op, ast.And) else any
            return combine(_evaluate(part, values) for part in parts)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            part_values = [_evaluate(part, values) for part in (left, *comparators)]
            return all(
                COMPARISONS[type(op)](a, b) for op, (a, b) in zip(ops, itertools.pairwise(part_values), strict=True)
            )
        case _:
            return values[_dotted_name(node)]


@functools.lru_cache(MAX_CONDITIONS * MAX_TERMS)
def _dotted_name(node: ast.expr) -> str:
    """The name of a setting: an expression is parsed once and computed often."""
    return ast.unparse(node)


def _require_number(value: Any) -> Any:
    """Text is only compared: 'x' * 10**9 and '%999999999d' % 1 are gigabytes."""
    if not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _format_values(tree: ast.expr, values: Mapping[str, Any]) -> str:
    names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return ", ".join(f"{name}={values[name]}" for name in sorted(names & values.keys()))
