"""Effects: Student's interval, the bounds of a claim, and which verdict follows from them."""

import math
from statistics import fmean, stdev

import pytest
from scipy import stats

from regard.errors import LabError
from regard.labs.effects import Effect, Exact
from regard.labs.verdict import Verdict

VALUES = (0.31, 0.27, 0.46, 0.38, 0.29)


def test_the_interval_is_that_of_students_t():
    low, high = stats.t.interval(0.95, len(VALUES) - 1, fmean(VALUES), stdev(VALUES) / math.sqrt(len(VALUES)))
    assert Effect("x", VALUES, least=0.1).interval == pytest.approx((low, high))


def test_the_interval_is_no_narrower_than_the_grain():
    assert Effect("x", (1.0, 1.0, 1.0), least=0.1, grain=0.02).interval == pytest.approx((0.98, 1.02))
    wide = Effect("x", VALUES, least=0.1)
    assert Effect("x", VALUES, least=0.1, grain=1e-6).interval == wide.interval


# the interval of (m - 0.1, m + 0.1) by Student's t with one degree of freedom is m ± 1.27
@pytest.mark.parametrize(
    ("mean", "bounds", "verdict"),
    [
        (3.0, {"least": 1.0}, Verdict.HOLDS),
        (2.0, {"least": 1.0}, Verdict.UNDECIDED),
        (0.0, {"least": 1.5}, Verdict.DOES_NOT_HOLD),
        (-2.0, {"least": 1.0}, Verdict.DOES_NOT_HOLD),
        (-3.0, {"least": 1.0}, Verdict.OPPOSITE_HOLDS),
        (-3.0, {"most": 1.0}, Verdict.HOLDS),
        (0.0, {"most": 1.0}, Verdict.UNDECIDED),
        (3.0, {"most": 1.0}, Verdict.DOES_NOT_HOLD),
    ],
)
def test_the_verdict_follows_from_the_interval(mean: float, bounds: dict[str, float], verdict: Verdict):
    assert Effect("x", (mean - 0.1, mean + 0.1), **bounds).verdict is verdict


def test_a_bound_itself_is_allowed():
    assert Effect("x", (0.5, 0.5), least=0.5).verdict is Verdict.HOLDS
    assert Effect("x", (0.5, 0.5), most=0.5).verdict is Verdict.HOLDS
    assert Effect("x", (-0.5, -0.5), least=0.5).verdict is Verdict.OPPOSITE_HOLDS


def test_the_margin_counts_half_widths_to_where_the_verdict_turns():
    effect = Effect("x", (3.0, 3.0), least=1.0, grain=0.5)  # the interval is 2.5 to 3.5
    assert effect.margin == pytest.approx((2.5 - 1.0) / 0.5)
    assert Effect("x", (-3.0, -3.0), least=1.0, grain=0.5).margin == pytest.approx(effect.margin)
    assert Effect("x", (3.0, 3.0), most=4.0, grain=0.5).margin == pytest.approx(1.0)
    assert Effect("x", (3.0, 3.0), least=1.0).margin == math.inf


def test_a_number_is_shown_with_its_interval_if_it_has_one():
    assert Effect("x", (3.0, 3.0), least=1.0, grain=0.5).measured == "3 [2.5, 3.5]"
    assert Effect("x", (3.0, 3.0), least=1.0).measured == "3"
    assert Effect("x", (3.0, 3.0), most=0.25).claimed == "at most 0.25"


@pytest.mark.parametrize("bounds", [{}, {"least": 0.1, "most": 0.2}])
def test_an_effect_has_one_bound(bounds: dict[str, float]):
    with pytest.raises(LabError, match="effect 'gain' needs one bound, either `least` or `most`"):
        Effect("gain", VALUES, **bounds)


def test_the_smallest_effect_that_matters_is_above_zero():
    with pytest.raises(LabError, match="effect 'gain': `least` must be above 0, but is 0"):
        Effect("gain", VALUES, least=0.0)


def test_one_value_has_no_interval():
    with pytest.raises(LabError, match="effect 'gain' has 1 of the 2 values that it needs: use more seeds"):
        Effect("gain", (0.3,), least=0.1)
    with pytest.raises(LabError, match="effect 'gain' has 0 of the 1 values"):
        Exact("gain", ())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_are_finite(value: float):
    with pytest.raises(LabError, match=rf"effect 'gain' is {value} for seed number 2: it must be a finite number"):
        Effect("gain", (0.3, value, 0.1), least=0.1)
    with pytest.raises(LabError, match="seed number 1"):
        Exact("gain", (value,))


def test_an_exact_difference_is_the_largest_of_all_seeds():
    difference = Exact("x", (1e-12, 3e-10, 0.0))
    assert (difference.mean, difference.margin) == (3e-10, math.inf)
    assert difference.verdict is Verdict.HOLDS
    assert Exact("x", (1e-12, 3e-10), tolerance=1e-10).verdict is Verdict.DOES_NOT_HOLD
    assert Exact("x", (0.0, 1e-300), tolerance=0.0).verdict is Verdict.DOES_NOT_HOLD
    assert Exact("x", (1e-9,)).verdict is Verdict.HOLDS  # the tolerance itself
    assert Exact("x", (0.0,), tolerance=0.0).measured == Exact("x", (0.0,), tolerance=0.0).claimed == "exactly 0"


def test_the_interval_of_a_share_ends_at_one():
    assert Effect("accuracy", [1.0, 1.0, 1.0], least=0.5, grain=1 / 7).interval[1] > 1
    assert Effect("accuracy", [1.0, 1.0, 1.0], least=0.5, grain=1 / 7, limit=1).interval == (1 - 1 / 7, 1)
    assert Effect("gain", [-1.0, -0.9], least=0.5, limit=1).interval[0] == -1
