"""Quantized numbers: the displayed decimals are exact, and the page says what it leaves out to keep its budget."""

import base64
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.report.look.quantized import QuantizedArrays, quantize_arrays, top_key_mask
from regard.report.look.size_budget import QUALITY_LADDER, Measure, _quantize_kind, quantize_measures


def dequantize_arrays(quantized: QuantizedArrays) -> list[np.ndarray]:
    """The arrays as data.js reads them, flattened."""
    missing, arrays = 256**quantized.code_bytes - 1, []
    for blob in quantized.blobs:
        planes = np.frombuffer(zlib.decompress(base64.b64decode(blob)), dtype=np.uint8)
        planes = planes.reshape(quantized.code_bytes, -1)
        codes = sum(plane.astype(np.int64) << (8 * n) for n, plane in enumerate(planes))
        arrays.append(np.where(codes == missing, np.nan, (codes + quantized.offset) / quantized.steps_per_unit))
    return arrays


@pytest.mark.parametrize("finest", [finest for finest, _ in QUALITY_LADDER])
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_three_decimals_of_a_weight_are_right(finest, values):
    array = np.array(values, dtype=np.float32)
    packed = quantize_arrays([array], finest)
    assert packed.decimals == 3
    [back] = dequantize_arrays(packed)
    assert [f"{v:.3f}" for v in back] == [f"{v:.3f}" for v in array]
    assert np.abs(back - array).max() <= packed.max_error * 1.0001


def test_ties_zeros_and_ones_stay_what_they_are():
    array = np.array([0, 1, 1 / 16, 3 / 16, 5 / 16, 0.0005, 0.5], dtype=np.float32)
    for finest, _ in QUALITY_LADDER:
        [back] = dequantize_arrays(quantize_arrays([array], finest))
        assert [f"{v:.3f}" for v in back] == [f"{v:.3f}" for v in array]
        assert (back[0], back[1]) == (0, 1)


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 6e4))
def test_any_range_keeps_the_decimals_it_claims(low, width):
    array = np.linspace(low, low + width, 23)
    packed = quantize_arrays([array])
    [back] = dequantize_arrays(packed)
    assert packed.decimals == (3 if width < 16_000 else packed.decimals)
    assert packed.code_bytes == (2 if width < 65 else packed.code_bytes)
    assert np.abs(back - array).max() <= packed.max_error * 1.001 + 1e-9


def test_what_is_no_number_is_missing():
    [back] = dequantize_arrays(quantize_arrays([np.array([0.5, np.nan, -np.inf])]))
    assert back[0] == pytest.approx(0.5, abs=1e-5)
    assert np.isnan(back[1:]).all()
    assert np.isnan(dequantize_arrays(quantize_arrays([np.full((2, 3), np.nan)]))[0]).all()


def test_arrays_may_differ_in_size():
    first, second = np.full((2, 3, 5), 0.25), np.full((1, 3, 5), 0.75)
    back = dequantize_arrays(quantize_arrays([first, second]))
    assert [len(array) for array in back] == [30, 15]
    assert back[1] == pytest.approx(0.75, abs=1e-5)


def test_top_keys_are_the_largest_of_each_row():
    weights = np.array([[[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]]])
    assert top_key_mask(weights, 2).tolist() == [[[False, True, True], [True, False, True]]]
    assert top_key_mask(weights, 3).all()
    assert top_key_mask(np.array([[np.nan, 0.2, -0.9]]), 1).tolist() == [[False, False, True]]


def measures(tokens=96):
    rng = np.random.default_rng(1)
    weights = [rng.dirichlet(np.ones(tokens), (2, tokens)) for _ in range(2)]
    norms = [layer * 3 for layer in weights]
    return [
        Measure("weight", "Weight", "", {"encoder": weights}, normalized=True),
        Measure("norm", "Norm", "", {"encoder": norms}),
    ]


def test_within_the_budget_everything_is_kept():
    quantized, notes = quantize_measures(measures(), 10**7)
    assert notes == []
    assert [entry.top_k("encoder") for entry in quantized] == [0, 0]
    assert quantized[0].scale.top == 1.0
    assert "±8e-06" in quantized[0].describe_precision("encoder")


def test_above_the_budget_the_strongest_keys_are_kept_and_the_page_says_so():
    quantized, notes = quantize_measures(measures(), 20_000)
    assert sum(entry.size for entry in quantized) <= 20_000
    thin = next(entry for entry in quantized if entry.top_k("encoder"))
    top_k, label = thin.top_k("encoder"), thin.measure.label
    assert f"keeps {top_k} keys of each row, the largest by weight" in thin.describe_precision("encoder")
    assert notes[0] == (
        f"To stay small this page keeps only {top_k} keys of each row, the largest by weight, for: {label}."
    )


def test_a_difference_keeps_its_own_largest_keys_whatever_their_sign():
    """A key that a head no longer attends to has hardly any weight, and is the largest difference of all."""
    weights, lost = np.eye(32)[None], np.eye(32, dtype=bool)[:, ::-1]
    difference = np.where(lost, -0.9, 0.01)[None]
    for own_top_keys, stored in ((True, -0.9), (False, np.nan)):
        measure = Measure("difference", "", "", {"encoder": [difference]}, signed=True, own_top_keys=own_top_keys)
        [back] = dequantize_arrays(_quantize_kind(measure, "encoder", [weights], 1, 1).arrays)
        assert back.reshape(32, 32)[lost] == pytest.approx(stored, abs=1e-3, nan_ok=True)
    [quantized], notes = quantize_measures([replace(measures()[0], own_top_keys=True)], 9_000)
    assert "the largest by their own magnitude" in notes[0]
    assert "their own magnitude" in quantized.describe_precision("encoder")


def test_what_has_no_room_at_all_is_named():
    quantized, notes = quantize_measures(measures(), 12_000)
    assert len(quantized) < 2
    assert notes[-1].startswith("Left out, because the page would be too large: ")


@pytest.mark.parametrize("top_k", [0, 2, 7, 8])
def test_means_of_keys_count_what_is_dropped(top_k):
    """Masked cells have no number and are not counted; where every key is kept, the page can compute the means."""
    scores = np.random.default_rng(3).normal(size=(3, 5, 7))
    scores[:, np.triu(np.ones((5, 7), dtype=bool), 3)] = np.nan
    measure = Measure("score", "Score", "", {"encoder": [scores, 2 * scores]}, own_top_keys=True)
    quantized = _quantize_kind(measure, "encoder", None, 5, top_k)
    if top_k in (0, 7, 8):
        assert quantized.means is None and quantized.size == quantized.arrays.size
        return
    assert quantized.means is not None and quantized.size == quantized.arrays.size + quantized.means.size
    first, second = (means.reshape(3, 7) for means in dequantize_arrays(quantized.means))
    for key in range(7):
        numbers = [scores[:, query, key] for query in range(5) if key - query < 3]
        expected = np.mean(numbers, axis=0) if numbers else np.full(3, np.nan)
        np.testing.assert_allclose(first[:, key], expected, atol=quantized.means.max_error)
        np.testing.assert_allclose(second[:, key], 2 * expected, atol=quantized.means.max_error)
