"""Settings that change over training: points that lines connect."""

import tomllib

import pytest

from regard import config
from regard.config import Config, PiecewiseLinear, share_above_zero, value_at
from regard.config.piecewise import parse_points


def test_lines_connect_the_points_and_two_at_one_progress_are_a_jump():
    ramp = PiecewiseLinear(((0.2, 0.1), (0.6, 0.5), (0.6, 3.0), (0.7, 1.0)))
    expected = {
        0.0: 0.1,
        0.2: 0.1,
        0.3: 0.2,
        0.4: 0.3,
        0.59999999: 0.5,
        0.6: 3.0,
        0.65: 2.0,
        0.7: 1.0,
        1.0: 1.0,
        7: 1.0,
    }
    assert {progress: value_at(ramp, progress) for progress in expected} == pytest.approx(expected)
    assert [value_at(0.3, progress) for progress in (0.0, 0.5, 1.0)] == [0.3] * 3


@pytest.mark.parametrize("text", ["0.8:0.1,1:0", "0.67:0,0.67:5", "0:0.25,0.5:1e-07,1:0"])
def test_what_is_typed_is_what_is_written_and_read(text: str):
    typed = config.override(Config(), [f"train.rdrop={text}"])
    assert isinstance(typed.train.rdrop, PiecewiseLinear) and str(typed.train.rdrop) == text
    written = config.dump(typed, only_explicit=True)
    assert tomllib.loads(written) == {"train": {"rdrop": text}}
    assert config.build(tomllib.loads(written)) == typed == config.with_values(typed, {})
    assert parse_points(f" {text.replace(',', ' , ')} ") == typed.train.rdrop


def test_a_number_stays_a_number_and_so_do_points_of_one_value():
    for text, number in (("0.2", 0.2), ("0", 0.0), ("0.3:0.2", 0.2), ("0:0,1:0", 0.0)):
        setting = config.override(Config(), [f"train.label_smoothing={text}"]).train.label_smoothing
        assert type(setting) is float and setting == number
    assert tomllib.loads(config.dump(Config()))["train"]["label_smoothing"] == 0.1


def test_the_share_above_zero_is_where_two_passes_of_rdrop_are_paid_for():
    for text, share in (("0.75:0,0.75:5", 0.25), ("0.5:1,0.75:0", 0.75), ("0.25:0,0.5:1", 0.75), ("0:1,1:2", 1.0)):
        assert share_above_zero(parse_points(text)) == pytest.approx(share)
    assert (share_above_zero(0.0), share_above_zero(4.0)) == (0.0, 1.0)
