"""regard generate and regard fill print what the functions return; what does not fit is refused in one sentence."""

import io
import itertools
import json
import sys

import pytest

import regard
from regard.cli import main

SHORT = ["--max-tokens", "7", "--seed", "5", "--top-k", "5"]  # no control characters, which are escaped
LIMITS = {"max_tokens": 7, "seed": 5, "top_k": 5}


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command with these lines as standard input: its exit code, output and errors."""

    def run(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return run


def test_texts_are_those_of_the_function(run_of, command):
    run = run_of("causal-lm").folder
    prompts = ["The cat", "", "A dog sees"]
    expected = [one.text for one in regard.generate(run, prompts, samples=2, **LIMITS)]
    assert len(set(expected)) > 3
    shown = [prompts[i // 2] + text for i, text in enumerate(expected)]
    code, out, _ = command("generate", run, "--samples", 2, *SHORT, stdin="The cat\n\nA dog sees\n")
    assert (code, out) == (0, "\n---\n".join(shown) + "\n")
    code, out, _ = command("generate", run, "--samples", 2, "--json", *SHORT, stdin="The cat\n\nA dog sees\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["prompt"] + row["text"] for row in rows] == shown
    assert {row["finish_reason"] for row in rows} <= {"eos", "length"} and all(row["score"] < 0 for row in rows)
    assert command("generate", run, "The cat", *SHORT)[1] == shown[0] + "\n"


def test_a_stop_string_ends_a_text(run_of, command):
    run = run_of("causal-lm").folder
    (whole,) = regard.generate(run, "The cat", max_tokens=23, temperature=0)
    stop = whole.text[3:5]
    out = command("generate", run, "The cat", "--max-tokens", 23, "--temperature", 0, "--stop", "§", "--stop", stop)[1]
    assert out == "The cat" + whole.text[: whole.text.index(stop)] + "\n"


def test_masks_are_filled_in_tables_and_in_json(run_of, command):
    run = run_of("masked-lm").folder
    text = "The [MASK] sees a [MASK]."
    masks = regard.fill(run, text, top=3)
    assert [len(mask) for mask in masks] == [3, 3] and masks == regard.fill(run, [text], top=3)[0]
    assert all(a.probability >= b.probability for mask in masks for a, b in itertools.pairwise(mask))
    code, out, _ = command("fill", run, text, "--top", 3)
    assert code == 0 and "token of mask 2" in out
    assert [line for line in out.splitlines() if f"{masks[0][0].probability:.4f}" in line]
    code, out, _ = command("fill", run, "--json", "--top", 3, stdin=f"{text}\n\n{text}\n")
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 2 and rows[0] == rows[1]
    assert [[one["sequence"] for one in mask] for mask in rows[0]["masks"]] == [
        [one.sequence for one in mask] for mask in masks
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("generate", "masked-lm", "x"), "is a masked language model (--task masked-lm), and cannot"),
        (("fill", "causal-lm", "a [MASK]"), "is a causal language model (--task causal-lm), and cannot"),
        (("fill", "masked-lm", "no mask"), "has no [MASK]"),
        (("fill", "masked-lm", "cat " * 50 + "[MASK]"), "longer than 29 tokens"),
        (("generate", "causal-lm", "cat " * 50), "the model's context is 29"),
        (("generate", "causal-lm", "x", "--temperature", "-1"), "temperature=-1.0"),
        (("generate", "causal-lm", "x", "--top-p", "2"), "top_p"),
        (
            ("generate", "causal-lm", "x", "--stop", ""),
            "--stop is empty: give the string that a text ends before, or leave it out",
        ),
        (("generate", "causal-lm", "x", "--max-tokens", "0"), "--max-tokens"),
        (("translate", "causal-lm"), "regard generate"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(arguments: tuple[str, ...], sentence: str, run_of, command):
    name, task, *others = arguments
    code, out, error = command(name, run_of(task).folder, *others)
    assert code == 2 and out == ""
    (line,) = [line for line in error.splitlines() if line.startswith("error: ")]
    assert sentence in line and "Traceback" not in error
