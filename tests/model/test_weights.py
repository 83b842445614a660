"""Weights on disk."""

import os
import re
import stat
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.errors import ModelError
from regard.model import weights


def test_what_is_written_is_read(models, tmp_path, ids):
    one, two = models(), models()
    source, target = ids(2, 7), ids(2, 5)
    assert not torch.allclose(one(source, target), two(source, target))
    weights.write(weights.tensors_of(one), tmp_path / "w")
    weights.load_into(two, weights.read(tmp_path / "w"), "w")
    assert torch.equal(one(source, target), two(source, target))


def test_a_tied_table_is_written_once(models, tmp_path):
    names = [name for name, t in weights.tensors_of(models()).items() if t.shape == (23, 22)]
    assert len(names) == 1


def test_the_mean_of_files_is_the_mean(models, tmp_path):
    several = [models() for _ in range(3)]
    files = [tmp_path / str(i) for i in range(3)]
    for model, file in zip(several, files, strict=True):
        weights.write(weights.tensors_of(model), file)
    mean = weights.average_weights(files)
    for name, tensor in mean.items():
        assert_close(tensor, sum(weights.tensors_of(m)[name] for m in several) / 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder_layers": 3}, r"w: encoder.layers.2.* missing; was it written with other settings\?"),
        ({"encoder_layers": 1}, r"w: encoder.layers.1.*are not part of this model"),
        ({"ffn": 17}, r"w: .*feed_forward.up.weight is \(13, 22\), expected \(17, 22\)"),
    ],
)
def test_weights_of_another_model_are_refused(models, tmp_path, settings, message):
    weights.write(weights.tensors_of(models()), tmp_path / "w")
    with pytest.raises(ModelError, match=message):
        weights.load_into(models(**settings), weights.read(tmp_path / "w"), "w")


def test_a_file_of_rubbish_is_refused(tmp_path):
    (tmp_path / "w").write_bytes(b"rubbish")
    with pytest.raises(ModelError, match="not a readable safetensors file"):
        weights.read(tmp_path / "w")


@pytest.mark.parametrize("reader", [weights.read, weights.read_shapes])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, reader):
    for path, problem in (
        (tmp_path / "gone", "No such file or directory"),
        (tmp_path, "is a folder; expected a regular file"),
        (Path("/dev/null"), "is a device; expected a regular file"),
    ):
        with pytest.raises(ModelError, match=re.escape(f"{path}: not a readable safetensors file ({problem})")):
            reader(path)


def test_a_file_may_be_read_by_those_whom_the_umask_allows(tmp_path):
    old = os.umask(0o027)
    try:
        weights.write({"x": torch.zeros(3)}, tmp_path / "w")
        assert os.umask(0o027) == 0o027, "it is as it was"
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "w").stat().st_mode) == 0o640


def test_a_disk_that_fails_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError):
        weights.write({"x": torch.zeros(3)}, tmp_path / "no" / "folder")


def test_tensors_are_apart_from_the_gradients_and_in_any_layout(tmp_path):
    model = torch.nn.Linear(3, 5)
    assert not any(tensor.requires_grad for tensor in weights.tensors_of(model).values())
    weights.write({"turned": model.weight.detach().T}, tmp_path / "w")
    assert torch.equal(weights.read(tmp_path / "w")["turned"], model.weight.detach().T)


def test_a_mean_has_the_type_of_its_files_and_is_exact_beyond_it(tmp_path):
    values = [1.0, 2.0**-8, 2.0**-8, -1.0]  # in sixteen bits the small ones would be lost one after the other
    for i, value in enumerate(values):
        weights.write({"x": torch.full((3,), value).bfloat16(), "y": torch.full((2,), value)}, tmp_path / str(i))
    mean = weights.average_weights([tmp_path / str(i) for i in range(4)])
    assert (mean["x"].dtype, mean["y"].dtype) == (torch.bfloat16, torch.float32)
    assert mean["x"].tolist() == [2.0**-9] * 3 and mean["y"].tolist() == [2.0**-9] * 2


@pytest.mark.parametrize("error", [KeyError("F7"), AttributeError("F7"), TypeError("F7")], ids=repr)
def test_a_type_of_numbers_that_the_library_does_not_know_is_named(tmp_path, monkeypatch, error: Exception):
    """Some versions of safetensors and torch answer with an error of Python."""

    def fail(path: object) -> None:
        raise error

    weights.write({"x": torch.zeros(3)}, tmp_path / "w")
    monkeypatch.setattr(weights, "load_file", fail)
    with pytest.raises(ModelError, match=r"w: not a readable safetensors file \(an unknown type: '?F7'?\)$"):
        weights.read(tmp_path / "w")
