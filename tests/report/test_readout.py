"""What a chart reads out is what it draws, and nothing of it is drawn."""

import random

import pytest

from regard.report import (
    Chart,
    MatrixPanel,
    Sweep,
    Table,
    bar_chart,
    category_curves,
    heatmap_chart,
    histogram,
    layer_scatter,
    line_chart,
    matrix_grid,
    overlay_curves,
    parallel_coordinates,
    pareto_chart,
    slice_plot,
    small_multiples,
    stacked_histograms,
)
from regard.report import chart as charts
from regard.report.readout import ReadoutPoint, format_readouts

RANDOM = random.Random(5)
CURVES = Table.from_rows(
    {"step": step, "set": name, "loss": 5 / (1 + step / 7), "run": run}
    for step in range(1, 14)
    for name in ("train", "dev")
    for run in ("a", "b")
)
ONE_RUN = Table.from_rows(row for row in CURVES.rows() if row["run"] == "a")
TRIALS = Table.from_rows(
    {"layers": layers, "rate": 10.0**-n, "BLEU": RANDOM.uniform(1, 30)} for layers in (1, 2, 3) for n in (2, 3, 5)
)
SWEEP = Sweep(TRIALS, ["layers", "rate"], "BLEU", "BLEU", 2, {"rate": "log"})
TITLES = {"title": "t", "x_title": "step", "y_title": "nats"}
SCORES = Table({"system": ["a", "b"], "BLEU": [11.5, 22.25], "low": [11.0, 22.0], "high": [12.0, 23.0]})
CHARTS = {
    "lines": line_chart(ONE_RUN, "step", "loss", "set", **TITLES, rules={"unigram": 3.0}),
    "bars": bar_chart(SCORES, "system", "BLEU", interval=("low", "high"), **TITLES),
    "histogram": histogram(Table({"chrF": [1.0, 2.0, 2.5, 7.0]}), "chrF", title="t", x_title="chrF", limits=(0, 10)),
    "cells": heatmap_chart([[0.25, 0.75], [None, 1.0]], ["p", "q"], ["x", "y"], title="t", row_title="target",
                           column_title="source"),
    "overlay": overlay_curves({"dev": ONE_RUN}, "step", "loss", "set", **TITLES, highlighted=["dev"]),
    "two panels": overlay_curves({"a": ONE_RUN, "b": ONE_RUN}, "step", "loss", "set", **TITLES, highlighted=["dev"]),
    "categories": category_curves(SCORES, "system", "BLEU", "system", **TITLES),
    "multiples": small_multiples(CURVES, "step", "loss", "set", "run", **TITLES),
    "stacked": stacked_histograms(Table({"v": [10.0, 20, 30, 40], "s": ["a", "a", "b", "b"]}), "v", "s", title="t",
                                  x_title="score"),
    "slices": slice_plot(SWEEP, title="t"),
    "parallel": parallel_coordinates(SWEEP, title="t", higher_is_better=True),
    "pareto": pareto_chart(SCORES, "low", "BLEU", "system", **TITLES, higher_is_better=True),
    "matrices": matrix_grid("t", [[MatrixPanel("p", [[0.5, -0.25], [0.125, None]], [0, 1], [0, 1], "row", "col")]]),
    "scatter": layer_scatter(Table({"layer": ["e"] * 2, "x": [1.0, 2], "y": [2.0, 3], "sense": ["s", "r"]}), title="t"),
}  # fmt: skip


def read(name: str) -> list[tuple[str, str]]:
    return [(point.heading, point.text) for point in CHARTS[name].read_out()]


@pytest.mark.parametrize("name", ["two panels", "histogram", "cells", "stacked", "parallel", "pareto"])
def test_readouts_change_nothing_that_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch):
    drawn = CHARTS[name].to_svg()
    assert CHARTS[name].read_out() and "readout" not in drawn
    monkeypatch.setattr(charts, "add_readouts", lambda spec: spec)
    assert CHARTS[name].with_name(CHARTS[name].name).to_svg() == drawn


@pytest.mark.parametrize("name", CHARTS)
def test_every_kind_of_chart_reads_out_words_within_its_drawing(name: str):
    points = CHARTS[name].read_out()
    assert points and all(point.heading or point.text for point in points)
    width, height = (
        float(CHARTS[name].to_svg().partition(f' {side}="')[2].partition('"')[0]) for side in ("width", "height")
    )
    assert all(0 <= point.x <= width and point.y <= height for point in points)


def test_what_is_read_out_is_the_value():
    assert ("nats · step 6", "train 2.692") in read("lines") and len(read("lines")) == len(ONE_RUN)
    assert read("bars") == [("nats · step a", "11.5"), ("nats · step b", "22.25")]
    assert ("count · chrF 2 to 2.333", "1") in read("histogram")
    assert set(read("cells")) == {
        ("target p · source x", "weight 0.25"), ("target p · source y", "weight 0.75"),
        ("target q · source x", "weight –"), ("target q · source y", "weight 1"),
    }  # fmt: skip
    assert read("pareto") == [("a", "step 11.0, nats 11.5"), ("b", "step 22.0, nats 22.25")]
    assert any(text == "layers 1, rate 0.01" for _, text in read("parallel"))
    assert ("a · 6", "train 2.692") in read("multiples")


def test_hostile_words_stay_words_and_lines_stay_lines():
    word = "a\tb\nc\u2028<script>"
    chart = bar_chart(Table({"n": [word], "v": [1.0]}), "n", "v", title="t", x_title="", y_title="v")
    (point,) = chart.read_out()
    assert "<script>" in point.heading
    assert format_readouts([ReadoutPoint(1, 2, word, word)]) == "1\t2\ta b c <script>\ta b c <script>"


def test_a_value_beyond_its_axis_makes_no_drawing_larger():
    rows = [{"x": n, "y": 100.0 if n == 0 else 1.0 + n / 50, "s": "a"} for n in range(41)]
    chart: Chart = overlay_curves({"p": Table.from_rows(rows)}, "x", "y", "s", **TITLES, highlighted=["a"])
    height = float(chart.to_svg().partition(' height="')[2].partition('"')[0])
    assert len(chart.read_out()) == 41 and 300 < height < 500
