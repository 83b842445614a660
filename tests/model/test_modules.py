"""What modules add to their functions: Shaw's values, the first of several names, defaults that change nothing."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.errors import ModelError
from regard.model import weights
from regard.model.attention import Attention
from regard.model.positions import Positions, Relative
from regard.model.transformer import TokenEmbedding

AT = torch.arange(7)[None]


@pytest.mark.parametrize("values", [False, True])
def test_an_attention_with_shaws_vectors_is_the_double_loop_of_the_paper(values: bool):
    relative = Relative(5, max_relative=2, values=values)
    attention = Attention(15, 3, relative).double()
    x = torch.randn(1, 7, 15, dtype=torch.double)
    q, k, v = (linear(x)[0].view(7, 3, 5) for linear in (attention.q_proj, attention.k_proj, attention.v_proj))
    heads = torch.empty(7, 3, 5, dtype=torch.double)
    for i in range(7):
        for h in range(3):
            rows = [max(-2, min(2, j - i)) + 2 for j in range(7)]
            scores = torch.stack([q[i, h] @ (k[j, h] + relative.keys[row]) for j, row in enumerate(rows)])
            shares = (scores / math.sqrt(5)).softmax(0)
            taken = [
                v[j, h] + (relative.values[row] if relative.values is not None else 0) for j, row in enumerate(rows)
            ]
            heads[i, h] = sum(share * value for share, value in zip(shares, taken, strict=True))
    found = attention(x, attention.project_kv(x, AT), None, AT)
    assert_close(found[0], attention.out_proj(heads.flatten(1)))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_one_number_that_is_not_finite_spoils_a_file(tmp_path, number: float, dtype: torch.dtype):
    tensors = {"good": torch.randn(3, 5), "ids": torch.arange(7), "bad": torch.randn(3, 5).to(dtype)}
    weights.write(tensors, tmp_path / "w")
    assert weights.read(tmp_path / "w").keys() == tensors.keys()
    tensors["bad"][2, 1] = number
    weights.write(tensors, tmp_path / "w")
    with pytest.raises(ModelError, match="damaged: bad holds NaN or infinity"):
        weights.read(tmp_path / "w")


def test_of_several_names_the_first_is_said_and_the_others_are_counted():
    model = nn.Linear(3, 5)
    tensors = weights.tensors_of(model)
    weights.load_into(model, tensors, "here")
    names = [f"x{n}" for n in range(7)]
    with pytest.raises(ModelError, match="here: x0 and 6 more are not part of this model"):
        weights.load_into(model, {**dict.fromkeys(reversed(names), torch.zeros(1)), **tensors}, "here")
    with pytest.raises(ModelError, match="here: bias and 1 more are missing"):
        weights.load_into(model, {}, "here")
    with pytest.raises(ModelError, match=r"here: weight holds torch.int64; expected floating-point numbers"):
        weights.load_into(model, {**tensors, "weight": torch.zeros(5, 3, dtype=torch.long)}, "here")


def test_shapes_are_read_without_the_numbers(tmp_path):
    weights.write({"a": torch.zeros(3, 5), "b": torch.zeros(())}, tmp_path / "w")
    assert weights.read_shapes(tmp_path / "w") == {"a": (3, 5), "b": ()}
    (tmp_path / "short").write_bytes((tmp_path / "w").read_bytes()[:-4])
    for reader in (weights.read, weights.read_shapes):
        with pytest.raises(ModelError, match="short: not a readable safetensors file"):
            reader(tmp_path / "short")


def test_files_of_different_shapes_have_no_mean(tmp_path):
    for name, shape in (("a", (3, 5)), ("b", (5, 3))):
        weights.write({"x": torch.zeros(shape)}, tmp_path / name)
    with pytest.raises(ModelError, match=r"b: x is \(5, 3\), expected \(3, 5\)"):
        weights.average_weights([tmp_path / "a", tmp_path / "b"])


def test_embeddings_are_scaled_and_otherwise_as_they_are():
    """By default nothing is dropped, normalized or added."""
    table = nn.Embedding(11, 9)
    ids = torch.randint(11, (2, 7))
    embedding = TokenEmbedding(table, Positions(), 0.0).train()
    assert_close(embedding(ids, AT), 3 * table(ids))
    assert_close(TokenEmbedding(table, Positions(), 0.0, scaled=False).train()(ids, AT), table(ids))


@pytest.mark.parametrize("kept", [None, (2, 0)])
def test_an_attention_has_a_bias_and_no_dropout_unless_asked(kept):
    attention = Attention(15, 3, Positions(), kept_heads=kept).train()
    x = torch.randn(2, 7, 15)
    kv = attention.project_kv(x, AT)
    assert torch.equal(attention(x, kv, None, AT), attention(x, kv, None, AT))
    assert all(linear.bias is not None for linear in attention.modules() if isinstance(linear, nn.Linear))
    assert attention.head_dim == 5 and attention.q_proj.weight.shape == (5 * len(kept or range(3)), 15)
