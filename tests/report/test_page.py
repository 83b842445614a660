"""A page is one file: well formed, escaped, and silent on the network."""

import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files

from regard.report import (
    DefinitionList,
    Figure,
    Paragraph,
    Section,
    Table,
    TableView,
    TranslationCard,
    TranslationCards,
    heatmap_chart,
    line_chart,
    render_page,
    write_page,
)
from regard.report.look.bundle import csp_hash

EVIL = "<script>alert('x')</script>&\"'<img src=\"https://example.org/x.png\">\x00"
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Reader(HTMLParser):
    """Collects what a browser would see, and complains of tags that do not close in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def whole_page(word: str = EVIL) -> str:
    table = Table({"step": [1, 2, 3], "loss": [3.0, 2.0, 1.5], "set": [word, word, "dev"]})
    loss = line_chart(table, "step", "loss", "set", title=word, x_title=word, y_title=word, rules={word: 2.5})
    looks = heatmap_chart([[0.5, 0.5]], [word], [word, word], title="Looks", row_title=word, column_title=word)
    other = heatmap_chart([[0.1]], ["a"], ["b"], title="Looks", row_title="t", column_title="s")
    return render_page(
        word,
        word,
        [
            Section(word, [Paragraph(word), DefinitionList({word: word, "pairs": 30000, "none": None})]),
            Section("Charts", [Figure(loss, word), Figure(looks), Figure(other)]),
            Section("Tables", [TableView(table, word, {"set": word})]),
            Section("Text", [TranslationCards([TranslationCard(word, word, word, word)], word, word)]),
        ],
        language="en",
    )


def test_a_page_is_well_formed_and_its_ids_are_its_own():
    reader = read(whole_page())
    ids = Counter(value for _, name, value in reader.attributes if name == "id")
    assert ids
    assert max(ids.values()) == 1
    targets = [value[1:] for _, name, value in reader.attributes if name == "href"]
    assert len(targets) == 4
    assert set(targets) <= set(ids)
    labels = [value for _, name, value in reader.attributes if name == "aria-labelledby"]
    assert set(labels) <= set(ids)


def test_what_a_user_wrote_is_text_and_nothing_else():
    html = whole_page()
    reader = read(html)
    assert not {"img", "b"} & set(reader.tags)
    assert html.count("<script") == reader.tags["script"] == 1, "that of the page itself"
    assert html.count("&lt;script&gt;alert(") > 10
    assert "\x00" not in html
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)


def test_nothing_is_loaded_and_the_page_forbids_it():
    html = whole_page("plain")
    reader = read(html)
    policies = [value for tag, name, value in reader.attributes if tag == "meta" and name == "content"]
    script = html.partition("<script>")[2].partition("</script>")[0]
    assert any(value.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:") for value in policies)
    assert any(f"script-src {csp_hash(script)};" in value for value in policies)
    references = {
        (name, value)
        for _, name, value in reader.attributes
        if "://" in value or name in ("src", "srcset", "data", "poster", "action")
    }
    assert {name for name, _ in references} <= {"xmlns", "xmlns:xlink"}
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", html)


def test_a_page_says_its_language_title_and_contents():
    reader = read(render_page("Title", "Subtitle", [Section("One", []), Section("Two", [])], language="fr"))
    assert ("html", "lang", "fr") in reader.attributes
    assert {"Title", "Subtitle", "One", "Two"} <= set(reader.text)
    assert reader.tags["nav"] == 1
    assert read(render_page("Title", "", [Section("One", [])])).tags["nav"] == 0


def test_the_style_lies_in_the_package_and_inside_the_page():
    css = (files("regard.report") / "static" / "page.css").read_text(encoding="utf-8")
    assert css in render_page("t", "", [])
    assert css.count("{") == css.count("}")
    for need in ("prefers-color-scheme: dark", "@media print", "overflow-x: auto"):
        assert need in css


def test_numbers_stand_right_with_their_digits_and_heads_have_a_scope():
    table = Table({"set": ["dev", "test"], "pairs": [30000, None], "BLEU": [31.4212, 8.5]})
    html = TableView(table, "Scores", {"pairs": "sentence pairs"}).html()
    assert html.count('<th scope="col"') == 3
    assert '<td class="number">30,000</td>' in html
    assert '<td class="number">–</td>' in html
    assert '<td class="number">8.50</td>' in html
    assert '<td dir="auto" class="short">dev</td>' in html
    assert "sentence pairs" in html
    assert "<caption>Scores</caption>" in html


def test_figures_are_named_for_those_who_cannot_see_them():
    chart = heatmap_chart([[0.1]], ["a"], ["b"], title='Who "looks"', row_title="t", column_title="s")
    html = Figure(chart, "A caption").html()
    assert 'role="img" aria-label="Who &quot;looks&quot;"' in html
    assert "<figcaption>A caption</figcaption>" in html


def test_translations_show_what_they_have():
    card = TranslationCards(
        [TranslationCard("Hallo Welt", "hello world", "Hello, world", "chrF 61.2")], "de", "en"
    ).html()
    reader = read(card)
    assert reader.text == [
        "chrF 61.2",
        "source",
        "Hallo Welt",
        "reference",
        "Hello, world",
        "translation",
        "hello world",
    ]
    assert [value for _, name, value in reader.attributes if name == "lang"] == ["de", "en", "en"]
    bare = read(TranslationCards([TranslationCard("a", "b")]).html())
    assert bare.text == ["source", "a", "translation", "b"]


def test_paragraphs_part_at_blank_lines():
    assert read(Paragraph("one\nstill one\n\n\n\ntwo").html()).tags["p"] == 2


def test_the_same_report_is_the_same_bytes(tmp_path):
    write_page(tmp_path / "new" / "a.html", whole_page("über ▁"))
    write_page(tmp_path / "b.html", whole_page("über ▁"))
    first = (tmp_path / "new" / "a.html").read_bytes()
    assert first == (tmp_path / "b.html").read_bytes()
    assert "über ▁" in first.decode("utf-8")
    assert b"\r" not in first


def test_a_label_is_not_broken_in_the_middle():
    cells = TableView(Table({"label": ["lost_or_stolen_card"], "text": ["my card is lost, or stolen"]})).html()
    assert 'class="short">lost_or_stolen_card' in cells and 'class="short">my card' not in cells
