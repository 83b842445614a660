"""Position schemes and activations of one's own, for a plug-in to register.

    @register_position_scheme("my-scheme", enters="attention", shared=True)
    class MyScheme(Positions):
        def __init__(self, shape: AttentionShape, config: PositionsConfig, slope: float = 1.0): …

    @register_activation("squared-relu")
    def squared_relu(x: Tensor) -> Tensor: …

The names are values of model.positions.kind and model.activation from then on. This module imports no torch.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from regard.config.registries import ACTIVATIONS, POSITION_SCHEMES, RegisteredScheme
from regard.errors import ConfigError

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.positions import Positions

SchemeClass = TypeVar("SchemeClass", bound="type[Positions]")
ActivationFunction = TypeVar("ActivationFunction", bound="Callable[[Tensor], Tensor]")
METHODS = {"embeddings": ("shift_positions", "embed"), "attention": ("rotate", "bias", "value_bias")}
"""What is called of a scheme, by where it enters."""


def register_position_scheme(
    name: str, *, enters: Literal["attention", "embeddings"] = "attention", shared: bool = False
) -> Callable[[SchemeClass], SchemeClass]:
    """Register a subclass of `regard.model.positions.Positions` as a value of model.positions.kind.

    It is built as `Scheme(shape, config, **options)`: an `AttentionShape` (dim, heads, head_dim, causal), the
    `PositionsConfig`, and model.positions.options, whose names are the further parameters of the class. A scheme enters

    - at the "embeddings" of a stack: `embed` and `shift_positions` are called;
    - in every self-"attention" of a stack: `rotate`, `bias` and, if `adds_to_values`, `value_bias` are called. Each
      layer has an object of its own, or all of them one if it is `shared`.
    """
    POSITION_SCHEMES.require_name(name)

    def register(scheme_class: SchemeClass) -> SchemeClass:
        _require_scheme(name, scheme_class, enters)
        POSITION_SCHEMES.register(name, RegisteredScheme(scheme_class, enters, shared), scheme_class)
        return scheme_class

    return register


def register_activation(name: str) -> Callable[[ActivationFunction], ActivationFunction]:
    """Register a function of a tensor as a value of model.activation.

    It is called with the inner states of a feed-forward layer, (B, T, F) or (N, F), must return as many numbers, each
    token's from its own alone, and must be differentiable by torch. It has no weights.
    """
    ACTIVATIONS.require_name(name)

    def register(function: ActivationFunction) -> ActivationFunction:
        if isinstance(function, type) or not callable(function) or hasattr(function, "parameters"):
            raise ConfigError(
                f"activation '{name}': {function!r} is not a function; expected one from a tensor to a tensor of the "
                f"same shape, without weights"
            )
        ACTIVATIONS.register(name, function, function)
        return function

    return register


def _require_scheme(name: str, scheme_class: object, enters: str) -> None:
    from regard.model.positions import Positions

    if not (isinstance(scheme_class, type) and issubclass(scheme_class, Positions)):
        raise ConfigError(
            f"position scheme '{name}': {scheme_class!r} is not a subclass of regard.model.positions.Positions"
        )
    if enters not in METHODS:
        raise ConfigError(f"position scheme '{name}': enters={enters!r}; expected 'attention' or 'embeddings'")
    overridden = {
        place: [method for method in methods if getattr(scheme_class, method) is not getattr(Positions, method)]
        for place, methods in METHODS.items()
    }
    ignored = [method for place, methods in overridden.items() for method in methods if place != enters]
    if ignored or not overridden[enters]:
        actual = f"{ignored[0]}, which is not called there" if ignored else "none of them"
        raise ConfigError(
            f"position scheme '{name}': a scheme that enters at the {enters} overrides {' or '.join(METHODS[enters])}, "
            f"but {scheme_class.__name__} overrides {actual}"
        )
    parameters = list(inspect.signature(scheme_class).parameters.values())
    if (
        len(parameters) < 2
        or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters[2:])
        or any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY) for p in parameters[:2])
    ):
        raise ConfigError(
            f"position scheme '{name}': {scheme_class.__name__} has the parameters "
            f"{inspect.signature(scheme_class)}; expected __init__(self, shape, config), and options after them"
        )
