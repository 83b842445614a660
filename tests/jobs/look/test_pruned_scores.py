"""Pruning says which way the score has moved."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.data.tokenizers.tokenizer import EOS, Tokenizer
from regard.decode import GreedySearch
from regard.formats import read_pairs
from regard.jobs.load import load
from regard.jobs.prune import PruneOptions, prune_run
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from tests.jobs.look import constructed
from tests.jobs.look.test_page import run

__all__ = ["run"]


def talk(model: EncoderDecoder, tokenizer: Tokenizer) -> None:
    """A model that has hardly been trained says nothing; one of random weights does."""
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    model.output.weight.data[EOS] = 0


def test_a_pruned_model_that_is_worse_has_a_negative_difference(run: Path, files: Path, tmp_path: Path):
    whole = shutil.copytree(run, tmp_path / "whole")
    constructed.rewrite(whole, talk)
    config = Run(whole).config
    config.write_text(
        re.sub('(?m)^target = ".*"', 'target = "th"', config.read_text(), count=1)
    )  # scored by characters
    pairs = list(read_pairs([str(files / "dev.en"), str(files / "dev.fr")]))[:11]
    outputs = load(whole).translate([pair.source for pair in pairs], GreedySearch())
    pairs = [replace(pair, target=output) for pair, output in zip(pairs, outputs, strict=True)]
    *_, last = prune_run(whole, tmp_path / "half", pairs, PruneOptions("50%", finetune_steps=0, device="cpu"))
    assert last.before.value == pytest.approx(100) and last.after.value < 90
    assert last.difference.value == pytest.approx(last.after.value - last.before.value)
