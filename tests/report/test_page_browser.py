"""The page in a real browser: values are read out, tables sort and filter, switches turn, and text is text."""

from pathlib import Path

import pytest

from regard.report import (
    Figure,
    Folded,
    Headline,
    ItemList,
    Paragraph,
    Section,
    Switch,
    Table,
    TableView,
    TranslationCard,
    TranslationCards,
    bar_chart,
    line_chart,
    render_page,
    write_page,
)

HOSTILE = "<script>document.title='hacked'</script>\u2028\u202etxet\u202c<img src=x onerror=alert(1)>" + "x" * 4000
CURVE = Table({"step": [1, 2, 3], "loss": [3.0, 2.0, 1.5], "set": ["train"] * 3})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chart = line_chart(CURVE, "step", "loss", "set", title="Loss", x_title="step", y_title="nats")
    other = bar_chart(Table({"n": ["a"], "v": [7.0]}), "n", "v", title="Bars", x_title="n", y_title="score")
    names, links = ["set 1", "set 10", "set 2", "set 3"], ["a%20b/report.html", "", "", ""]
    trials = Table({"trial": names, "layers": [2, 6, None, 4], "BLEU": ["9.50 ± 1", "10.2", "8", "–"]})
    switch = Switch("unit", "By", {"steps": [Figure(other)], "time": [Paragraph("minutes")]})
    sections = [
        Section("Charts", [Figure(chart), switch]),
        Section("Trials", [TableView(trials, "Trials", interactive=True, links={"trial": links})]),
        Section(HOSTILE, [Paragraph(HOSTILE), ItemList([HOSTILE], "alarms"), Folded(HOSTILE, [Paragraph(HOSTILE)]),
                          TableView(Table({HOSTILE: [HOSTILE, "b"]}), HOSTILE, interactive=True),
                          TranslationCards([TranslationCard(HOSTILE, HOSTILE, "a " + HOSTILE, HOSTILE)], marked=True)]),
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, render_page("Title", "Subtitle", sections, headline=Headline(HOSTILE, "bad")))
    return path


@pytest.fixture
def visit(opened, file):
    def open_page(**settings):
        page = opened(file, **settings)
        page.wait_for_selector("body[data-ready]")
        return page

    return open_page


def trials_of(page) -> list[str]:
    return page.locator("table").first.locator("tbody tr:visible td:first-child").all_inner_texts()


def scroll_to_chart(page) -> None:
    """The scrolling, which hides what is read out, is over afterwards."""
    page.locator(".plot").first.scroll_into_view_if_needed()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_a_pointer_a_finger_and_keys_read_values_out(visit):
    page = visit(viewport={"width": 1100, "height": 900})
    scroll_to_chart(page)
    box = page.locator(".plot svg").first.bounding_box()
    page.mouse.move(box["x"] + 58 + 330, box["y"] + 150)
    assert page.locator(".readout").inner_text().split("\n") == ["nats · step 2", "train 2"]
    page.mouse.move(2, 2)
    assert not page.locator(".readout").is_visible()
    page.locator(".plot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "step 3" in page.locator(".readout").inner_text() and "1.5" in page.locator(".readout").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator(".readout").is_visible()
    phone = visit(viewport={"width": 390, "height": 844}, has_touch=True)
    scroll_to_chart(phone)
    box = phone.locator(".plot svg").first.bounding_box()
    phone.touchscreen.tap(box["x"] + 58, box["y"] + 120)
    assert phone.locator(".readout").inner_text().startswith("nats · step 1")


def test_a_table_sorts_by_keys_and_filters_by_words_and_numbers(visit):
    page = visit()
    layers = page.locator("th button", has_text="layers").first
    layers.focus()
    page.keyboard.press("Enter")
    assert trials_of(page) == ["set 1", "set 3", "set 10", "set 2"]  # what is missing comes last
    page.keyboard.press("Enter")
    assert trials_of(page) == ["set 10", "set 3", "set 1", "set 2"]
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("layers")
    page.locator("th button", has_text="trial").first.click()
    assert trials_of(page) == ["set 1", "set 2", "set 3", "set 10"]
    page.locator("th button", has_text="BLEU").first.click()
    assert trials_of(page) == ["set 2", "set 1", "set 10", "set 3"]
    page.locator(".filter input").first.fill("layers>=4")
    assert trials_of(page) == ["set 10", "set 3"]
    assert page.locator(".filter output").first.inner_text() == "2 of 4 rows"
    page.locator(".filter input").first.fill("SET 1")
    assert trials_of(page) == ["set 1", "set 10"]
    assert page.locator("table a").first.get_attribute("href") == "a%20b/report.html"


def test_a_switch_shows_one_variant(visit):
    page = visit()
    assert page.locator(".switch .plot").is_visible() and not page.get_by_text("minutes").is_visible()
    page.get_by_role("radio", name="time").check()
    assert page.get_by_text("minutes").is_visible() and not page.locator(".switch .plot").is_visible()


def test_charts_are_dark_on_a_dark_page_and_white_in_print(visit):
    page = visit(color_scheme="dark")
    color = "element => getComputedStyle(element).fill"
    ink = page.locator('.plot svg [fill="#1f2328"]').first
    assert ink.evaluate(color) == "rgb(230, 233, 236)"
    assert page.locator(".plot svg > rect").first.evaluate(color) == "none"
    page.emulate_media(media="print")
    assert ink.evaluate(color) == "rgb(31, 35, 40)"


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_hostile_text_is_text_and_fits(visit, width: int, scheme: str):
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert page.title() == "Title" and page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "<script>document.title" in page.locator(".headline").inner_text()


def test_it_reads_without_its_script(opened, file):
    page = opened(file, java_script_enabled=False)
    assert page.locator(".plot").first.is_visible() and page.locator("table").first.is_visible()
    assert page.locator("input:visible, button:visible").count() == 0
