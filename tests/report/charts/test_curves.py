"""Charts hold every number they were given, and draw to SVG and PNG."""

import math
import struct
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import vl_convert

from regard.errors import RegardError
from regard.report import Chart, Figure, Table, ValueAxis, bar_chart, heatmap_chart, histogram, line_chart

NASTY = ["<b>&\"'", "▁Haus", "😀", "", "a\u2028b", "שלום", "same", "same", "]]>", "${x}", "\\u0041", 'id="k"']


def loss_chart(count: int = 50) -> Chart:
    rows = [{"step": n, "loss": 9 / (n + 1), "set": "train"} for n in range(count)]
    rows += [{"step": n, "loss": 8 / (n + 1), "set": "dev"} for n in range(0, count, 10)]
    return line_chart(
        Table.from_rows(rows),
        "step",
        "loss",
        "set",
        title="Loss",
        x_title="step",
        y_title="nats",
        rules={"unigram": 6.2},
    )


def head_map() -> Chart:
    return heatmap_chart(
        [[0.25, 0.75], [1.0, 0.0]], ["a", "b"], ["x", "y"], title="Map", row_title="t", column_title="s"
    )


def texts(svg: str) -> list[str]:
    """What can be read in the drawing: a label that gave way to a neighbor is there, but transparent."""
    elements = ElementTree.fromstring(svg).iter()
    return [element.text for element in elements if element.text and element.get("opacity") != "0"]


def ids(svg: str) -> list[str]:
    return [element.attrib["id"] for element in ElementTree.fromstring(svg).iter() if "id" in element.attrib]


def points(chart: Chart, name: str) -> list[tuple[float, float]]:
    return [
        (row["x"], row["y"]) for rows in chart.spec["datasets"].values() for row in rows if row.get("series") == name
    ]


def test_every_point_of_a_short_curve_is_in_the_spec():
    chart = loss_chart()
    assert points(chart, "train") == [(n, 9 / (n + 1)) for n in range(50)]
    assert points(chart, "dev") == [(n, 8 / (n + 1)) for n in range(0, 50, 10)]
    assert chart.spec["datasets"]["rules"] == [{"y": 6.2, "name": "unigram"}]


def test_a_long_curve_is_thinned_between_its_ends_and_says_so():
    chart = loss_chart(3001)
    train = points(chart, "train")
    assert len(train) == 800
    assert train[0] == (0, 9.0)
    assert train[-1] == (3000, pytest.approx(9 / 3000, rel=0.01))  # the mean of its last few points
    assert len(points(chart, "dev")) == 301
    assert any("train: mean of about 4 points" in text for text in texts(chart.to_svg()))


def test_points_are_drawn_in_order_of_x_and_gaps_are_left_where_a_loss_is_not_finite():
    table = Table({"x": [3, 1, 2], "y": [0.3, 0.1, math.nan]})
    chart = line_chart(table, "x", "y", title="Gap", x_title="x", y_title="y")
    assert points(chart, "") == [(1, 0.1), (2, None), (3, 0.3)]
    chart.to_svg()


def test_curves_without_a_finite_point_are_refused():
    with pytest.raises(RegardError, match="curves of 'y' over 'x': the table has no finite point"):
        line_chart(Table({"x": [1], "y": [None]}), "x", "y", title="t", x_title="x", y_title="y")


def test_more_series_than_colours_are_told_apart_by_dashes():
    rows = [{"x": x, "y": x * k, "run": f"run {k}"} for k in range(11) for x in range(3)]
    svg = line_chart(Table.from_rows(rows), "x", "y", "run", title="Runs", x_title="x", y_title="y").to_svg()
    assert {f"run {k}" for k in range(11)} <= set(texts(svg))
    looks = {
        (element.get("stroke"), element.get("stroke-dasharray"))
        for group in ElementTree.fromstring(svg).iter()
        if "mark-line" in group.get("class", "")
        for element in group
    }
    assert len(looks) == 11


@pytest.mark.parametrize("long", [False, True])
def test_bars_show_every_category_and_every_value(long):
    names = [name + " with much to say about itself" * long for name in NASTY if name != "same"]
    table = Table({"name": names, "score": [n + 0.25 for n in range(len(names))]})
    chart = bar_chart(table, "name", "score", title="Bars", x_title="name", y_title="score")
    shown = texts(chart.to_svg())
    assert [row["value"] for row in chart.spec["datasets"]["bars"]] == list(table["score"])
    for name, value in zip(names, table["score"], strict=True):
        assert name.strip() in shown or name == ""
        assert f"{value:.2f}" in shown


def test_bars_hold_series_and_intervals():
    table = Table(
        {
            "set": ["dev", "test"] * 2,
            "run": ["a", "a", "b", "b"],
            "v": [3, -5, 7, 11],
            "l": [2, -6, 6, 10],
            "h": [4, -4, 8, 13],
        }
    )
    options = {"title": "B", "x_title": "set", "y_title": "v"}
    chart = bar_chart(table, "set", "v", series="run", interval=("l", "h"), **options)
    rows = chart.spec["datasets"]["bars"]
    assert [(row["category"], row["series_index"], row["low"], row["value"], row["high"]) for row in rows] == [
        (0, 0, 2, 3, 4),
        (1, 0, -6, -5, -4),
        (0, 1, 6, 7, 8),
        (1, 1, 10, 11, 13),
    ]
    svg = chart.to_svg()
    assert {"a", "b", "dev", "test"} <= set(texts(svg))
    whiskers = [
        group for group in ElementTree.fromstring(svg).iter() if "mark-rule role-mark" in group.get("class", "")
    ]
    assert [len(group) for group in whiskers] == [4]
    with pytest.raises(RegardError, match=r"'dev' occurs twice in column 'set'; pass `series`"):
        bar_chart(table, "set", "v", **options)
    with pytest.raises(RegardError, match="the table has no row to draw"):
        bar_chart(Table({"set": [], "v": []}), "set", "v", **options)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 2, 3, 3, 3],
        [n * n for n in range(101)],
        [7],
        [0.3] * 5,
        [-0.5, 0.0, 0.1, 0.30000000000000004, 1e-9],
        [1e6 + n / 7 for n in range(50)],
        [0.1 * n for n in range(11)],
    ],
)
def test_a_histogram_counts_every_value_once_in_a_bin_that_holds_it(values):
    chart = histogram(Table({"n": values}), "n", title="H", x_title="n")
    bins = chart.spec["datasets"]["bins"]
    assert sum(row["count"] for row in bins) == len(values)
    slack = 1e-9 * max(map(abs, values))
    assert bins[0]["start"] <= min(values) + slack
    assert max(values) <= bins[-1]["stop"] + slack
    assert all(left["stop"] == right["start"] for left, right in pairwise(bins))
    for row in bins:
        inside = sum(row["start"] - slack <= value <= row["stop"] + slack for value in values)
        assert row["count"] <= inside
    assert len(bins) <= 40


def test_bins_of_a_scale_end_where_it_does():
    chart = histogram(Table({"n": [100.0, 100.0, 0.0, 37.0]}), "n", title="H", x_title="n", bins=5, limits=(0, 100))
    bins = chart.spec["datasets"]["bins"]
    assert [row["count"] for row in bins] == [1, 1, 0, 0, 2]
    assert bins[0]["start"] == 0 and bins[-1]["stop"] == 100


def test_a_histogram_tells_what_is_missing_and_refuses_nothing_at_all():
    chart = histogram(Table({"n": [1, None, math.nan, 2]}), "n", title="H", x_title="n")
    assert "2 without a value" in texts(chart.to_svg())
    with pytest.raises(RegardError, match="column 'n' has no finite value"):
        histogram(Table({"n": [None]}), "n", title="H", x_title="n")


@pytest.mark.parametrize("make", [loss_chart, head_map])
def test_drawings_are_well_formed_named_and_the_same_each_time(make, tmp_path):
    first, second = make(), make()
    svg = first.to_svg()
    assert first.title in texts(svg)
    assert ElementTree.fromstring(svg).get("aria-label") == first.title
    assert svg == second.to_svg()
    png, drawn = first.with_name("again").save(tmp_path / "new")
    assert (png.name, drawn.name) == ("again.png", "again.svg")
    assert png.read_bytes() == second.with_name("again").to_png()
    assert drawn.read_text(encoding="utf-8") == second.with_name("again").to_svg()


def test_a_chart_is_drawn_once_for_its_files_and_its_page(monkeypatch, tmp_path):
    drawn, draw = [], vl_convert.vegalite_to_svg

    def count(spec, **options):
        drawn.append(spec)
        return draw(spec, **options)

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", count)
    chart = loss_chart()
    chart.save(tmp_path)
    assert chart.to_svg() in Figure(chart).html() and len(drawn) == 1
    assert chart.with_note("another").to_svg() != chart.to_svg() and len(drawn) == 2


def test_a_png_is_twice_the_size_of_its_svg():
    chart = loss_chart()
    png = chart.to_png()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    root = ElementTree.fromstring(chart.to_svg())
    assert (width, height) == (2 * float(root.attrib["width"]), 2 * float(root.attrib["height"]))
    assert width > 1200


def test_two_charts_share_no_id_and_every_reference_finds_its_own():
    first = head_map()
    second = heatmap_chart([[0.5]], ["a"], ["x"], title="Map", row_title="t", column_title="s")
    assert first.name == second.name
    assert ids(first.to_svg())
    assert not set(ids(first.to_svg())) & set(ids(second.to_svg()))
    for chart in (first, second):
        svg = chart.to_svg()
        assert all(f"url(#{name})" in svg for name in ids(svg))
        assert svg.count("url(#") == len(ids(svg))


def test_a_label_that_looks_like_a_reference_is_left_alone():
    chart = heatmap_chart(
        [[1.0]], ["url(#gradient_0)"], ['id="gradient_0"'], title="#1", row_title="t", column_title="s"
    )
    assert {"url(#gradient_0)", 'id="gradient_0"', "#1"} <= set(texts(chart.to_svg()))


def test_a_name_that_cannot_be_a_file_is_refused():
    for name in ["", "../up", "a/b", ".hidden", "a b"]:
        with pytest.raises(RegardError, match="cannot name a file"):
            Chart(name, "t", {})


def test_a_broken_spec_is_named_in_the_error():
    with pytest.raises(RegardError, match="chart 'bad' could not be drawn"):
        Chart("bad", "t", {"mark": "nothing"}).to_svg()


def test_bars_of_a_scale_do_not_fill_it_because_they_are_the_longest():
    table = Table({"system": ["a", "b"], "F1": [20.0, 10.0]})
    domains = [
        layer["encoding"]["y"]["scale"].get("domain")
        for axis in (ValueAxis("F1", (0.0, 100.0)), "F1")
        for layer in bar_chart(table, "system", "F1", title="T", x_title="", y_title=axis).spec["layer"]
    ]
    assert domains == [[0.0, 100.0]] * 2 + [None] * 2


def test_between_two_steps_there_is_no_tick():
    def tick_step(steps: list[float]) -> object:
        table = Table({"step": steps, "loss": [2.0, 1.0]})
        chart = line_chart(table, "step", "loss", title="T", x_title="step", y_title="nats")
        return chart.spec["layer"][0]["encoding"]["x"]["axis"].get("tickMinStep")

    assert tick_step([1, 2]) == 1 and tick_step([0.5, 1]) is None


def test_values_that_are_all_equal_are_drawn_above_nought():
    table = Table({"step": [1, 2], "F1": [0.0, 0.0]})
    chart = line_chart(table, "step", "F1", title="T", x_title="step", y_title="F1")
    assert chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0.0, 1.0]
