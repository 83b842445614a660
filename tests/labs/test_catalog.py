"""Finding labs by name or file, and folders of labs."""

import inspect
from pathlib import Path

import pytest

from regard.errors import LabError
from regard.labs.catalog import all_labs, find_lab, read_folder, read_themes
from regard.labs.lab import load_lab
from tests.labs.lab_files import write_lab


def test_a_lab_is_found_by_its_name():
    path = find_lab("causal_mask_leak")
    assert (path.name, path.parent.name) == ("causal_mask_leak.py", "equation")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("causal_mask_leek", "there is no lab 'causal_mask_leek'; did you mean causal_mask_leak"),
        ("shaw", "there is no lab 'shaw'; did you mean shaw_relative_vs_bias"),
        ("xyzzy", "there is no lab 'xyzzy'; `regard lab` lists them"),
        ("missing/lab.py", "there is no file missing/lab.py"),
    ],
)
def test_an_unknown_lab_is_answered_with_the_nearest(name: str, message: str):
    with pytest.raises(LabError) as error:
        find_lab(name)
    assert str(error.value).startswith(message)


def test_a_folder_is_a_theme(tmp_path: Path):
    write_lab(tmp_path, name="second.py")
    write_lab(tmp_path, name="first.py")
    (tmp_path / "__init__.py").touch()
    theme = read_folder(tmp_path)
    assert [lab.name for lab in theme.labs] == ["first", "second"]
    assert theme.title == tmp_path.name


def test_a_folder_without_labs_is_refused(tmp_path: Path):
    with pytest.raises(LabError, match=r"there is no lab in .*: it has no file of Python"):
        read_folder(tmp_path)


def test_names_are_unique_and_themes_are_introduced():
    names = [lab.name for lab in all_labs()]
    assert len(set(names)) == len(names)
    assert [theme.name for theme in read_themes() if not theme.paragraph] == []


@pytest.mark.parametrize("header", list(all_labs()), ids=lambda header: header.name)
def test_a_lab_runs_with_seeds_alone_and_its_turned_knob_exists(header):
    lab = load_lab(header.path)
    _, *parts = inspect.signature(lab.module.run).parameters.values()
    assert [part.name for part in parts if part.default is part.empty] == []
    assert header.turn.keys() <= lab.knobs.keys()
    for knob, values in header.turn.items():
        for value in values:
            load_lab(header.path, {knob: repr(value)})
