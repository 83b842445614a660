"""Charts of settings: every trial that ended is in them, and what they must not be read without."""

from dataclasses import replace

import pytest

from regard.metrics import PairedTestResult
from regard.tuning.analysis.evidence import StudyAnalysis
from regard.tuning.analysis.findings import describe_effects
from regard.tuning.pages.parameter_charts import build_sweep, describe_warnings, draw_parameter_charts
from regard.tuning.results import TrialResult
from tests.tuning.synthetic import study_of


def sampled(metric: str = "loss", stopped_at: float = 4.25) -> StudyAnalysis:
    """Two ranked trials, one that was stopped and one that has not started."""
    study = study_of(
        space={"model.dropout": "0.1..0.4", "train.learning_rate": "log 0.001..0.1"}, sampler="random", metric=metric
    )
    params = [{"model.dropout": 0.1 * n, "train.learning_rate": 0.001 * 3**n} for n in (1, 2, 3)]
    return StudyAnalysis(
        study,
        [
            TrialResult(1, "1", "complete", params[0], value=3.0, values=(3.0,)),
            TrialResult(2, "2", "complete", params[1], value=2.0, values=(2.0,)),
            TrialResult(3, "3", "pruned", params[2], intermediate_values={2: 7.0, 5: stopped_at}),
            TrialResult(4, "4", "waiting", {}),
        ],
        importances={"model.dropout": 0.7, "train.learning_rate": 0.3},
    )


def test_charts_of_settings_show_stopped_trials_to_scale():
    sweep = build_sweep(sampled(), ["model.dropout", "train.learning_rate"])
    assert sweep.scales == {"dropout": "linear", "learning_rate": "log"}
    assert list(sweep.ranked["score"]) == [2.0, 3.0] and list(sweep.unranked["score"]) == [4.25]
    assert list(sweep.unranked["dropout"]) == [pytest.approx(0.3)]
    by_chrf = build_sweep(sampled("chrf"), ["model.dropout"])  # what is known of the stopped trial is its BLEU
    assert list(by_chrf.unranked["score"]) == [None] and "1 trial stopped early: no score" in by_chrf.warnings


def test_warnings_are_in_the_picture():
    charts = {chart.name: " ".join(chart.spec["title"]["subtitle"]) for chart in draw_parameter_charts(sampled())}
    assert charts["importance"] == "With 2 trials, this is only an indication."
    for name in ("parallel", "slices"):
        assert "1 trial stopped early: score of the last validation; " in charts[name]
        assert charts[name].endswith("differences from the best were not tested; one seed each")
    same = PairedTestResult("BLEU", 20.0, 0.7, "", -0.1, None, 0.7)
    tested = replace(sampled(), tests={1: same})
    assert "no trial differs significantly from the best" in describe_warnings(tested, "not drawn")


def test_a_value_of_one_trial_has_no_mean():
    (dropout, _) = describe_effects(sampled())
    assert dropout.startswith("Dropout (model.dropout), dev loss by value: 0.1: 3.00, 0.2: 2.00.")
