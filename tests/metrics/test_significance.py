"""Paired tests: sacreBLEU's own p-values to the last digit, and ours, which are as often small as they say."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from regard.errors import DataError
from regard.metrics import paired_tests
from regard.metrics.intervals import widen_for_sample_size
from regard.metrics.significance import (
    CHUNK,
    PAIRED_TESTS,
    bootstrap_p_value,
    randomization_p_value,
    sum_draws,
)
from tests.metrics.simulation import equal_systems

WORDS = (
    "le",
    "la",
    "un",
    "une",
    "chien",
    "chat",
    "fille",
    "garçon",
    "mange",
    "dort",
    "voit",
    "grand",
    "rouge",
    ".",
    ",",
)


def texts(seed: int, noise: float) -> list[str]:
    rng, out = random.Random(3), []
    other = random.Random(seed)
    for _ in range(37):
        words = rng.choices(WORDS, k=rng.randint(3, 11))
        out.append(" ".join(w if other.random() > noise else other.choice(WORDS) for w in words))
    return out


SYSTEMS = {"first": texts(1, 0.3), "second": texts(2, 0.35), "third": texts(3, 0.6)}
REFERENCES = texts(0, 0.0)


@pytest.mark.parametrize("kind", ["bs", "ar"])
@pytest.mark.parametrize("seed", ["12345", "7"])
def test_what_is_called_sacrebleus_agrees_with_the_sacrebleu_command(kind: str, seed: str, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    for name, lines in (SYSTEMS | {"ref": REFERENCES}).items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def run_sacrebleu(*options: str) -> str:
        command = [sys.executable, "-m", "sacrebleu", "ref", "-i", *SYSTEMS, f"--paired-{kind}", *options]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=dict(os.environ))
        return out.stdout

    ours = paired_tests(SYSTEMS, REFERENCES, kind)
    compared = 0
    for row in json.loads(run_sacrebleu("-f", "json", "-m", "bleu")):
        name = row["system"].removeprefix("Baseline: ")
        for metric, title in (("bleu", "BLEU"),):
            test = ours[name][metric]
            assert test.score == pytest.approx(row[title]["score"], abs=1e-9)
            assert (test.p is None) == (name == "first")
            if test.p is not None:
                assert test.sacrebleu_p == row[title]["p_value"]
                compared += 1
    assert compared == 2
    # As JSON the command cannot write chrF and TER: their bootstrap numbers have another type.
    text = run_sacrebleu("-f", "text", "-m", "chrf", "ter")
    chances = [float(p) for p in re.findall(r"p = ([0-9.]+)\)", text)]
    assert chances == [round(ours[s][m].sacrebleu_p, 4) for s in ("second", "third") for m in ("chrf", "ter")]
    draws = {"bs": 1000, "ar": 10000}[kind]
    assert f"|{kind}:{draws}|seed:{seed}|" in ours["second"]["bleu"].signature
    assert ours["second"]["bleu"].p != ours["third"]["bleu"].p  # else the comparison would say nothing


def test_a_much_worse_system_is_significantly_so_and_an_equal_one_is_not():
    tests = paired_tests({"a": SYSTEMS["first"], "same": SYSTEMS["first"], "worse": SYSTEMS["third"]}, REFERENCES, "bs")
    assert tests["worse"]["bleu"].significant and not tests["same"]["bleu"].significant
    assert not tests["a"]["bleu"].significant


def test_lists_of_unequal_length_and_a_single_system_are_refused():
    with pytest.raises(DataError, match="36 translations but 37 references"):
        paired_tests({"a": SYSTEMS["first"], "b": SYSTEMS["second"][:-1]}, REFERENCES, "bs")
    with pytest.raises(DataError, match="two systems"):
        paired_tests({"a": SYSTEMS["first"]}, REFERENCES, "ar")


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_identical_outputs_do_not_differ(kind: str):
    for test in paired_tests({"a": SYSTEMS["first"], "b": list(SYSTEMS["first"])}, REFERENCES, kind)["b"].values():
        assert test.p == 1 and not test.significant and test.format_p_value(3) == "the same translations"
        assert test.sacrebleu_p < 0.002  # what sacreBLEU makes of it


def test_several_systems_are_corrected_together_and_two_are_not():
    alone = paired_tests({"a": SYSTEMS["first"], "b": SYSTEMS["third"]}, REFERENCES, "ar")["b"]["bleu"]
    assert alone.adjusted_p is None and alone.decisive_p == alone.p
    tests = paired_tests({"a": SYSTEMS["first"], "b": SYSTEMS["third"], "c": SYSTEMS["second"]}, REFERENCES, "ar")
    assert tests["b"]["bleu"].p == alone.p and tests["b"]["bleu"].decisive_p == pytest.approx(2 * alone.p)


def test_a_draw_that_ties_with_the_observation_speaks_for_chance():
    """Six sentences that all favor one side: of 64 exchanges two are as extreme, so p is 2 / 64."""
    references = [f"w{n} x{n} y{n} z{n} v{n}" for n in range(20)]
    worse = [f"w{n} q{n} r{n} s{n} t{n}" if n < 6 else text for n, text in enumerate(references)]
    test = paired_tests({"a": references, "b": worse}, references, "ar", ("bleu",))["b"]["bleu"]
    assert test.p == pytest.approx(2 / 64, abs=0.006) and test.sacrebleu_p < 0.001


def null_sizes(num_sentences: int, repeats: int) -> dict[str, float]:
    """How often p is below 0.05 for two systems that are equally good."""
    rng, metric, hits = np.random.default_rng(num_sentences), BLEU(force=True), {"bs": 0, "ar": 0, "sacrebleu": 0}
    draws = {kind: test.draw(num_sentences, 12345)[:2000] for kind, test in PAIRED_TESTS.items()}
    for _ in range(repeats):
        first, other = equal_systems(rng, 2, num_sentences)
        values = {kind: test.p_values(metric, first, other, draws[kind]) for kind, test in PAIRED_TESTS.items()}
        hits["sacrebleu"] += values["bs"].sacrebleu_p < 0.05
        for kind in ("bs", "ar"):
            hits[kind] += values[kind].p < 0.05
    return {kind: count / repeats for kind, count in hits.items()}


def test_equal_systems_differ_once_in_twenty():
    sizes = null_sizes(53, 300)
    assert 0.02 < sizes["bs"] < 0.085 and 0.02 < sizes["ar"] < 0.085 and sizes["sacrebleu"] > 0.085


@pytest.mark.slow
@pytest.mark.parametrize("num_sentences", [20, 50, 200])
def test_equal_systems_differ_once_in_twenty_on_any_number_of_sentences(num_sentences: int, record_property):
    sizes = null_sizes(num_sentences, 2000)
    record_property("sizes", str(sizes))
    assert 0.035 < sizes["bs"] < 0.065 and 0.035 < sizes["ar"] < 0.065


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_a_difference_is_that_of_the_scores_and_only_the_first_system_has_none(kind: str):
    tests = paired_tests(SYSTEMS, REFERENCES, kind, ("bleu", "ter"))
    for metric in ("bleu", "ter"):
        first = tests["first"][metric]
        assert (first.p, first.difference, first.num_differing, first.adjusted_p) == (None, 0.0, 0, None)
        for name in ("second", "third"):
            test = tests[name][metric]
            assert test.difference == pytest.approx(test.score - first.score) and test.difference != 0
            differing = sum(a != b for a, b in zip(SYSTEMS["first"], SYSTEMS[name], strict=True))
            assert test.num_differing == differing and test.adjusted_p >= test.p
        ps = sorted((tests[name][metric].p, tests[name][metric].adjusted_p) for name in ("second", "third"))
        assert ps[0][1] == pytest.approx(min(1, 2 * ps[0][0])) and ps[1][1] == max(ps[0][1], ps[1][0])
    pair = paired_tests({"a": SYSTEMS["first"], "b": SYSTEMS["third"]}, REFERENCES, kind, ("bleu",))
    assert pair["b"]["bleu"].adjusted_p is None and pair["b"].keys() == {"bleu"}
    assert tests["second"]["bleu"].metric == "BLEU" and tests["second"]["ter"].metric == "TER"


def test_sums_of_draws_are_those_of_their_sentences():
    rng = np.random.default_rng(3)
    for draws in (1, CHUNK, CHUNK + 1, 2 * CHUNK + 7):
        weights, statistics = rng.integers(0, 3, (draws, 5)).astype(np.uint16), rng.normal(size=(5, 3))
        expected = np.array([sum(w * row for w, row in zip(line, statistics, strict=True)) for line in weights])
        assert sum_draws(weights, statistics) == pytest.approx(expected)


def test_bootstrapped_corpora_have_as_many_sentences_and_exchanges_half():
    draws = PAIRED_TESTS["bs"].draw(37, 7)
    assert draws.shape == (1000, 37) and (draws.sum(axis=1) == 37).all()
    assert (PAIRED_TESTS["bs"].draw(37, 7) == draws).all() and (PAIRED_TESTS["bs"].draw(37, 8) != draws).any()
    exchanges = PAIRED_TESTS["ar"].draw(37, 7)
    assert (
        exchanges.dtype == bool and exchanges.shape == (10_000, 37) and exchanges.mean() == pytest.approx(0.5, abs=0.01)
    )


def test_a_tie_speaks_for_chance():
    differences = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert randomization_p_value(2.0, differences) == pytest.approx(3 / 6)
    assert randomization_p_value(2.0 + 1e-10, differences) == pytest.approx(3 / 6)  # equal but for rounding
    assert randomization_p_value(2.1, differences) == pytest.approx(1 / 6)
    wide = widen_for_sample_size(11)
    for shift in (0.0, 5.0):  # the mean of the draws is that of equal systems
        assert bootstrap_p_value(2.0 * wide, differences + shift, 11) == pytest.approx(3 / 6)
        assert bootstrap_p_value(2.0 * wide + 1e-6, differences + shift, 11) == pytest.approx(1 / 6)
