"""look.html in a real browser: opened from a file with the network off, read by pointer, keys and address."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from regard.report.look.data import LookData
from regard.report.look.page import render_look_page
from regard.report.page import write_page
from tests.report.look.look_sample import (
    look_data,
    prune,
    unmeasured,
    with_kind,
    with_trained_aligner,
    with_unknown_positions,
    with_unmeasured_layers,
)

DATA = look_data()
DRAWN = "#map:has(button):not(:has(button:not([data-drawn])))"  # a wait by script would be eval, which the page forbids


def write_look(path: Path, data: LookData) -> Path:
    write_page(path, render_look_page(data).html)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("look") / "look.html"
    return write_look(path, DATA)


@pytest.fixture
def visit(opened, file):
    """Opens the page at an address and waits until all of it is drawn."""

    def open_page(address: str = "", path: Path = file, **settings):
        page = opened(path, address, **settings)
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector(DRAWN)
        return page

    return open_page


def formatted(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def telling(value: float) -> str:
    """The number as it must be read; a cell that shows 0.000 would prove nothing."""
    assert abs(value) > 0.02
    return formatted(value)


def strongest(kind: str, layer: int, head: int, row: int) -> int:
    return int(DATA.kinds[kind].weights[layer][head, row].argmax())


def cell(page, row: int, column: int) -> dict[str, float]:
    """Where a cell of the first heat map lies on the canvas."""
    x, y, wide, high = (
        float(page.locator("#picture").get_attribute(f"data-{name}")) for name in ["x", "y", "cell", "pitch"]
    )
    return {"x": x + (column + 0.5) * wide, "y": y + (row + 0.5) * high}


def now(page) -> str:
    return page.locator("#now output").first.inner_text()


def settle(page) -> None:
    """Two frames: what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_all_heads_are_on_the_map(visit, kind):
    page = visit(f"#kind={kind}")
    assert page.locator("#map button").count() == 3 * 4
    assert page.locator("#map [role=row]").count() == 1 + 3
    assert page.locator("#kinds [aria-selected=true]").inner_text().startswith(kind.capitalize())


@pytest.mark.parametrize(("kind", "row"), [("encoder", 2), ("decoder", 11), ("cross", 16)])
def test_hover_reads_the_number_of_the_cell(visit, kind, row):
    page = visit(f"#kind={kind}&heads=1.2&view=heat")
    column = strongest(kind, 1, 2, row)
    page.locator("#picture").hover(position=cell(page, row, column))
    settle(page)
    assert now(page) == telling(DATA.kinds[kind].weights[1][2, row, column])


@pytest.mark.parametrize(("measure", "key"), [("norm", "norms"), ("score", "scores"), ("gradient", "gradient")])
def test_every_measure_reads_its_own_numbers(visit, measure, key):
    values = getattr(DATA.kinds["cross"], key)[2][3, 5]
    page = visit(f"#kind=cross&heads=2.3&view=heat&measure={measure}&q=5&k={np.abs(values).argmax()}")
    assert now(page) == telling(values[np.abs(values).argmax()])


def test_click_pins_and_a_second_click_lets_go(visit):
    page = visit("#kind=cross&heads=0.1&view=both")
    picture = page.locator("#picture")
    first, second = strongest("cross", 0, 1, 3), strongest("cross", 0, 1, 6)
    picture.click(position=cell(page, 3, first))
    settle(page)
    assert page.locator("#readout .pin").inner_text() == "A"
    picture.hover(position=cell(page, 6, second))
    settle(page)
    values = DATA.kinds["cross"].weights[0][1]
    assert page.locator("#readout output").all_inner_texts() == [telling(values[6, second]), telling(values[3, first])]
    picture.click(position=cell(page, 3, first))
    settle(page)
    assert page.locator("#readout .pin").count() == 0


def test_keys_reach_every_cell_and_head(visit):
    page = visit("#kind=encoder&heads=0.0&view=heat")
    for key in ["ArrowDown"] * 4 + ["ArrowRight"] * 3 + ["]", "."]:
        page.keyboard.press(key)
    settle(page)
    assert now(page) == telling(DATA.kinds["encoder"].weights[1][1, 3, 2])
    page.keyboard.press("p")
    page.keyboard.press("3")
    settle(page)
    assert "kind=cross" in page.url and "pins" not in page.url
    page.keyboard.press("c")
    settle(page)
    assert page.locator("#map [aria-pressed=true]").count() == 2


def test_keys_walk_through_the_map(visit):
    page = visit("#kind=encoder&heads=0.0")
    page.locator("#map button[data-main=true]").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    settle(page)
    assert "heads=1.2" in page.url
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert page.locator("#keylist dt").count() == page.locator("#keylist dd").count() > 15
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_a_token_shows_its_row(visit):
    page = visit("#kind=cross&heads=0.1&view=lines")
    page.locator("#picture").hover(position=cell(page, 4, 0))
    settle(page)
    row = DATA.kinds["cross"].weights[0][1, 4]
    assert now(page) == telling(row.max())
    assert "row sum 1.000" in page.locator("#now").inner_text()
    shown = page.locator("#cell-explanation ol").first.locator(".number").all_inner_texts()
    assert shown == [formatted(value) for value in sorted(row, reverse=True)[:7]]


def test_a_head_shows_how_it_formed_and_what_it_is_worth(visit):
    page = visit("#kind=encoder&heads=0.0")
    text = page.locator("#head-explanation").inner_text()
    assert "lift: 0.08 at step 100, 0.67 at step 800" in text
    assert page.locator("#head-explanation .card").count() == 3
    assert re.search("Without this head the loss|No measurable cost", text)
    assert "Measured on 200 sentences of test" in text


def test_the_trust_panel_tells_what_was_tried_and_what_it_means(visit):
    page = visit("#kind=cross&heads=0.0")
    panel = page.locator("#head-explanation details:has(> summary:text-is('Faithfulness'))")
    assert panel.locator("dd").all_inner_texts() == ["0.4%", "+0.031", "0.71", "JSD 0.05", "JSD 0.30"]
    text = panel.inner_text()
    assert "its weights do not explain this output" in text and "decoder.0.cross.1, nearly the same" in text
    page.keyboard.press(".")
    settle(page)
    assert "Permuting this head's weights changes the output." in panel.inner_text()


def test_measures_that_disagree_are_named_and_each_says_what_it_is_not(visit):
    page = visit("#kind=cross")
    table = page.locator("#head-explanation details", has_text="Do the measures agree?")
    assert table.locator("thead th").all_inner_texts() == ["weights", "norms", "rollout", "flow"]  # no gradient there
    assert "Lowest: norms and flow, 0.25." in table.inner_text()
    meaning = page.locator("#head-explanation details", has_text="What each measure shows")
    assert meaning.get_attribute("open") is None
    meaning.locator("summary").click()
    assert meaning.locator("dt").all_inner_texts()[:2] == ["Attention weight", "Difference from step 400"]
    assert "It does not show that the output depends on the key" in meaning.inner_text()


def test_terms_add_up_to_the_score(visit):
    page = visit("#kind=encoder&heads=1.3&q=4&k=6")
    bars = page.locator("#cell-explanation details", has_text="Terms of the score").locator(".number").all_inner_texts()
    numbers = [float(text.replace("−", "-")) for text in bars]
    assert len(numbers) == 7
    assert sum(numbers[:6]) == pytest.approx(numbers[6], abs=6 * 0.0005 + 0.0005)
    assert numbers[6] == pytest.approx(DATA.kinds["encoder"].scores[1][3, 4, 6], abs=0.00051)


@pytest.fixture(scope="module")
def partly_known(tmp_path_factory) -> Path:
    """A page whose corpus reaches ten positions of the source in all layers but the first."""
    path = tmp_path_factory.mktemp("look") / "partly.html"
    return write_look(path, with_unknown_positions(look_data(), "encoder", 10, 10))


def saved_svg(page, path: Path) -> ElementTree.Element:
    with page.expect_download() as coming:
        page.locator("#svg").click()
    coming.value.save_as(path)
    return ElementTree.parse(path).getroot()


def texts_of(svg: ElementTree.Element) -> list[str | None]:
    return [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]


def hatches(svg: ElementTree.Element) -> int:
    """Paths of straight lines; curves have a C."""
    return sum("L" in element.get("d") for element in svg.iter("{http://www.w3.org/2000/svg}path"))


def test_unknown_terms_are_hatched_counted_and_never_a_number(visit, partly_known, tmp_path):
    address = "#kind=encoder&heads={}&view=heat&measure=term3&q=12&k=3"
    page = visit(address.format("1.2"), path=partly_known)
    assert now(page) == "–"
    assert "unknown: too few sentences of the corpus reach this position" in page.locator("#now").inner_text()
    counted = (
        "unknown, and not counted: 4 of 14 queries and 4 of 14 keys; too few sentences of the corpus are that long"
    )
    assert counted in page.locator("#measure-help").inner_text()
    explained = page.locator("#cell-explanation details", has_text="Terms of the score").inner_text()
    assert (
        "terms of this score are unknown" in explained and counted in explained and "content·content\n" not in explained
    )
    picture = saved_svg(page, tmp_path / "unknown.svg")
    assert "unknown" in texts_of(picture) and hatches(picture) == 10 + 4 + 1  # the ends of 10 rows, 4 rows, the legend
    first_layer = saved_svg(visit(address.format("0.2"), path=partly_known), tmp_path / "known.svg")
    assert "unknown" not in texts_of(first_layer) and not hatches(first_layer)


def colors_of_thumbnail(page, head: str) -> set[str]:
    """Of the last row of pixels, where no cell is masked."""
    script = """(canvas) => {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, height - 1, width, 1);
        return Array.from({ length: width }, (_, i) => data.slice(4 * i, 4 * i + 4).join());
    }"""
    return set(page.locator(f'#map button[data-head="{head}"] canvas').evaluate(script))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_a_layer_that_was_not_measured_is_hatched_as_all_that_is_unknown(visit, tmp_path, kind):
    path = write_look(tmp_path / "unmeasured.html", with_unmeasured_layers(look_data(), kind))
    address = f"#kind={kind}&heads={{}}&view=heat&measure=term3&q=12&k=3"
    page = visit(address.format("2.1"), path=path)
    assert now(page) == "–" and "unknown: this layer needs a corpus" in page.locator("#now").inner_text()
    assert "Hatched: unknown: this layer needs a corpus." in page.locator("#measure-help").inner_text()
    explained = page.locator("#cell-explanation details", has_text="Terms of the score").inner_text()
    assert explained.count("unknown: this layer needs a corpus") == 1
    picture = saved_svg(page, tmp_path / "unmeasured.svg")
    num_rows = len(DATA.sides[DATA.kinds[kind].rows].tokens)
    assert "unknown" in texts_of(picture) and hatches(picture) == num_rows + 1  # each row, the legend
    assert len(colors_of_thumbnail(page, "2.3")) > 1, "hatched on the map too"
    first_layer = visit(address.format("0.1"), path=path)
    assert "Hatched" not in first_layer.locator("#measure-help").inner_text()
    assert not hatches(saved_svg(first_layer, tmp_path / "measured.svg"))


def test_a_word_with_an_unknown_token_is_unknown(visit, tmp_path):
    """Of the word of the tokens 8 to 10 the first two are known: their mean is not that of the word."""
    path = write_look(tmp_path / "half.html", with_unknown_positions(look_data(), "encoder", 10, 14))
    page = visit("#kind=encoder&heads=1.2&view=table&measure=term0&words=1", path=path)
    rows = page.locator("#matrix-table tbody tr").all()
    known = {row.locator("th").inner_text(): row.locator("td").first.inner_text() != "–" for row in rows}
    assert known == {
        "I": True, "love": True, "dogs": True, ",": True, "but": True, "cats": True, "don't": False, "care": False,
        ".": False, "</s>": False,
    }  # fmt: skip


@pytest.mark.parametrize("measure", ["rollout", "above_chance", "flow"])
def test_what_belongs_to_all_heads_carries_the_name_of_none(visit, tmp_path, measure):
    page = visit(f"#kind=encoder&heads=0.1,2.2&view=heat&measure={measure}")
    assert page.locator("#head-title").inner_text().strip() == "Encoder · all layers, all heads"
    texts = texts_of(saved_svg(page, tmp_path / "shared.svg"))
    assert texts.count("all layers, all heads") == 1 and "L2 · H2" not in texts
    assert any(text.startswith("Encoder · all layers, all heads: ") for text in texts)
    page.keyboard.press("t")
    settle(page)
    assert page.locator("#matrix-table caption").inner_text().startswith("Encoder · all layers, all heads: ")


def test_costs_of_all_heads_of_a_kind_are_drawn_on_one_axis(visit):
    heads = [head for layer in DATA.kinds["encoder"].heads for head in layer]
    widest = max(abs(end) for head in heads for end in (head.cost, head.cost_low, head.cost_high))
    page = visit("#kind=encoder")
    for head in heads[:3]:
        page.locator(f"#map button[data-head='{head.layer}.{head.head}']").click()
        settle(page)
        low, zero, high = (
            float(text.replace("−", "-")) for text in page.locator("svg.interval text").all_text_contents()
        )
        assert -low == high >= widest and zero == 0
        dot = float(page.locator("svg.interval circle").get_attribute("cx"))
        assert dot == pytest.approx(110 + 100 * head.cost / high, abs=0.01)


def test_bars_of_every_row_have_the_scale_of_the_measure(visit):
    """A row whose largest weight is small has short bars."""
    weights = DATA.kinds["cross"].weights[0][1]
    for row in (int(weights.max(axis=1).argmin()), int(weights.max(axis=1).argmax())):
        bars = visit(f"#kind=cross&heads=0.1&q={row}").locator("#cell-explanation ol").first
        width = float(bars.locator(".bar").first.get_attribute("style").split("width: ")[1].split("%")[0])
        assert width == pytest.approx(100 * weights[row].max(), abs=0.1)
        assert bars.locator(".ends span").all_inner_texts() == ["0", "1"]


def test_a_head_that_was_trained_to_align_says_so_and_names_the_best_that_was_not(visit, tmp_path):
    data = with_trained_aligner(look_data(), 0, 1, "decoder.2.cross.3")
    page = visit("#kind=cross&heads=0.1", path=write_look(tmp_path / "trained.html", data))
    assert page.locator("#map .badge.trained").all_inner_texts() == ["T"]
    assert page.locator("#map button[data-head='0.1']").get_attribute("aria-label").endswith(", trained to align")
    assert page.locator("#head-title").inner_text().startswith("Cross · layer 0 · head 1 trained to align; ")
    panel = page.locator("#head-explanation details", has_text="This head").first
    assert panel.locator(".badge.trained").inner_text() == "trained to align"
    assert "The best alignment head that was not trained to align is decoder.2.cross.3, AER 0.31." in panel.inner_text()
    page.keyboard.press(".")
    settle(page)
    assert "trained to align" not in panel.inner_text()
    assert visit("#kind=cross").locator("#trained-note").is_hidden()


def test_the_browser_itself_refuses_any_request(visit, said):
    page = visit()
    answer = page.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'asked', () => 'refused')")
    assert answer == "refused"
    assert any("Content Security Policy" in line for line in said)
    said.clear()


def words_of(side: str) -> list[list[int]]:
    groups: list[list[int]] = []
    word_ids = DATA.sides[side].word_ids
    for i, word in enumerate(word_ids):
        if word >= 0 and i and word == word_ids[i - 1]:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def table(page) -> np.ndarray:
    rows = page.locator("#matrix-table tbody tr").all()
    return np.array([[float(text) for text in row.locator("td").all_inner_texts()] for row in rows])


def test_words_are_means_of_rows_and_sums_of_columns(visit):
    page = visit("#kind=cross&heads=2.1&view=table&words=1")
    weights = DATA.kinds["cross"].weights[2][1]
    rows, columns = words_of("target"), words_of("source")
    expected = np.array([[weights[np.ix_(r, c)].sum() / len(r) for c in columns] for r in rows])
    found = table(page)
    assert found.shape == expected.shape == (11, 10)
    assert np.abs(found - expected).max() < 0.00055
    assert found.sum(axis=1) == pytest.approx(1, abs=0.0005 * len(columns))
    page.keyboard.press("h")
    page.keyboard.press("ArrowDown")
    settle(page)
    assert "row sum 1.000" in page.locator("#now").inner_text()


def test_the_table_has_the_same_numbers(visit):
    page = visit("#kind=encoder&heads=0.2&view=table")
    assert np.abs(table(page) - DATA.kinds["encoder"].weights[0][2]).max() < 0.00051
    assert page.locator("#matrix-table caption").inner_text().startswith("Encoder · layer 0 · head 2: Attention weight")
    assert page.locator("#matrix-table thead th").count() == 14


def test_marks_can_be_hidden_and_what_goes_to_them_is_told(visit):
    page = visit("#kind=encoder&heads=0.2&view=table&specialTokens=0")
    weights = DATA.kinds["encoder"].weights[0][2]
    assert table(page).shape == (13, 13)
    page.keyboard.press("h")
    for _ in range(13):
        page.keyboard.press("ArrowDown")
    settle(page)
    assert f"{weights[12, 13]:.3f} on hidden tokens" in page.locator("#now").inner_text()


def test_the_address_brings_everything_back(visit):
    page = visit()
    for key in ["1", "]", ".", "h", "m", "w", "s", "r", "o", "d", "ArrowDown", "ArrowRight", "p", "c"]:
        page.keyboard.press(key)
    page.locator("#now output", has_not_text="–").first.wait_for()  # numbers are unpacked when they are first wanted
    settle(page)
    before = (page.url, page.locator("#readout").inner_text(), page.locator("#head-title").inner_text())
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector(DRAWN)
    page.locator("#now output", has_not_text="–").first.wait_for()
    settle(page)
    assert (page.url, page.locator("#readout").inner_text(), page.locator("#head-title").inner_text()) == before
    assert all(
        part in page.url for part in ("kind=encoder", "view=heat", "measure=difference", "words=1", "theme=dark")
    )


def test_roles_go_back_and_forth_through_training(visit):
    """The first head had no role at step 100, and looked at the token before from step 200 on."""
    page = visit("#kind=encoder")
    badge, when = page.locator("#map button").first.locator(".badge"), page.locator("#history-label")
    now_ = badge.inner_text()
    assert when.inner_text() == "now" and "past" not in (page.locator("#map").get_attribute("class") or "")
    page.keyboard.press("{")
    settle(page)
    assert (when.inner_text(), badge.inner_text()) == ("at step 800", "P")
    page.locator("#history-step").fill("0")
    settle(page)
    assert when.inner_text() == "at step 100" and badge.is_hidden() and "historyIndex=0" in page.url
    assert page.locator("#map button").first.get_attribute("aria-label").endswith("no reliable role")
    for _ in range(6):
        page.keyboard.press("}")
    settle(page)
    assert (when.inner_text(), badge.inner_text()) == ("now", now_) and "historyIndex" not in page.url
    assert visit("#historyIndex=99").locator("#history-label").inner_text() == "now"


def test_what_depth_alone_would_show_is_told_beside_the_rollout(visit):
    page = visit("#kind=encoder&heads=0.2&q=3")
    note = "Two rows differ by 0.31 on average (total variation); with permuted weights by 0.12."
    assert note in page.locator("#cell-explanation").inner_text()
    assert "with permuted weights" not in visit("#kind=cross&q=3").locator("#cell-explanation").inner_text()


@pytest.mark.parametrize(
    ("measure", "key"),
    [("output_share", "output_share"), ("reference", "reference_weights"), ("difference", "weight_difference")],
)
def test_measures_of_heads_read_as_their_arrays(visit, measure, key):
    array = getattr(DATA.kinds["encoder"], key)[1][2]
    row, column = np.unravel_index(np.abs(array).argmax(), array.shape)
    page = visit(f"#kind=encoder&heads=1.2&view=heat&measure={measure}&q={row}&k={column}")
    assert now(page).replace("+", "") == telling(array[row, column])
    assert page.locator("#measure option:checked").inner_text() in (
        "Share of the output", "Weight: step 400", "Difference from step 400",
    )  # fmt: skip


def test_a_head_that_the_other_model_lacks_is_said_to_be_lacking(visit, tmp_path):
    data = look_data()
    for layers in (data.kinds["encoder"].reference_weights, data.kinds["encoder"].weight_difference):
        layers[1][2] = np.nan
    write_look(tmp_path / "lacking.html", data)
    for address in ("q=3&k=2", "q=3", "q=3&words=1"):
        page = visit(f"#kind=encoder&heads=1.2&view=heat&measure=difference&{address}", path=tmp_path / "lacking.html")
        text = page.locator("#now").inner_text()
        assert "step 400 has no such head" in text and "row sum" not in text and "masked" not in text


def test_a_page_without_a_corpus_says_that_roles_of_now_are_not_known(visit, tmp_path):
    write_look(tmp_path / "unmeasured.html", unmeasured(look_data()))
    page = visit("#kind=encoder", path=tmp_path / "unmeasured.html")
    assert page.locator("#history-label").inner_text() == "now, not measured"
    assert page.locator("#map button").first.get_attribute("aria-label").endswith("not measured")
    page.locator("#history-step").focus()
    page.keyboard.press("{")  # also where the slider has the focus
    settle(page)
    assert page.locator("#history-label").inner_text() == "at step 800"
    assert page.locator("#history-step").get_attribute("aria-valuetext") == "at step 800"
    page.keyboard.press("Escape")
    settle(page)
    assert page.locator("#history-label").inner_text() == "now, not measured"


def test_a_wrong_address_gives_way(visit):
    page = visit("#kind=nowhere&heads=99.99,x&view=upside&measure=luck&q=9999&k=-1&pins=a.b,999.1&order=no&theme=loud")
    assert page.locator("#map [aria-pressed=true]").count() == 1
    assert page.locator("#readout .pin").count() == 0


@pytest.mark.parametrize("view", ["lines", "heat", "both"])
def test_svg_is_well_formed_and_shows_the_tokens(visit, tmp_path, view):
    page = visit(f"#kind=cross&heads=0.1,2.2&view={view}&q=4&pins=4.3")
    with page.expect_download() as coming:
        page.locator("#svg").click()
    coming.value.save_as(tmp_path / "figure.svg")
    assert coming.value.suggested_filename == "decoder.2.cross.2.weight.svg"
    root = ElementTree.parse(tmp_path / "figure.svg").getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"love", "mais", "</s>", "L0 · H1", "L2 · H2"} <= set(texts)


def test_png_is_a_picture(visit, tmp_path):
    page = visit("#kind=cross&heads=0.1")
    with page.expect_download() as coming:
        page.keyboard.press("i")
    coming.value.save_as(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def ground(page) -> list[int]:
    color = page.evaluate("getComputedStyle(document.querySelector('.center')).backgroundColor")
    return [int(part) for part in re.findall(r"\d+", color)][:3]


def test_dark_follows_the_system_and_the_button(visit):
    page = visit(color_scheme="dark")
    assert max(ground(page)) < 60
    page.locator("#theme").click()
    settle(page)
    assert min(ground(page)) > 200
    page.keyboard.press("d")
    settle(page)
    assert max(ground(page)) < 60


def test_four_hundred_percent_zoom_loses_nothing(visit):
    # 1280 x 1024 at 400 %: a window of 320 x 256 with four pixels to each of its own.
    page = visit("#kind=cross&heads=0.1&view=heat", viewport={"width": 320, "height": 256}, device_scale_factor=4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for place in ("#map", "#readout", "#picture", "#head-explanation"):
        page.locator(place).scroll_into_view_if_needed()
        assert page.locator(place).is_visible()
    assert page.evaluate("picture.width / picture.clientWidth") == pytest.approx(4, abs=0.05)
    page.locator("#picture").hover(position=cell(page, 2, 1))
    settle(page)
    assert now(page) == telling(DATA.kinds["cross"].weights[0][1, 2, 1])


def test_it_prints(visit):
    page = visit("#theme=dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert min(ground(page)) > 200
    assert not page.locator(".controls").is_visible()
    assert page.locator("#picture").is_visible()


def test_pruned_heads_are_hatched_and_the_others_keep_their_numbers(visit, tmp_path):
    data = prune(look_data(), "encoder", 1, 2)
    row = data.kinds["encoder"].weights[1][2, 2]
    path = write_look(tmp_path / "pruned.html", data)
    page = visit(f"#kind=encoder&heads=1.3&view=heat&q=2&k={row.argmax()}", path=path)
    assert (page.locator("#map button").count(), page.locator("#map .pruned").count()) == (11, 1)
    assert now(page) == telling(row.max())


def test_a_page_of_an_unmeasured_encoder_works(visit, tmp_path):
    """What may be missing is missing: other kinds, terms, gradients, a reference, a corpus, a history."""
    data = with_kind(unmeasured(look_data()), "encoder", gradient=None, reference_weights=None, weight_difference=None)
    terms = replace(data.kinds["encoder"].terms, **dict.fromkeys(("values", "shares", "known_positions"), [None] * 3))
    data = with_kind(data, "encoder", terms=terms)
    agreement = replace(data.flow.agreement, correlation=np.full((5, 5), np.nan))
    flow = replace(data.flow, source=None, target=None, source_share=None, max_flow=None, agreement=agreement)
    data = replace(data, kinds={"encoder": data.kinds["encoder"]}, flow=flow, reference=None, history=[], caveats=[])
    page = visit("#q=3&k=2", path=write_look(tmp_path / "few.html", data))
    assert page.locator("#map button").count() == 12
    assert now(page) == telling(data.kinds["encoder"].weights[0][0, 3, 2])


def test_the_largest_page_is_small_and_says_what_it_keeps(visit, tmp_path):
    tokens = [f"▁w{i}" for i in range(127)] + ["</s>"]
    data = look_data(6, 8, tokens, tokens)
    path = write_look(tmp_path / "large.html", data)
    assert path.stat().st_size < 5_000_000
    row = data.kinds["decoder"].weights[5][7, 100]
    page = visit(f"#kind=decoder&heads=5.7&view=heat&q=100&k={row.argmax()}", path=path)
    assert page.locator("#map button").count() == 48
    assert now(page) == telling(row.max())
    assert "keeps only" in page.locator("#head-explanation").inner_text()


@pytest.fixture
def four_keys(tmp_path, monkeypatch) -> Path:
    """A page that keeps four keys of each row."""
    monkeypatch.setattr("regard.report.look.size_budget.QUALITY_LADDER", ((1, 4),))
    return write_look(tmp_path / "four.html", DATA)


@pytest.mark.parametrize(
    ("kind", "measure", "key"),
    [("decoder", "weight", "weights"), ("cross", "norm", "norms"), ("decoder", "score", "scores")],
)
def test_the_mean_of_a_key_counts_what_the_page_does_not_keep(visit, four_keys, tmp_path, kind, measure, key):
    """The mean of all cells where it is stored; else a lower bound; where cells may be negative, no number."""
    matrix, column = getattr(DATA.kinds[kind], key)[1][3], 5
    kept = np.sort(DATA.kinds[kind].weights[1][3], axis=-1)[:, -4, None] <= DATA.kinds[kind].weights[1][3]
    assert not kept[:, column].all()
    address = f"#kind={kind}&heads=1.3&view=lines&measure={measure}&k={column}"
    page = visit(address, path=four_keys)
    assert "keeps 4 keys of each row" in page.locator("#measure-help").inner_text()
    page.wait_for_selector('#now output:not(:text("–"))')
    assert now(page) == telling(np.nanmean(matrix[:, column]))
    hidden = DATA.sides[DATA.kinds[kind].rows].special_tokens_mask
    shown = np.where(kept, matrix, 0)[~np.array(hidden), column]
    without_special = visit(f"{address}&specialTokens=0", path=four_keys)
    assert now(without_special) == ("–" if measure == "score" else f"≥ {formatted(shown.mean())}")


@pytest.mark.parametrize(("switch", "has_bounds"), [("", False), ("&specialTokens=0", True), ("&words=1", True)])
def test_means_beside_the_keys_are_exact_or_lower_bounds(visit, four_keys, tmp_path, switch, has_bounds):
    page = visit(f"#kind=encoder&heads=1.3&view=lines{switch}", path=four_keys)
    texts = texts_of(saved_svg(page, tmp_path / "means.svg"))
    numbers = [text for text in texts if re.fullmatch(r"(≥ )?\d\.\d{3}", text)]
    means = [f"{mean:.3f}" for mean in DATA.kinds["encoder"].weights[1][3].mean(axis=0)]
    assert all(number.startswith("≥ ") for number in numbers) if has_bounds else numbers == means


def test_what_is_summed_over_stored_keys_says_so(visit, four_keys):
    page = visit("#kind=encoder&heads=1.3&view=heat&q=4", path=four_keys)
    row = np.sort(DATA.kinds["encoder"].weights[1][3, 4])[-4:]
    assert f"stored row sum {formatted(row.sum())}" in page.locator("#now").inner_text()
    strongest_key = int(DATA.kinds["encoder"].weights[1][3, 2].argmax())  # of the first token of a word of two
    page = visit(f"#kind=encoder&heads=1.3&view=heat&words=1&q=2&k={strongest_key}", path=four_keys)
    assert re.search(r"\dst of \d+ stored keys", page.locator("#now").inner_text())


def test_evidence_shows_the_text_of_its_sentence(visit):
    cards = visit("#kind=cross&heads=0.0").locator("#head-explanation .card")
    assert [card.locator(".note").inner_text() for card in cards.all()] == [
        f"{rank} words of a text" for rank in ("best", "median", "worst")
    ]


def test_words_that_a_token_covers_together_are_one_row(visit, tmp_path):
    side = DATA.sides["target"]
    groups = [max(0, word - 1) for word in range(len(side.words))]
    path = write_look(
        tmp_path / "joined.html", replace(DATA, sides={**DATA.sides, "target": replace(side, word_groups=groups)})
    )
    rows = visit("#kind=cross&heads=2.1&view=table&words=1", path=path).locator("#matrix-table tbody th")
    assert rows.all_inner_texts() == ["".join(side.words[:2]), *side.words[2:], "</s>"]
