"""Scores of rankings are trec_eval's: its golden values, its rules for ties and gaps, and random runs."""

import random

import numpy as np
import pytest

from regard.errors import DataError
from regard.metrics.retrieval import RETRIEVAL_MEASURES, compare_rankings, rank_documents, score_run
from regard.metrics.retrieval.measures import ndcg, precision, ranked_grades, recall

JUDGMENTS = {"q1": {"d1": 3, "d2": 2, "d3": 0, "d4": 1}, "q2": {"d5": 1, "d9": 1}, "q3": {"d7": 0}, "q4": {"d1": 1}}
RUN = {
    "q1": {"d3": 9.0, "d2": 8.0, "d1": 7.0, "d8": 6.0, "d4": 5.0},
    "q2": {"d1": 1.0, "d5": 1.0, "d6": 1.0},
    "q3": {"d7": 1.0},
}


def test_golden_values_of_trec_eval():
    result = score_run(RUN, JUDGMENTS)
    expected = {"ndcg_10": [66.1236, 38.6853, 0, 0], "ap": [58.8889, 25, 0, 0], "rr": [50, 50, 0, 0]}
    for name, values in expected.items():
        assert result.values[name] == pytest.approx(values, abs=1e-4), name
    means = {"ndcg_10": 26.2022, "ap": 20.9722, "rr": 25, "recall_100": 37.5}  # q4 is missing from the run: it counts 0
    assert {name: result.scores[name].value for name in means} == pytest.approx(means, abs=1e-4)


def test_cuts_count_what_is_before_them():
    ranked, judged = ranked_grades(RUN["q1"], JUDGMENTS["q1"]), ranked_grades({}, {})
    all_grades = ranked_grades(dict.fromkeys(JUDGMENTS["q1"], 1.0), JUDGMENTS["q1"])
    assert recall(ranked, all_grades, 5) == 1 and recall(ranked, all_grades, 2) == pytest.approx(1 / 3)
    assert precision(ranked, all_grades, 5) == pytest.approx(0.6) and precision(ranked[:1], all_grades, 2) == 0
    assert ndcg(ranked, judged, 5) == 0  # nothing is judged


def test_equal_scores_are_ordered_by_their_ids_descending():
    assert rank_documents(dict.fromkeys(["d10", "d2", "d9"], 0.5)) == ["d9", "d2", "d10"]
    assert rank_documents({"a": 1.0, "b": 1.000000001, "c": 2.0}) == ["c", "b", "a"]  # equal in float32
    assert rank_documents({"a": 1.000000001, "b": 1.0, "é": 1.0, "z": 1e300}) == ["z", "é", "b", "a"]


def random_case(rng: random.Random) -> tuple[dict, dict]:
    documents = [f"d{n}" for n in range(151)] + ["é", "文"]
    judgments = {
        f"q{n}": {one: rng.choice([-1, 0, 1, 2, 3]) for one in rng.sample(documents, rng.randint(1, 37))}
        for n in range(11)
    }
    run = {
        f"q{n}": {one: rng.choice([0.5, 0.25, rng.random()]) for one in rng.sample(documents, rng.randint(1, 141))}
        for n in range(3, 13)
    }
    return run, judgments


@pytest.mark.parametrize("seed", range(7))
def test_random_runs_have_the_scores_of_trec_eval(seed: int):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs pytrec-eval-terrier: pip install '.[dev]'")
    run, judgments = random_case(random.Random(seed))
    theirs = {"ndcg_10": "ndcg_cut_10", "ap": "map", "rr": "recip_rank", "recall_100": "recall_100", "p_10": "P_10"}
    measured = pytrec_eval.RelevanceEvaluator(judgments, set(theirs.values())).evaluate(run)
    ours = score_run(run, judgments)
    assert theirs.keys() == RETRIEVAL_MEASURES.keys()
    for name, their_name in theirs.items():
        values = [100 * measured.get(query, {their_name: 0})[their_name] for query in judgments]
        assert ours.values[name] == pytest.approx(values, abs=1e-9), name


def test_the_best_ranking_is_perfect_and_unjudged_documents_after_it_change_nothing():
    judgments = {f"q{n}": {"a": 3, "b": 1, "c": 0, "d": -2} for n in range(11)}
    run = {query: {"a": 4.0, "b": 3.0} for query in judgments}
    perfect = score_run(run, judgments).scores
    assert [perfect[name].value for name in ("ndcg_10", "ap", "rr", "recall_100")] == [100] * 4
    longer = {query: {**scores, "x": 1.0, "c": 0.5} for query, scores in run.items()}
    assert score_run(longer, judgments).scores == perfect
    assert "n:11" in perfect["ap"].signature and "gain:linear" in perfect["ndcg_10"].signature
    few = score_run(run, {query: judgments[query] for query in list(judgments)[:9]}).scores["ap"]
    assert few.low is None and perfect["ap"].low is not None and perfect["ap"].low < 100


def test_more_relevant_documents_than_the_cut_cannot_all_be_before_it():
    relevant = {f"d{n:03}": 1 for n in range(103)}
    scores = score_run({"q": {name: 1 - n / 999 for n, name in enumerate(relevant)}}, {"q": relevant}).scores
    assert scores["ndcg_10"].value == scores["p_10"].value == pytest.approx(100)
    assert scores["recall_100"].value == pytest.approx(100 * 100 / 103)


def test_nothing_judged_is_an_error():
    with pytest.raises(DataError, match="no query is judged"):
        score_run(RUN, {})


def test_two_systems_are_tested_on_the_same_queries():
    rng = random.Random(5)
    base = [rng.random() for _ in range(41)]
    systems = {"a": base, "b": [x - 0.1 - rng.random() / 50 for x in base], "c": [x + rng.gauss(0, 0.1) for x in base]}
    tests = compare_rankings({name: 100 * np.array(values) for name, values in systems.items()}, "nDCG@10")
    assert [(test.first, test.second) for test in tests] == [("a", "b"), ("a", "c"), ("b", "c")]
    first = tests[0]
    assert first.difference.value == pytest.approx(100 * (np.mean(base) - np.mean(systems["b"])))
    assert first.difference.low < first.difference.value < first.difference.high and first.difference.low > 10
    assert first.verdict == "significant by both tests" and tests[1].verdict == "not significant by either test"
    alone = compare_rankings({name: 100 * np.array(systems[name]) for name in ("b", "a")}, "nDCG@10")[0]
    assert alone.difference.value == -first.difference.value
    assert first.p_randomized == pytest.approx(3 * alone.p_randomized)  # Holm: the smallest of three


def test_equal_systems_do_not_differ():
    values = np.arange(13.0)
    (same,) = compare_rankings({"a": values, "b": values}, "AP")
    assert same.verdict == "no query differs" and same.p_bootstrap == same.p_randomized == 1
    (few,) = compare_rankings({"a": values, "b": np.where(values < 3, values - 1, values)}, "AP")
    assert few.verdict == "only 3 of the queries differ, too few for a test"
