"""Grading a folder of submissions."""

import inspect

import pytest

import regard.labs.checker as checker
from regard.errors import LabError
from regard.labs.checker.assignments import attend, layer_norm

IMPORTS = "import math\nimport torch\nfrom torch import Tensor\n"


def write_submission(path, module, name, edit=("", "")):
    """A submission of the plain implementation, or of one with a mistake."""
    source = inspect.getsource(module.plain).replace("def plain(", f"def {name}(")
    assert edit[0] in source
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(IMPORTS + source.replace(*edit, 1), encoding="utf-8")


def test_files_and_folders_are_graded_with_the_mistake_by_name(tmp_path):
    write_submission(tmp_path / "ada.py", layer_norm, "layer_norm")
    write_submission(tmp_path / "bob" / "part1.py", layer_norm, "layer_norm", ("(variance + epsilon)", "(variance)"))
    write_submission(tmp_path / "bob" / "notes.py", layer_norm, "something_else")
    (tmp_path / "eve.py").write_text("def layer_norm(:\n", encoding="utf-8")
    (tmp_path / "readme.txt").write_text("not a submission", encoding="utf-8")
    rows = {grade.submission: tuple(grade.as_dict().values()) for grade in checker.grade(tmp_path, seed=7)}
    assert rows["ada"] == ("ada", "layer_norm", 10, 10, "", "")
    assert rows["bob"][:2] == ("bob", "layer_norm") and rows["bob"][2] < rows["bob"][3] == 10
    assert rows["bob"][5] == "Its results equal those of an implementation that has no ε."
    assert rows["eve"][1:4] == ("", 0, 0) and "line 1, column 16" in rows["eve"][4]
    assert set(rows) == {"ada", "bob", "eve"}


def test_a_folder_without_submissions_is_refused(tmp_path):
    with pytest.raises(LabError, match="has no submissions"):
        checker.grade(tmp_path, seed=1)
    with pytest.raises(LabError, match="is not a folder of submissions"):
        checker.grade(tmp_path / "none", seed=1)


@pytest.mark.slow
def test_thirty_submissions_are_graded(tmp_path):
    mistakes = [("", ""), ("/ math.sqrt(K)", "/ K"), ("~mask", "mask"), ("weights @ v", "weights @ k")]
    for n in range(30):
        write_submission(tmp_path / f"student{n:02}.py", attend, "attend", mistakes[n % 4])
    grades = checker.grade(tmp_path, seed=3)
    assert len(grades) == 30
    assert [grade.mistake == "" for grade in grades] == [n % 4 == 0 for n in range(30)]
    assert all("divides by K" in grade.mistake for grade in grades[1::4])
