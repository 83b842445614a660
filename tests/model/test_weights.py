"""Weights on disk."""

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
