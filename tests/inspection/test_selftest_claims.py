"""Every claim of the self-tests holds for sound methods, and each fails where its method is broken on purpose."""

import itertools
from functools import partial

import pytest
import torch

from regard.config import Head
from regard.inspection import selftest
from regard.inspection.heads.importance import ablate_heads
from regard.inspection.planted import plant_copying, planted_examples, possible_roles
from regard.inspection.trace import attention_sites
from regard.model.attention import attend, masked_softmax
from regard.model.build import build
from tests.inspection.conftest import config_of
from tests.inspection.test_selftest import with_attend

EXAMPLES = planted_examples(selftest.VOCAB_SIZE)
KINDS = {"encoder": "encoder.1.self", "decoder": "decoder.0.self", "cross": "decoder.1.cross"}


def make_sinusoidal(**overrides: object):
    return selftest.small_model("sinusoidal", "pre", torch.float64, **overrides)


@pytest.fixture(scope="module")
def run():
    """The results of all self-tests of one position encoding, with what was planted and what was found."""
    planted, found = [], []

    def plant(model, name, roles, examples):
        planted.append((name, roles))
        return plant_roles(model, name, roles, examples)

    def analyze(model, examples, random_model):
        found.append((model, random_model, analyze_heads(model, examples, random_model)))
        return found[-1][2]

    plant_roles, analyze_heads = selftest.plant_roles, selftest.analyze_heads
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selftest, "SCHEMES", ("relative",))
        patch.setattr(selftest, "plant_roles", plant)
        patch.setattr(selftest, "analyze_heads", analyze)
        return list(selftest.run_selftests()), planted, found


def test_all_claims_hold(run):
    results, _, _ = run
    assert [result for result in results if not result.passed] == []
    claims = [result.claim for result in results]
    assert all(claims[i] == claims[i + 1] for i in range(0, 12, 2)) and len(set(claims)) == 6 + 3 + 3 + 3 + 3
    assert all("in 2 models of float" in result.measurement for result in results[:12])
    assert [result.measurement.split(";")[0] for result in results[12:15]] == [
        f"{len(possible_roles(kind))} roles, all recovered" for kind in KINDS
    ]
    assert results[15].measurement == "1.00 and -1.00" and results[16].measurement == "0 of 24 heads"


def test_heads_of_every_role_are_planted_and_recovered(run):
    _, planted, found = run
    for kind, name in KINDS.items():
        chunks = [roles for site, roles in planted if site == name]
        roles = possible_roles(kind)
        assert list(itertools.chain(*chunks))[: len(roles)] == roles and len(chunks) == -(-len(roles) // 4)
        assert {len(chunk) for chunk in chunks} == {4}
    assert len(planted) == sum(-(-len(possible_roles(kind)) // 4) for kind in KINDS)
    for (name, roles), (_, random_model, analyses) in zip(planted, found[: len(planted)], strict=True):
        of_site = [analysis for analysis in analyses if analysis.head.attention_name == name]
        assert [analysis.role and analysis.role.name for analysis in of_site] == roles and random_model is not None
        assert all(analysis.role.low - 1e-9 <= analysis.role.lift <= analysis.role.high + 1e-9 for analysis in of_site)
        assert all(analysis.runner_up.name != analysis.role.name for analysis in of_site)


def test_random_models_differ(run):
    _, _, found = run
    model, other, _ = found[-1]
    weights = [next(one.parameters()) for one in (model, other)]
    assert not torch.equal(*weights) and not model.training and not other.training


def test_a_role_that_is_not_there_is_missed(monkeypatch):
    monkeypatch.setattr(selftest, "plant_roles", lambda *arguments: {})
    monkeypatch.setattr(selftest, "possible_roles", lambda kind: ["previous", "separator"])
    results = list(selftest._check_planted_roles(EXAMPLES[:11]))
    assert [result.passed for result in results] == [False] * 3
    for result in results:
        assert result.measurement.startswith("2 roles; previous was classified as none; separator was classified as ")


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)])
def test_a_head_that_does_not_copy_or_suppress_as_it_should_is_seen(signs, monkeypatch):
    given = iter(signs)
    monkeypatch.setattr(selftest, "plant_copying", lambda model, head, sign: plant_copying(model, head, next(given)))
    assert not selftest._check_copying(EXAMPLES).passed


def test_a_head_by_distance_is_a_role_that_random_weights_should_not_have(monkeypatch):
    def model_by_seed(seed: int = 6):
        if seed != 6:
            return random_model(seed)
        config = config_of({"kind": "bias", "length": 64}, dim=32, heads=4)
        model = build(config, selftest.VOCAB_SIZE, selftest.VOCAB_SIZE, joint=True, pad=0).eval()
        with torch.no_grad():
            model.encoder.layers[0].self_attn.positions.table[2, 63 - 1] = 9
        return model

    random_model = selftest._random_model
    monkeypatch.setattr(selftest, "_random_model", model_by_seed)
    result = selftest._check_no_random_roles(EXAMPLES[:11])
    assert not result.passed and result.measurement == "1 of 24 heads"


def test_a_head_that_does_something_is_not_dead(monkeypatch):
    given = []

    def ablate_next(model, examples, heads):
        given.extend(heads)
        return ablate_heads(model, examples, [Head.parse("decoder.1.cross.1")])

    monkeypatch.setattr(selftest, "ablate_heads", ablate_next)
    result = selftest._check_dead_head(EXAMPLES)
    assert not result.passed and result.measurement != "0.0 nats" and given == [Head.parse("decoder.1.cross.0")]


NAMES = [site.name for site in attention_sites(make_sinusoidal())]
MEASURES_BY_PART = [
    (selftest._score_terms_error, "q_proj", 0.1),
    (selftest._contribution_error, "out_proj", 0.1),
    (selftest._contribution_error, "out_proj", -0.1),
    (selftest._signed_share_error, "out_proj", 0.1),
    (selftest._signed_share_error, "out_proj", -0.1),
]


@pytest.mark.parametrize("name", [NAMES[0], NAMES[2], NAMES[-1]])
@pytest.mark.parametrize(("measure", "part", "change"), MEASURES_BY_PART)
def test_one_attention_that_does_not_add_up_is_an_error(measure, part, change, name):
    def make():
        model = make_sinusoidal()
        (site,) = [site for site in attention_sites(model) if site.name == name]
        getattr(site.attention, part).register_forward_hook(lambda module, arguments, result: result * (1 + change))
        return model

    assert 1e-3 < measure(make, EXAMPLES[:3]) < 1


def test_a_second_pass_that_differs_from_the_first_is_an_error():
    def make():
        passes = itertools.count()
        model = make_sinusoidal()
        model.register_forward_hook(lambda module, arguments, result: result * (1 + 0.01 * next(passes)))
        return model

    assert selftest._fused_path_error(make, EXAMPLES[:3]) == pytest.approx(0.01)


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_one_row_that_does_not_sum_to_one_is_an_error(factor):
    def normalize(scores, attn_mask):
        weights = masked_softmax(scores, attn_mask).clone()
        weights[:, 1, 2] *= factor
        return weights

    partly = partial(attend, normalizer=normalize)
    assert selftest._row_sum_error(lambda: with_attend(partly), EXAMPLES[:3]) == pytest.approx(0.3)


@pytest.mark.parametrize("change", [0.01, -0.01])
def test_a_rollout_that_loses_or_makes_something_is_seen(change, monkeypatch):
    rollout = selftest.rollout
    one, both = rollout.attention_rollout, rollout.encoder_decoder_rollout

    def changed(*arguments):
        found = both(*arguments)
        return rollout.DecoderRollout(found.source + change, found.target)

    monkeypatch.setattr(rollout, "attention_rollout", lambda layers: one(layers) + change)
    monkeypatch.setattr(rollout, "encoder_decoder_rollout", changed)
    results = list(selftest._check_rollout())
    assert [result.passed for result in results] == [False] * 3 and "error 1e-02" in results[1].measurement


def test_a_receptive_field_that_lacks_a_token_is_seen(monkeypatch):
    fields = selftest.rollout.receptive_fields
    monkeypatch.setattr(selftest.rollout, "receptive_fields", lambda layers: [f - {0} for f in fields(layers)])
    assert [(result.passed, result.measurement) for result in selftest._check_receptive_fields()] == [
        (False, "31"),
        (False, "80"),
        (False, "63"),
    ]
