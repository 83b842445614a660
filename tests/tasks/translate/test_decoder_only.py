"""Translation by a decoder alone: source, mark and target are one sequence, read with or without a cache."""

import math

import pytest
import torch

from regard.data.batch import collate
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.decode import BeamSearch, GreedySearch
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate import translator as translators
from regard.tasks.translate.translator import PrefixStepper, Translator
from tests.tasks.translate.test_translator import SEARCHES, TEXTS, candidates
from tests.training.loops import make_loop, write_corpus
from tests.training.test_loop import settings

WORDS = [text for text in dict.fromkeys(TEXTS) if text.strip()]


@pytest.fixture(scope="module")
def translator(tmp_path_factory) -> Translator:
    """A decoder that has learned to write words backwards, more or less."""
    corpus, tokenizers = write_corpus(tmp_path_factory.mktemp("corpus"))
    loss_module = make_loop((corpus, tokenizers), settings(), stack="decoder").loss_module
    batch = collate(*([list(map(int, ids)) for ids in side] for side in (corpus.source_ids, corpus.target_ids)))
    optimizer = torch.optim.AdamW(loss_module.parameters(), lr=0.02)
    for _ in range(60):
        (loss_module(batch).objective / batch.num_targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    return Translator(loss_module.model, tokenizers)


def mask_specials(logits: torch.Tensor) -> torch.Tensor:
    return logits.index_fill(-1, torch.tensor([PAD, BOS]), -math.inf)


def translate_without_cache(translator: Translator, source: list[int], length: int) -> list[int]:
    """Greedy search that reads the whole sequence again for every token."""
    target = [BOS]
    while len(target) <= length:
        states = translator.model(torch.tensor([[*source, EOS]]), torch.tensor([target]))
        target.append(int(mask_specials(translator.model.output(states[0, -1])).argmax()))
        if target[-1] == EOS:
            return target[1:-1]
    return target[1:]


def test_with_a_cache_or_without_the_same_tokens_come(translator: Translator):
    sources = translator.tokenizers.source.encode(WORDS)
    with torch.inference_mode():
        stepper = PrefixStepper(IncrementalDecoder(translator.model), sources, range(len(sources)))
        found = GreedySearch().search(stepper)
        for source, (one,) in zip(sources, found, strict=True):
            without = translate_without_cache(translator, source, len(one.ids))
            assert without[: len(one.ids)] == list(one.ids)
    assert len({one.ids for (one,) in found}) > 4


@pytest.mark.parametrize("width", [1, 3])
def test_a_score_is_what_the_plain_model_gives_the_whole_sequence(translator: Translator, width: int):
    sources = translator.tokenizers.source.encode(WORDS)
    with torch.inference_mode():
        stepper = PrefixStepper(IncrementalDecoder(translator.model), sources, range(len(sources)))
        found = BeamSearch(width, alpha=0.0, nbest=width).search(stepper)
        for source, hypotheses in zip(sources, found, strict=True):
            for one in (hypothesis for hypothesis in hypotheses if not hypothesis.truncated):
                batch = collate([source], [one.ids])
                logits = mask_specials(translator.model.output(translator.model(batch.source, batch.target_in))[0])
                log_probs = logits.log_softmax(-1).gather(1, batch.target_out[0][:, None])
                assert one.score == pytest.approx(float(log_probs.sum()), abs=1e-4)
    assert not all(hypotheses[0].truncated for hypotheses in found)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_translation_depends_on_no_other_text(translator: Translator, search, monkeypatch: pytest.MonkeyPatch):
    together = candidates(translator, TEXTS, search)
    assert candidates(translator, TEXTS[::-1], search) == together[::-1]
    assert [candidates(translator, [text], search)[0] for text in TEXTS] == together
    monkeypatch.setattr(translators, "MAX_CACHE_ELEMENTS", 1)  # then they are translated one by one
    assert candidates(translator, TEXTS, search) == together


def test_those_who_begin_together_leave_before_others_are_read(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    sources = sorted(translator.tokenizers.source.encode(WORDS), key=len, reverse=True)
    decoder = IncrementalDecoder(translator.model)
    monkeypatch.setattr(translators, "MAX_LOGITS", 2 * 3 * len(translator.model.output.weight))
    stepper = PrefixStepper(decoder, sources, range(len(sources)))
    with torch.inference_mode():
        assert stepper.admit(3) == 2
        stepper.step(torch.full((6,), BOS))
        stepper.select(torch.arange(3))
        assert stepper.admit(3) == 0  # one of them is still there
        stepper.select(torch.arange(0))
        assert stepper.admit(3) == 2
