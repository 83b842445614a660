"""The site is built without a warning, works from a folder, and asks the network for nothing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import GENERATED, PAGES, ROOT, name_of, prose

RESOURCES = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "use": "href"}
OUTSIDE = re.compile(r"(?:https?:)?//")


class Resources(HTMLParser):
    """What a page loads, and what it links to."""

    def __init__(self, page: Path):
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {values["id"]} if values.get("id") else set()
        if tag in RESOURCES and values.get("rel") != "canonical":
            self.loaded.append(values.get(RESOURCES[tag]) or "")
        if tag == "a":
            self.linked.append(values.get("href") or "")


def test_no_page_loads_anything_from_elsewhere(site: Path):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        loaded = [address for address in Resources(page).loaded if OUTSIDE.match(address)]
        assert loaded == [], f"{page.relative_to(site)}: {loaded}"
    for style in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", style.read_text(encoding="utf-8")), (
            style
        )


def test_a_resource_from_elsewhere_is_seen(tmp_path: Path):
    page = tmp_path / "planted.html"
    page.write_text(
        '<link rel="stylesheet" href="https://fonts.example/css"><script src="//cdn.example/x.js"></script>'
    )
    assert [address for address in Resources(page).loaded if OUTSIDE.match(address)] == [
        "https://fonts.example/css",
        "//cdn.example/x.js",
    ]


def test_the_reference_is_written_from_the_code(site: Path):
    settings, commands, api = (site / name.removeprefix("docs/").replace(".md", ".html") for name in GENERATED)
    assert "model.positions.partial_rotary_factor" in settings.read_text(encoding="utf-8")
    assert "--finetune-steps" in commands.read_text(encoding="utf-8")
    assert {"train", "load", "trainedrun", "trainedrun-load"} <= Resources(api).anchors
    assert not [name for name in GENERATED if (ROOT / name).exists()]


def test_every_link_between_pages_leads_somewhere(site: Path):
    anchors = {page: Resources(page).anchors for page in site.rglob("*.html")}
    for page in anchors:
        for address in Resources(page).linked:
            path, _, anchor = address.partition("#")
            if OUTSIDE.match(address) or path.startswith("mailto:") or page.name == "404.html":
                continue
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.relative_to(site)}: {address}"
            if anchor and target.suffix == ".html" and not anchor.startswith("__"):
                assert anchor in anchors[target], f"{page.relative_to(site)}: {address}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_document_names_is_there(page: Path):
    for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", prose(page)):
        path = (page.parent / target).resolve()
        assert path.exists() or path.relative_to(ROOT).as_posix() in GENERATED, f"{name_of(page)}: {target}"


def test_every_page_that_the_program_names_is_there():
    paths = list((ROOT / "regard").rglob("*.py"))
    named = {
        (path.name, name) for path in paths for name in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [(file, name) for file, name in named if not (ROOT / name).exists()] == []


def test_search_finds_a_word_in_a_browser_without_a_network(site: Path, opened: Any):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("faithfulness" in entry["text"].lower() for entry in index["docs"])
    page = opened(site / "index.html", viewport={"width": 1200, "height": 800})
    page.click(".md-search__input")
    page.keyboard.type("faithfulness", delay=20)
    page.wait_for_selector(".md-search-result__link")
    assert "attention" in page.text_content(".md-search-result__list").lower()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1200])
def test_pages_fit_and_complain_of_nothing(site: Path, opened: Any, scheme: str, width: int):
    for name in ("index", "howto/opus_mt", "results/recipes", "reference/settings", "reference/api"):
        page = opened(site / f"{name}.html", viewport={"width": width, "height": 900}, color_scheme=scheme)
        assert page.text_content("h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width} pixels"
        assert page.get_attribute("body", "data-md-color-scheme") == {"light": "default", "dark": "slate"}[scheme]
