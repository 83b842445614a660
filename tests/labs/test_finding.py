"""Findings: a verdict on a whole claim from its parts, and a sentence with the numbers."""

import itertools

import pytest

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding, Need, phrase
from regard.labs.verdict import SIGNS, Verdict, combine_verdicts
from regard.report.table import Table

TABLE = Table({"x": [1]})
HOLDS = Effect("gain", (3.0, 3.0), least=1.0, grain=0.5)
FAILS = Effect("loss", (0.2, 0.2), least=1.0, grain=0.1)
OPEN = Effect("share", (1.0, 1.0), least=1.0, grain=0.1)
OPPOSITE = Effect("change", (-3.0, -3.0), least=1.0)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([Verdict.HOLDS] * 2, Verdict.HOLDS),
        ([Verdict.OPPOSITE_HOLDS] * 2, Verdict.OPPOSITE_HOLDS),
        ([Verdict.HOLDS, Verdict.DOES_NOT_HOLD], Verdict.HOLDS_PARTLY),
        ([Verdict.HOLDS, Verdict.UNDECIDED], Verdict.HOLDS_PARTLY),
        ([Verdict.HOLDS, Verdict.OPPOSITE_HOLDS], Verdict.HOLDS_PARTLY),
        ([Verdict.DOES_NOT_HOLD, Verdict.UNDECIDED], Verdict.UNDECIDED),
        ([Verdict.DOES_NOT_HOLD, Verdict.OPPOSITE_HOLDS], Verdict.DOES_NOT_HOLD),
    ],
)
def test_parts_make_a_whole(verdicts: list[Verdict], whole: Verdict):
    assert {combine_verdicts(order) for order in itertools.permutations(verdicts)} == {whole}


def test_every_verdict_has_a_sign_of_its_own():
    assert len(set(SIGNS.values())) == len(Verdict) == len({verdict.sign for verdict in Verdict})


def test_the_sentence_has_all_parts_and_the_headline_the_one_that_fails():
    finding = Finding([HOLDS, FAILS], TABLE)
    assert finding.verdict is Verdict.HOLDS_PARTLY
    assert finding.sentence == (
        "Holds partly: gain is 3 [2.5, 3.5], at least 1 as claimed; loss is 0.2 [0.1, 0.3], not at least 1."
    )
    assert finding.headline == "Holds partly: loss is 0.2 [0.1, 0.3], not at least 1"
    assert Finding([HOLDS, HOLDS], TABLE).headline == "Holds: gain is 3 [2.5, 3.5], at least 1 as claimed"


def test_every_verdict_has_a_phrase():
    assert phrase(OPEN) == "share is 1 [0.9, 1.1], which leaves open whether it is at least 1"
    assert phrase(OPPOSITE) == "change is -3, the opposite of at least 1"
    assert phrase(Exact("error", (0.5,))) == "error is 0.5, not at most 1e-09"
    assert phrase(Exact("error", (0.0,), tolerance=0)) == "error is exactly 0 as claimed"


def test_the_margin_is_that_of_the_least_certain_part():
    assert Finding([HOLDS, OPEN, Exact("error", (0.0,))], TABLE).margin == OPEN.margin < HOLDS.margin


def test_nothing_follows_from_a_model_that_has_not_learned():
    need = Need("the accuracy", (0.95, 0.41, 0.99), least=0.9)
    finding = Finding([HOLDS], TABLE, [Need("the loss", (1.0,), least=0.5), need])
    assert finding.verdict is Verdict.UNDECIDED
    reason = "the accuracy: 0.41 in the worst seed, at least 0.9 is needed, so nothing follows"
    assert finding.sentence == f"Undecided: {reason}."
    assert finding.headline == f"Undecided: {reason}"


def test_a_need_that_is_met_changes_nothing():
    need = Need("the accuracy", (0.95, 0.9), least=0.9)
    assert need.is_met
    assert Finding([HOLDS], TABLE, [need]).sentence == Finding([HOLDS], TABLE).sentence
    assert need.sentence == "the accuracy: 0.9 in the worst seed, at least 0.9 is needed"
