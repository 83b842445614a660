"""The page of the labs in a real browser: it reads without its script, answers, slides, and fits a telephone."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from regard.errors import LabError
from regard.labs.suite import page as pages
from regard.labs.suite.measurement import LabOutcome
from regard.labs.suite.page import MAX_BYTES, LabPage, render_labs_page
from regard.labs.suite.suite import SuiteResult
from regard.report.page import write_page

PREDICTIONS = {"twice": (3.0, 5.0, 6.0, 6.0, 8.5)}


@pytest.fixture(scope="module")
def html(suite) -> str:
    return render_labs_page(suite, LabPage("Labs & claims", PREDICTIONS, ("Seeds: 5", "CPU: <fast>")))


@pytest.fixture(scope="module")
def file(html, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "labs.html"
    write_page(path, html)
    return path


@pytest.fixture
def visit(opened, file):
    def open_page(address: str = "", **settings):
        page = opened(file, address, **settings)
        page.wait_for_selector("body[data-ready]")
        return page

    return open_page


def lab(page, name: str):
    return page.locator(f"article[id='own.{name}']")


def test_the_table_has_every_lab_with_word_and_sign_and_leads_to_it(visit):
    page = visit()
    rows = page.locator(".verdicts tbody tr")
    badges = [" ".join(text.split()) for text in rows.locator(".badge").all_inner_texts()]
    assert badges == ["! failed", "! failed", "! failed", "◐ holds partly", "? undecided", "✓ holds", "✓ holds"]
    rows.nth(3).locator("a").click()
    assert page.url.endswith("#own.small")
    assert page.locator("article:target h3").inner_text() == "Small"
    assert page.locator("h1").inner_text() == "Labs & claims"


def test_a_lab_has_all_of_its_parts_in_order(visit):
    text = lab(visit(), "twice").inner_text()
    parts = [
        "Twice <Twice> & more is at least 5.",
        "a test",
        "How much is twice it?",
        "5 predictions: twice it",
        "SIZE",
        "✓ holds",
        "6",
        "at least 5",
        "Needed: SIZE: 3 in the worst seed, at least 1 is needed.",
        "Here: SIZE = 3; 5 seeds.",
        "Change next. SIZE=2: is it less?",
        "The code",
        "regard lab",
    ]
    for part in parts:
        _, found, text = text.partition(part)
        assert found, f"{part} does not follow"


def test_a_failed_lab_says_why(visit):
    text = lab(visit(), "raises").inner_text()
    assert "ZeroDivisionError in line 16" in text and "failed" in text


@pytest.mark.parametrize(("answer", "shown"), [("0.3", "0.3"), ("30%", "0.3"), ("0,3", "0.3")])
def test_an_answer_is_compared_with_the_measurement(visit, answer, shown):
    twice = lab(visit(), "twice")
    twice.locator(".predict input").fill(answer)
    twice.locator(".predict input").press("Enter")
    assert twice.locator(".predict output").inner_text() == f"You predicted {shown}, measured 6."
    twice.locator(".predict input").fill("much")
    twice.locator(".predict button").click()
    assert twice.locator(".predict output").inner_text() == "Please type a number."


def test_the_slider_shows_another_measurement_by_keyboard(visit):
    page = visit()
    twice = lab(page, "twice")
    assert twice.locator(".variant:visible").count() == 1
    assert twice.locator(".variant:visible .result").inner_text().split()[-1] == "holds"
    slider = twice.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert twice.locator(".turn output").inner_text() == "2" == slider.get_attribute("aria-valuetext")
    assert "partly" in twice.locator(".variant:visible .result").inner_text()
    assert twice.locator(".variant:visible svg").count() == 1
    page.keyboard.press("End")
    assert twice.locator(".turn output").inner_text() == "11"
    assert "22" in twice.locator(".variant:visible table").inner_text()
    assert lab(page, "small").locator("input[type=range]").count() == 0  # it has no TURN


def test_results_are_hidden_until_they_are_predicted_where_that_is_wanted(visit):
    page = visit()
    assert lab(page, "twice").locator(".plot").first.is_visible()
    page.locator("#predict-first").check()
    assert not lab(page, "twice").locator(".plot").first.is_visible() and not page.locator(".verdicts").is_visible()
    lab(page, "twice").locator(".predict input").fill("7")
    lab(page, "twice").locator(".predict button").click()
    assert lab(page, "twice").locator(".plot").first.is_visible()
    assert not lab(page, "small").locator(".plot").first.is_visible()
    page.locator("#predict-first").uncheck()
    assert lab(page, "small").locator(".plot").first.is_visible()


def test_it_reads_without_its_script(opened, file):
    page = opened(file, java_script_enabled=False)
    assert lab(page, "twice").locator(".plot").first.is_visible() and page.locator(".verdicts").is_visible()
    assert lab(page, "twice").locator(".variant:visible").count() == 1
    assert page.locator("input:visible").count() == 0  # nothing that would do nothing


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
def test_it_fits(visit, width, scheme):
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    narrow = page.locator("article td:visible").evaluate_all("cells => cells.filter((c) => c.clientWidth < 60).length")
    assert narrow == 0


def test_every_control_has_a_name_and_is_reached_by_tab(visit):
    page = visit()
    names = page.locator("input, button, summary, [tabindex]").evaluate_all(
        "all => all.map((e) => (e.labels?.[0]?.innerText || e.getAttribute('aria-label') || e.innerText).trim())"
    )
    assert len(names) > 20 and all(names)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"predict-first", "A", "own.small-prediction", "BUTTON", "SUMMARY"} <= reached


def test_it_makes_no_request_and_ids_are_used_once(html):
    assert not re.findall(r'(?:src|href)="(?!#)', html) and "http-equiv" in html
    assert "default-src 'none'" in html and "connect-src" not in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert "<Twice>" not in html and "CPU: <fast>" not in html  # what labs say is text


def test_a_page_that_would_be_too_large_is_refused(suite, monkeypatch):
    monkeypatch.setattr(pages, "MAX_BYTES", 10_000)
    with pytest.raises(LabError, match=r"the page would have 0\.\d MB, .* choose fewer themes"):
        render_labs_page(suite, LabPage())


def test_fifty_labs_with_five_pictures_each_fit(suite, tmp_path):
    def copy(outcome: LabOutcome, number: int) -> LabOutcome:
        path = tmp_path / f"lab{number}.py"
        path.write_text(outcome.header.path.read_text(encoding="utf-8"), encoding="utf-8")
        pictures = {str(n): outcome.measurement for n in range(5)}
        return replace(outcome, header=replace(outcome.header, path=path), turned=pictures, default="3")

    best = next(one for one in suite.outcomes if one.turned)
    outcomes = tuple(copy(best, number) for number in range(50))
    theme = replace(suite.themes[0], labs=tuple(one.header for one in outcomes))
    page = render_labs_page(SuiteResult((theme,), outcomes, suite.options), LabPage())
    assert 250 * 0.5 * len(best.measurement.svg) < len(page) < MAX_BYTES
