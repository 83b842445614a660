"""Searches, on a small Markov chain whose every output can be counted, and on real models."""

import itertools
import math
from collections.abc import Hashable, Sequence

import pytest
import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch, Limits, SamplingSearch
from regard.decode.limits import _cycle_length, cycle_lengths, trim_loop
from regard.decode.stepper import compact_rows
from regard.errors import ConfigError
from regard.model.build import build
from regard.runtime.incremental import COLUMNS_PER_RESERVE, IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper

V = 7


class Chain:
    """The next token depends on the last one alone, and on which sentence it is."""

    bos, eos = BOS, EOS
    max_output_length = 1000

    def __init__(self, tables: Tensor, length: int = 3, room: int = 1000):
        self.tables = tables.log_softmax(-1)  # (N, V, V)
        self.source_lengths = torch.full((len(tables),), length)
        self.global_indices = torch.arange(len(tables))
        self.room = room
        self.width = 1
        self.admitted = 0
        self.rows = torch.zeros(0, dtype=torch.long)

    def admit(self, rows_per_sentence: int) -> int:
        self.width = rows_per_sentence
        new = min(self.room - len(self.rows) // rows_per_sentence, len(self.tables) - self.admitted)
        self.rows = torch.cat(
            (self.rows, torch.arange(self.admitted, self.admitted + new).repeat_interleave(rows_per_sentence))
        )
        self.admitted += new
        return new

    def step(self, last_tokens: Tensor) -> Tensor:
        return (
            self.tables[self.rows, last_tokens] + last_tokens[:, None]
        )  # a constant for each row, which must not matter

    def select(self, rows: Tensor) -> None:
        self.rows = self.rows[rows]

    def tokens_at(self, columns: Tensor) -> Tensor:
        return columns

    def surface(self, ids: Sequence[int]) -> Hashable:
        return tuple(ids)


def chain(count: int, length: int = 3, seed: int = 3) -> Chain:
    generator = torch.Generator().manual_seed(seed)
    tables = torch.randn(count, V, V, generator=generator) * 2
    tables[:, :, EOS] += 2  # so that most outputs come to an end
    tables[:, :, [PAD, BOS]] = -torch.inf
    return Chain(tables, length)


def score(table: Tensor, ids: tuple[int, ...], alpha: float) -> float:
    path = [BOS, *ids, EOS]
    total = sum(float(table[a, b]) for a, b in itertools.pairwise(path))
    return total / (len(ids) + 1) ** alpha


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_wide_beam_finds_the_best_of_all_outputs(alpha: float):
    limits = Limits(factor=0, extra=4, loop_repeats=99)
    results = BeamSearch(size=400, alpha=alpha, limits=limits).search(chain(5))
    tokens = [t for t in range(V) if t not in (PAD, BOS, EOS)]
    for table, hypotheses in zip(chain(5).tables, results, strict=True):
        outputs = [ids for n in range(4) for ids in itertools.product(tokens, repeat=n)]
        best = max(outputs, key=lambda ids: score(table, ids, alpha))
        assert hypotheses[0].ids == best
        assert hypotheses[0].score == pytest.approx(score(table, best, alpha), abs=1e-5)


def test_scores_are_of_the_ids_they_stand_with_and_fall():
    results = BeamSearch(size=5, nbest=5, limits=Limits(extra=99, loop_repeats=99)).search(chain(11))
    for table, hypotheses in zip(chain(11).tables, results, strict=True):
        assert hypotheses == sorted(hypotheses, key=lambda h: -h.score)
        assert len({h.ids for h in hypotheses}) == len(hypotheses)
        for h in hypotheses:
            assert h.score == pytest.approx(score(table, h.ids, 1.0), abs=1e-5)


def test_there_are_always_as_many_as_asked_for():
    looping = looper(length=3)
    assert [len(results) for results in BeamSearch(3, nbest=3).search(looping)] == [3]
    for results in BeamSearch(5, nbest=5, limits=Limits(factor=0, extra=2)).search(chain(11)):
        assert len(results) == 5


class Spelled(Chain):
    """A chain whose tokens 4 and 5 are two spellings of one text, and 6 is no text at all."""

    def surface(self, ids: Sequence[int]) -> Hashable:
        return "".join({1: "?", 4: "a", 5: "a", 6: ""}[i] for i in ids)


def test_no_two_hypotheses_have_the_same_text():
    limits = Limits(factor=0, extra=4, loop_repeats=99)
    wide, narrow = BeamSearch(400, nbest=400, limits=limits), BeamSearch(5, nbest=5, limits=limits)
    stepper = Spelled(chain(11).tables)
    for all_hypotheses, spelled in zip(wide.search(chain(11)), wide.search(stepper), strict=True):
        ended = [h for h in all_hypotheses if not h.truncated]
        best = {stepper.surface(h.ids): h for h in reversed(ended)}  # the first of every text
        assert [h for h in spelled if not h.truncated] == sorted(best.values(), key=lambda h: -h.score)
    merged = narrow.search(Spelled(chain(11).tables))
    for one, other in zip(merged, narrow.search(chain(11)), strict=True):
        surfaces = [stepper.surface(h.ids) for h in one]
        assert len(set(surfaces)) == len(surfaces) and one[0] == other[0]
    spares = [h for one, other in zip(merged, narrow.search(chain(11)), strict=True) for h in one if h not in other]
    assert spares, "what was merged is made up for by hypotheses beyond the beam width"


def test_hypotheses_that_were_cut_come_last_whatever_their_score():
    """The best continuation by far never ends; an end after any step is unlikely, and still preferred."""
    tables = torch.full((1, V, V), -30.0)
    tables[0, :, 4], tables[0, :, 5], tables[0, :, EOS] = 0.0, -0.5, -9.0
    limits = Limits(factor=0, extra=3, loop_repeats=99)
    for size in (1, 2, 5):
        (results,) = BeamSearch(size, nbest=size, limits=limits).search(Chain(tables.clone()))
        flags = [h.truncated for h in results]
        assert flags == sorted(flags) and all(len(h.ids) == 3 for h in results if h.truncated)
        for group in (False, True):
            scores = [h.score for h in results if h.truncated == group]
            assert scores == sorted(scores, reverse=True)
    assert flags[0] is False and flags[-1] is True
    assert max(h.score for h in results if h.truncated) > max(h.score for h in results if not h.truncated)


def test_beam_of_one_is_greedy_on_a_chain():
    beam, greedy = BeamSearch(size=1).search(chain(29)), GreedySearch().search(chain(29))
    assert [(h[0].ids, h[0].truncated) for h in beam] == [(h[0].ids, h[0].truncated) for h in greedy]
    assert [h[0].score for h in beam] == pytest.approx([h[0].score for h in greedy])


@pytest.mark.parametrize("room", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "search", [GreedySearch(), BeamSearch(3, nbest=3, alpha=0.6), SamplingSearch(seed=3)], ids=repr
)
def test_room_changes_nothing(room: int, search):
    """Sentences that wait until others have left are translated as if all had come at once."""
    small_batch = chain(17)
    small_batch.room = room
    assert search.search(small_batch) == search.search(chain(17))


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(2)], ids=repr)
def test_a_loop_of_one_that_came_late_is_stopped_too(search):
    tables = torch.cat([chain(3).tables, looper(length=3).tables])
    results = search.search(Chain(tables, room=1))
    assert results[3] == search.search(looper(length=3))[0]


def test_sentences_do_not_meet_in_a_beam():
    together = BeamSearch(size=3).search(chain(7))
    tables = chain(7).tables
    for i in range(7):
        assert BeamSearch(size=3).search(Chain(tables[i : i + 1]))[0] == together[i]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(5)
    model = build(ModelConfig(dim=22, heads=2, ffn=13, layers=2), 31, 31, joint=True, pad=PAD)
    with torch.no_grad():
        model.output.weight.mul_(3)  # a fresh model is unsure of everything; make it choose
    return model.double().eval()


SOURCES = [torch.randint(4, 31, (n,), generator=torch.Generator().manual_seed(n)).tolist() for n in (2, 11, 5, 7, 3)]


def steps(model, sources: list[list[int]], first: int = 0, room: int = 4096) -> ModelStepper:
    return ModelStepper(IncrementalDecoder(model), sources, range(first, first + len(sources)), room)


@pytest.mark.parametrize(
    "search",
    [
        GreedySearch(),
        BeamSearch(3),
        BeamSearch(4, nbest=4, alpha=0.6),
        SamplingSearch(seed=3),
        SamplingSearch(0.5, 5, 0.9),
    ],
    ids=repr,
)
def test_a_batch_of_many_equals_one_by_one(model, search):
    with torch.inference_mode():
        together = search.search(steps(model, SOURCES))
        for i, source in enumerate(SOURCES):
            alone = search.search(steps(model, [source], first=i))[0]
            assert [h.ids for h in alone] == [h.ids for h in together[i]]
            assert [h.score for h in alone] == pytest.approx([h.score for h in together[i]])


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(3, nbest=2), SamplingSearch(seed=3)], ids=repr)
@pytest.mark.parametrize("room", [1, 24, 36, 72, 108])
def test_sentences_that_enter_late_are_translated_as_if_alone(model, search, room: int):
    sources = SOURCES * 3
    with torch.inference_mode():
        apart, together = (search.search(steps(model, sources, room=size)) for size in (room, 4096))
    for one, other in zip(apart, together, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other])


def test_without_scores_the_same_is_found(model):
    with torch.inference_mode():
        scored, plain = (GreedySearch(scored=wanted).search(steps(model, SOURCES)) for wanted in (True, False))
    assert [one.ids for (one,) in scored] == [one.ids for (one,) in plain]
    assert all(one.score < 0 for (one,) in scored)
    assert all(math.isnan(one.score) for (one,) in plain)


def test_those_that_stay_move_only_into_gaps():
    for leave in itertools.product((False, True), repeat=7):
        rows = compact_rows(torch.tensor(leave)).tolist()
        assert sorted(rows) == [i for i in range(7) if not leave[i]]
        assert all(row == i or leave[i] for i, row in enumerate(rows))


def test_no_more_are_inside_than_there_is_room_for(model):
    stepper = steps(model, SOURCES, room=24)  # sources of 2, 11, 5, 7 and 3 tokens, and their ends
    assert stepper.admit(3) == 2
    assert stepper.admit(3) == 0
    stepper.select(torch.tensor([0, 1, 2]))
    assert stepper.admit(3) == 2
    stepper.select(torch.arange(0))
    assert stepper.admit(3) == 1
    stepper.select(torch.arange(0))
    assert stepper.admit(3) == 0


def test_what_is_kept_is_bounded_over_layers_and_width(model, monkeypatch):
    limit = 2 * 3 * COLUMNS_PER_RESERVE * 2 * 22  # sentences, beams, positions, layers, width
    monkeypatch.setattr("regard.tasks.translate.translator.MAX_CACHE_ELEMENTS", limit)
    stepper = steps(model, SOURCES)
    assert (stepper.admit(3), stepper.admit(3)) == (2, 0)


def test_what_is_predicted_at_a_time_is_bounded_over_beams_and_vocabulary(model, monkeypatch):
    with torch.inference_mode():
        together = BeamSearch(3).search(steps(model, SOURCES))
        monkeypatch.setattr("regard.tasks.translate.translator.MAX_LOGITS", 2 * 3 * 31)  # sentences, beams, tokens
        stepper = steps(model, SOURCES)
        assert (stepper.admit(3), stepper.admit(3)) == (2, 0)
        apart = BeamSearch(3).search(steps(model, SOURCES))
    assert [h[0].ids for h in apart] == [h[0].ids for h in together]


def test_beam_of_one_is_greedy_on_a_model(model):
    with torch.inference_mode():
        beam, greedy = BeamSearch(1).search(steps(model, SOURCES)), GreedySearch().search(steps(model, SOURCES))
    assert [h[0].ids for h in beam] == [h[0].ids for h in greedy]
    assert [h[0].score for h in beam] == pytest.approx([h[0].score for h in greedy])


def test_greedy_is_the_argmax_of_the_whole_model_at_every_step(model):
    with torch.inference_mode():
        for source, (best,) in zip(SOURCES, GreedySearch().search(steps(model, SOURCES)), strict=True):
            target = torch.tensor([[BOS, *best.ids]])
            logits = model.output(model(torch.tensor([[*source, EOS]]), target))[0]
            logits[:, [PAD, BOS]] = -torch.inf
            assert logits.argmax(-1)[: len(best.ids)].tolist() == list(best.ids)


def test_no_output_holds_a_special_token(model):
    with torch.inference_mode():
        for results in BeamSearch(4, nbest=4).search(steps(model, SOURCES)):
            assert all(i not in (PAD, BOS, EOS) for h in results for i in h.ids)


def test_length_is_capped(model):
    never = chain(2)
    never.tables[:, :, EOS] = -math.inf
    limits = Limits(factor=1, extra=2, loop_repeats=99)
    for search in (GreedySearch(limits), BeamSearch(3, limits=limits), SamplingSearch(limits=limits)):
        stepper = Chain(never.tables.clone(), length=3)
        assert [len(h[0].ids) for h in search.search(stepper)] == [5, 5]


def test_no_output_is_longer_than_the_model_has_places_for():
    never = chain(2)
    never.tables[:, :, EOS] = -math.inf
    for search in (GreedySearch(), BeamSearch(3), SamplingSearch()):
        stepper = Chain(never.tables.clone(), length=3)
        stepper.max_output_length = 4
        assert max(len(h[0].ids) for h in search.search(stepper)) <= 4


def looper(length: int) -> Chain:
    """4 5 4 5 4 5 … for ever."""
    table = torch.full((1, V, V), -30.0)
    for a, b in ((BOS, 4), (4, 5), (5, 4)):
        table[0, a, b] = 0.0
    return Chain(table, length)


class Counted(Chain):
    """A chain that ends after `end` tokens."""

    def __init__(self, chain: Chain, end: int):
        super().__init__(chain.tables, int(chain.source_lengths[0]))
        self.steps_left = end

    def step(self, last: Tensor) -> Tensor:
        self.steps_left -= 1
        if self.steps_left >= 0:
            return super().step(last)
        return torch.full((len(last), V), -torch.inf).index_fill(1, torch.tensor([EOS]), 0.0)


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(1)], ids=repr)
def test_a_loop_is_stopped_and_unwound(search):
    (results,) = search.search(looper(length=3))
    assert results[0].ids == (4, 5)


def test_a_wider_beam_does_not_end_in_a_loop_either():
    (results,) = BeamSearch(3).search(looper(length=3))
    assert int(cycle_lengths(torch.tensor([results[0].ids]), 4)[0]) == 0


def test_a_source_that_repeats_itself_may_be_echoed():
    (results,) = GreedySearch().search(Counted(looper(length=40), 30))
    assert results[0].ids == (4, 5) * 15


def test_cycles_are_found_at_the_end_only():
    tokens = torch.tensor([[1, 2, 3, 3, 3, 3], [3, 3, 3, 3, 1, 2], [1, 2, 1, 2, 1, 2], [1, 2, 3, 4, 5, 6]])
    assert cycle_lengths(tokens, 3).tolist() == [1, 0, 2, 0]
    assert trim_loop([9, 1, 2, 1, 2, 1, 2], 3) == [9, 1, 2]
    assert trim_loop([9, 1, 2, 1, 2], 3) == [9, 1, 2, 1, 2]
    assert trim_loop([], 3) == []
    for row in itertools.product((1, 2), repeat=9):
        assert _cycle_length(list(row), 3) == int(cycle_lengths(torch.tensor([row]), 3))


def test_sampling_follows_the_probabilities():
    p = torch.tensor([0.5, 0.3, 0.15, 0.05])
    chance = (torch.arange(10_000) + 0.5).double() / 10_000
    drawn = SamplingSearch().draw(p.log().expand(10_000, -1), chance)
    assert torch.bincount(drawn).tolist() == [5000, 3000, 1500, 500]
    cold = torch.bincount(SamplingSearch(temperature=0.5).draw(p.log().expand(10_000, -1), chance), minlength=4) / 1e4
    torch.testing.assert_close(cold, p**2 / (p**2).sum(), atol=1e-3, rtol=0)
    assert torch.bincount(SamplingSearch(top_k=2).draw(p.log().expand(10_000, -1), chance)).tolist() == [6250, 3750]
    assert len(torch.bincount(SamplingSearch(top_p=0.79).draw(p.log().expand(10_000, -1), chance))) == 2
    assert len(torch.bincount(SamplingSearch(top_p=0.81).draw(p.log().expand(10_000, -1), chance))) == 3
    for min_p, kept in ((0.0, 4), (0.09, 4), (0.11, 3), (0.29, 3), (0.31, 2), (0.61, 1), (1.0, 1)):  # fractions of 0.5
        drawn = torch.bincount(SamplingSearch(min_p=min_p).draw(p.log().expand(10_000, -1), chance))
        torch.testing.assert_close(drawn / 1e4, p[:kept] / p[:kept].sum(), atol=1e-4, rtol=0)
    hot = SamplingSearch(temperature=2.0, min_p=0.5).draw(p.log().expand(10_000, -1), chance)
    assert len(torch.bincount(hot)) == 3  # √.15 ≥ √.5 / 2: of the probabilities that are drawn from


def test_sampling_repeats_with_its_seed_and_only_then():
    one, same, other = (SamplingSearch(seed=s).search(chain(11, length=9)) for s in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BeamSearch(0), "beam=0: must be at least 1"),
        (lambda: BeamSearch(alpha=math.nan), "alpha=nan: must be between 0 and 10"),
        (lambda: BeamSearch(alpha=1000), "alpha=1000: must be between 0 and 10"),
        (lambda: SamplingSearch(seed=-1), "seed=-1: must be 0 or more"),
        (lambda: SamplingSearch(temperature=math.nan), "temperature=nan: must be above 0"),
        (lambda: BeamSearch(3, nbest=4), "nbest=4: must be between 1 and the beam size, 3"),
        (lambda: SamplingSearch(temperature=0), "temperature=0: must be above 0"),
        (lambda: SamplingSearch(top_p=1.5), "top_p=1.5"),
        (lambda: SamplingSearch(min_p=1.5), "min_p=1.5: must be from 0 to 1"),
        (lambda: SamplingSearch(min_p=math.nan), "min_p=nan: must be from 0 to 1"),
    ],
)
def test_searches_that_cannot_be_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_a_models_scores_are_those_of_the_ids_they_stand_with(model, alpha: float):
    """A beam that went on with the memory of another would not score what its own words are worth."""
    with torch.inference_mode():
        search = BeamSearch(4, alpha, nbest=4, limits=Limits(loop_repeats=99))
        for source, results in zip(SOURCES, search.search(steps(model, SOURCES)), strict=True):
            for h in results:
                target = torch.tensor([[BOS, *h.ids]])
                logits = model.output(model(torch.tensor([[*source, EOS]]), target))[0].float()
                logits[:, [PAD, BOS]] = -torch.inf
                logp = logits.log_softmax(-1)
                total = sum(float(logp[t, i]) for t, i in enumerate([*h.ids, EOS]))
                prefix_total = sum(float(logp[t, i]) for t, i in enumerate(h.ids))
                ended = total / (len(h.ids) + 1) ** alpha
                abandoned = prefix_total / max(1, len(h.ids)) ** alpha
                assert h.score == pytest.approx(ended, abs=1e-4) or h.score == pytest.approx(abandoned, abs=1e-4)
