"""The checker, checked by mutation: known mistakes are caught and named, and each truth catches one."""

import dataclasses

import pytest
import torch

from regard.errors import LabError
from regard.labs.checker.assignment import Assignment, Mistake, edits
from regard.labs.checker.assignments import ASSIGNMENTS
from regard.labs.checker.assignments.attend import ATTEND, plain
from regard.labs.checker.assignments.layer_norm import LAYER_NORM
from regard.labs.checker.judge import judge


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def faults(assignment: Assignment, seed: int) -> list[str]:
    """What is wrong with the checker: mistakes that are missed or confused, truths that catch none."""
    results = {mistake.sentence: judge(assignment, mistake.function, seed) for mistake in assignment.mistakes}
    missed = [f"missed: {sentence}" for sentence, result in results.items() if result.is_correct]
    confused = [
        f"confused: {sentence} -> {result.mistake}"
        for sentence, result in results.items()
        if result.mistake != f"Its results equal those of an implementation that {sentence}."
    ]
    useful = {truth for result in results.values() for truth in result.failed}
    idle = [f"catches none: {truth.sentence}" for truth in assignment.truths if truth.sentence not in useful]
    return missed + confused + idle


LONG = {"encoder_layer", "decoder_layer", "beam_search"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in ASSIGNMENTS]
)
def test_every_mistake_is_caught_and_named_and_every_truth_catches_one(name):
    assert faults(ASSIGNMENTS[name], seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 5])
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_so_they_are_with_other_seeds(name, seed):
    assert faults(ASSIGNMENTS[name], seed) == []


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_what_regard_runs_is_correct(name):
    for seed in (1, 2, 3):
        result = judge(ASSIGNMENTS[name], ASSIGNMENTS[name].reference, seed)
        assert result.is_correct and result.points == len(ASSIGNMENTS[name].truths), result.lines()


def test_there_are_enough_functions_and_mistakes():
    assert len(ASSIGNMENTS) >= 10
    assert sum(len(assignment.mistakes) for assignment in ASSIGNMENTS.values()) >= 60


def test_a_mistake_that_is_none_is_a_fault_of_the_checker():
    harmless = dataclasses.replace(
        LAYER_NORM, mistakes=(*LAYER_NORM.mistakes, Mistake("is right", LAYER_NORM.reference))
    )
    assert "missed: is right" in faults(harmless, 1)


def test_two_mistakes_that_are_one_are_a_fault_of_the_checker():
    first = LAYER_NORM.mistakes[0]
    doubled = dataclasses.replace(LAYER_NORM, mistakes=(*LAYER_NORM.mistakes, Mistake("does the same", first.function)))
    assert any(fault.startswith("confused: does the same") for fault in faults(doubled, 1))


def test_a_truth_that_catches_nothing_is_a_fault_of_the_checker():
    idle = dataclasses.replace(LAYER_NORM.truths[0], sentence="one is one", measure=lambda function, inputs: [])
    assert faults(dataclasses.replace(LAYER_NORM, truths=(*LAYER_NORM.truths, idle)), 1) == ["catches none: one is one"]


def test_an_edit_must_fit_in_one_place():
    with pytest.raises(LabError, match="0 times 'no such text'"):
        edits(plain, ("does nothing", "no such text", "x"))


def test_two_mistakes_are_named_each_where_it_shows():
    def two_mistakes(q, k, v, attn_mask=None, bias=None):
        scores = q @ k.mT / q.shape[-1]
        scores = scores if bias is None else scores + bias
        scores = scores if attn_mask is None else scores.masked_fill(~attn_mask, -torch.inf)
        weights = scores.softmax(-1)
        return weights @ v, weights

    sentence = judge(ATTEND, two_mistakes).mistake
    assert "divides by K instead of √K" in sentence
    assert sentence.startswith("On ordinary inputs")
    assert "Where a query may attend to nothing, " in sentence and "returns NaN" in sentence


def test_an_unknown_mistake_is_caught_without_a_name():
    result = judge(
        ATTEND, lambda q, k, v, attn_mask=None, bias=None: tuple(1.01 * x for x in plain(q, k, v, attn_mask, bias))
    )
    assert result.failed[0] == "the weights of each query sum to 1"
    assert result.mistake == ""


def test_the_counterexample_is_the_smallest_with_both_rows():
    divides_by_k = next(one for one in ATTEND.mistakes if "K instead" in one.sentence)
    result = judge(ATTEND, divides_by_k.function)
    assert result.counterexample is not None and result.counterexample.difference is not None
    assert "q (1, 1, 1, 2), k (1, 1, 2, 2)" in result.counterexample.sizes
    assert result.counterexample.difference.where == "weights[0, 0, 0]"
    assert result.counterexample.difference.expected != result.counterexample.difference.returned


def test_numbers_that_are_learned_by_rote_do_not_pass_with_another_seed():
    by_rote: dict[tuple[float, ...], torch.Tensor] = {}

    def memorize(x, weight, bias, epsilon=1e-5):
        return by_rote.setdefault(tuple(x.flatten().tolist()), LAYER_NORM.reference(x, weight, bias, epsilon))

    def recall(x, weight, bias, epsilon=1e-5):
        return by_rote.get(tuple(x.flatten().tolist()), torch.zeros_like(x))

    judge(LAYER_NORM, memorize, seed=1)
    values = "the results equal those of Regard"
    assert values in judge(LAYER_NORM, recall, seed=1).passed
    assert values in judge(LAYER_NORM, recall, seed=2).failed
