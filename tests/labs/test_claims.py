"""Every claim of the table is answered once: by labs, by a page of the documentation, or by the reason why not."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from regard.errors import LabError
from regard.labs.catalog import all_labs
from regard.labs.claims import COLUMNS, read_claims

ROOT = Path(__file__).parents[2]
CLAIMS = read_claims()


def test_claims_are_numbered_without_gaps():
    assert [claim.number for claim in CLAIMS] == list(range(1, 117))
    assert len({claim.claim for claim in CLAIMS}) == 116


def test_sections_stand_together():
    sections = [claim.section for claim in CLAIMS]
    assert len(dict.fromkeys(sections)) == 7
    assert sum(a != b for a, b in pairwise(sections)) == 6


def test_every_claim_is_answered_in_exactly_one_way():
    by_labs = {number for lab in all_labs() for number in lab.claims}
    unanswered = [claim.number for claim in CLAIMS if not claim.answer and claim.number not in by_labs]
    twice = [claim.number for claim in CLAIMS if claim.answer and claim.number in by_labs]
    assert (unanswered, twice) == ([], []), f"without an answer: {unanswered}; answered by a lab and the table: {twice}"


def test_every_number_in_a_lab_is_that_of_a_claim():
    numbers = {claim.number for claim in CLAIMS}
    assert {lab.name: set(lab.claims) - numbers for lab in all_labs() if set(lab.claims) - numbers} == {}


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.link], ids=lambda claim: str(claim.number))
def test_every_link_exists(claim):
    page, _, heading = claim.link.partition("#")
    assert page.startswith("docs/") and (ROOT / page).is_file()
    assert not heading or heading in anchors(ROOT / page)


def test_every_reason_is_one():
    assert all(len(claim.reason.split()) >= 2 for claim in CLAIMS if claim.reason is not None)


def test_a_damaged_table_is_refused(tmp_path):
    path = tmp_path / "claims.tsv"
    path.write_text("number\tclaim\n", encoding="utf-8")
    with pytest.raises(LabError, match="begins with 'number"):
        read_claims(path)
    path.write_text("\t".join(COLUMNS) + "\n1\ta\tb\n", encoding="utf-8")
    with pytest.raises(LabError, match=r"line 2: expected a number, a section"):
        read_claims(path)
