"""What searches do exactly at their limits."""

import math

import pytest
import torch

from regard.data.tokenizers.tokenizer import BOS, EOS
from regard.decode import BeamSearch, GreedySearch, Limits, SamplingSearch
from regard.decode.limits import MAX_CYCLE_LENGTH, cycle_lengths, filler_tokens, trim_loop
from regard.decode.stepper import Hypothesis
from regard.errors import ConfigError
from tests.decode.test_search import Chain, Counted, Spelled, V, chain, looper


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(1)], ids=repr)
def test_three_times_is_a_refrain_and_four_times_a_loop(search):
    for times in (1, 2, 3):
        (results,) = search.search(Counted(looper(length=3), 2 * times))
        assert results[0].ids == (4, 5) * times and not results[0].truncated
    (results,) = search.search(Counted(looper(length=3), 8))
    assert results[0].ids == (4, 5) and results[0].truncated


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(1)], ids=repr)
@pytest.mark.parametrize(("length", "cut"), [(7, True), (8, False)])
def test_a_loop_counts_once_the_output_is_longer_than_its_source(search, length: int, cut: bool):
    (results,) = search.search(Counted(looper(length), 8))
    assert results[0].truncated == cut and results[0].ids == (4, 5) * (1 if cut else 4)


def test_a_cycle_has_a_longest_period():
    for period in (1, 2, MAX_CYCLE_LENGTH, MAX_CYCLE_LENGTH + 1):
        row = list(range(10, 10 + period)) * 3
        found = period if period <= MAX_CYCLE_LENGTH else 0
        assert cycle_lengths(torch.tensor([row]), 3).tolist() == [found]
        assert trim_loop([9, *row], 3) == ([9, *row[:period]] if found else [9, *row])
        assert cycle_lengths(torch.tensor([row]), 4).tolist() == [0]


def test_the_longest_output_grows_with_the_source():
    never = chain(1)
    never.tables[:, :, EOS] = -math.inf
    for length in (1, 3, 5):
        for search in (GreedySearch(Limits(loop_repeats=99)), BeamSearch(2, limits=Limits(loop_repeats=99))):
            (results,) = search.search(Chain(never.tables.clone(), length))
            assert len(results[0].ids) == 2 * length + 16 and results[0].truncated


def test_an_output_of_exactly_the_maximum_length_has_its_end():
    """The end counts as a token: the last step may still be the end."""
    limits = Limits(factor=1, extra=4, loop_repeats=99)
    for search in (GreedySearch(limits), BeamSearch(1, limits=limits), SamplingSearch(limits=limits)):
        for end, cut in ((6, False), (7, True)):
            (results,) = search.search(Counted(looper(length=3), end))
            assert (len(results[0].ids), results[0].truncated) == (6 + cut, cut)


def test_any_number_below_one_draws_a_token_that_is_possible():
    scores = torch.randn(997, 31, dtype=torch.double)
    for uniform in (0.0, 0.5, 1 - 2**-53, 1.0):
        for search in (SamplingSearch(), SamplingSearch(top_k=5), SamplingSearch(top_p=0.7)):
            tokens = search.draw(scores, torch.full((997,), uniform, dtype=torch.double))
            ranks = (scores > scores.gather(1, tokens[:, None])).sum(dim=1)
            assert int(ranks.max()) < 31
            if uniform == 0:
                assert not ranks.any()
            elif uniform < 1 and search.top_k:
                assert int(ranks.max()) <= search.top_k - 1
    assert torch.equal(SamplingSearch(top_k=1).draw(scores, torch.rand(997, dtype=torch.double)), scores.argmax(dim=-1))


def test_a_nucleus_ends_where_its_share_is_reached():
    """Probabilities that are exact in binary: the first tokens that reach top_p together are kept, no more."""
    scores = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log().expand(1000, -1)
    uniforms = torch.linspace(0, 1 - 1e-9, 1000, dtype=torch.double)
    for top_p, kept in ((0.4, 1), (0.5, 1), (0.6, 2), (0.75, 2), (0.8, 3), (0.875, 3), (0.9, 4), (1.0, 4)):
        assert SamplingSearch(top_p=top_p).draw(scores, uniforms).unique().tolist() == list(range(kept)), top_p
    for kept in (1, 2, 3, 4):  # equal ones, whose probabilities have no rounding error
        assert len(SamplingSearch(top_p=kept / 4).draw(torch.zeros(1000, 4), uniforms).unique()) == kept


def test_filler_is_no_token_and_repeats_nothing():
    filler = filler_tokens(3, 7, torch.device("cpu"))
    assert filler.shape == (3, 7) and (filler < 0).all()
    assert all(len(set(row)) == 7 for row in filler.tolist())


@pytest.mark.parametrize(
    ("search", "low", "high", "name"),
    [
        (BeamSearch, 0, 10, "alpha"),
        (SamplingSearch, 1e-6, 1e6, "temperature"),
        (SamplingSearch, 1e-6, 1, "top_p"),
        (SamplingSearch, 0, 10**6, "top_k"),
        (SamplingSearch, 0, 10**6, "seed"),
    ],
)
def test_settings_are_allowed_up_to_their_limits(search, low: float, high: float, name: str):
    assert getattr(search(**{name: low}), name) == low
    assert getattr(search(**{name: high}), name) == high
    with pytest.raises(ConfigError, match=name):
        search(**{name: low - 1e-6 if isinstance(low, float) else low - 1})
    if high <= 10:
        with pytest.raises(ConfigError, match=name):
            search(**{name: high + 1e-6})
    assert search() == search(**{name: getattr(search(), name)})


def test_the_size_of_a_beam_and_of_its_list():
    assert BeamSearch(1).nbest == BeamSearch(3, nbest=1).nbest == 1
    assert BeamSearch(3, nbest=3).nbest == 3
    for nbest in (0, 4):
        with pytest.raises(ConfigError, match="nbest"):
            BeamSearch(3, nbest=nbest)


def test_what_is_searched_unless_anything_is_asked_for():
    """The settings that the documents promise."""
    assert Limits() == Limits(factor=2.0, extra=16, loop_repeats=4)
    assert BeamSearch() == BeamSearch(size=5, alpha=1.0, nbest=1, limits=Limits())
    assert SamplingSearch() == SamplingSearch(temperature=1.0, top_k=0, top_p=1.0, seed=1, limits=Limits())
    assert GreedySearch() == GreedySearch(Limits(), scored=True)
    assert MAX_CYCLE_LENGTH == 8


def test_a_number_on_the_border_of_two_tokens_draws_the_second():
    """Every token has the interval from the sum of the ones before, included, to its own, excluded."""
    uniforms = torch.tensor([i / 4 - below for i in range(5) for below in (2**-53, 0)][1:-1], dtype=torch.double)
    drawn = SamplingSearch().draw(torch.zeros(8, 4), uniforms).tolist()
    assert drawn[::2] == drawn[1::2] and sorted(drawn[::2]) == [0, 1, 2, 3]


def test_an_untold_hypothesis_was_not_cut():
    assert Hypothesis((4, 5), -1.0) == Hypothesis((4, 5), -1.0, truncated=False)


def test_a_spelling_that_is_merged_leaves_its_place_to_a_worse_text():
    """4 and 5 are two spellings of one text, both better than the empty one; two texts are asked for."""
    tables = torch.full((1, V, V), 1e-4)
    tables[0, BOS, 4], tables[0, BOS, EOS], tables[0, BOS, 5] = 0.5, 0.3, 0.2
    tables[0, 4:6, EOS] = 1.0
    stepper = Spelled(tables.log())
    (found,) = BeamSearch(2, nbest=2).search(stepper)
    assert [(h.ids, h.truncated) for h in found] == [((4,), False), ((), False)]
    (apart,) = BeamSearch(2, nbest=2).search(Chain(tables.log()))
    assert [h.ids for h in apart] == [(4,), (5,)]


@pytest.mark.parametrize("room", [1, 1000])
@pytest.mark.parametrize("kind", [GreedySearch, BeamSearch, SamplingSearch])
def test_every_output_has_the_maximum_length_of_its_own_source(kind, room: int):
    never = chain(4)
    never.tables[:, :, EOS] = -math.inf
    stepper = Chain(never.tables, room=room)
    stepper.source_lengths = torch.tensor([5, 1, 7, 2])
    found = kind(limits=Limits(factor=1.5, extra=3, loop_repeats=99)).search(stepper)
    assert [len(results[0].ids) for results in found] == [7 + 3, 1 + 3, 10 + 3, 3 + 3]
    stepper = Chain(never.tables, room=room)
    stepper.source_lengths, stepper.max_output_length = torch.tensor([5, 1, 7, 2]), 6
    found = kind(limits=Limits(factor=1.5, extra=3, loop_repeats=99)).search(stepper)
    assert [len(results[0].ids) for results in found] == [6, 4, 6, 6]


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize(
    ("kind", "name"), [(BeamSearch, "alpha"), (SamplingSearch, "temperature"), (SamplingSearch, "top_p")]
)
def test_settings_are_finite(kind, name: str, number: float):
    with pytest.raises(ConfigError, match=name):
        kind(**{name: number})
