"""Two processes with half of the rows each train what one process trains with all of them."""

import multiprocessing
import os
import socket
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.jobs.tasks.registry import get_task
from regard.model import weights
from regard.run import Run
from regard.training import log
from tests.jobs.tasks.embedding.conftest import make_config, train

STEPS, ROWS = 7, 48
EXACT = ("train.precision=float64", "model.dropout=0", "train.schedule=inverse-sqrt", "train.patience=0")


def train_exactly(folder: Path, name: str, rows: int) -> None:
    type(get_task("embed")).write_report = lambda *arguments: None
    changes = (*EXACT, f"train.steps={STEPS}", "embed.both_directions=true", f"embed.batch_rows={rows}")
    train(folder / name, make_config(folder, *changes))


def train_as_rank(folder: Path, rank: int, port: int) -> None:
    """One of two processes, as torchrun would start it."""
    torch.set_num_threads(1)
    group = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in group.items()}
    train_exactly(folder, "two", ROWS // 2)


def test_two_processes_with_half_of_the_rows_are_one_with_all(related: Path, tmp_path: Path, monkeypatch):
    """With hard negatives, and with texts that occur in both halves: both must be gathered, with their gradients."""
    lines = (related / "train.tsv").read_text().splitlines()[:160]
    rows = [f"{line}\t{lines[(n + 3) % 160].split(chr(9))[1]}\n" for n, line in enumerate(lines)]
    (tmp_path / "train.tsv").write_text("".join([*rows, *rows[:80]]))  # five batches of 48, or ten of 24
    for name in ("dev", "test"):
        (tmp_path / f"{name}.tsv").write_text((related / f"{name}.tsv").read_text())
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=train_as_rank, args=(tmp_path, rank, port)) for rank in (0, 1)]
    for process in ranks:
        process.start()
    monkeypatch.setattr(type(get_task("embed")), "write_report", None)  # restored at the end
    train_exactly(tmp_path, "one", ROWS)
    for process in ranks:
        process.join(300)
    assert [process.exitcode for process in ranks] == [0, 0]
    one, two = (weights.read(Run(tmp_path / name).weights(STEPS)) for name in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        assert_close(two[name], one[name], rtol=0, atol=1e-9)
    for alone, together in zip(*(log.read_steps(Run(tmp_path / name).log) for name in ("one", "two")), strict=True):
        assert together.loss == pytest.approx(alone.loss, abs=1e-9) and together.tokens == alone.tokens == ROWS
        assert together.accuracy == alone.accuracy
