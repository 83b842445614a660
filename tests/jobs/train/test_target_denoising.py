"""Denoising of targets beside translation: some sources are noisy targets, and nothing else changes."""

from itertools import islice
from pathlib import Path

import pytest
import torch

from regard.config import Config, override
from regard.data.batch import DataPosition
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.data.tokenizers.tokenizer import EOS
from regard.errors import ConfigError, DataError
from regard.jobs.tasks.translation.data import build_batches, open_training_data
from regard.jobs.train.fit import resume_run, train_run
from regard.model.weights import read
from regard.run import Run

SHARE = "data.denoise_targets=0.3"


def train(folder: Path, config: Config) -> Run:
    assert list(train_run(folder, config, False, lambda: False))
    return Run(folder)


@pytest.mark.parametrize("directions", [(), ("data.both_directions=true", "data.source=en", "data.target=fr")])
def test_a_share_of_the_sources_are_noisy_targets(tiny, tmp_path: Path, directions: tuple[str, ...]):
    run = train(tmp_path / "run", tiny(SHARE, *directions, "train.steps=1"))
    config = run.load_config()
    data = open_training_data(run, config)
    tokenizer = data.tokenizers.target
    mask = tokenizer.find_control_symbol(MASK_TOKEN)
    noisy, clean = (
        build_batches(settings, data) for settings in (config, override(config, ["data.denoise_targets=0"]))
    )
    total = chosen = 0
    for number, group in enumerate(islice(clean.plan_epoch(3), 40)):
        mine, again, other = (noisy.make_batch(group, epoch, number) for epoch in (3, 3, 4))
        plain = clean.make_batch(group, 3, number)
        assert torch.equal(mine.source, again.source) and torch.equal(mine.target_out, plain.target_out)
        assert mine.source.tolist() != other.source.tolist()
        for source, before, target in zip(mine.source, plain.source, mine.target_out, strict=True):
            row, text, expected = (ids[: ids.tolist().index(EOS)].tolist() for ids in (source, before, target))
            total += 1
            assert row[: len(directions) > 0] == text[: len(directions) > 0]  # the tag
            if row != text:
                chosen += 1
                rest = [i for i in row[len(directions) > 0 :] if i != mask]
                assert len(row) <= len(expected) + 1 and is_subsequence(rest, expected)
                assert mask in row
    assert chosen / total == pytest.approx(0.3, abs=0.07)


def is_subsequence(some: list[int], ids: list[int]) -> bool:
    rest = iter(ids)
    return all(token in rest for token in some)


def test_five_and_five_steps_are_ten_where_targets_are_denoised(tiny, tmp_path: Path):
    changes = (SHARE, "train.schedule=constant", "data.subword_regularization=0.2", "train.validate_every=5")
    whole = train(tmp_path / "whole", tiny(*changes, "train.steps=10"))
    parted = train(tmp_path / "parted", tiny(*changes, "train.steps=5"))
    assert list(resume_run(parted.folder, {"train.steps": 10}, lambda: False))
    mine, other = (read(one.weights(10)) for one in (whole, parted))
    assert all(torch.equal(mine[name], other[name]) for name in mine)


def test_what_has_no_mask_is_refused(tiny, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"data.denoise_targets needs data.joint_vocab=true"):
        override(Config(), [SHARE, "data.joint_vocab=false"])
    run = train(tmp_path / "run", tiny("train.steps=1"))
    data = open_training_data(run, run.load_config())
    assert data.tokenizers.target.find_control_symbol(MASK_TOKEN) is None
    with pytest.raises(DataError, match=r"the vocabulary has no token \[MASK\], which data.denoise_targets needs"):
        build_batches(override(run.load_config(), [SHARE]), data)
    assert next(build_batches(run.load_config(), data).iterate_from(DataPosition()))
