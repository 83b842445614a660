"""Plug-ins: modules outside of this package that register a position scheme, an activation or a file format.

A plug-in registers when it is imported. Two ways lead to it:

    [project.entry-points."regard.plugins"]                          in the pyproject.toml of an installed package
    my-schemes = "my_package.schemes"                                a module, or a function without parameters

    REGARD_PLUGINS=my_schemes,formats/csv_pairs.py regard train …    importable modules, or paths of .py files

Every process imports them once, when it first looks up a name that is not built in.
"""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from regard.errors import ConfigError, RegardError

ENTRY_POINTS = "regard.plugins"
VARIABLE = "REGARD_PLUGINS"
HOW_TO_LOAD = (
    f"If a plug-in provides it, install that package (entry points `{ENTRY_POINTS}`), or name its module or file in "
    f"the environment variable {VARIABLE}."
)
Part = TypeVar("Part")


class Registration(NamedTuple, Generic[Part]):
    """What was registered, and where it is defined."""

    part: Part
    origin: str


class Registry(Generic[Part]):
    """The names of one kind of part: those that are built in, and those that plug-ins register."""

    def __init__(self, noun: str, built_in: Iterable[str], name_pattern: str, example: str):
        """`noun` and `example` are for messages; a registered name must match `name_pattern`."""
        self.noun, self.example = noun, example
        self.built_in = tuple(built_in)
        self._name_pattern = name_pattern
        self._registered: dict[str, Registration[Part]] = {}

    def require_name(self, name: object) -> None:
        """Refuse what cannot be a name."""
        if not isinstance(name, str) or not re.fullmatch(self._name_pattern, name):
            raise ConfigError(
                f"{name!r} cannot be the name of a registered {self.noun}; expected one like {self.example}"
            )

    def register(self, name: str, part: Part, definition: object) -> None:
        """Add a part; the same definition may register again, as when a cell of a notebook is run twice."""
        self.require_name(name)
        origin, holder = _origin(definition), self._registered.get(name)
        if name in self.built_in:
            raise ConfigError(f"{self.noun} '{name}' is built in; register {origin} under another name")
        if holder is not None and holder.origin != origin:
            raise ConfigError(
                f"{self.noun} '{name}' is already registered by {holder.origin}; register {origin} under another name"
            )
        self._registered[name] = Registration(part, origin)

    def names(self) -> tuple[str, ...]:
        """All names, the built-in ones first."""
        load_plugins()
        return (*self.built_in, *self._registered)

    def find(self, name: str) -> Part | None:
        """What a plug-in registered under a name; None if it is built in, or unknown."""
        if name in self.built_in:
            return None
        if name not in self._registered:
            load_plugins()
        registration = self._registered.get(name)
        return registration.part if registration else None

    def parts(self) -> Iterator[tuple[str, Part]]:
        """What is registered at present, with its names."""
        for name, registration in self._registered.items():
            yield name, registration.part


def _origin(definition: object) -> str:
    """file:name of a class or function, or module:name where it has no file, as in a notebook."""
    module = getattr(definition, "__module__", "")
    file = getattr(sys.modules.get(module), "__file__", None)
    name = getattr(definition, "__qualname__", type(definition).__name__)
    return f"{Path(file).resolve() if file else module}:{name}"


class PluginLoader:
    """Imports the plug-ins of this process once; if one fails, every lookup says so."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a plug-in may look up a name while it is imported
        self._started = False
        self._failure = ""

    def load(self) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                try:
                    for name, import_plugin in _find_plugins():
                        _import(name, import_plugin)
                except ConfigError as error:
                    self._failure = str(error)
            if self._failure:
                raise ConfigError(self._failure)


LOADER = PluginLoader()


def load_plugins() -> None:
    """Import all plug-ins, if this process has not done so yet."""
    LOADER.load()


def describe_failure(error: BaseException) -> str:
    """An error of code that is not ours, in one line, with the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


@contextlib.contextmanager
def explain_failures(subject: str) -> Iterator[None]:
    """Report an error of code that is not ours, raised inside the block, in one sentence about its subject."""
    try:
        yield
    except RegardError:
        raise
    except Exception as error:
        raise ConfigError(f"{subject} failed: {describe_failure(error)}") from error


def _find_plugins() -> Iterator[tuple[str, Callable[[], object]]]:
    """The name of every plug-in for messages, and what imports it."""
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        package = f" of {entry.dist.name}" if entry.dist else ""
        yield f"'{entry.name}' (entry point{package}: {entry.value})", entry.load
    for module in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        if module.endswith(".py"):
            yield f"'{module}' (in {VARIABLE})", lambda module=module: _import_file(Path(module))  # type: ignore[misc]
        else:
            yield f"'{module}' (in {VARIABLE})", lambda module=module: _import_module(module)  # type: ignore[misc]


def _import(name: str, import_plugin: Callable[[], object]) -> None:
    try:
        plugin = import_plugin()
        if inspect.isfunction(plugin) and not inspect.signature(plugin).parameters:
            plugin()
    except RegardError as error:
        raise ConfigError(f"the plug-in {name} cannot be loaded: {error}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"the plug-in {name} cannot be loaded: {describe_failure(error)}") from error


def _import_module(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ConfigError(
            f"there is no module '{error.name}'; give the path of its .py file, or add its folder to PYTHONPATH"
        ) from None


def _import_file(path: Path) -> object:
    if not path.is_file():
        raise ConfigError(f"there is no file {path.resolve()}")
    name = f"_regard_plugin_{re.sub(r'[^0-9A-Za-z]', '_', str(path.resolve()))}"  # hides no other module
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses of the module look themselves up there
        spec.loader.exec_module(module)
    return sys.modules[name]
