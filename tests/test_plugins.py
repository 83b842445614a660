"""Plug-ins are found by entry points and by REGARD_PLUGINS; a broken one is a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard import plugins
from regard.config.registries import ACTIVATIONS
from regard.errors import ConfigError
from regard.model.register import register_activation

MODULE = """
from regard import register_activation

@register_activation("{name}")
def activation(x):
    return x
"""
PRINT_ACTIVATIONS = "from regard.config.registries import ACTIVATIONS; print(*ACTIVATIONS.names())"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registries: None) -> Path:
    """A folder of modules that can be imported, and a process that has not imported them yet."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "LOADER", plugins.PluginLoader())
    return tmp_path


def write_distribution(folder: Path, entry: str) -> None:
    """What pip leaves behind of an installed package: its metadata."""
    metadata = folder / "my_activations-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-activations\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[regard.plugins]\n{entry}\n")


def test_modules_and_files_of_the_variable_are_imported_when_a_name_is_looked_up(folder: Path, monkeypatch):
    (folder / "plugin_module.py").write_text(MODULE.format(name="from-module"))
    (folder / "csv.py").write_text(MODULE.format(name="from-file"))  # named as a module of Python, and in nobody's way
    monkeypatch.setenv("REGARD_PLUGINS", f"plugin_module, {folder / 'csv.py'},")
    assert ACTIVATIONS.find("relu") is None and "plugin_module" not in sys.modules
    assert ACTIVATIONS.find("from-file") is not None
    assert ACTIVATIONS.names()[-2:] == ("from-module", "from-file")
    assert not hasattr(sys.modules.get("csv"), "activation")


@pytest.mark.parametrize("entry", ["mine = plugin_entry", "mine = plugin_entry:register_all"])
def test_an_installed_package_registers_by_its_entry_point(tmp_path: Path, entry: str):
    lookup = PRINT_ACTIVATIONS.replace("print(*", "len(")  # a plug-in may look up names; it is not called again
    function = (lookup + MODULE.format(name="from-function")).replace("\n", "\n    ")
    body = f"def register_all():\n    {function}" if entry.endswith("all") else MODULE.format(name="from-package")
    (tmp_path / "plugin_entry.py").write_text(body)
    write_distribution(tmp_path, entry)
    out = subprocess.run(
        [sys.executable, "-c", PRINT_ACTIVATIONS],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.split()[-1] == ("from-function" if entry.endswith("all") else "from-package")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 / 0", r"'broken_plugin' \(in REGARD_PLUGINS\) cannot be loaded: ZeroDivisionError: .*broken_plugin.py:1"),
        ("import not_installed", r"ModuleNotFoundError: No module named 'not_installed'"),
        ("raise SystemExit(3)", r"SystemExit: 3"),
        ("def f(:", r"SyntaxError"),
        (MODULE.format(name="relu"), r"cannot be loaded: activation 'relu' is built in; register .*under another name"),
    ],
)
def test_a_broken_plugin_is_named_at_every_lookup(folder: Path, monkeypatch, body: str, message: str):
    (folder / "broken_plugin.py").write_text(body)
    monkeypatch.setenv("REGARD_PLUGINS", "broken_plugin")
    monkeypatch.delitem(sys.modules, "broken_plugin", raising=False)
    for look_up in (lambda: ACTIVATIONS.find("mine"), ACTIVATIONS.names):
        with pytest.raises(ConfigError, match=message):
            look_up()


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("no_such_plugin", "there is no module 'no_such_plugin'; give the path of its .py file, or add .* PYTHONPATH"),
        ("no/such.py", "there is no file .*no/such.py"),
    ],
)
def test_a_missing_plugin_is_named_with_what_to_do(folder: Path, monkeypatch, variable: str, message: str):
    monkeypatch.setenv("REGARD_PLUGINS", variable)
    with pytest.raises(
        ConfigError, match=rf"the plug-in '{variable}' \(in REGARD_PLUGINS\) cannot be loaded: {message}"
    ):
        ACTIVATIONS.names()


def test_a_broken_entry_point_is_named_with_its_package(folder: Path):
    write_distribution(folder, "mine = no_such_module_anywhere")
    with pytest.raises(ConfigError, match=r"'mine' \(entry point of my-activations: no_such_module_anywhere\) cannot"):
        ACTIVATIONS.names()


def test_a_name_belongs_to_the_first_and_a_definition_may_register_again(registries):
    def first(x):
        return x

    def second(x):
        return x

    for _ in range(2):  # as when a cell is run again
        assert register_activation("mine")(first) is first
    with pytest.raises(
        ConfigError, match=r"'mine' is already registered by .*test_plugins.py:.*first; register .*second"
    ):
        register_activation("mine")(second)


def test_registering_needs_no_torch():
    code = (
        "import sys; from regard import register_activation, register_format, register_position_scheme; "
        "register_activation('mine')(lambda x: x); print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
