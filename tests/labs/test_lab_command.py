"""`regard lab`: the list, one lab, files of one's own, and what is answered to bad input."""

import doctest
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.labs.lab import load_lab
from regard.labs.suite.records import read_records
from regard.labs.verdict import Verdict
from tests.labs.conftest import HEADER

SUMS, SCALING = "attention_weights_sum_to_one", "attention_scaling_sqrt_dk"


class Terminal(io.StringIO):
    """What is typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(state, tmp_path, monkeypatch, capsys):
    """Runs `regard lab` in an empty folder; returns its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run_lab(*arguments: object, typed: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        with pytest.raises(SystemExit) as stop:
            main(["lab", *map(str, arguments)])
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return run_lab


def error(outcome: tuple[int, str, str]) -> str:
    """The one sentence of a refusal."""
    code, out, err = outcome
    assert code == 2 and not out and err.startswith("error: ") and "Traceback" not in err
    return " ".join(err.removeprefix("error: ").split())


def test_the_list_is_fast_since_it_loads_no_lab(tmp_path):
    code = (
        "import sys\nfrom regard.cli import main\ntry:\n    main(['lab'])\nexcept SystemExit as stop:\n"
        "    print([stop.code, *(name for name in ('torch', 'altair', 'vl_convert', 'scipy') if name in sys.modules)])"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.rstrip().endswith("[0]"), done.stdout + done.stderr
    assert SUMS in done.stdout and "The equation (equation)" in done.stdout


def test_the_list_shows_the_last_verdict_of_the_lab_as_it_is(run):
    assert "✓" not in run()[1].split("Verdict of the last run")[0]
    run(SUMS, "--set", "TOKENS=7")
    assert [row["last_verdict"] for row in json.loads(run("--json")[1])] == [None] * len(json.loads(run("--json")[1]))
    run(SUMS)
    line = next(line for line in run()[1].split("\n") if SUMS in line)
    assert line.strip().startswith("✓")
    row = next(row for row in json.loads(run("--json")[1]) if row["name"] == SUMS)
    assert row["last_verdict"] == "holds" and row["theme"] == "equation"


def test_a_run_shows_picture_verdict_numbers_and_what_to_change(run, state):
    code, out, err = run(SCALING)
    assert code == 0 and "└" in out and "◐ Holds partly: " in out
    assert "Change next: KEYS=8" in out and "5 seeds" in out
    picture = state / "labs" / f"{SCALING}.svg"
    assert picture.read_text().startswith("<svg") and str(picture) in err.replace("\n", "")
    assert not [path for path in Path().iterdir() if path.name != "state"]  # nothing lies in the current folder


def test_the_picture_goes_where_out_says(run):
    run(SUMS, "--out", "here.svg")
    assert Path("here.svg").read_text().startswith("<svg")


def test_a_prediction_is_asked_for_compared_and_remembered(run):
    _, out, err = run(SCALING, typed="many\n30%\n")
    assert "Predict: d = 64" in err and "'many' is not a number" in err
    assert "You predicted 0.3, measured 0.747 [0.737, 0.758]." in out
    assert [record.prediction for record in read_records()] == [0.3]


@pytest.mark.parametrize(("typed", "options"), [("\n", []), ("", []), ("0.3\n", ["--no-ask"]), (None, [])])
def test_no_prediction_is_needed(run, typed, options):
    _, out, err = run(SUMS, *options, typed=typed)
    assert "predicted" not in out and ("Your number" in err) == (typed is not None and not options)


def test_seeds_are_chosen(run):
    answer = json.loads(run(SUMS, "--seeds", 3, "--seed", 7, "--json")[1])
    assert answer["seeds"] == [7, 8, 9] and answer["verdict"] == "holds" and answer["lab"] == SUMS
    assert json.loads(run(SUMS, "--seeds", 3, "--seed", 7, "--json")[1])["parts"] == answer["parts"]


def test_a_knob_changes_the_numbers(run):
    answer = json.loads(run(SUMS, "--set", "TOKENS=7", "--set", "HEAD_DIM=13", "--json")[1])
    assert answer["conditions"] == "TOKENS = 7, HEAD_DIM = 13; 5 seeds"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["attention_scaling_sqrt_dq"], f"there is no lab 'attention_scaling_sqrt_dq'; did you mean {SCALING}"),
        ([SCALING, "--set", "KEY=8"], f"lab '{SCALING}' has no knob 'KEY'; did you mean KEYS?"),
        ([SCALING, "--set", "KEYS=many"], f"knob KEYS of lab '{SCALING}' cannot be 'many'; expected one like 32"),
        ([SCALING, "--set", "KEYS"], "--set KEYS: expected KNOB=VALUE, as in KEYS=128"),
        (["./none.py"], "there is no file ./none.py"),
        (["./broken.py"], "broken.py, line 2, column 7: invalid syntax"),
        (["./empty.py"], "empty.py is not a lab: it has no function run(seeds)"),
        (["./raising.py"], "raising.py cannot be loaded: KeyError in line 1: 'x'"),
        (["--copy", SUMS, "--new", "x"], "--copy and --new are two jobs"),
        ([SUMS, "--copy", SCALING], f"--copy takes no lab beside it; left over: {SUMS}"),
        (["--new", "My Claim"], "'My Claim' cannot name a lab"),
        (["--all", "--set", "KEYS=3"], "--set changes one lab, not all of them"),
        ([SUMS, "--all"], f"--all takes a folder of labs beside it; {SUMS} is none"),
        (["--all", "--only", "ordr"], "there is no theme and no lab 'ordr'"),
        (["--notebook", "x.ipynb"], "--notebook needs a lab"),
        (["--blank", "attend"], "--blank attend needs a file to write: --out mine.py"),
        ([SUMS, "--data", "text.txt"], f"lab '{SUMS}' takes no sentences"),
        (["--all", "--predictions", "answers.csv"], "answers.csv, line 2: there is no lab 'x'"),
    ],
)
def test_bad_input_is_one_sentence(run, arguments, sentence):
    files = {
        "broken.py": "x = 1\ndef f(:\n",
        "empty.py": '"""Empty."""\n',
        "raising.py": HEADER.format(title="Raising").replace("import os\n", "import os; {}['x']\n", 1)
        + "def run(seeds): 0\n",
        "text.txt": "a b\n",
        "answers.csv": "lab,prediction\nx,1\n",
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    sentence = sentence.replace("KeyError in line 1", "KeyError in line 2")
    assert sentence in error(run(*arguments))


def test_a_copy_runs_and_replaces_nothing(run):
    assert run("--copy", SUMS)[0] == 0
    path = Path(f"{SUMS}.py")
    path.write_text(path.read_text(encoding="utf-8").replace("TOKENS, HEAD_DIM = 11", "TOKENS, HEAD_DIM = 5"))
    assert "TOKENS = 5" in run(path)[1]
    assert f"{SUMS}.py exists and is not replaced" in error(run("--copy", SUMS))
    assert "TOKENS = 5" in run(path)[1]
    Path("folder").mkdir()
    assert run("--copy", SUMS, "--out", "folder")[0] == 0 and (Path("folder") / path.name).is_file()


def test_a_skeleton_runs_is_undecided_and_its_counterpart_turns(run):
    assert run("--new", "my_claim")[0] == 0
    lab = load_lab(Path("my_claim.py"))
    assert lab.run().finding.verdict is Verdict.UNDECIDED
    assert lab.run_counterpart().verdict is Verdict.DOES_NOT_HOLD
    assert "? Undecided" in run("./my_claim.py")[1]


def test_a_notebook_is_written(run):
    assert run(SUMS, "--notebook", "x.ipynb")[0] == 0
    assert json.loads(Path("x.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4


def test_sentences_are_handed_to_the_lab(run, own_labs):
    Path("my.tsv").write_text("one two three four five six seven\tx\n", encoding="utf-8")
    Path("my.txt").write_text("\na b\n", encoding="utf-8")
    lab = own_labs / "text.py"
    assert json.loads(run(lab, "--data", "my.tsv", "--json")[1])["predicted"]["mean"] == pytest.approx(14.003)
    assert json.loads(run(lab, "--data", "my.txt", "--json")[1])["predicted"]["mean"] == pytest.approx(4.003)
    Path("empty.txt").write_text("\n\n", encoding="utf-8")
    assert "there is no sentence" in error(run(lab, "--data", "empty.txt"))


def test_a_folder_is_listed_and_run(run, own_labs):
    out = run(own_labs)[1]
    assert "twice" in out and SUMS not in out
    code, out, err = run(own_labs, "--all", "--only", "twice,raises", "--out", "labs.html", "--title", "Mine & yours")
    assert code == 1 and "! failed" in out and "written: labs.html" in err
    assert "<title>Mine &amp; yours</title>" in Path("labs.html").read_text(encoding="utf-8")
    assert [record.lab for record in read_records()] == ["twice"]
    rows = json.loads(run(own_labs, "--all", "--only", "twice,raises", "--json")[1])
    assert [row["error"] is None for row in rows] == [False, True] and rows[1]["verdict"] == "holds"


def test_a_lab_in_python_asks_and_shows_itself(state):
    lab = regard.lab(SCALING)
    lab.predict(0.3)
    run = lab.run()
    assert run.verdict is Verdict.HOLDS_PARTLY and run.comparison == "predicted 0.3, measured 0.747 [0.737, 0.758]"
    html = run._repr_html_()
    assert "You predicted 0.3" in html and "<svg" in html and "does not hold" in html
    assert "Predict" not in html and "how much does the largest weight grow" in lab._repr_html_()
    assert regard.lab(SCALING).run().comparison == ""


def test_examples_of_the_functions_run(state):
    failures, examples = doctest.testmod(
        importlib.import_module("regard.api.labs.laboratory"), extraglobs={"regard": regard}
    )
    assert failures == 0 and examples >= 4


def test_ctrl_c_ends_all_processes_in_order(tmp_path):
    folder = tmp_path / "slow"
    folder.mkdir()
    for name in ("one", "two"):
        note = f"open({str(tmp_path)!r} + f'/{{os.getpid()}}.pid', 'w').close()"
        text = HEADER.format(title="Slow") + f"def run(seeds):\n    {note}\n    time.sleep(600)\n"
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "regard", "lab", folder, "--all", "--only", "slow", "--out", tmp_path / "x.html"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    while len(pids := [int(path.stem) for path in tmp_path.glob("*.pid")]) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not (tmp_path / "x.html").exists()


MINE = """from torch import Tensor

def causal_mask(length: int, device=None) -> Tensor:
    import torch
    return torch.ones(length, length, dtype=torch.bool).tril({diagonal})
"""


def test_an_assignment_is_written_checked_and_graded(run):
    assert run("--blank", "attend", "--out", "mine.py", "--hints", 2)[0] == 0
    assert "def attend(" in Path("mine.py").read_text() and "NotImplementedError" in Path("mine.py").read_text()
    assert "mine.py exists and is not replaced" in error(run("--blank", "attend", "--out", "mine.py"))
    assert "did you mean attend?" in error(run("--blank", "atend", "--out", "other.py"))
    code, out, _ = run("--check", "mine.py")
    assert code == 1 and out.startswith("attend: ")
    Path("submissions").mkdir()
    for name, diagonal in (("ada", 0), ("bob", 1)):
        Path(f"submissions/{name}.py").write_text(MINE.format(diagonal=diagonal))
    assert run("--check", "submissions/ada.py")[:1] == (0,)
    code, out, _ = run("--check", "submissions/bob.py", "--json")
    (result,) = json.loads(out)
    assert code == 1 and result["assignment"] == "causal_mask" and result["points"] < result["of"]
    code, out, _ = run("--grade", "submissions", "--csv", "grades.csv")
    assert code == 0 and "ada" in out
    header, ada, bob = Path("grades.csv").read_text().splitlines()
    assert header == "submission,function,points,of,first failed,mistake"
    assert ada == "ada,causal_mask,5,5,,"
    assert bob.endswith("Its results equal those of an implementation that shows one token of the future.")


def test_a_function_that_never_ends_is_not_correct(run):
    Path("mine.py").write_text("def causal_mask(length, device=None):\n    raise SystemExit\n")
    code, out, _ = run("--check", "mine.py")
    assert code == 1 and out.startswith("causal_mask: ")


def test_a_student_part_takes_the_place_of_a_mechanism(run):
    for diagonal, verdict in ((0, "holds"), (1, "does not hold")):
        Path("mine.py").write_text(MINE.format(diagonal=diagonal))
        answer = json.loads(run("causal_mask_leak", "--with", "mine.py", "--json", "--seeds", 2)[1])
        assert answer["verdict"] == verdict
    sentence = error(run(SCALING, "--with", "mine.py"))
    assert "can use nothing of mine.py, which has causal_mask; it takes score" in sentence


def test_a_knob_that_no_model_can_have_is_refused_in_one_sentence(run):
    sentence = error(run("causal_mask_leak", "--set", "LAYERS=-1"))
    assert "failed: a setting is refused in line" in sentence and "layers=-1: Input should be greater" in sentence
    assert "http" not in sentence
