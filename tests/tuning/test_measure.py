"""A run in numbers: every one follows from its log, its scores and its weights."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from regard.config import Config, dump
from regard.data.batch import DataPosition
from regard.errors import RunError
from regard.evaluation import Baselines, Evaluation, PadInclusiveScores
from regard.jobs.tasks.registry import get_task
from regard.metrics import Score
from regard.model import weights
from regard.run import BestWeights, Run, write_text
from regard.training.log import Log
from regard.training.loop import Step
from regard.training.validate import Validation
from regard.tuning import measure
from regard.tuning.measure import (
    COLLAPSED,
    SCORED_METRICS,
    UNDERTRAINED,
    RunSummary,
    count_parameters,
    diagnose_collapse,
    find_best_validation,
    summarize_log,
    summarize_run,
    summarize_training,
)

TRANSLATE = get_task("translate")


def bleu(value: float) -> Score:
    return Score("BLEU", value, value - 1, value + 1, "s")


def best_of(path: str, step: int, metric: str) -> BestWeights:
    return BestWeights(weights=path, step=step, metric=metric, cost=1.0)


BEST, OTHER = (str(Run(Path()).weights(step)) for step in (7, 2))
VALIDATIONS = [
    Validation(3, 5.0, 0.25, bleu(7.0), 11.0, 5.5, 0.9, 0.5),
    Validation(5, 3.0, 0.5, bleu(13.0), 13.0, 4.5, 0.9, 0.0),
    Validation(7, 4.0, 0.75, bleu(17.0), 17.0, 4.75, 0.9, 0.25),
    Validation(11, 4.5, 0.7, bleu(2.0), 19.0, 4.6, 0.9, 0.125),
]


def trained(folder: Path, best: BestWeights | None = None, validations: Sequence[Validation] = VALIDATIONS) -> Run:
    """Eleven steps of 7 tokens in 2 seconds, five batches an epoch; weights of 2 * 3 + 5 numbers."""
    run = Run(folder)
    with contextlib.closing(Log(run.log)) as log:
        for n in range(11):
            log.write_step(Step(n + 1, DataPosition(n // 5, 1 + n % 5), 4.0, 0.5, 7, 0.1, 1.0, seconds=2.0))
        for one in validations:
            log.write_validation(one)
    (run.folder / "weights").mkdir()
    weights.write({"a": torch.zeros(2, 3), "b": torch.zeros(5)}, run.weights(7))
    weights.write({"a": torch.zeros(2, 3), "b": torch.zeros(5), "c": torch.zeros(13)}, run.weights(11))
    if best:
        run.write_best(best)
    return run


def test_a_run_that_was_stopped_is_summed_up_from_its_log(tmp_path: Path):
    summary = summarize_log(trained(tmp_path, best_of(BEST, 7, "loss")))
    assert (summary.parameters, summary.steps, summary.epochs) == (11, 11, 2.2)
    assert summary.minutes == (22 + 60) / 60 and summary.tokens_per_second == 3.5
    assert summary.loss == 4.0 and summary.shuffled_input_loss == 4.75 and summary.unigram_loss is None
    assert summary.scores == {"accuracy": {"value": 75.0}, "bleu": {"name": "BLEU", **bleu(17.0).as_dict()}}
    assert summary.value("accuracy") == 75.0 and summary.pads_counted is None and summary.collapse_reason == ""
    assert summary.decoding_seconds == 0.25  # a validation that did not decode has no time
    assert RunSummary(**summary.as_dict()) == summary


def test_scores_of_an_evaluation_are_preferred_to_those_of_a_validation(tmp_path: Path):
    pads = PadInclusiveScores(81.0, 1.5, 13, 37.0)
    evaluation = Evaluation({"bleu": bleu(20.0)}, [], Baselines(bleu(1.0), bleu(1.0), 1.0), loss=2.5, pads_counted=pads)
    summary = summarize_run(trained(tmp_path), evaluation, 9.0)
    assert (
        summary.loss == 2.5
        and summary.unigram_loss == 9.0
        and summary.scores == {"bleu": {"name": "BLEU", **bleu(20.0).as_dict()}}
    )
    assert summary.pads_counted == vars(pads) and summary.parameters == 24  # without best weights, the last ones
    assert summary.shuffled_input_loss == 4.5  # and the validation with the lowest loss


def test_the_validation_is_that_of_the_weights_that_translate(tmp_path: Path):
    def found(best: BestWeights | None, folder: str, validations=VALIDATIONS) -> int | None:
        one = find_best_validation(trained(tmp_path / folder, best), validations)
        return one.step if one else None

    average = Run(tmp_path).average_weights.name
    assert found(best_of(BEST, 7, "loss"), "a") == 7
    assert found(best_of(OTHER, 2, "loss"), "b") == 5  # the log has no such step
    assert found(best_of(OTHER, 2, "bleu"), "c") == 7
    assert found(best_of(average, 11, "bleu"), "d") == 7 and found(None, "e") == 5
    silent = [Validation(3, 5.0, 0.2, None, 1.0), Validation(5, 6.0, 0.2, bleu(3.0), 1.0)]
    assert found(best_of(average, 5, "bleu"), "f", silent) == 3
    assert found(None, "g", []) is None
    again = [*VALIDATIONS, Validation(7, 9.0, 0.1, None, 1.0)]  # resumed from step 5: step 7 came twice
    best = find_best_validation(trained(tmp_path / "h", best_of(BEST, 7, "loss")), again)
    assert best is not None and best.loss == 9.0


def test_a_run_without_steps_or_weights_is_refused(tmp_path: Path):
    (tmp_path / "a").mkdir()
    run = Run(tmp_path / "a")
    write_text(run.log, "")
    with pytest.raises(RunError, match="the log has no training step"):
        summarize_log(run)
    with pytest.raises(RunError, match="has no weights"):
        count_parameters(run)
    assert summarize_training(run, Evaluation({}, [], Baselines(bleu(1.0), bleu(1.0), 1.0))) is None
    assert count_parameters(trained(tmp_path / "b", best_of(BEST, 7, "loss"))) == 11


@pytest.mark.parametrize("has_data", [False, True])
def test_a_run_is_held_against_its_unigrams_where_its_data_are_kept(has_data: bool, tmp_path: Path, monkeypatch):
    run, evaluation = trained(tmp_path), Evaluation({}, [], Baselines(bleu(1.0), bleu(1.0), 1.0))
    write_text(run.config, dump(Config()))
    if has_data:
        run.tokens_manifest.parent.mkdir(parents=True, exist_ok=True)
        run.tokens_manifest.touch()
    task = type(get_task("translate"))
    monkeypatch.setattr(task, "open_data", lambda self, run, config: (run, config))
    monkeypatch.setattr(task, "baseline_loss", lambda self, config, data: 2.5 if data == (run, config) else None)
    monkeypatch.setattr(measure, "summarize_run", lambda *given: given)
    assert summarize_training(run, evaluation) == (run, evaluation, 2.5 if has_data else None)


def test_a_model_that_does_not_work_has_collapsed_or_was_not_trained_long_enough():
    works = RunSummary(7, 10, 1.0, 2.0, 3.0, 4.0)
    assert works.diagnosis == "" and set(SCORED_METRICS) == {"bleu", "chrf", "ter"}
    for had_steps, word in ((True, COLLAPSED), (False, UNDERTRAINED)):
        broken = RunSummary(7, 10, 1.0, 2.0, 3.0, 4.0, collapse_reason="it is", had_steps_to_learn=had_steps)
        assert broken.diagnosis == word


@pytest.mark.parametrize(("patience", "diagnosis"), [(2, COLLAPSED), (3, UNDERTRAINED), (0, UNDERTRAINED)])
def test_patience_that_has_run_out_shows_that_nothing_is_learned(patience: int, diagnosis: str, tmp_path: Path):
    losses = ((3, 9.0), (5, 8.0), (7, 8.5), (11, 8.25))  # the lowest is two validations before the end
    run = trained(tmp_path, None, [Validation(step, loss, 0.1, None, 1.0, 9.5, 0.9) for step, loss in losses])
    write_text(run.config, dump(Config(train={"steps": 5000, "patience": patience, "validation_sentences": 0})))
    assert summarize_run(run, None, 5.0).diagnosis == diagnosis


@pytest.mark.parametrize("patience", [1, 2])
def test_a_run_without_validations_has_not_lost_patience(patience: int, tmp_path: Path):
    run = trained(tmp_path, None, [])
    write_text(run.config, dump(Config(train={"steps": 5000, "patience": patience, "validation_sentences": 0})))
    assert not summarize_run(run, None, 5.0).had_steps_to_learn


def check(loss: float, shuffled: float | None = 9.0, distinct: float = 0.9) -> Validation:
    return Validation(100, loss, 0.3, None, 1.0, shuffled, distinct)


def test_reasons_of_a_collapse_have_their_bounds():
    assert (
        diagnose_collapse(TRANSLATE, None, 5.0, None) == ""
        and diagnose_collapse(TRANSLATE, check(9.0), None, None) == ""
    )
    assert "ignores its source" in diagnose_collapse(TRANSLATE, check(5.0, shuffled=5.09), 9.0, None)
    assert diagnose_collapse(TRANSLATE, check(5.0, shuffled=5.11), 9.0, None) == ""
    assert diagnose_collapse(TRANSLATE, check(4.0, shuffled=None), 9.0, None) == ""
    both = diagnose_collapse(TRANSLATE, check(9.0, shuffled=9.0), 5.0, None)
    assert both.startswith("its dev loss of 9.00 is no better than the 5.00") and "; it ignores its source" in both
    chance = Evaluation({"bleu": bleu(1.0)}, [], Baselines(bleu(5.0), bleu(5.0), 1.0))
    assert "shuffled translations" in diagnose_collapse(TRANSLATE, check(4.0), 9.0, chance)
    assert "shuffled translations" not in diagnose_collapse(TRANSLATE, check(9.5), 9.0, chance)  # one reason is enough
    assert "shuffled translations" in diagnose_collapse(TRANSLATE, check(9.5), None, chance)
    other = Evaluation({"chrf": bleu(1.0)}, [], Baselines(bleu(5.0), bleu(5.0), 1.0))
    assert diagnose_collapse(TRANSLATE, check(4.0), 9.0, other) == ""
