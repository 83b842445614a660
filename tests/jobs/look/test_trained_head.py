"""A run with guided alignment and two vocabularies: what was trained or cannot be is not shown as found."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import regard
from regard import config as settings
from regard.display.views.heads import format_heads
from regard.display.views.look import format_inspection
from regard.jobs.load import load
from regard.jobs.look.heads import HeadTable
from regard.jobs.tasks.translation.data import open_training_data
from regard.jobs.train.fit import train_run
from regard.jobs.train.head_history import read_head_history
from regard.jobs.train.head_recorder import HeadRecorder
from regard.run import Run
from tests.jobs.conftest import TINY

WIDTH = 300  # no line is wrapped


@pytest.fixture(scope="module")
def run(tmp_path_factory, files) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    changes = ["train.steps=3", "train.guided_alignment=0.5", "data.joint_vocab=false", "data.vocab_size=290"]
    list(train_run(folder, settings.override(settings.build({"data": data}), [*TINY, *changes]), False, lambda: False))
    return folder


@pytest.fixture(scope="module")
def table(run) -> HeadTable:
    return regard.heads(run, sentences=11)


def test_the_terminal_marks_the_trained_head_and_names_the_best_other(run, table):
    assert [str(head) for head in table.trained_aligners] == ["decoder.0.cross.0"]
    trained, other = table.aligners.heads.items()  # one layer of two heads
    ranked = {trained[0]: trained[1], other[0]: other[1]}
    first = replace(
        table,
        aligners=replace(table.aligners, heads=dict(sorted(ranked.items(), key=lambda item: str(item[0])))),
    )
    lines = format_heads(first, WIDTH)
    penalties = [f"{alignment.penalty:.2f}" for alignment in first.aligners.heads.values()]
    assert lines[0].endswith(
        f"Best alignment head: decoder.0.cross.0, trained to align (guided alignment) (alignment penalty "
        f"{penalties[0]}, without gold); the best that was not: decoder.0.cross.1 (alignment penalty {penalties[1]}, "
        f"without gold)."
    )
    marked = [line.split()[0] for line in lines if line.startswith(("encoder.", "decoder.")) and "*" in line]
    assert marked == ["decoder.0.cross.0"]
    assert "that it aligns is no finding" in "\n".join(lines)
    inspection = replace(regard.look(run, "The old king saw the red houses.", sentences=11), heads=first)
    assert "* trained to align (guided alignment)" in format_inspection(inspection, WIDTH)


def test_with_two_vocabularies_no_head_of_the_history_copies_its_source(run, tmp_path):
    history = Run(tmp_path)
    model, data = load(run).model, open_training_data(Run(run), Run(run).load_config())
    assert not data.tokenizers.joint
    attention, target = model.decoder.layers[0].cross_attn, model.decoder.embedding.tokens.weight
    with torch.no_grad():  # what it attends to goes to the output as it is, if an id meant the same on both sides
        attention.v_proj.weight.copy_(torch.eye(32))
        attention.out_proj.weight.copy_(torch.eye(32))
    model.encoder.embedding.tokens = torch.nn.Embedding.from_pretrained(target.detach().clone())
    history.config.write_bytes(Run(run).config.read_bytes())
    HeadRecorder(history, model, data, interval=1).record_step(1)
    (entry,) = read_head_history(history.head_history)
    assert {snapshot.role for name, snapshot in entry.heads.items() if ".cross." in name}.isdisjoint({"copy"})
