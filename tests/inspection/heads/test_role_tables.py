"""From weights to roles: fits, statistics and baselines by explicit loops over sentences, rows and heads."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.config import Head
from regard.inspection.heads import copying, roles, statistics
from regard.inspection.heads.patterns import PROBE_ROLES, TokenCounts, build_patterns, repeated_random_probes
from regard.inspection.heads.roles import PatternFitTable, analyze_heads, copying_roles, fit_all_patterns
from regard.inspection.heads.statistics import PatternFit, fit_pattern, fit_vertical
from regard.inspection.planted import plant_copying, planted_examples
from regard.inspection.trace import attention_sites, attention_weights
from tests.inspection.conftest import SIZE, config_of, model_of

EXAMPLES = planted_examples(SIZE)[:11]
COUNTS = TokenCounts.from_examples(EXAMPLES)


@pytest.fixture(scope="module")
def model():
    return model_of(config_of({"kind": "alibi"}))


@pytest.fixture(scope="module")
def other():
    return model_of(config_of({"kind": "alibi"}), seed=7)


@pytest.fixture(scope="module")
def table(model) -> PatternFitTable:
    return fit_all_patterns(model, EXAMPLES, COUNTS)


def mask_of(kind: str, example) -> np.ndarray:
    mask = np.ones((len(example.query_tokens(kind)), len(example.key_tokens(kind))), dtype=bool)
    return np.tril(mask) if kind == "decoder" else mask


def test_each_pattern_is_fitted_in_each_sentence_or_in_each_probe(model, table):
    probes = repeated_random_probes(SIZE, 12, 11, has_decoder=True)
    groups = {False: (EXAMPLES, attention_weights(model, EXAMPLES)), True: (probes, attention_weights(model, probes))}
    assert list(table.by_site) == [site.name for site in attention_sites(model)]
    for site in attention_sites(model):
        names = {*build_patterns(EXAMPLES[0], site.kind, COUNTS), "vertical"}
        assert set(table.by_site[site.name]) == names
        for name, found in table.by_site[site.name].items():
            group, weights = groups[name in PROBE_ROLES]
            assert found.mass.shape == found.hits.shape == (len(group), 3) and found.rows.shape == (len(group),)
            for n, (example, own) in enumerate(zip(group, weights, strict=True)):
                mask = mask_of(site.kind, example)
                if name == "vertical":
                    one = fit_vertical(own[site.name], mask)
                else:
                    one = fit_pattern(own[site.name], build_patterns(example, site.kind, COUNTS)[name], mask)
                for column in ("mass", "hits", "chance", "rows"):
                    assert np.array_equal(getattr(found, column)[n], getattr(one, column)[0]), (name, column)


def test_statistics_are_means_over_rows_and_then_over_sentences(model, table):
    weights = attention_weights(model, EXAMPLES)
    for site in attention_sites(model):
        for h in range(3):
            sentences = []
            for example, own in zip(EXAMPLES, weights, strict=True):
                w = own[site.name][h].double().numpy()
                first = 1 if site.kind == "decoder" else 0  # the first row of a decoder has one key
                labels = example.query_labels(site.kind)
                entropies, ratios, effective, largest, means, deviations = [], [], [], [], [], []
                for i in range(first, len(w)):
                    row = w[i]
                    entropy = -sum(x * math.log(x) for x in row if x > 0)
                    entropies.append(entropy)
                    ratios.append(entropy / math.log(i + 1 if site.kind == "decoder" else len(row)))
                    effective.append(math.exp(entropy))
                    if not (i == len(w) - 1 and labels.special_tokens_mask[-1]):
                        largest.append(max(row))
                    mean = sum(x * abs(j - i) for j, x in enumerate(row))
                    means.append(mean)
                    deviations.append(math.sqrt(sum(x * (abs(j - i) - mean) ** 2 for j, x in enumerate(row))))
                sentences.append([np.mean(x) for x in (entropies, ratios, effective, largest, means, deviations)])
            expected = np.mean(sentences, axis=0)
            found = table.statistics[site.name][h]
            known = 4 if site.kind == "cross" else 6
            assert found[:known] == pytest.approx(expected[:known], rel=1e-4), site.name
            assert np.isnan(found[known:]).all()


def test_a_sentence_of_one_row_keeps_it():
    side = replace(EXAMPLES[0].source, special_tokens_mask=(True,))
    lone = roles._sentence_statistics(torch.ones(2, 1, 1), "decoder", side)
    assert lone[:, 0].tolist() == [0, 0] and lone[:, 3].tolist() == [1, 1] and np.isnan(lone[:, 1]).all()


def test_the_bound_of_random_weights_is_the_largest_of_all_layers_head_by_head(model, other):
    baseline = fit_all_patterns(other, EXAMPLES, COUNTS)
    for name, kind in (("previous", "decoder"), ("separator", "cross"), ("local", "encoder")):
        sites = [site for site in attention_sites(model) if site.kind == kind]
        highs = [baseline.by_site[site.name][name].confidence_interval()[1] for site in sites]
        for site in sites:
            found = roles.random_baseline(name, site, model, baseline)
            assert np.array_equal(found.lift, baseline.by_site[site.name][name].lift())
            assert found.upper_bound == pytest.approx([max(high[h] for high in highs) for h in range(3)])
    site = attention_sites(model)[0]
    absent = roles.random_baseline("previous", site, model, None)
    assert absent.lift is None and absent.upper_bound.tolist() == [0, 0, 0]
    unknown = roles.random_baseline("no such pattern", site, model, baseline)
    assert unknown.lift is None and unknown.upper_bound.tolist() == [math.inf] * 3
    few = fit_all_patterns(other, EXAMPLES[:3], COUNTS)  # too few for an interval
    short = roles.random_baseline("previous", site, model, few)
    assert short.upper_bound.tolist() == [math.inf] * 3 and short.lift is not None


def test_scores_are_sorted_by_lift_with_copying_last(model, other, table):
    analyses = analyze_heads(model, EXAMPLES, other, COUNTS, table)
    assert [analysis.head for analysis in analyses] == [head for site in attention_sites(model) for head in site.heads]
    baseline = fit_all_patterns(other, EXAMPLES, COUNTS)
    copies, random_copies = (copying_roles(one, None, True) for one in (model, other))
    for analysis in analyses:
        *measured, copy = analysis.roles
        lifts = [role.lift for role in measured]
        assert lifts == sorted(lifts, reverse=True) and copy.name == "copy"
        head = analysis.head
        for role in measured:
            fit = table.by_site[head.attention_name][role.name]
            interval = fit.confidence_interval()
            bounds = (None, None) if interval is None else (interval[0][head.number], interval[1][head.number])
            assert (role.lift, role.low, role.high) == (fit.lift()[head.number], *bounds)
            assert role.macro_lift == fit.macro_lift()[head.number]
            assert role.argmax_rate == fit.argmax_rate()[head.number]
            assert role.baseline == baseline.by_site[head.attention_name][role.name].lift()[head.number]
        assert copy.lift == copies[head].lift == analysis.copying_score and copy.baseline == random_copies[head].lift
        assert copies[head].baseline is None
        assert list(analysis.statistics) == [
            None if math.isnan(x) else x for x in table.statistics[head.attention_name][head.number]
        ]


def test_copying_is_reliable_above_random_heads_and_above_a_least_lift(monkeypatch):
    model = model_of(config_of({"kind": "sinusoidal"}))
    head = Head.parse("decoder.1.self.1")
    plant_copying(model, head)
    (site,) = [site for site in attention_sites(model) if site.name == "decoder.1.self"]
    highest = copying.max_random_copying(model, site, joint_vocab=True)
    found = copying_roles(model, None, joint_vocab=True)
    assert found[head].lift > highest and found[head].is_reliable
    assert [other for other, role in found.items() if role.is_reliable] == [
        other
        for other, role in found.items()
        if role.lift
        >= max(
            roles.MIN_LIFT,
            *(copying.max_random_copying(model, s, True) for s in attention_sites(model) if other in s.heads),
        )
    ]
    monkeypatch.setattr(roles, "MIN_LIFT", 1.1)
    assert not copying_roles(model, None, joint_vocab=True)[head].is_reliable
    apart = copying_roles(model, None, joint_vocab=False)
    assert {other.attention_name for other in apart} == {"decoder.0.self", "decoder.1.self"}


def test_the_baseline_reads_a_sample_of_the_sentences(model, other, monkeypatch):
    monkeypatch.setattr(roles, "BASELINE_SENTENCES", 3)
    sampled = EXAMPLES[::3]
    baseline = fit_all_patterns(other, sampled, COUNTS)
    analysis = analyze_heads(model, EXAMPLES, other, COUNTS)[4]
    for role in analysis.roles[:-1]:
        if role.baseline is not None:
            assert role.baseline == baseline.by_site["encoder.1.self"][role.name].lift()[1]


def test_an_interval_of_a_lift_is_one_less_that_of_what_is_off_the_pattern():
    rng = np.random.default_rng(3)
    rows, chance = rng.integers(3, 9, 20).astype(float), rng.random(20)
    mass = rng.random((20, 2)) * rows[:, None]
    rows[4] = chance[4] = mass[4] = 0  # a sentence without the pattern
    fit = PatternFit(mass, mass, chance, rows)
    low, high = fit.confidence_interval()
    there = rows > 0
    lift = (mass.sum(0) - chance.sum()) / (rows.sum() - chance.sum())
    assert fit.lift() == pytest.approx(lift) and (low < lift).all() and (lift < high).all() and (high <= 1).all()
    without = PatternFit(mass[there], mass[there], chance[there], rows[there])
    for one, two in zip((low, high), without.confidence_interval(), strict=True):
        assert one == pytest.approx(two)
    assert fit.macro_lift() == pytest.approx(
        [np.mean([(mass[n, h] - chance[n]) / (rows[n] - chance[n]) for n in range(20) if n != 4]) for h in (0, 1)]
    )
    none = PatternFit(np.zeros((20, 1)), np.zeros((20, 1)), np.full(20, 1.0), np.full(20, 4.0))
    assert float(none.confidence_interval()[0][0]) == pytest.approx(-1 / 3)  # no lift can be below it
    too_much = PatternFit(np.full((20, 1), 4.1), np.zeros((20, 1)), np.full(20, 1.0), np.full(20, 4.0))
    assert float(too_much.confidence_interval()[1][0]) == 1  # rounding makes no lift above 1
    assert PatternFit(*(x[:5] for x in (mass, mass, chance, rows))).confidence_interval() is None
    joined = PatternFit.concat(
        [PatternFit(*(x[a:b] for x in (mass, mass, chance, rows))) for a, b in ((0, 7), (7, 20))]
    )
    assert np.array_equal(joined.mass, mass) and np.array_equal(joined.rows, rows)


def test_rows_without_a_choice_fit_nothing():
    weights = torch.rand(3, 2, 2)
    diagonal = np.eye(2, dtype=bool)
    for fit in (fit_vertical(weights, diagonal), fit_pattern(weights, diagonal, diagonal)):
        assert fit.rows.tolist() == fit.chance.tolist() == [0]
        assert fit.mass.tolist() == fit.hits.tolist() == [[0, 0, 0]]
        assert fit.argmax_rate().tolist() == [0, 0, 0] and np.isnan(fit.sentence_lifts()).all()
    entropy = statistics.entropy(torch.tensor([0.5, 0.25, 0.25, 0.0]))
    assert float(entropy) == pytest.approx(1.5 * math.log(2))
