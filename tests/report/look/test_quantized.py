"""Packed numbers: the decimals that are shown are the true ones, and the budget is kept by saying what is left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.report.look.quantized import dequantize_arrays, quantize_arrays, top_key_mask
from regard.report.look.size_budget import QUALITY_LADDER, BlobStore, Measure, _quantize_kind, quantize_measures


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
    assert [len(each) for each in back] == [30, 15]
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
    blobs = BlobStore()
    written, notes = quantize_measures(measures(), blobs, 10**7)
    assert notes == []
    assert [each["kinds"]["encoder"]["kept"] for each in written] == [0, 0]
    assert written[0]["top"] == 1.0
    assert "±8e-06" in written[0]["kinds"]["encoder"]["told"]


def test_above_the_budget_the_strongest_keys_are_kept_and_the_page_says_so():
    blobs = BlobStore()
    written, notes = quantize_measures(measures(), blobs, 20_000)
    assert blobs.size <= 20_000
    thin = [each for each in written if each["kinds"]["encoder"]["kept"]]
    kept = thin[0]["kinds"]["encoder"]["kept"]
    assert f"keeps {kept} keys of each row, the largest by weight" in thin[0]["kinds"]["encoder"]["told"]
    label = thin[0]["label"]
    assert (
        notes[0] == f"To stay small this page keeps only {kept} keys of each row, the largest by weight, for: {label}."
    )


def test_a_difference_keeps_its_own_largest_keys_whatever_their_sign():
    """What a head no longer looks at has hardly any weight, and is the largest difference of all."""
    weights, lost = np.eye(32)[None], np.eye(32, dtype=bool)[:, ::-1]
    change = np.where(lost, -0.9, 0.01)[None]
    for own, kept in ((True, -0.9), (False, np.nan)):
        made = Measure("change", "Change", "", {"encoder": [change]}, signed=True, own_top_keys=own)
        [back] = dequantize_arrays(_quantize_kind(made, "encoder", [weights], 1, 1))
        assert back.reshape(32, 32)[lost] == pytest.approx(kept, abs=1e-3, nan_ok=True)
    written, notes = quantize_measures([replace(measures()[0], own=True)], BlobStore(), 9_000)
    assert "the largest by their own size" in notes[0] and "their own size" in written[0]["kinds"]["encoder"]["told"]


def test_what_has_no_room_at_all_is_named():
    written, notes = quantize_measures(measures(), BlobStore(), 12_000)
    assert len(written) < 2
    assert notes[-1].startswith("Left out, because the page would be too large: ")
