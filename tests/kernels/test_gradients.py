"""Kernels that write their own gradient have the gradient of the plain lines, whichever inputs are missing."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from regard.kernels import (
    FastDropout,
    NoDropout,
    PaddingLayout,
    attention_saved_weights,
    chunked_cross_entropy,
    feed_forward_relu,
    int8_linear,
    pack_heads,
    to_additive_mask,
    topk,
    unpack_heads,
)
from regard.kernels.cross_entropy import CHUNK
from regard.kernels.dropout import LEVELS

N = 2 * CHUNK + 13  # two whole chunks and a part of one


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.3])
@pytest.mark.parametrize("biased", [False, True])
def test_chunked_cross_entropy_is_the_plain_one(biased: bool, label_smoothing: float):
    states, weight, bias = random(N, 5), random(7, 5), random(7) if biased else None
    gold = torch.randint(7, (N,))
    objective, loss, correct = chunked_cross_entropy(states, weight, bias, gold, label_smoothing)
    logits = F.linear(states, weight, bias)
    plain = F.cross_entropy(logits, gold, label_smoothing=label_smoothing, reduction="sum")
    assert_close(objective, plain)
    assert_close(loss, F.cross_entropy(logits, gold, reduction="sum"))
    assert int(correct) == int((logits.argmax(dim=-1) == gold).sum()) > N // 20
    assert objective.requires_grad and not (loss.requires_grad or correct.requires_grad)
    inputs = [states, weight, *([bias] if bias is not None else [])]
    for mine, theirs in zip(*(torch.autograd.grad(3 * x, inputs) for x in (objective, plain)), strict=True):
        assert_close(mine, theirs)


def test_every_part_of_chunked_cross_entropy_counts():
    """One token alone, in each chunk, at the edges of each."""
    states, weight = random(N, 5), random(7, 5)
    gold = F.linear(states, weight).argmax(dim=-1)
    assert int(chunked_cross_entropy(states, weight, None, gold, 0.1)[2]) == N
    for place in (0, CHUNK - 1, CHUNK, N - 1):
        wrong = gold.clone()
        wrong[place] = (wrong[place] + 1) % 7
        assert int(chunked_cross_entropy(states, weight, None, wrong, 0.1)[2]) == N - 1


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_the_gradient_passes_where_dropout_let_the_value_pass(p: float):
    x, y = random(13, 17), random(13, 17)
    dropout = FastDropout()
    out = dropout.add(x, y, p)
    mask = ((out - x) / y).detach().round(decimals=6)
    assert_close(mask.unique(), torch.tensor([0, 1 / (1 - p)], dtype=torch.double), rtol=0, atol=1e-5)
    pull = torch.randn_like(out)
    d_x, d_y = torch.autograd.grad((out * pull).sum(), (x, y))
    assert_close(d_x, pull)
    assert_close(d_y, pull * mask, rtol=1e-4, atol=1e-5)
    dropped = dropout.drop(x, p)
    (d_x,) = torch.autograd.grad((dropped * pull).sum(), x)
    assert_close(d_x, pull * (dropped / x).detach())
    assert 0 < int((dropped == 0).sum()) < x.numel()


def test_dropout_of_nothing_and_without_training_changes_nothing():
    x, y = random(3, 5), random(3, 5)
    for dropout, p in ((FastDropout(), 0.0), (NoDropout(), 0.5)):
        assert torch.equal(dropout.add(x, y, p), x + y)
        assert dropout.drop(x, p) is x


def test_dropout_follows_the_seed_of_torch():
    like = torch.empty(101)
    masks = []
    for seed in (3, 3, 5):
        torch.manual_seed(seed)
        masks.append(FastDropout().mask(like, 0.5))
    assert torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


def test_dropout_close_to_one_keeps_its_expectation():
    """The probability has a largest value below 1, and the scale that belongs to it."""
    torch.manual_seed(3)
    mask = FastDropout().mask(torch.empty(1 << 20), 1.0)
    assert set(mask.unique().tolist()) == {0.0, float(LEVELS)}
    assert float(mask.mean()) == pytest.approx(1, rel=1)


@pytest.mark.parametrize("lengths", [(3, 7, 1), (5, 5, 5)], ids=["padded", "full"])
def test_heads_of_packed_tokens_have_the_gradient_of_indexing(lengths: tuple[int, ...]):
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    layout = PaddingLayout(mask)
    x = random(int(mask.sum()), 2 * 3 * 2)
    parts = unpack_heads(x, layout, 2, 3)
    rows = x.unflatten(1, (2, 3, 2))
    for i, part in enumerate(parts):
        assert_close(part.transpose(1, 2)[mask], rows[:, i])
        assert_close(pack_heads(part, layout), rows[:, i].flatten(1))
    with torch.no_grad():
        for mine, theirs in zip(unpack_heads(x, layout, 2, 3), parts, strict=True):
            assert_close(mine, theirs)
    assert_close(layout.pack(layout.pad(x)), x)
    assert_close(layout.pack(layout.pad_gradient(x)), x)
    assert not layout.pad_gradient(x)[~mask].any()
    torch.autograd.gradcheck(lambda y: tuple(pack_heads(p, layout).sin() for p in unpack_heads(y, layout, 2, 3)), x)
    z = random(*parts[0].shape)
    assert_close(pack_heads(z, layout), z.transpose(1, 2)[mask].flatten(1))
    torch.autograd.gradcheck(lambda y: pack_heads(y, layout), z)


def test_what_reaches_padding_comes_back_to_no_token():
    """Padding holds copies of tokens; a gradient that went through them would count those twice."""
    mask = torch.arange(7) < torch.tensor((3, 7, 1))[:, None]
    layout = PaddingLayout(mask)
    x = random(11, 2 * 3 * 2)
    parts = unpack_heads(x, layout, 2, 3)
    pulls = [torch.randn_like(part) for part in parts]
    (found,) = torch.autograd.grad(sum((part * pull).sum() for part, pull in zip(parts, pulls, strict=True)), x)
    assert_close(found, torch.stack([pull.transpose(1, 2)[mask] for pull in pulls], dim=1).flatten(1))
    with torch.no_grad():
        first, second = unpack_heads(x, layout, 2, 3)
    assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


@pytest.mark.parametrize("missing", [(), (2,), (4,), (2, 4)], ids=str)
def test_feed_forward_without_biases_too(missing: tuple[int, ...]):
    tensors = [random(*shape) for shape in [(7, 5), (11, 5), (11,), (5, 11), (5,)]]
    tensors = [None if i in missing else tensor for i, tensor in enumerate(tensors)]
    x, up, up_bias, down, down_bias = tensors
    found = [feed_forward_relu(*tensors), F.linear(F.linear(x, up, up_bias).relu(), down, down_bias)]
    assert_close(*found)
    inputs = [tensor for tensor in tensors if tensor is not None]
    pull = torch.randn_like(found[0])
    for mine, theirs in zip(*(torch.autograd.grad((y * pull).sum(), inputs) for y in found), strict=True):
        assert_close(mine, theirs)


def test_a_mask_hides_and_a_row_that_is_all_hidden_stays_finite():
    keep = torch.tensor([[True, False, True], [False, False, False]])
    mask = to_additive_mask(keep, torch.zeros((), dtype=torch.double))
    assert mask.dtype == torch.double
    assert torch.equal(mask[keep], torch.zeros(2, dtype=torch.double))
    scores = torch.full((2, 3), -1e300, dtype=torch.double)
    assert_close((scores + mask).softmax(-1), torch.tensor([[1 / 2, 0, 1 / 2], [1 / 3] * 3], dtype=torch.double))


def test_eight_bits_take_no_part_in_training():
    layer = torch.nn.Linear(64, 11)
    x = torch.randn(5, 64)
    out = int8_linear(layer.weight, layer.bias)(x)
    assert not out.requires_grad
    expected = layer(x).detach()
    assert float((out - expected).norm() / expected.norm()) < 0.03


def test_attention_without_mask_and_bias_is_that_of_torch():
    q, k, v = (random(2, 3, t, 5) for t in (7, 11, 11))
    found = [attention_saved_weights(q, k, v, None), F.scaled_dot_product_attention(q, k, v)]
    assert_close(*found)
    pull = torch.randn_like(found[0])
    for mine, theirs in zip(*(torch.autograd.grad((x * pull).sum(), (q, k, v)) for x in found), strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("rows", [7, 8, 9])
@pytest.mark.parametrize("k", [31, 32, 33])
@pytest.mark.parametrize("width", [64, 65, 128, 191])
def test_topk_at_the_edges_of_its_conditions(rows: int, k: int, width: int):
    x = torch.randn(rows, width)
    values, indices = topk(x, k)
    assert_close(values, x.topk(k, dim=-1).values)
    assert_close(x.gather(1, indices), values)
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize("k", [64, 65, 129])
def test_topk_of_more_than_there_are_lanes(k: int):
    x = torch.randn(11, 191)
    values, indices = topk(x, k)
    assert_close(values, x.topk(k, dim=-1).values)
    assert_close(x.gather(1, indices), values)


def test_every_dropout_has_a_stream_of_its_own():
    torch.manual_seed(3)
    like = torch.empty(61)
    streams = {tuple(FastDropout().mask(like, 0.5).tolist()) for _ in range(211)}
    assert len(streams) == 211


def test_tokens_may_stand_anywhere_in_their_rows():
    """Padding on the left, on the right, between tokens, and rows of nothing else."""
    mask = torch.tensor([[0, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 1], [1, 0, 0, 0, 0]]).bool()
    layout = PaddingLayout(mask)
    assert layout.cells.tolist() == [i for i, kept in enumerate(mask.flatten().tolist()) if kept] and not layout.full
    x = random(6, 12)
    padded = layout.pad(x)
    assert padded.shape == (4, 5, 12)
    assert_close(padded[mask], x)
    assert all((cell == x).all(dim=1).any() for cell in padded[~mask]), "padding is a copy of some token"
    assert_close(layout.pack(padded), x)
    assert_close(layout.pad_gradient(x)[mask], x)
    assert not layout.pad_gradient(x)[~mask].any()
    heads = random(4, 3, 5, 2)  # rows, heads, columns and width all differ
    torch.autograd.gradcheck(lambda y: pack_heads(y, layout), heads)
    torch.autograd.gradcheck(lambda y: [pack_heads(part, layout) for part in unpack_heads(y, layout, 2, 3)], x)


def saved(compute) -> list[tuple[int, ...]]:
    """The shapes of what is kept for the backward pass."""
    shapes: list[tuple[int, ...]] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: (shapes.append(tuple(x.shape)), x)[1], lambda x: x):
        compute()
    return sorted(shapes)


def test_no_more_is_kept_for_the_backward_pass_than_it_needs():
    q, k, v, bias = random(2, 3, 7, 5), random(2, 3, 11, 5), random(2, 3, 11, 5), random(3, 7, 11)
    additive_mask = to_additive_mask(torch.ones(2, 1, 7, 11, dtype=torch.bool), q)
    kept = saved(lambda: attention_saved_weights(q, k, v, additive_mask, bias))
    assert kept == sorted([q.shape, k.shape, v.shape, (2, 3, 7, 11)])
    x, up, up_bias, down = random(7, 5), random(11, 5), random(11), random(5, 11)
    assert saved(lambda: feed_forward_relu(x, up, up_bias, down, None)) == sorted([(7, 5), (11, 5), (7, 11), (5, 11)])
    weight, gold = random(13, 5), torch.randint(13, (7,))
    assert saved(lambda: chunked_cross_entropy(x, weight, None, gold, 0.1)) == [(7, 5), (13, 5)]
    layout = PaddingLayout(torch.ones(1, 7, dtype=torch.bool))
    assert saved(lambda: pack_heads(unpack_heads(random(7, 12), layout, 2, 3)[0], layout)) == []
    assert saved(lambda: FastDropout().add(x, random(7, 5), 0.5)) == [(7, 5)]
    with torch.no_grad():
        assert saved(lambda: attention_saved_weights(q, k, v, None)) == []
