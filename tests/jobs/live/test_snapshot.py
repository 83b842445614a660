"""The state of a run follows its files: it grows, is replaced, breaks off, and ends."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from regard.config import Config
from regard.data.batch import DataPosition
from regard.jobs.live.snapshot import QUIET_SECONDS, LiveRun, estimate_rest
from regard.run import LatestCheckpoint, Run
from regard.training.loop import Step


def test_a_finished_run_shows_all_that_it_has(watched_run: Run):
    state = LiveRun(watched_run.folder).snapshot()
    assert (state["state"], state["step"], state["last_step"], state["fraction"]) == ("finished", 7, 7, 1.0)
    assert [row[0] for row in state["dev"]] == [3, 6, 7] and state["train"][-1][0] == 7
    assert state["score_name"] == "BLEU" and state["report"] and state["words"]["noun"] == "translation"
    assert len(state["samples"]) == 5 and [frame["step"] for frame in state["attention"]] == [3, 6, 7]
    history = [step for step, _ in state["samples"][0]["history"]]
    assert history[0] == 3 and len(history) <= 3
    json.dumps(state, allow_nan=False)


def test_lines_that_are_added_are_shown_and_a_half_line_is_not(watched_run: Run):
    live = LiveRun(watched_run.folder)
    assert live.snapshot()["step"] == 7
    *_, last = (line for line in watched_run.log.read_text(encoding="utf-8").splitlines() if '"step"' in line[:20])
    step = json.dumps(json.loads(last) | {"number": 8})
    with watched_run.log.open("a", encoding="utf-8") as file:
        file.write(step[:30])
    assert live.snapshot()["step"] == 7
    with watched_run.log.open("a", encoding="utf-8") as file:
        file.write(f"{step[30:]}\nno json\n")
    assert live.snapshot()["step"] == 8


def test_a_log_that_was_cut_or_replaced_is_read_again(watched_run: Run):
    live = LiveRun(watched_run.folder)
    live.snapshot()
    lines = watched_run.log.read_text(encoding="utf-8").splitlines(keepends=True)
    watched_run.log.write_text("".join(lines[:2]), encoding="utf-8")
    assert live.snapshot()["step"] == 2
    other = watched_run.folder / "other"
    other.write_text("".join(lines[:3]), encoding="utf-8")
    other.replace(watched_run.log)
    assert live.snapshot()["step"] == 3


def test_training_quiet_stopped_and_preparing_are_told_apart(watched_run: Run, tmp_path: Path):
    assert LiveRun(tmp_path / "not yet").snapshot()["state"] == "preparing"
    watched_run.write_latest(LatestCheckpoint(7, finished=False))
    os.utime(watched_run.log)
    assert LiveRun(watched_run.folder).snapshot()["state"] == "training"
    old = time.time() - QUIET_SECONDS - 5
    os.utime(watched_run.log, (old, old))
    assert LiveRun(watched_run.folder).snapshot()["state"] == "quiet"
    assert LiveRun(watched_run.folder, lambda: True).snapshot()["state"] == "training"
    assert LiveRun(watched_run.folder, lambda: False).snapshot()["state"] == "stopped"


@pytest.mark.parametrize("file", ["config.toml", "log.jsonl", "previews.jsonl", "latest.json"])
def test_a_damaged_file_is_no_error_of_the_page(watched_run: Run, file: str):
    (watched_run.folder / file).write_bytes(b"\xff{broken\n")
    assert json.dumps(LiveRun(watched_run.folder).snapshot())


def test_a_run_that_vanishes_is_no_error(watched_run: Run):
    live = LiveRun(watched_run.folder)
    live.snapshot()
    shutil.rmtree(watched_run.folder)
    assert live.snapshot()["state"] == "preparing" and not live.has_finished()


def test_the_time_that_is_left_follows_from_steps_minutes_or_epochs():
    steps = [Step(n, DataPosition(0, n), 1.0, 0.5, 10, 0.1, 1.0, 2.0) for n in range(1, 11)]
    by_steps = estimate_rest(Config(train={"steps": 40}), steps, 20.0)
    assert (by_steps["fraction"], by_steps["seconds_left"], by_steps["last_step"]) == (0.25, 60.0, 40)
    by_time = estimate_rest(Config(train={"minutes": 1}), steps, 20.0)
    assert by_time["fraction"] == pytest.approx(1 / 3) and by_time["seconds_left"] == pytest.approx(40)
    both = estimate_rest(Config(train={"steps": 40, "minutes": 1}), steps, 20.0)
    assert both["fraction"] == pytest.approx(1 / 3)
    assert estimate_rest(Config(train={"steps": 40}), [], 0.0)["seconds_left"] is None
    tokens = estimate_rest(Config(train={"tokens": 200}), steps, 20.0)
    assert tokens["fraction"] == 0.5
