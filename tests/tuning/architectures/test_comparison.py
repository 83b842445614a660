"""Differences between architectures: what chance in the examples and in the seeds makes of them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.tuning.architectures import comparison as comparisons
from regard.tuning.architectures.comparison import ArchitectureComparison, ArchitectureResult, SeedScores
from regard.tuning.architectures.verdict import describe_architectures, describe_method
from regard.tuning.measure import RunSummary

N = 307


def count(correct: np.ndarray) -> CountedScore:
    """The accuracy of one seed, of which these examples are correct."""
    table = np.stack([100.0 * correct, np.ones(len(correct))], axis=1)
    answers = correct.tolist()
    examples = [str(i) for i in range(len(correct))]
    measure = lambda sums: sums[..., 0] / sums[..., 1]  # noqa: E731
    return CountedScore("accuracy", TableCounts(table, np.ones(len(correct))), measure, examples, answers, "texts")


def make_seeds(share: float, noise: float, rng: np.random.Generator, easy: np.ndarray, seeds: int = 3) -> SeedScores:
    """Seeds of an architecture: what is easy is mostly right, and the share of the rest varies between seeds."""
    shares = share + noise * rng.standard_normal(seeds)
    return SeedScores([count(easy | (rng.random(N) < one)) for one in shares])


def draw(seeds: dict[str, SeedScores]) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(1).multinomial(N, np.full(N, 1 / N), size=comparisons.NUM_DRAWS).astype(np.uint16)
    return {name: one.resample(draws) for name, one in seeds.items()}


def test_equal_systems_rarely_differ_however_much_seeds_vary():
    """Were either source of chance ignored, most pairs of equal systems would be called different."""
    rng, rejected = np.random.default_rng(5), []
    for noise, count_of_seeds in ((0.0, 1), (0.15, 3)):
        found = 0
        for _ in range(15):
            easy = rng.random(N) < 0.5
            seeds = {name: make_seeds(0.4, noise, rng, easy, count_of_seeds) for name in ("one", "other")}
            (test,) = comparisons._test_pairs(seeds, draw(seeds))
            assert test.p == test.adjusted_p and test.difference >= 0 and test.low <= test.difference <= test.high
            found += test.significant
        rejected.append(found)
    assert max(rejected) <= 3


def test_a_difference_is_found_and_corrected_for_three_comparisons():
    rng = np.random.default_rng(7)
    easy = rng.random(N) < 0.5
    seeds = {name: make_seeds(share, 0.01, rng, easy) for name, share in (("a", 0.2), ("b", 0.6), ("c", 0.2))}
    tests = comparisons._test_pairs(seeds, draw(seeds))
    assert {frozenset((test.first, test.second)) for test in tests} == {frozenset(p) for p in ("ab", "ac", "bc")}
    for test in tests:
        assert test.significant == ("b" in (test.first, test.second))
        assert test.p <= test.adjusted_p <= 3 * test.p or test.adjusted_p == 1
        assert (test.first == "b") == test.significant and (test.low > 0) == test.significant
    least = min(tests, key=lambda test: test.p)
    assert least.adjusted_p == pytest.approx(3 * least.p)


def test_the_variance_is_that_of_the_mean_over_seeds():
    right = np.arange(N) < 100
    three = SeedScores([count(right), count(np.arange(N) < 130), count(np.arange(N) < 160)])
    spread = 100 * 30 / N
    assert three.seed_variance == pytest.approx(spread**2 / 3) and SeedScores([count(right)]).seed_variance == 0


def test_the_same_answers_do_not_differ():
    seeds = make_seeds(0.4, 0.0, np.random.default_rng(3), np.zeros(N, bool), seeds=1)
    both = {"one": seeds, "other": seeds}
    (test,) = comparisons._test_pairs(both, draw(both))
    assert (test.difference, test.p, test.significant) == (0, 1, False)


def make_comparison(seeds: dict[str, SeedScores], task: str = "tag", **fields: object) -> ArchitectureComparison:
    drawn = draw(seeds)
    summary = RunSummary(parameters=700, steps=5, epochs=1.5, minutes=1, tokens_per_second=10, loss=1.0)
    results = tuple(
        ArchitectureResult(
            name, {"model.layers": 2, "model.ffn": 8}, 501 + n, 700, tuple(one.values), 1, 99, (summary,) * 3, ()
        )
        for n, (name, one) in enumerate(seeds.items())
    )
    made = ArchitectureComparison(
        Path("x"),
        task,
        "accuracy",
        "texts",
        1234,
        N,
        {"minutes": 8.0},
        results,
        tuple(comparisons._test_pairs(seeds, drawn)),
        {},
    )
    return dataclasses.replace(made, **fields)


def test_the_verdict_says_who_is_ahead_and_what_is_undecided():
    rng = np.random.default_rng(7)
    easy = rng.random(N) < 0.5
    shares = {"encoder": 0.6, "decoder": 0.2, "encoder-decoder": 0.2}
    seeds = {name: make_seeds(share, 0.01, rng, easy) for name, share in shares.items()}
    comparison = make_comparison(seeds)
    verdict, scores, sizes, *remarks = describe_architectures(comparison)
    assert verdict.startswith("On these 1,234 texts and 8 minutes each, the encoder is ahead of the ")
    assert verdict.count("is ahead of") == 2 and verdict.count("undecided between the ") == 1
    by_name = {one.name: one.score for one in comparison.results}
    gap = by_name["encoder"] - by_name["decoder"]
    assert f"the encoder is ahead of the decoder by {gap:.{comparison.digits}f} points of accuracy" in verdict
    assert scores.startswith(f"Accuracy on {N} test texts, mean of 3 seeds: encoder ")
    assert sizes == "Weights outside the token embeddings: 501 to 503, 0.4% apart."
    assert any("left of a word" in text for text in remarks)
    assert "corrected for 3 comparisons (Holm)" in describe_method(comparison)
    failed = make_comparison(seeds, failures={"decoder": "too little memory"})
    assert "The decoder was not trained: too little memory." in list(describe_architectures(failed))


def test_architectures_that_do_not_differ_are_undecided_in_one_sentence():
    rng, easy = np.random.default_rng(7), np.random.default_rng(7).random(N) < 0.5
    names = ("encoder", "decoder", "encoder-decoder")
    verdict, *_ = describe_architectures(make_comparison({name: make_seeds(0.3, 0.05, rng, easy) for name in names}))
    assert verdict.count("undecided between the ") == 1 and verdict.count(", between the ") == 2
    assert "ahead" not in verdict


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_single_seed_is_said_to_say_nothing_of_others(seeds: int):
    rng = np.random.default_rng(7)
    made = {name: make_seeds(0.4, 0.1, rng, np.zeros(N, bool), seeds) for name in ("encoder", "decoder")}
    assert ("nothing is known of other seeds" in describe_method(make_comparison(made))) == (seeds == 1)
