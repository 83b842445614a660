"""Charts of many runs say what they should, and refuse what cannot be drawn."""

from itertools import pairwise

import pytest

from regard.errors import RegardError
from regard.report import (
    Table,
    category_curves,
    overlay_curves,
    parallel_coordinates,
    pareto_chart,
    pareto_front,
    slice_plot,
    small_multiples,
    stacked_histograms,
)
from regard.report.charts.run_curves import _place_end_labels

NAMES = [f"run {n}" for n in range(11)]


def curves(names=NAMES, shift: float = 0.3) -> Table:
    return Table.from_rows(
        {"x": x, "y": 5 - x + shift * n, "run": name} for n, name in enumerate(names) for x in range(4)
    )


def test_curves_carry_their_names_at_their_ends_and_the_rest_is_grey():
    chart = overlay_curves(
        {"a": curves(), "b": curves()}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=NAMES[:3]
    )
    svg = chart.to_svg()
    assert svg.count(">run 0<") == svg.count(">run 2<") == 2 and ">run 3<" not in svg
    assert "in gray: the other 8" in svg


def test_panels_share_their_axes():
    chart = overlay_curves(
        {"a": curves(), "b": curves(shift=3.0)}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=NAMES
    )
    domains = [layer["layer"][0]["encoding"]["y"]["scale"]["domain"] for layer in chart.spec["hconcat"]]
    assert domains[0] == domains[1]


def test_a_loss_that_falls_at_first_leaves_the_picture_to_what_follows():
    rows = [{"x": x, "y": 9.0 if x < 2 else 3 - x / 100, "run": "a"} for x in range(60)]
    chart = overlay_curves(
        {"dev": Table.from_rows(rows)}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"]
    )
    low, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert 2.3 < low < 2.5 and 2.97 < high < 4 and "the first steps are above the plot" in chart.to_svg()
    short = overlay_curves(
        {"dev": Table.from_rows(rows[:9])}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"]
    )
    assert short.spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1] > 9 and "are above" not in short.to_svg()


def test_names_never_cover_one_another():
    ends = {name: [(0.0, 1.0), (1.0, 2.0)] for name in NAMES}  # all end at the same height
    positions = sorted(label["y"] for label in _place_end_labels(ends, 0.0, 10.0, 260))
    gaps = [b - a for a, b in pairwise(positions)]
    assert min(gaps) >= 10 * 15 / 260 - 1e-9 and positions[-1] <= 10.0


def test_the_front_is_what_nothing_beats():
    points = [(1.0, 5.0), (2.0, 4.0), (2.0, 7.0), (3.0, 7.0), (4.0, 9.0)]
    assert pareto_front(points, higher_is_better=True) == [0, 2, 4] and pareto_front(
        points, higher_is_better=False
    ) == [0, 1]


def test_every_chart_draws_one_row_and_many():
    for count in (1, 30):
        rows = [
            {
                "layers": 1 + n % 3,
                "rate": 0.001 * (n + 1),
                "norm": "pre" if n % 2 else "post",
                "score": 1.0 * n,
                "name": f"t{n}",
            }
            for n in range(count)
        ]
        table = Table.from_rows(rows)
        names = ["layers", "rate", "norm"]
        slice_plot(table, names, "score", title="S", y_title="s", best=0, log_scaled=["rate"]).to_svg()
        parallel_coordinates(
            table, names, "score", title="P", value_title="s", higher_is_better=True, best=0, log_scaled=["rate"]
        ).to_svg()
        pareto_chart(
            table, "rate", "score", "name", title="F", x_title="r", y_title="s", higher_is_better=True
        ).to_svg()
        stacked_histograms(table, "score", "norm", title="D", x_title="s").to_svg()
    small_multiples(curves(), "x", "y", "run", "run", title="M", x_title="x", y_title="y").to_svg()
    category_curves(curves(), "x", "y", "run", title="L", x_title="x", y_title="y").to_svg()


def test_scores_stand_on_their_axis_as_far_apart_as_they_are():
    table = Table.from_rows({"layers": layers, "score": score} for layers, score in ((2, 10.0), (3, 11.0), (7, 20.0)))
    chart = parallel_coordinates(
        table, ["layers"], "score", title="P", value_title="s", higher_is_better=True, best=None
    )
    lines = chart.spec["datasets"]["lines"]
    assert sorted(row["y"] for row in lines if row["axis"] == 1) == pytest.approx([0.0, 0.1, 1.0])
    assert sorted(row["y"] for row in lines if row["axis"] == 0) == pytest.approx([0.0, 0.5, 1.0])  # a few are choices


def test_nothing_to_draw_is_said():
    empty = Table({"x": [1], "y": [None], "run": ["a"]})
    with pytest.raises(RegardError, match="no finite point"):
        overlay_curves({"a": empty}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"])
    with pytest.raises(RegardError, match="no finite point"):
        pareto_chart(empty, "x", "y", "run", title="T", x_title="x", y_title="y", higher_is_better=True)
