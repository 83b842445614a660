"""docs/labs.md has the verdicts that the labs have, and every claim; the worked example is a lab that holds."""

import re
from types import SimpleNamespace

from regard.labs.catalog import all_labs
from regard.labs.claims import StatedClaim, read_claims
from regard.labs.lab import load_lab
from regard.labs.verdict import Verdict
from scripts.lab_page import PAGE, render_page
from tests.docs.pages import ROOT, blocks
from tests.labs.test_verdicts import EXPECTED

ROW = re.compile(r"^\| (?P<verdict>[^|]+) \| \[`(?P<lab>\w+)`\]\((?P<path>[^)]+)\) \|", re.MULTILINE)


def rows_by_theme(text: str) -> dict[str, str]:
    """The verdict of each lab in the tables of themes."""
    themes = text.partition("## Against the usual claim")[2].partition("\n## ")[2].partition("## Every claim")[0]
    return {row["lab"]: row["verdict"] for row in ROW.finditer(themes)}


def test_the_page_has_every_lab_with_its_verdict():
    expected = {name: f"{Verdict(verdict).sign} {verdict}" for name, (_, (verdict, _)) in EXPECTED.items()}
    assert rows_by_theme(PAGE.read_text(encoding="utf-8")) == expected, "write it again: python -m scripts.lab_page"


def test_what_goes_against_a_claim_stands_first():
    text = PAGE.read_text(encoding="utf-8").partition("## Against the usual claim")[2].partition("\n## ")[0]
    first = {row["lab"]: row["verdict"].strip("✗◐⇄? ") for row in ROW.finditer(text)}
    assert first == {name: verdict for name, (_, (verdict, _)) in EXPECTED.items() if verdict != "holds"}


def test_every_claim_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8").partition("## Every claim")[2]
    rows = {int(row[1]): row[2] for row in re.finditer(r"^\| (\d+) \|(.*)\|$", text, re.MULTILINE)}
    numbers = [claim.number for claim in read_claims()]
    assert sorted(rows) == sorted(numbers) and len(numbers) == 116
    answered = {number for lab in all_labs() for number in lab.claims}
    assert [number for number in numbers if (number in answered) != ("regard/labs/" in rows[number])] == []


def test_each_kind_of_answer_is_shown(suite):
    kinds = {7: "", 8: "docs/results/positions.md#lengths", 9: "not testable: it needs | a translator"}
    claims = [StatedClaim(n, "Order", f"claim {n}", answer) for n, answer in kinds.items()]
    labs = tuple(one for one in suite.outcomes if one.header.name == "twice")
    named = SimpleNamespace(
        **{**vars(suite), "outcomes": labs, "sorted_outcomes": lambda: labs, "of_theme": lambda _: ()}
    )
    named.outcomes = tuple(
        SimpleNamespace(header=one.header, measurement=one.measurement, theme="order") for one in labs
    )
    text = render_page(named, claims).partition("## Every claim")[2]
    assert "| 7 | claim 7 | ✓ holds | [`twice`](../regard/labs/order/twice.py) |" in text
    assert "| 8 | claim 8 | measured elsewhere | [results/positions](results/positions.md#lengths) |" in text
    assert "| 9 | claim 9 | not testable | it needs \\| a translator |" in text


def test_the_worked_example_is_short_holds_and_turns(tmp_path):
    guide = ROOT / "docs" / "howto" / "write_a_lab.md"
    example = next(block for block in blocks(guide) if block.language == "python")
    lines = example.text.strip().split("\n")
    assert 20 < len(lines) <= 40
    path = tmp_path / "causal_blindness.py"
    path.write_text(example.text, encoding="utf-8")
    lab = load_lab(path)
    assert lab.run().finding.verdict is Verdict.HOLDS
    assert lab.run_counterpart().verdict is Verdict.DOES_NOT_HOLD
    assert load_lab(path, {"KNOWN": "3"}).run().finding.verdict is Verdict.HOLDS
    assert lab.run().picture().text(80)
