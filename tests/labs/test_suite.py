"""Many labs in worker processes: the same numbers as here, knobs turned, and failures that stop no other lab."""

import pytest

from regard.errors import LabError
from regard.labs.catalog import read_themes
from regard.labs.suite import runner
from regard.labs.suite.measurement import LabTask, compact_svg, run_task
from regard.labs.suite.runner import run_tasks
from regard.labs.suite.suite import SuiteOptions, SuiteResult, choose_themes, plan_lab, run_suite
from regard.labs.verdict import Verdict


def outcome(suite: SuiteResult, name: str):
    return next(one for one in suite.outcomes if one.header.name == name)


def test_a_worker_finds_what_this_process_finds(suite, own_labs):
    there, here = outcome(suite, "twice").measurement, run_task(LabTask(own_labs / "twice.py"))
    assert there.parts == here.parts and there.svg == here.svg and there.sentence == here.sentence
    assert there.verdict is Verdict.HOLDS and there.seeds == (1, 2, 3, 4, 5)


def test_each_value_of_the_knob_is_measured_and_its_own_is_not_run_twice(suite, own_labs):
    turned = outcome(suite, "twice").turned
    assert [*turned] == ["2", "3", "11"]
    assert [one.verdict for one in turned.values()] == [Verdict.HOLDS_PARTLY, Verdict.HOLDS, Verdict.HOLDS]
    assert outcome(suite, "twice").default == "3" and turned["3"] is outcome(suite, "twice").measurement
    header = next(lab for theme in suite.themes for lab in theme.labs if lab.name == "twice")
    assert len(list(plan_lab(header, SuiteOptions()).tasks())) == 3
    assert len(list(plan_lab(header, SuiteOptions(turns=False)).tasks())) == 1


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("raises", "run() of lab 'raises' failed: ZeroDivisionError in line 16: division by zero"),
        ("leaves", "lab 'leaves' ended its process with exit(3)"),
        ("dies", "the process of this lab ended with code 5"),
    ],
)
def test_a_lab_that_fails_is_an_outcome_with_its_sentence(suite, name, sentence):
    assert outcome(suite, name).measurement is None
    assert outcome(suite, name).error == sentence


def test_every_lab_has_an_outcome_in_reading_order(suite):
    names = [lab.name for theme in suite.themes for lab in theme.labs]
    assert [one.header.name for one in suite.outcomes] == names
    assert len(names) == 7


def test_what_goes_against_a_claim_stands_first_after_what_failed(suite):
    verdicts = [one.measurement and str(one.measurement.verdict) for one in suite.sorted_outcomes()]
    assert verdicts == [None, None, None, "holds partly", "undecided", "holds", "holds"]


def test_a_worker_that_cannot_start_is_one_error_and_no_endless_loop(monkeypatch, own_labs):
    monkeypatch.setattr(runner, "serve_tasks", exit_at_once)
    with pytest.raises(LabError, match="a process for labs ended with code 9"):
        list(run_tasks([LabTask(own_labs / "twice.py")], 1))


def exit_at_once(_connection) -> None:
    raise SystemExit(9)


def test_themes_and_labs_are_chosen_by_name(own_labs):
    themes = choose_themes(own_labs, ["attention_scaling_sqrt_dk", "own"])
    assert [(theme.name, len(theme.labs)) for theme in themes] == [("equation", 1), ("own", 7)]
    assert {theme.name for theme in choose_themes(None, ())} == {theme.name for theme in read_themes() if theme.labs}
    with pytest.raises(LabError, match="there is no theme and no lab 'ordr'; the themes are equation"):
        choose_themes(None, ["ordr"])


def test_data_that_no_lab_takes_is_refused(own_labs):
    options = SuiteOptions(data=("x.txt",))
    with pytest.raises(LabError, match="none of these labs takes sentences"):
        run_suite(choose_themes(own_labs, ["twice"]), options)


def test_coordinates_are_rounded_and_labels_are_not():
    path = '<path d="M0.12345,-7.5e-05L2.000001,3" transform="translate(0.50004,1)"/>'
    svg = f'<svg>{path}<text x="1.23456">0.00012</text></svg>'
    assert compact_svg(svg) == (
        '<svg><path d="M0.12,-7.5e-05L2,3" transform="translate(0.5,1)"/><text x="1.23">0.00012</text></svg>'
    )
    assert compact_svg('<g transform="scale(0.00123)"/>') == '<g transform="scale(0.00123)"/>'
