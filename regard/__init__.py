"""Regard: train Transformers on your own text, on your own machine, and see what they attend to.

    import regard
    translator = regard.load("runs/demo")
    translator.translate(["I love dogs."])

Nothing heavy is imported until it is used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "RegardError",
    "__version__",
    "load",
    "register_activation",
    "register_format",
    "register_position_scheme",
]

if TYPE_CHECKING:
    from regard.errors import RegardError
    from regard.formats.registry import register_format
    from regard.jobs.load import load
    from regard.model.register import register_activation, register_position_scheme

_LAZY_IMPORTS = {
    "RegardError": "regard.errors",
    "load": "regard.jobs.load",
    "register_activation": "regard.model.register",
    "register_format": "regard.formats.registry",
    "register_position_scheme": "regard.model.register",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY_IMPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
