"""Decoding with a shortlist: the logits of its tokens are those of the whole vocabulary, and no other token comes."""

import numpy as np
import pytest
import torch

from regard.config import ModelConfig
from regard.data.batch import pad
from regard.data.shortlist import SPECIAL, Shortlist
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch, SamplingSearch
from regard.kernels import int8_linear
from regard.model.build import build
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate.translator import ModelStepper

V_SOURCE, V_TARGET, N = 23, 101, 7
SEARCHES = [GreedySearch(), BeamSearch(3), BeamSearch(5, nbest=3), SamplingSearch(seed=5)]


def make_shortlist(size: int, seed: int = 2) -> Shortlist:
    """Candidates of each source token, drawn at random."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(np.arange(4, V_TARGET), size, replace=False)) for _ in range(V_SOURCE)]
    starts = np.arange(V_SOURCE + 1) * size
    return Shortlist(
        np.concatenate(rows).astype(np.int32), starts.astype(np.int32), np.array(SPECIAL, np.int32), V_TARGET
    )


ALL = Shortlist(np.empty(0, np.int32), np.zeros(V_SOURCE + 1, np.int32), np.arange(V_TARGET, dtype=np.int32), V_TARGET)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    config = ModelConfig(dim=12, heads=3, ffn=17, layers=2, tie_embeddings=False, output_bias=True)
    model = build(config, V_SOURCE, V_TARGET, joint=False, pad=PAD).eval()
    torch.nn.init.normal_(model.output.bias)
    return model


@pytest.fixture(scope="module")
def sources() -> list[list[int]]:
    rng = np.random.default_rng(5)
    return [rng.integers(4, V_SOURCE, 2 + i % 5).tolist() for i in range(N)]


def decode(model, sources, search, shortlist, factory=None):
    options = [factory] if factory else []
    decoder = IncrementalDecoder(model, *options, shortlist=shortlist)
    with torch.inference_mode():
        return search.search(ModelStepper(decoder, sources, range(len(sources)), max_source_tokens=21))


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("factory", [None, int8_linear], ids=["float32", "int8"])
def test_a_shortlist_of_all_tokens_changes_nothing(model, sources, search, factory):
    assert decode(model, sources, search, ALL, factory) == decode(model, sources, search, None, factory)


def test_logits_are_those_of_the_whole_vocabulary(model, sources):
    shortlist = make_shortlist(5)
    batches = [IncrementalDecoder(model, shortlist=choice).new_batch() for choice in (shortlist, None)]
    with torch.inference_mode():
        for batch in batches:
            batch.admit(pad([[*row, EOS] for row in sources]))
        last = torch.full((N,), BOS)
        few, full = (batch.step(last) for batch in batches)
    ids = batches[0].output.tokens_at(torch.arange(few.shape[1]))
    assert len(SPECIAL) < few.shape[1] < V_TARGET
    assert ids.tolist() == shortlist.select(token for row in sources for token in [*row, EOS]).tolist()
    torch.testing.assert_close(few, full[:, ids])


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_outputs_are_those_of_a_model_that_lacks_all_other_tokens(model, sources, search):
    """One sentence at a time, since a batch has the lists of all of its sentences together."""
    shortlist = make_shortlist(7)
    for source in sources:
        kept = shortlist.select([*source, EOS])
        biased = build(ModelConfig(dim=12, heads=3, ffn=17, layers=2, tie_embeddings=False, output_bias=True),
                       V_SOURCE, V_TARGET, joint=False, pad=PAD).eval()  # fmt: skip
        biased.load_state_dict(model.state_dict())
        missing = np.setdiff1d(np.arange(V_TARGET), kept)
        biased.output.bias.data[missing] = -torch.inf
        (ours,), (theirs,) = decode(model, [source], search, shortlist), decode(biased, [source], search, None)
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        assert {token for one in ours for token in one.ids} <= set(kept.tolist())
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-5)


def test_sentences_that_enter_later_bring_their_tokens(model, sources):
    """A small batch takes sentences in at several steps; every output keeps to the lists of all of them."""
    shortlist = make_shortlist(3)
    everything = set(shortlist.select(token for row in sources for token in [*row, EOS]).tolist())
    decoder = IncrementalDecoder(model, shortlist=shortlist)
    stepper = ModelStepper(decoder, sources, range(N), max_source_tokens=8)
    with torch.inference_mode():
        outputs = GreedySearch().search(stepper)
    assert {token for (one,) in outputs for token in one.ids} <= everything
    alone = [decode(model, [source], GreedySearch(), shortlist)[0][0].ids for source in sources]
    own = [set(shortlist.select([*source, EOS]).tolist()) for source in sources]
    assert all(set(ids) <= tokens for ids, tokens in zip(alone, own, strict=True))
