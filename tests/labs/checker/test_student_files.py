"""A student's file may do anything: each kind of trouble is answered in one sentence, and the others go on."""

import textwrap

import pytest

import regard.labs.checker as checker
from regard.errors import LabError
from regard.labs.checker.process.client import CheckServer
from regard.labs.checker.process.limits import CheckLimits

CORRECT = """
    import torch
    def causal_mask(length, device=None):
        return torch.ones(length, length, device=device).tril().bool()
    """
LAYER_NORM = """
    import importlib, os, sys, threading, time
    import torch
    def layer_norm(x, weight, bias, epsilon=1e-5):
        centered = x - x.mean(-1, keepdim=True)
        {}
        return centered / (centered.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight + bias
    """
IN_CALL = {
    "pass": "all 10 truths hold, correct to 1e-9, in float64",
    "x += 1": "",
    "return centered * float('nan')": "",
    "return centered[0]": "returns result (B, T, D) in the shape (2, 3); expected (1, 2, 3)",
    "return centered.half()": "returns result (B, T, D) as float16; expected float64, as its inputs are, or float32",
    "return centered.tolist()": "returns a list of length 1; expected a tensor: result (B, T, D)",
    "return": "returns None (is a `return` missing?)",
    "return (centered, x)": "returns a tuple of length 2; expected a tensor",
    "raise ValueError('no\\n idea')": "it raises ValueError in line 6: no idea",
    "raise NotImplementedError": "it is still to be written: NotImplementedError in line 6",
    "return undefined": "it raises NameError in line 6: name 'undefined' is not defined",
    "return layer_norm(x, weight, bias)": "RecursionError in line",
    "while True: pass": "it did not end within 1 s of computing: is there a loop without an end?",
    "time.sleep(1000)": "it did not end within 4 s: does it wait for something?",
    "exit()": "it ends the program in line 6, by exit() or sys.exit()",
    "sys.exit('bye')": "it ends the program in line 6, by exit() or sys.exit()",
    "os._exit(3)": "it ended its process with code 3 before the check was done",
    "os.abort()": "it crashed Python itself (SIGABRT)",
    "os.kill(os.getpid(), 9)": "its process was killed",
    "while True: print('x' * 10000)": "it prints more than 1,000,000 characters",
    "torch.ones(10**10)": "it asks for more memory in line 6 than a check allows",
    "[0] * 10**10": "it asks for more memory in line 6 than a check allows",
    "importlib.import_module('regard.model.layers')": "it imports regard, which has the solution",
    "__import__('regard.model')": "it imports regard, which has the solution",
    "exec('import regard')": "it imports regard, which has the solution",
}
"""What a line in a function does, and what is answered."""
OF_FILE = {
    "def attend(q, k v):\n    pass": "mine.py, line 1, column 17: invalid syntax",
    "def attend(:\n": "line 1, column",
    "x = 3": "defines none of the functions of the assignments: attend, causal_mask",
    "": "defines none of the functions of the assignments",
    "import regard\ndef attend(): pass": "mine.py, line 1: it imports regard, which has the solution",
    "def attend():\n    from regard.model.attention import attend": "mine.py, line 2: it imports regard",
    "1 / 0\ndef attend(): pass": "mine.py cannot be loaded: it raises ZeroDivisionError in line 1: division by zero",
    "exit()\ndef attend(): pass": "mine.py cannot be loaded: it ends the program in line 1",
    "while True: pass\ndef attend(): pass": "cannot be loaded: it did not end within 1 s of computing",
    "import no_such_module\ndef attend(): pass": "it raises ModuleNotFoundError in line 1",
}


@pytest.fixture(scope="module")
def server():
    with CheckServer(CheckLimits(cpu_seconds=1, wall_seconds=4)) as one:
        yield one


def write(folder, text):
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


@pytest.mark.parametrize("line", IN_CALL)
def test_what_a_function_does_is_answered_in_a_sentence(server, tmp_path, line):
    path = write(tmp_path, LAYER_NORM.format(line) + CORRECT)
    mask, norm = server.check(path, 1, False)
    assert mask.is_correct, mask.sentence
    text = "\n".join(norm.lines())
    assert IN_CALL[line] in text, text
    assert norm.is_correct == (line == "pass")
    assert norm.possible_points == 10
    assert "\n" not in norm.sentence and "Traceback" not in text


@pytest.mark.parametrize("text", OF_FILE)
def test_a_file_that_cannot_be_checked_is_answered_in_a_sentence(server, tmp_path, text):
    with pytest.raises(LabError) as error:
        server.check(write(tmp_path, text), 1, False)
    assert OF_FILE[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_nan_and_inputs_that_are_changed_are_shown_with_the_row(server, tmp_path):
    (nan,) = server.check(write(tmp_path, LAYER_NORM.format("return centered * float('nan')")), 1, False)
    assert nan.failed[0] == "it returns a tensor (B, T, D)"
    assert nan.counterexample.difference.returned == "[nan, nan, nan]"
    (changed,) = server.check(write(tmp_path, LAYER_NORM.format("x += 1")), 1, False)
    assert changed.failed == ("it leaves its inputs as they were",)
    assert changed.counterexample.difference.where == "x[0, 0]"


def test_what_is_printed_is_shown_in_part(server, tmp_path):
    (result,) = server.check(write(tmp_path, LAYER_NORM.format("print('shape', tuple(x.shape))")), 1, False)
    assert result.is_correct
    assert result.lines()[-4:-1] == ["  it printed: shape (1, 2, 3)"] * 1 + result.lines()[-3:-1]
    assert result.lines()[-1] == "  …"


def test_regard_may_be_allowed(tmp_path):
    path = write(
        tmp_path, "from regard.model.masks import causal_mask as ours\ndef causal_mask(*a, **k): return ours(*a, **k)"
    )
    with pytest.raises(LabError, match="line 1: it imports regard"):
        checker.check_file(path)
    (result,) = checker.check_file(path, allow_regard=True)
    assert result.is_correct


def test_a_helper_beside_the_file_can_be_imported(server, tmp_path):
    (tmp_path / "helper.py").write_text("def lower(mask): return mask.tril()\n", encoding="utf-8")
    text = """
        import torch, helper
        def causal_mask(length, device=None):
            return helper.lower(torch.ones(length, length, device=device)).bool()
        """
    assert server.check(write(tmp_path, text), 1, False)[0].is_correct


def test_a_result_survives_the_way_through_json(server, tmp_path):
    (result,) = server.check(write(tmp_path, LAYER_NORM.format("x += 1")), 1, False)
    values = result.as_dict()
    assert values["points"] == 9 and values["of"] == 10 and values["sentence"] == result.sentence
    assert type(result).from_dict(values) == result


def test_files_that_a_function_writes_are_bounded_and_gone(server, tmp_path):
    line = "open('large', 'wb').write(b'x' * (50 << 20))"
    (result,) = server.check(write(tmp_path, LAYER_NORM.format(line)), 1, False)
    assert "File too large" in result.counterexample.problem
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["mine.py"]
