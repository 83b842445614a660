"""log.jsonl: what is written is read, line by line."""

import json
import math
import os
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from regard.data.batch import DataPosition
from regard.errors import RunError
from regard.files import MAX_LINE_BYTES
from regard.metrics import Score
from regard.training.log import Log, NullLog, pool_steps, read, read_steps, read_validations
from regard.training.loop import Step
from regard.training.validate import Validation

STEP = Step(7, DataPosition(2, 5), 3.25, 0.5, 901, learning_rate=0.002, grad_norm=1.5, seconds=0.25)
MUON = Step(8, DataPosition(2, 6), 3.0, 0.5, 907, 0.002, 1.25, 0.25, muon_learning_rate=0.02)
SCORED = Validation(8, 3.5, 0.4, Score("BLEU", 21.0, 20.0, 22.0, "case:mixed"), 2.0, 5.0, 0.9, 0.01)
UNSCORED = Validation(9, 3.5, 0.4, None, 2.0)


def write(path: Path) -> None:
    with closing(Log(path)) as log:
        log.write_step(STEP)
        log.write_step(MUON)
        log.write_validation(SCORED)
        log.write_validation(UNSCORED)


def test_what_is_written_is_read(tmp_path: Path):
    write(tmp_path / "log.jsonl")
    assert list(read(tmp_path / "log.jsonl")) == [STEP, MUON, SCORED, UNSCORED]
    assert read_steps(tmp_path / "log.jsonl") == [STEP, MUON]
    assert read_validations(tmp_path / "log.jsonl") == [SCORED, UNSCORED]
    assert read_steps(tmp_path / "none.jsonl") == [] == read_validations(tmp_path / "none.jsonl")


def test_the_keys_are_those_of_the_documentation(tmp_path: Path):
    write(tmp_path / "log.jsonl")
    adamw, muon, scored, _ = map(json.loads, (tmp_path / "log.jsonl").read_text().strip().split("\n"))
    keys = ["kind", "number", "data_position", "loss", "accuracy", "tokens", "learning_rate", "grad_norm", "seconds"]
    assert list(adamw) == keys and list(muon) == [*keys, "muon_learning_rate"]
    assert (adamw["kind"], adamw["data_position"], scored["kind"]) == ("step", [2, 5], "validation")


def test_a_line_that_was_cut_is_skipped_and_one_of_another_kind_is_named(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    write(path)
    path.write_bytes(path.read_bytes()[:-9])
    assert list(read(path)) == [STEP, MUON, SCORED]
    path.write_text('{"kind": "check", "loss": 1.0}\n')
    with pytest.raises(RunError, match=r"log.jsonl: a line is neither a step nor a validation .*'check'"):
        list(read(path))
    path.write_text('{"kind": "step", "number": 1}\n')
    with pytest.raises(RunError, match=r"log.jsonl: a line is neither .*data_position"):
        list(read(path))


def test_a_resumed_log_keeps_the_complete_lines_before_its_checkpoint(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    write(path)
    lines = path.read_bytes().split(b"\n")
    first_two = len(lines[0]) + len(lines[1]) + 2
    for keep in (first_two, first_two + 1, first_two + len(lines[2])):
        write(path)
        Log(path, keep).close()
        assert list(read(path)) == [STEP, MUON]
    write(path)
    Log(path, 2**52).close()  # more than there is
    assert list(read(path)) == [STEP, MUON, SCORED, UNSCORED]


def test_a_log_of_gigabytes_costs_no_memory_and_a_pipe_is_not_waited_for(tmp_path: Path):
    write(tmp_path / "log.jsonl")
    size = 1 << 36
    os.truncate(tmp_path / "log.jsonl", size)  # of which nothing is on the disk
    tracemalloc.start()
    Log(tmp_path / "log.jsonl", size).close()
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is a pipe"):
        Log(tmp_path / "pipe", 7)


def test_a_loss_that_is_not_finite_is_read(tmp_path: Path):
    with closing(Log(tmp_path / "log.jsonl")) as log:
        log.write_step(replace(STEP, loss=math.inf))
        log.write_validation(replace(UNSCORED, loss=math.nan))
    step, validation = read(tmp_path / "log.jsonl")
    assert step.loss == math.inf and math.isnan(validation.loss)


def test_what_is_written_is_on_the_disk_when_it_is_asked_for(tmp_path: Path):
    path = tmp_path / "new" / "log.jsonl"
    with closing(Log(path)) as log:
        log.write_step(STEP)
        log.flush()
        assert list(read(path)) == [STEP]
        log.write_step(MUON)
        assert log.size_bytes == path.stat().st_size > 0 and list(read(path)) == [STEP, MUON]
    with closing(Log(path, path.stat().st_size)) as resumed:
        resumed.write_validation(UNSCORED)
    assert list(read(path)) == [STEP, MUON, UNSCORED]


def test_a_process_that_is_not_the_main_one_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with closing(NullLog()) as log:
        log.write_step(STEP)
        log.write_validation(SCORED)
        log.flush()
    assert log.size_bytes == 0 and not list(tmp_path.iterdir())


def test_the_last_complete_line_of_a_long_log_is_found_at_its_end(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    write(path)
    os.truncate(path, MAX_LINE_BYTES + 7)  # of which nothing is on the disk
    with path.open("ab") as file:
        file.write(b"\n{}\n{cut")
    Log(path, 2**52).close()
    assert path.stat().st_size == MAX_LINE_BYTES + 7 + len(b"\n{}\n")
    Log(path, MAX_LINE_BYTES + 7 + len(b"\n{}")).close()
    assert path.stat().st_size == MAX_LINE_BYTES + 7 + 1


def make_step(number: int, tokens: int, loss: float = 1.0, accuracy: float = 0.5) -> Step:
    return replace(STEP, number=number, tokens=tokens, loss=loss, accuracy=accuracy)


def test_a_batch_of_one_text_is_no_spike():
    """Every epoch ends with one text that is wrong."""
    steps = [make_step(n, *((1, 9.0, 0.0) if n % 5 == 0 else (101, 1.0, 0.5))) for n in range(1, 24)]
    points = pool_steps(steps)
    assert all(0.99 < point.loss < 1.1 and 0.49 < point.accuracy <= 0.5 for point in points)
    assert [point.number for point in points] == [n for n in range(1, 24) if n % 5]


@pytest.mark.parametrize("max_points", [1, 7, 240])
def test_the_points_of_a_curve_hold_every_target_once(max_points: int):
    rng = np.random.default_rng(5)
    steps = [make_step(n, int(rng.integers(1, 301)), float(rng.random()), float(rng.random())) for n in range(1, 500)]
    validation = Validation(211, 1.0, 0.5, None, 1.0)
    records = [*steps[:211], validation, *steps[211:]]
    points = pool_steps(records, max_points)
    assert len(points) <= max_points + 1 and {211, 499} <= {point.number for point in points}
    for name in ("loss", "accuracy"):
        sums = [sum(one.tokens * getattr(one, name) for one in rows) for rows in (steps, points)]
        assert sums[0] == pytest.approx(sums[1])
    assert sum(point.tokens for point in points) == sum(step.tokens for step in steps)
    assert pool_steps([]) == pool_steps([validation]) == []
    assert pool_steps([make_step(1, 0, 2.0)])[0].tokens == 0
