"""The file that is handed out: it runs, it keeps what it should, and it does not hold the solution."""

import ast
import inspect

import pytest
import torch

import regard.labs.checker as checker
from regard.errors import LabError
from regard.labs.checker.assignments import ASSIGNMENTS
from regard.labs.checker.judge import judge
from regard.model import attention
from regard.model.attention import Attention
from regard.model.positions import Positions

NAMES = checker.assignment_names()


def run(text):
    names = {}
    exec(compile(text, "blank", "exec"), names)
    return names


@pytest.mark.parametrize("hints", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_a_blank_has_the_signature_and_the_docstring_and_no_body(name, hints):
    text = checker.write_blank(name, hints)
    function, reference = run(text)[name], ASSIGNMENTS[name].reference
    assert inspect.getdoc(function) == inspect.getdoc(reference)
    assert list(inspect.signature(function).parameters) == list(inspect.signature(reference).parameters)
    (definition,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(definition.body) == 2 and isinstance(definition.body[1], ast.Raise)
    assert "regard." not in text and max(map(len, text.split("\n"))) <= 120


def test_hints_go_from_nothing_to_shapes_to_steps():
    none, shapes, steps = (checker.write_blank("attend", hints) for hints in range(3))
    assert "# " not in none
    assert "# shape of scores: (B, H, Tq, K) @ (B, H, K, Tk) -> (B, H, Tq, Tk)" in shapes and "# 1. " not in shapes
    assert "# 1. scores = q kᵀ / √K" in steps and set(shapes.split("\n")) < set(steps.split("\n"))


def test_an_unwritten_blank_says_so():
    result = judge(ASSIGNMENTS["attend"], run(checker.write_blank("attend", 0))["attend"])
    assert result.points == 0 and "attend is yours to write" in result.counterexample.problem


def test_a_misspelt_name_gets_those_that_are_meant():
    with pytest.raises(LabError, match="there is no assignment 'atend'; did you mean attend"):
        checker.write_blank("atend", 0)
    with pytest.raises(LabError, match="available: attend, causal_mask"):
        checker.write_blank("zzz", 0)
    with pytest.raises(LabError, match="hints=7: there are levels 0"):
        checker.write_blank("attend", 7)


def test_a_students_attend_works_in_an_attention(tmp_path):
    path = tmp_path / "mine.py"
    text = checker.write_blank("attend", 0).split("    raise")[0]
    body = """    import torch
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5
    scores = scores if bias is None else scores + bias
    scores = scores if attn_mask is None else scores.masked_fill(~attn_mask, -1e9)
    return scores.softmax(-1) @ v, scores.softmax(-1)
"""
    path.write_text(text + body, encoding="utf-8")
    mine = checker.load_parts(path)["attend"]
    ours = Attention(6, 2, Positions(), attend=attention.attend).eval()
    theirs = Attention(6, 2, Positions(), attend=mine).eval()
    theirs.load_state_dict(ours.state_dict())
    x, ids = torch.randn(3, 5, 6), torch.arange(5)[None]
    results = [one(x, one.project_kv(x, ids), None, ids) for one in (ours, theirs)]
    assert torch.allclose(*results, atol=1e-6)
    torch.manual_seed(3)
    dropped = mine(*(torch.randn(3, 2, 2, 5, 3)), dropout=0.5)
    assert (dropped[1] == 0).any()


def test_a_part_of_a_file_that_cannot_be_loaded_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def attend(): pass\n1 / 0\n", encoding="utf-8")
    with pytest.raises(LabError, match="cannot be loaded: it raises ZeroDivisionError in line 2"):
        checker.load_parts(path)
    path.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(LabError, match="defines none of the functions"):
        checker.load_parts(path)
