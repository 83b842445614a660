"""Kernels equal the plain lines they stand for, in value and gradient; dropout from bits is dropout."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.tokenizers.tokenizer import PAD
from regard.kernels import (
    FastDropout,
    PaddingLayout,
    attention_saved_weights,
    feed_forward_relu,
    pack_heads,
    to_additive_mask,
    topk,
    unpack_heads,
)
from regard.kernels.topk import LANES
from regard.model.attention import attend
from tests.model.conftest import padded_rows


def test_attention_with_its_own_gradient_is_the_equation_with_autograds():
    q, k, v = (torch.randn(2, 3, t, 5, dtype=torch.double, requires_grad=True) for t in (7, 11, 11))
    bias = torch.randn(3, 7, 11, dtype=torch.double, requires_grad=True)
    keep = torch.rand(2, 1, 7, 11) > 0.3
    keep[..., 0] = True
    found = [attention_saved_weights(q, k, v, to_additive_mask(keep, q), bias), attend(q, k, v, keep, bias)[0]]
    assert_close(*found)
    pull = torch.randn_like(found[0])
    for mine, theirs in zip(*(torch.autograd.grad((x * pull).sum(), (q, k, v, bias)) for x in found), strict=True):
        assert_close(mine, theirs)


def test_attention_without_gradients_is_the_same():
    q, k, v = (torch.randn(2, 3, t, 5, dtype=torch.double) for t in (7, 11, 11))
    bias, hidden = torch.randn(3, 7, 11, dtype=torch.double), to_additive_mask(torch.rand(2, 1, 7, 11) > 0.3, q)
    with_them = attention_saved_weights(q, k, v, hidden, bias)
    with torch.no_grad():
        assert_close(attention_saved_weights(q, k, v, hidden, bias), with_them)


@pytest.mark.parametrize("size", [7, LANES, LANES + 1, 3 * LANES, 1009])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("rows", [0, 1, 53])
def test_the_largest_stand_where_they_do(rows: int, count: int, size: int):
    x = torch.randn(rows, size)
    x[1::2, size - 3 :] += 3  # also where no lane is full
    values, places = topk(x, count)
    expected = x.sort(dim=1, descending=True)
    assert_close(values, expected.values[:, :count])
    assert_close(places, expected.indices[:, :count])


def test_feed_forward_with_its_own_gradient_is_the_plain_one():
    shapes = [(7, 5), (11, 5), (11,), (5, 11), (5,)]
    tensors = [torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in shapes]
    x, into, into_bias, out, out_bias = tensors
    found = [feed_forward_relu(*tensors), F.linear(F.linear(x, into, into_bias).relu(), out, out_bias)]
    assert_close(*found)
    pull = torch.randn_like(found[0])
    for mine, theirs in zip(*(torch.autograd.grad((y * pull).sum(), tensors) for y in found), strict=True):
        assert_close(mine, theirs)


def test_gather_undoes_spread_and_padding_gets_no_gradient():
    layout = PaddingLayout(padded_rows([3, 7, 1]) != PAD)
    x = torch.randn(11, 12, dtype=torch.double, requires_grad=True)
    parts = unpack_heads(x, layout, 2, 3)
    assert [part.shape for part in parts] == [(3, 3, 7, 2)] * 2
    assert torch.equal(torch.cat([pack_heads(part, layout) for part in parts], dim=1), x)
    torch.autograd.gradcheck(lambda y: pack_heads(unpack_heads(y, layout, 2, 3)[1].sin(), layout), x)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_masks_drop_their_share_everywhere_alike(share: float):
    torch.manual_seed(11)
    like = torch.empty(1009, 997)
    noise = FastDropout()
    mask, other = noise.mask(like, share), noise.mask(like, share)
    values = mask.unique().tolist()
    assert values[0] == 0
    assert values[1] == pytest.approx(1 / (1 - share), abs=1e-4)
    kept, n = (mask > 0).double(), like.numel()
    deviation = (share * (1 - share) / n) ** 0.5
    assert abs(float(kept.mean()) - (1 - share)) < 5 * deviation + 1e-5
    # Neighbours in a row, in a column, and the same place in the next mask know nothing of each other.
    centred = kept - kept.mean()
    for one, two in (
        (centred[:, 1:], centred[:, :-1]),
        (centred[1:], centred[:-1]),
        (centred, (other > 0).double() - (1 - share)),
        (centred[:, 4:], centred[:, :-4]),
    ):
        correlation = float((one * two).mean()) / (share * (1 - share))
        assert abs(correlation) < 5 / n**0.5
    for line in (kept.mean(0), kept.mean(1)):  # no row and no column is spared
        assert float((line - (1 - share)).abs().max()) < 6 * (share * (1 - share) / 997) ** 0.5
