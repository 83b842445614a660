"""Settings whose values are names that plug-ins may add to: position schemes and activations."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from regard.plugins import Registry

UNKNOWN_NAME = "unknown_name"
"""The type of the error that a name outside of its registry is, for pydantic."""
NAME_PATTERN = r"[a-z0-9]+([._-][a-z0-9]+)*"
ACCEPTED_TYPES: dict[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}
TYPE_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


@dataclass(frozen=True)
class RegisteredScheme:
    """A position scheme of a plug-in: its class, where it enters, and whether the layers share one object."""

    scheme_class: Callable[..., Any]
    """(shape, config, **options) -> Positions"""
    enters: Literal["attention", "embeddings"]
    shared: bool

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The options of the scheme: the parameters of its class after shape and config."""
        return dict(list(inspect.signature(self.scheme_class).parameters.items())[2:])

    def bind(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options as keyword arguments of the class; a ValueError names one that does not fit."""
        parameters = self.parameters
        for name in options:
            if name not in parameters:
                matches = difflib.get_close_matches(name, parameters, n=1)
                known = f"did you mean '{matches[0]}'?" if matches else f"it has: {', '.join(parameters) or 'none'}"
                raise ValueError(f"model.positions.options.{name}: the position scheme has no such option; {known}")
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in options:
                raise ValueError(f"model.positions.options.{name}: the position scheme needs it; set it")
        return {name: _convert(name, value, parameters[name].default) for name, value in options.items()}


def _convert(name: str, value: Any, default: Any) -> Any:
    """A value of the type that the default has; an integer may stand for a float."""
    accepted = ACCEPTED_TYPES.get(type(default), (type(value),))
    if type(value) not in accepted:
        raise ValueError(
            f"model.positions.options.{name}={value!r}: expected {TYPE_NAMES[type(default)]}, like {default!r}"
        )
    return float(value) if type(default) is float else value


POSITION_SCHEMES: Registry[RegisteredScheme] = Registry(
    "position scheme",
    ("none", "sinusoidal", "learned", "concatenated", "relative", "bias", "t5", "alibi", "rotary"),
    NAME_PATTERN,
    "'my-scheme'",
)
ACTIVATIONS: Registry[Callable[[Any], Any]] = Registry(
    "activation", ("relu", "gelu", "gelu-tanh", "silu", "swiglu"), NAME_PATTERN, "'squared-relu'"
)


@dataclass(frozen=True)
class NameIn:
    """An annotation for settings: text that is a name of this registry."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._require, handler(source))

    def _require(self, name: str) -> str:
        if name not in self.registry.built_in and self.registry.find(name) is None:
            *others, last = map(repr, self.registry.names())
            raise PydanticCustomError(
                UNKNOWN_NAME, "Input should be {expected}", {"expected": f"{', '.join(others)} or {last}"}
            )
        return name
