import pytest

from regard.report.charts.downsample import downsample_points, split_windows


@pytest.mark.parametrize("count", [801, 1009, 6007])
def test_thinning_keeps_the_span_the_order_and_the_limit(count):
    points = [(float(n), float(n * n)) for n in range(count)]
    thinned = downsample_points(points, 797)
    assert thinned[0] == points[0]
    assert thinned[-1][0] == points[-1][0]
    assert len(thinned) == 797
    assert thinned == sorted(thinned)


def test_one_odd_point_at_the_end_is_not_shown_as_the_result():
    points = [(float(n), 5.0) for n in range(1000)] + [(1000.0, 1.0)]
    assert downsample_points(points, 101)[-1] == (1000.0, pytest.approx(5.0 - 4.0 / 10))


def test_short_lines_stay_as_they_are():
    points = [(1.0, 2.0), (3.0, None), (5.0, 7.0)]
    assert downsample_points(points, 3) == points


def test_a_window_is_a_mean_of_what_is_known():
    points = [
        (0.0, 1.0),
        (1.0, 2.0),
        (2.0, None),
        (3.0, 6.0),
        (4.0, None),
        (5.0, None),
        (6.0, None),
        (7.0, 9.0),
    ]
    assert downsample_points(points, 4) == [(0.0, 1.0), (1.5, 2.0), (3.5, 6.0), (7.0, 9.0)]
    assert downsample_points(points[:7], 3) == [(0.0, 1.0), (2.0, 4.0), (6.0, None)]


def test_windows_hold_every_item_once_and_differ_by_at_most_one():
    items = [(float(n), None) for n in range(103)]
    windows = split_windows(items, 11)
    assert [item for window in windows for item in window] == items
    assert {len(window) for window in windows} == {9, 10}
