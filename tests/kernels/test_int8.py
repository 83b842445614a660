"""Eight bits are nearly as good as thirty-two, whoever multiplies them."""

import importlib

import pytest
import torch
import torch.nn.functional as F

from regard.errors import ConfigError
from regard.kernels.int8 import BACKENDS, MIN_ONEDNN_COLUMNS, MIN_ONEDNN_ROWS, VNNI, int8_linear, quantize

room = importlib.import_module("regard.kernels.int8")  # in its package the name is the function's
makers = pytest.mark.parametrize("make", BACKENDS.values(), ids=BACKENDS)


def test_every_row_uses_all_of_its_bits():
    weight = torch.randn(13, 29) * torch.logspace(-5, 5, 13)[:, None]
    whole, scale = quantize(weight)
    assert whole.dtype == torch.int8
    assert whole.abs().amax(dim=1).tolist() == [127] * 13
    assert ((whole * scale[:, None] - weight).abs() <= 0.5001 * scale[:, None]).all()


def test_a_row_of_zeros_stays_one():
    weight = torch.randn(5, 7)
    weight[2] = 0
    whole, scale = quantize(weight)
    assert not whole[2].any()
    assert torch.isfinite(scale).all() and (scale > 0).all()


@makers
@pytest.mark.parametrize("rows", [1, 3, 67])
def test_the_product_is_nearly_the_product(make, rows: int):
    weight, bias, x = torch.randn(61, 128) / 11, torch.randn(61), torch.randn(rows, 128)
    expected = F.linear(x, weight, bias)
    found = make(*quantize(weight), bias)(x)
    assert float((found - expected).norm() / expected.norm()) < 0.03


@makers
def test_it_is_what_the_whole_numbers_give(make):
    """With an x of few whole numbers nothing is lost but what the weight lost."""
    weight = torch.randn(31, 64)
    whole, scale = quantize(weight)
    x = torch.randint(-63, 64, (17, 64)).float()
    x[0, 0], x[0, 1] = -63, 64
    exact = x @ (whole.float() * scale[:, None]).T
    found = make(whole, scale, None)(x)
    assert float((found - exact).norm() / exact.norm()) < 0.01


@makers
@pytest.mark.parametrize("vnni", sorted({False, VNNI}))
def test_x_has_seven_bits_or_eight_and_uses_them_all(make, vnni: bool, monkeypatch):
    """Whole numbers that fill the bits exactly are not rounded at all."""
    monkeypatch.setattr(room, "VNNI", vnni)
    most = 127 if vnni else 63
    whole, scale = quantize(torch.randn(31, 64))
    x = torch.randint(-most, most + 1, (17, 64)).float()
    x[0, 0], x[0, 1] = -most, most if make is BACKENDS["onednn"] else most + 1
    exact = x @ (whole.float() * scale[:, None]).T
    torch.testing.assert_close(make(whole, scale, None)(x), exact, rtol=1e-4, atol=1e-3)


@makers
def test_large_numbers_do_not_overflow(make):
    """The worst that sixteen bits can meet: all weights and all of x at their largest."""
    weight, x = torch.ones(8, 64), torch.full((3, 64), 5.0)
    torch.testing.assert_close(make(*quantize(weight), None)(x), torch.full((3, 8), 320.0), rtol=0.02, atol=0)


@makers
def test_nothing_times_something_is_nothing(make):
    bias = torch.randn(11)
    found = make(*quantize(torch.randn(11, 16)), bias)(torch.zeros(3, 16))
    torch.testing.assert_close(found, bias.expand(3, -1))


@pytest.mark.parametrize("rows", [MIN_ONEDNN_ROWS - 1, MIN_ONEDNN_ROWS])
def test_few_rows_and_many_of_a_wide_weight_are_nearly_the_product(monkeypatch, rows: int):
    asked = []
    for name, make in BACKENDS.items():
        monkeypatch.setitem(BACKENDS, name, lambda *given, m=make, n=name: _told(m(*given), asked, n))
    monkeypatch.setattr(room, "VNNI", True)  # what it decides, whatever this CPU has
    weight, x = torch.randn(MIN_ONEDNN_COLUMNS, 128) / 11, torch.randn(rows, 128)
    expected = F.linear(x, weight)
    assert float((int8_linear(weight, None)(x) - expected).norm() / expected.norm()) < 0.03
    assert asked == ["onednn" if rows >= MIN_ONEDNN_ROWS else "fbgemm"]


@pytest.mark.parametrize(("vnni", "columns"), [(False, MIN_ONEDNN_COLUMNS), (True, MIN_ONEDNN_COLUMNS - 1)])
def test_without_vnni_and_for_narrow_weights_one_multiplies_all(monkeypatch, vnni: bool, columns: int):
    asked = []
    for name in ("first", "second"):
        monkeypatch.setitem(BACKENDS, name, lambda *given, n=name: _told(lambda x: x, asked, n))
    monkeypatch.setattr(room, "BACKENDS", {name: BACKENDS[name] for name in ("first", "second")})
    monkeypatch.setattr(room, "VNNI", vnni)
    multiply = int8_linear(torch.ones(columns, 2), None)
    for rows in (1, MIN_ONEDNN_ROWS, 3 * MIN_ONEDNN_ROWS):
        multiply(torch.zeros(rows, 2))
    assert asked == ["first"] * 3


def _told(product, asked: list[str], name: str):
    return lambda x: (asked.append(name), product(x))[1]


def test_the_next_one_multiplies_where_one_is_gone(monkeypatch):
    def gone(*_: object) -> None:
        raise AttributeError("no such operator")

    x = torch.randn(5, 16)
    monkeypatch.setattr(room, "BACKENDS", {"fbgemm": gone, "onednn": BACKENDS["onednn"]})
    assert int8_linear(torch.randn(3, 16), None)(x).shape == (5, 3)
    monkeypatch.setattr(room, "BACKENDS", {"fbgemm": gone})
    with pytest.raises(ConfigError, match="leave --quantize out"):
        int8_linear(torch.randn(3, 16), None)


def test_whoever_multiplies_is_given_numbers_without_gradients(monkeypatch):
    def plain(weight_int8: torch.Tensor, scale: torch.Tensor, bias: torch.Tensor | None):
        assert bias is None or bias.dtype == torch.float32
        return lambda x: F.linear(x, weight_int8 * scale[:, None], bias)

    monkeypatch.setattr(room, "BACKENDS", {"plain": plain})
    layer, x = torch.nn.Linear(16, 11).double(), torch.randn(3, 16)
    for bias in (layer.bias, None):
        found = int8_linear(layer.weight, bias)(x)
        assert not found.requires_grad
        torch.testing.assert_close(found.double(), F.linear(x.double(), layer.weight, bias), rtol=0, atol=0.03)


@pytest.mark.parametrize("error", [AttributeError, RuntimeError, NotImplementedError])
def test_what_a_build_of_torch_lacks_is_passed_over(monkeypatch, error: type[Exception]):
    def missing(*_: object) -> None:
        raise error("not in this build")

    monkeypatch.setattr(room, "BACKENDS", {"fbgemm": missing, "onednn": BACKENDS["onednn"]})
    weight, x = torch.randn(7, 16), torch.randn(3, 16)
    torch.testing.assert_close(int8_linear(weight, None)(x), x @ weight.T, rtol=0, atol=0.2)
