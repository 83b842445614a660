"""What every command prints: the answer first, no line wider than the terminal, no word cut, no escape codes."""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console

from regard.api import corpora, inspecting, planning, scoring, training
from regard.config import parse_assignments
from regard.display.layout import wrap
from regard.display.study import StudyDisplay
from regard.display.training import ProgressDisplay
from regard.display.views.comparison import format_comparison
from regard.display.views.doctor import format_diagnosis
from regard.display.views.documents import format_document
from regard.display.views.heads import format_heads
from regard.display.views.look import format_inspection
from regard.display.views.plan import format_estimate, format_plan
from regard.display.views.pruning import format_pruning
from regard.display.views.scores import format_evaluation
from regard.display.views.senses import format_senses
from regard.display.views.training import describe_verdict, format_training
from regard.jobs.train.events import TrainingFinished, TrainingPlan, TrainingProgress, TrainingStarted
from regard.jobs.translate.text import DocumentResult
from regard.metrics import Score
from regard.report.text import display_width
from regard.tuning.events import StudyFinished, StudyStarted
from regard.tuning.folder import StudyFolder
from regard.tuning.results import TrialResult
from tests.jobs.conftest import TINY, files

__all__ = ["files"]
WIDTHS = (60, 80, 120)
CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
BOXES = "┌│█▓▒░─━╸"
COMMANDS = {
    "doctor": "This corpus can be trained on: 598 of 600 pairs remain.",
    "evaluate": "Does not translate: BLEU ",
    "compare": "No system translates: on 7 sentences",
    "look": "The girl eats the old bread.",
    "heads": "",
    "estimate": "Training would take less than a minute for 9 steps",
    "prune": "Keeps ",
    "senses": "'the' in 3 sentences: SelfSim ",
    "translate": "fr.po: 5 translated, to be reviewed; 14 left empty",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory, files: Path) -> Path:
    """A folder with a damaged corpus, a run, and its events."""
    folder = tmp_path_factory.mktemp("views")
    english = (files / "train.en").read_text(encoding="utf-8").split("\n")
    french = (files / "train.fr").read_text(encoding="utf-8")
    english[4], english[9] = "", "<url>http://example.org</url>"
    (folder / "a-long-name-of-a-corpus.en").write_text("\n".join(english), encoding="utf-8")
    (folder / "a-long-name-of-a-corpus.fr").write_text(french, encoding="utf-8")
    for name in ("test.en", "test.fr"):  # few sentences: TER is slow
        lines = (files / name).read_text(encoding="utf-8").split("\n")[:7]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("the cat eats\nthe girl sees the dog\nI know the old man\n")
    return folder


def pairs(files: Path, name: str) -> tuple[str, str]:
    return str(files / f"{name}.en"), str(files / f"{name}.fr")


@pytest.fixture(scope="module")
def events(place: Path, files: Path) -> list[Any]:
    corpus = [place / f"a-long-name-of-a-corpus.{side}" for side in ("en", "fr")]
    values = parse_assignments([*TINY, "train.validate_every=4"])
    return list(
        training.training_events(
            *corpus, dev=pairs(files, "dev"), test=pairs(place, "test"), out=place / "run", steps=9, settings=values
        )
    )


@pytest.fixture(scope="module")
def views(place: Path, files: Path, events: list[Any]) -> dict[str, Callable[[int, bool], list[str]]]:
    """Every command's view of a result that was computed once."""
    run, test = place / "run", pairs(place, "test")
    assert isinstance(events[-1], TrainingFinished)
    corpus = [str(place / f"a-long-name-of-a-corpus.{side}") for side in ("en", "fr")]
    diagnosis = corpora.doctor(*corpus)
    evaluation = scoring.evaluate(run, *test, beam=1)
    pruned = inspecting.prune(run, place / "half", dev=test, finetune_steps=1)
    comparison = scoring.compare(run, place / "half", on=test, beam=1)
    sentence = inspecting.look(run, "The girl eats the old bread.", sentences=2)
    heads = inspecting.heads(run, sentences=2)
    estimate = planning.estimate(*corpus, steps=9)
    senses = inspecting.senses(run, "the", place / "words.txt")
    document = DocumentResult(5, [(f"messages.po:{n}", f"it lacks {{name{n}}}") for n in range(14)])
    out, skipped = Path("fr.po"), Path("fr.po.skipped.tsv")
    return {
        "doctor": lambda width, verbose: format_diagnosis(diagnosis, width, verbose),
        "evaluate": lambda width, verbose: format_evaluation(evaluation, width, verbose),
        "compare": lambda width, verbose: format_comparison(comparison, width, verbose),
        "look": lambda width, verbose: format_inspection(sentence, width, verbose),
        "heads": lambda width, verbose: format_heads(heads, width, verbose),
        "estimate": lambda width, verbose: format_estimate(estimate, width, verbose),
        "prune": lambda width, verbose: format_pruning(pruned, run, width, verbose),
        "senses": lambda width, verbose: format_senses(senses, width, verbose),
        "translate": lambda width, verbose: format_document(document, out, skipped, width),
    }


def require_fit(lines: list[str], width: int) -> None:
    for line in lines:
        assert display_width(line) <= width, line
        assert line == line.rstrip() and "\x1b" not in line and "\ue000" not in line, line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_view_fits_and_begins_with_the_answer(command: str, views):
    for width in WIDTHS:
        for verbose in (False, True):
            lines = views[command](width, verbose)
            require_fit(lines, width)
            assert " ".join(lines).startswith(COMMANDS[command].split()[0] if COMMANDS[command] else "")
            assert COMMANDS[command] in " ".join(lines[:3])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_cuts_no_word_of_a_wide_one(command: str, views):
    """Words of the narrow view are words of the wide one: nothing is cut. Paths and signatures may be folded."""
    wide = " ".join(views[command](120, True))
    for word in " ".join(views[command](60, True)).split():
        if word.strip(":;,\\"):  # a column that moves below its row gets a colon
            assert word.rstrip(":;") in wide or word in "".join(wide.split()), word


def test_plain_views_have_no_boxes(views, monkeypatch):
    assert any(box in "\n".join(views["look"](80, False)) for box in BOXES)
    monkeypatch.setenv("REGARD_PLAIN", "1")
    for command, view in views.items():
        assert not any(box in "\n".join(view(80, False)) for box in BOXES), command


def replay(events: list[Any], width: int, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    display, sink = ProgressDisplay(), io.StringIO()
    display.console = Console(file=sink, force_terminal=terminal, width=width, color_system=None, soft_wrap=True)
    display._live.console = display.console
    with display:
        for event in events:
            display.handle(event)
    return CONTROL_CODES.sub("\n", sink.getvalue()).rstrip("\n").split("\n")


@pytest.mark.parametrize("width", WIDTHS)
def test_training_is_a_plan_a_line_a_step_and_a_verdict(width: int, events: list[Any], monkeypatch):
    lines = replay(events, width, False, monkeypatch)
    require_fit(lines, width)
    text = " ".join(" ".join(lines).split())
    assert text.startswith("data 598 pairs to train on, 31 pairs for validation, 7 pairs for the test; en to fr")
    assert "dropped 1 pair: an empty side (a-long-name-of-a-corpus.en:5)" in text and "chosen:" not in text
    assert "Does not translate yet. Trained 9 steps in " in text and "It was not trained long enough" in text
    assert "BLEU signature: nrefs:1" in text and "chrF2 signature" not in text
    monkeypatch.setattr("regard.display.training.is_verbose", lambda: True)
    lines = replay(events, width, False, monkeypatch)
    require_fit(lines, width)
    text = " ".join(" ".join(lines).split())
    assert "chosen: " in text and "on cpu with 1 thread (as set), float32, train.padding_free=true" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_terminal_has_one_live_line_that_fits(width: int, events: list[Any], monkeypatch):
    first_step = next(n for n, event in enumerate(events) if isinstance(event, TrainingProgress))
    lines = replay(events[: first_step + 1], width, True, monkeypatch)
    assert all(display_width(line) <= width for line in lines)
    fields = re.search(r"step 1/9  \d+:\d\d left  loss \d.*", "\n".join(lines))
    assert fields is not None and ("tokens/s" in fields[0]) == (width > 60)


def test_the_verdict_is_honest(events: list[Any]):
    finished = events[-1]
    good, bad = Score("BLEU", 67.5, 61.2, 73.8, "s"), Score("BLEU", 2.1, 1.1, 3.1, "s")
    evaluation = replace(
        finished.evaluation,
        scores={**finished.evaluation.scores, "bleu": good},
        baselines=replace(finished.evaluation.baselines, copied_source=bad, shuffled_translations=bad),
    )
    well = replace(finished, evaluation=evaluation, step=1363, seconds=88.0)
    bleu = "BLEU 67.5 ± 6.3 on 7 test sentences it has never seen (copying the source scores 2.1)."
    assert plain(describe_verdict(well)) == f"Trained 1,363 steps in 1:28: {bleu}"
    assert plain(describe_verdict(replace(well, end="time"))).startswith(
        "Trained 1,363 steps in 1:28, all of its time: "
    )
    stopped = plain(describe_verdict(replace(well, end="patience")))
    assert stopped.startswith("Stopped early after 1,363 steps in 1:28, since dev no longer improved: BLEU 67.5")
    assert "7 dev sentences, which also selected its weights" in plain(describe_verdict(replace(well, set_name="dev")))
    deaf = replace(finished.validation, loss=3.0, shuffled_input_loss=3.01)
    ignores = replace(finished, validation=deaf, unigram_loss=5.0, end="patience")
    assert "It ignores its source" in describe_verdict(ignores)
    falls = replace(ignores, end="steps", epochs=0, earlier_loss=3.5)
    assert "It was not trained long enough: its dev loss was still falling, to 3.00." in plain(describe_verdict(falls))
    assert "long enough" not in describe_verdict(replace(falls, earlier_loss=2.9))
    once = plain(describe_verdict(replace(falls, earlier_loss=None)))
    assert "It was not trained long enough: its dev loss was 3.00 after 9 steps." in once


@pytest.mark.parametrize("changes", [{"end": "patience"}, {"epochs": 50, "step": 200}, {"step": 20_000}])
def test_what_many_steps_have_not_taught_is_not_for_want_of_steps(events: list[Any], changes: dict[str, Any]):
    high = replace(events[-1].validation, loss=6.0)
    begun = replace(events[-1], validation=high, unigram_loss=5.0, epochs=50)
    assert "It was not trained long enough: its dev loss is 6.00" in describe_verdict(begun)
    text = plain(describe_verdict(replace(begun, **changes)))
    assert "long enough" not in text and "train.learning_rate, and check the pairs with `regard doctor`." in text
    assert "Its dev loss 6.00 is not below the 5.00 of a model" in text
    assert "--resume" not in " ".join(format_training(replace(begun, **changes), 80))


@pytest.mark.parametrize(
    ("limits", "longer"),
    [
        ({"epochs": 0.1}, ["--epochs 1"]),
        ({"tokens": 400}, ["--set train.tokens=4000"]),
        ({"steps": 2}, ["--steps 20"]),
        ({"steps": 3, "epochs": 0.05, "minutes": 1e-5}, ["--epochs 0.1", "--minutes "]),
    ],
)
def test_the_command_to_train_further_does(
    tmp_path: Path, files: Path, limits: dict[str, float], longer: list[str], monkeypatch: pytest.MonkeyPatch
):
    """Whatever has ended a training, the command that is printed takes more steps; its plan counts all of them."""
    monkeypatch.setattr("regard.training.planning.budget.MIN_SECONDS", 0.001)
    values = parse_assignments(TINY) | {f"train.{name}": value for name, value in limits.items()}
    out = tmp_path / "run"
    first = list(training.training_events(*pairs(files, "train"), dev=pairs(files, "dev"), out=out, settings=values))
    require_planned(first)
    text = " ".join(" ".join(format_training(first[-1], 80)).replace("\\", "").split())
    command = re.search(r"regard train --resume \S+((?: --(?:steps|epochs|minutes|set) \S+)+)", text)
    assert command is not None and all(option in command[0] for option in longer), text
    options = iter(command[1].split())
    changes = {}
    for name, value in zip(options, options, strict=True):
        changes |= parse_assignments([value if name == "--set" else f"train.{name[2:]}={value}"])
    stop_after = first[-1].step + 1
    again: list[Any] = []
    stream = training.training_events(
        resume=out, settings=changes, should_stop=lambda: bool(again) and again[-1] >= stop_after
    )
    for event in stream:
        if isinstance(event, TrainingProgress):
            again.append(event.step.number)
    assert again and again[-1] > first[-1].step


def require_planned(events: list[Any]) -> None:
    plan = next(event for event in events if isinstance(event, TrainingPlan))
    started = next(event for event in events if isinstance(event, TrainingStarted))
    if not plan.config.train.minutes:
        assert round(plan.estimate.steps) == started.last_step


def test_the_plan_counts_the_steps_that_are_taken(tmp_path: Path, files: Path):
    events = training.training_events(
        *pairs(files, "train"),
        dev=pairs(files, "dev"),
        out=tmp_path / "run",
        epochs=1,
        settings=parse_assignments(TINY),
    )
    plan = next(event for event in events if isinstance(event, TrainingPlan))
    started = next(event for event in events if isinstance(event, TrainingStarted))
    assert f"for {started.last_step} steps (1.0 epochs)" in " ".join(" ".join(format_plan(plan, 80)).split())


def test_the_best_of_several_systems_is_tested_against_the_baseline_alone(tmp_path: Path, files: Path):
    source, target = pairs(files, "test")
    references = Path(target).read_text(encoding="utf-8").strip("\n").split("\n")
    systems = {"base": 3, "A": 1, "B": 0}  # words that are lost at the end of each second sentence
    for name, lost in systems.items():
        lines = [" ".join(line.split()[: -lost or None]) if n % 2 else line for n, line in enumerate(references)]
        (tmp_path / f"{name}.fr").write_text("\n".join(lines) + "\n", encoding="utf-8")
    paths = [tmp_path / f"{name}.fr" for name in systems]
    comparison = scoring.compare(*paths, on=(source, target))
    text = " ".join(" ".join(format_comparison(comparison, 120)).split())
    assert "B.fr has the highest BLEU" in text and "significantly better than the baseline base.fr (" in text
    score = comparison.systems[1].evaluation.scores["bleu"].value
    assert f"; not tested against A.fr ({score:.1f})." in text
    assert "p-values are corrected for 2 comparisons by each metric (Holm)." in text
    text = " ".join(" ".join(format_comparison(scoring.compare(*paths[:2], on=(source, target)), 120)).split())
    assert "not corrected" not in text and "not tested" not in text


def test_shuffled_senses_are_not_called_separate(place: Path, files: Path, events: list[Any]):
    lines = [line for line in (files / "train.en").read_text(encoding="utf-8").split("\n") if " the " in line][:24]
    random = Random(5)
    (place / "shuffled.tsv").write_text("".join(f"{random.choice('ab')}\t{line}\n" for line in lines))
    text = " ".join(
        " ".join(format_senses(inspecting.senses(place / "run", "the", place / "shuffled.tsv"), 80)).split()
    )
    assert re.search(r"no layer separates the senses \(best AUC 0.[45]\d, no better than shuffled labels, p = ", text)
    by_context = [f"{'a' if n % 2 else 'b'}\t{'we see the cat' if n % 2 else 'the dog sleeps'}\n" for n in range(12)]
    (place / "context.tsv").write_text("".join(by_context))
    text = " ".join(" ".join(format_senses(inspecting.senses(place / "run", "the", place / "context.tsv"), 80)).split())
    assert "its senses separate best in the embeddings with positions, with an AUC of 1.00" in text


def plain(text: str) -> str:
    return " ".join(wrap(text, 10_000))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_of_a_study_fits(width: int):
    display, sink = StudyDisplay(StudyFolder(Path("studies/mine"))), io.StringIO()
    display.console = Console(file=sink, width=width, color_system=None, soft_wrap=True)
    params = {f"model.{name}": 128 for name in ("dim", "heads", "ffn", "encoder_layers")}
    reason = "training would take about 900.0 GB, and 21.0 GB are free: lower model.dim"
    trials = tuple(TrialResult(n, f"quarter {n} as taught", "failed", params, reason=reason) for n in range(3))
    display.handle(StudyStarted("mine", "BLEU", "BLEU", trials))
    display.handle(StudyFinished(trials))
    require_fit([line.rstrip() for line in sink.getvalue().split("\n")], width)
    assert "encoder_layers=128" in sink.getvalue() and "quarter" in sink.getvalue()


def in_terminal(width: int, *arguments: str, **environment: str) -> str:
    """What a command prints in a terminal of this width."""
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", **environment}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "regard", *arguments]
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=environment):
        os.close(inside)
        text = b""
        with contextlib.suppress(OSError):  # raised when the command has ended
            while block := os.read(terminal, 65536):
                text += block
    os.close(terminal)
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [60, 120])
def test_commands_follow_the_width_of_a_terminal(width: int, place: Path):
    corpus = [str(place / f"a-long-name-of-a-corpus.{side}") for side in ("en", "fr")]
    lines = in_terminal(width, "doctor", *corpus, "--plain", "--verbose").rstrip("\n").split("\n")
    require_fit(lines, width)
    assert lines[0].startswith("This corpus can be trained on") and max(map(len, lines)) > width - 15
    assert "There is nothing to translate, or nothing to learn." in " ".join(" ".join(lines).split())


def test_evaluate_in_a_terminal_has_no_colors_where_none_are_wanted(place: Path, events):
    text = in_terminal(80, "evaluate", str(place / "run"), *pairs(place, "test"), "--beam", "1", NO_COLOR="1")
    assert "Does not translate" in text and "\x1b[3" not in text
