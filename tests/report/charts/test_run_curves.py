"""Charts of many runs say what they should, and refuse what cannot be drawn."""

from dataclasses import replace
from itertools import pairwise

import pytest

from regard.errors import RegardError
from regard.report import (
    Sweep,
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
        sweep = Sweep(table, names, "score", "s", best=0, scales={"rate": "log"}, unranked=table)
        slice_plot(sweep, title="S").to_svg()
        parallel_coordinates(sweep, title="P", higher_is_better=True).to_svg()
        pareto_chart(
            table, "rate", "score", "name", title="F", x_title="r", y_title="s", higher_is_better=True
        ).to_svg()
        stacked_histograms(table, "score", "norm", title="D", x_title="s").to_svg()
    small_multiples(curves(), "x", "y", "run", "run", title="M", x_title="x", y_title="y").to_svg()
    category_curves(curves(), "x", "y", "run", title="L", x_title="x", y_title="y").to_svg()


def test_scores_stand_on_their_axis_as_far_apart_as_they_are():
    table = Table.from_rows({"layers": layers, "score": score} for layers, score in ((2, 10.0), (3, 11.0), (7, 20.0)))
    choices = Sweep(table, ["layers"], "score", "s", best=None)
    lines = lines_of(choices)
    assert sorted(row["y"] for row in lines if row["axis"] == 1) == pytest.approx([0.0, 0.1, 1.0])
    assert sorted(row["y"] for row in lines if row["axis"] == 0) == pytest.approx([0.0, 0.5, 1.0])  # a few are choices
    in_range = lines_of(replace(choices, scales={"layers": "linear"}))
    assert sorted(row["y"] for row in in_range if row["axis"] == 0) == pytest.approx([0.0, 0.2, 1.0])


def lines_of(sweep: Sweep) -> list[dict]:
    return parallel_coordinates(sweep, title="P", higher_is_better=True).spec["datasets"]["lines"]


def slices_of(sweep: Sweep) -> tuple[dict, str]:
    """The rows of a slice plot, and what is written in the picture."""
    spec = slice_plot(sweep, title="S").spec
    return spec["datasets"], " ".join(spec["title"].get("subtitle", ()))


def trials(*values: tuple[float, float | None]) -> Table:
    return Table.from_rows({"rate": rate, "score": score} for rate, score in values)


def test_a_setting_with_a_range_is_drawn_to_scale_however_few_its_trials():
    table = trials((0.1, 3.0), (0.2, 5.0), (0.7, 7.0))
    rows, _ = slices_of(Sweep(table, ["rate"], "score", "s", best=2, scales={"rate": "linear"}))
    assert [row["x"] for row in rows["dots0"]] == [0.1, 0.2, 0.7]


def test_one_trial_has_no_mean():
    rows, note = slices_of(Sweep(trials((0.1, 3.0), (0.2, 5.0)), ["rate"], "score", "s", best=None))
    assert rows["mean0"] == [] and "means" not in note
    rows, note = slices_of(Sweep(trials((0.1, 3.0), (0.1, 4.0), (0.2, 5.0)), ["rate"], "score", "s", best=None))
    assert rows["mean0"] == [{"x": 0, "y": 3.5}] and "means of two or more" in note


def test_trials_that_are_not_ranked_are_drawn_inside_the_scale_and_counted():
    sweep = Sweep(
        trials((0.1, 3.0), (0.2, 5.0)),
        ["rate"],
        "score",
        "s",
        best=1,
        scales={"rate": "linear"},
        unranked=trials((0.3, 41.0), (0.4, 4.0), (0.6, None)),
        warnings=["3 trials stopped early", "one seed each"],
    )
    rows, note = slices_of(sweep)
    top = 5.0 + 0.08 * 2
    assert rows["others0"] == [{"x": 0.3, "y": pytest.approx(top)}, {"x": 0.4, "y": 4.0}]
    assert note.endswith("3 trials stopped early; one seed each") and "hollow: not ranked" in note
    dashed = [row for row in lines_of(sweep) if row["dashed"]]
    assert [row["y"] for row in dashed if row["axis"] == 1] == [1.0, 0.5, None]  # the last one has no score


def test_a_curve_of_one_point_is_a_dot():
    table = Table({"x": [1, 2, 1], "y": [5.0, 3.0, 7.0], "run": ["a", "a", "stopped"]})
    chart = overlay_curves({"dev": table}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"])
    assert {row["series"]: row["alone"] for row in chart.spec["datasets"]["lines0"]} == {"stopped": True, "a": False}
    assert any(layer["mark"]["type"] == "point" for layer in chart.spec["layer"])


def test_an_axis_of_scores_does_not_go_below_zero():
    table = Table({"x": [1, 2], "y": [0.0, 0.0], "run": ["a", "a"]})
    chart = overlay_curves({"dev": table}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"])
    assert chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"][0] == 0.0


def test_a_system_without_scores_has_no_median():
    table = Table({"bleu": [30.0, 50.0, 70.0, None], "system": ["a", "a", "a", "b"]})
    chart = stacked_histograms(table, "bleu", "system", title="H", x_title="BLEU")
    texts = [row["text"] for row in chart.spec["datasets"]["bins"] if "text" in row]
    assert texts == ["median 50"]


def test_values_that_are_no_percentages_have_bins_of_their_own():
    table = Table({"bits": [2.0, 2.5, 4.0], "run": ["a", "a", "a"]})
    chart = stacked_histograms(table, "bits", "run", title="H", x_title="bits", units="documents", limits=None)
    bins = [row for row in chart.spec["datasets"]["bins"] if "a" in row]
    assert bins[0]["a"] == 2.0 and bins[-1]["b"] >= 4.0 and sum(row["n"] > 0 for row in bins) == 3
    assert chart.spec["title"]["subtitle"] == ["in percent of the documents"]


def test_nothing_to_draw_is_said():
    empty = Table({"x": [1], "y": [None], "run": ["a"]})
    with pytest.raises(RegardError, match="no finite point"):
        overlay_curves({"a": empty}, "x", "y", "run", title="T", x_title="x", y_title="y", highlighted=["a"])
    with pytest.raises(RegardError, match="no finite point"):
        pareto_chart(empty, "x", "y", "run", title="T", x_title="x", y_title="y", higher_is_better=True)
