"""A translation depends on its text alone, and its score is its log-probability."""

import copy
import itertools
import math

import pytest
import torch

from regard.data.batch import collate
from regard.decode import BeamSearch, GreedySearch
from regard.decode.limits import Limits
from regard.errors import DataError, ModelError
from regard.formats import Pair
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.translate import translator as translators
from regard.tasks.translate.translator import ModelStepper, Translator
from tests.training.loops import make_loop, write_corpus
from tests.training.test_loop import settings

TEXTS = ["ba be bi", "", "du", "ga ga do de di", " \t", "bo bu ba be bi bo", "da de"] * 2
SEARCHES = (GreedySearch(), BeamSearch(3, nbest=2))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Translator:
    """A model that has learned to write words backwards, more or less."""
    corpus, tokenizers = write_corpus(tmp_path_factory.mktemp("corpus"))
    loss_module = make_loop((corpus, tokenizers), settings()).loss_module
    batch = collate(*([list(map(int, ids)) for ids in side] for side in (corpus.source_ids, corpus.target_ids)))
    optimizer = torch.optim.AdamW(loss_module.parameters(), lr=0.02)
    for _ in range(60):
        (loss_module(batch).objective / batch.num_targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    return Translator(loss_module.model, tokenizers)


@pytest.fixture
def translator(trained: Translator) -> Translator:
    """A copy, whose weights a test may change."""
    return Translator(copy.deepcopy(trained.model), trained.tokenizers)


def candidates(translator: Translator, texts: list[str], search) -> list[list[tuple]]:
    results = translator.candidates(texts, search)
    return [[(one.text, pytest.approx(one.score, abs=1e-4), one.truncated) for one in row] for row in results]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("limit", ["MAX_CACHE_ELEMENTS", "MAX_LOGITS"])
def test_a_translation_depends_on_no_other_text(translator: Translator, search, limit: str, monkeypatch):
    together = candidates(translator, TEXTS, search)
    assert len({row[0][0] for row in together}) > 4
    assert candidates(translator, TEXTS[::-1], search) == together[::-1]
    assert [candidates(translator, [text], search)[0] for text in TEXTS] == together
    monkeypatch.setattr(translators, limit, 1)  # then they are translated one by one
    assert candidates(translator, TEXTS, search) == together
    prepared = Translator(translator.model, translator.tokenizers, IncrementalDecoder(translator.model))
    assert candidates(prepared, TEXTS, search) == together


def test_blank_texts_stay_as_they_are_and_no_text_is_no_work(translator: Translator):
    assert translator.candidates([]) == []
    for text in ("", " \t"):
        ((result,),) = translator.candidates([text])
        assert (result.text, result.score, result.truncated) == (text, 0.0, False)
    assert translator.translate(TEXTS, SEARCHES[1]) == [
        row[0].text for row in translator.candidates(TEXTS, SEARCHES[1])
    ]


def test_a_score_is_the_log_probability_of_the_translation(translator: Translator):
    """As the plain model, with the whole translation given, computes it over what may be part of an output."""
    texts = list(dict.fromkeys(text for text in TEXTS if text.strip()))
    sources = translator.tokenizers.source.encode(texts)
    search = BeamSearch(3, alpha=0.0, nbest=2)
    results = translator.candidates(texts, search)
    with torch.inference_mode():
        stepper = ModelStepper(IncrementalDecoder(translator.model), sources, range(len(sources)))
        for source, hypotheses, row in zip(sources, search.search(stepper), results, strict=True):
            for hypothesis, one in zip(hypotheses, row, strict=True):
                batch = collate([source], [hypothesis.ids])
                logits = translator.model.output(translator.model(batch.source, batch.target_in))[0]
                logits[:, [translator.model.pad, stepper.bos]] = -math.inf
                log_probs = logits.log_softmax(-1).gather(1, batch.target_out[0][:, None])
                assert one.score == hypothesis.score
                assert one.truncated or one.score == pytest.approx(float(log_probs.sum()), abs=1e-4)
    assert not all(row[0].truncated for row in results)


def test_teacher_forcing_is_the_plain_loss_of_each_pair_in_any_batches(translator: Translator, monkeypatch):
    pairs = [Pair(text, text[::-1]) for text in TEXTS if text.strip()]
    results = translator.teacher_force(pairs)
    encode = translator.tokenizers.source.encode
    with torch.no_grad():
        for pair, result in zip(pairs, results, strict=True):
            batch = collate(encode([pair.source]), encode([pair.target]))
            logits = translator.model.output(translator.model(batch.source, batch.target_in))[0]
            loss = torch.nn.functional.cross_entropy(logits, batch.target_out[0], reduction="sum")
            assert result.loss == pytest.approx(float(loss), rel=1e-4) and result.tokens == batch.num_targets
            assert result.correct == int((logits.argmax(-1) == batch.target_out[0]).sum())
    longest = 1 + max(len(ids) for pair in pairs for ids in encode([pair.source, pair.target]))
    for limit in (longest, 2 * longest, 5 * longest):
        monkeypatch.setattr(translators, "MAX_TEACHER_FORCED_TOKENS", limit)
        others = translator.teacher_force(pairs)
        assert [one.loss for one in others] == pytest.approx([one.loss for one in results], rel=1e-4)


def test_batches_fill_the_limit_and_keep_to_it():
    ids = {i: [7] * (1 + i * 5 % 13) for i in range(31)}
    for limit in (14, 29, 97, 10**6):
        batches = list(translators._batches(ids, limit))
        assert sorted(i for batch in batches for i in batch) == list(range(31))
        sizes = [len(batch) * (1 + max(len(ids[i]) for i in batch)) for batch in batches]
        assert max(sizes) <= limit or limit == 10**6
        for batch, following in itertools.pairwise(batches):
            assert (len(batch) + 1) * (1 + len(ids[following[0]])) > limit
    assert list(translators._batches({}, 5)) == []


@pytest.mark.parametrize("rows_per_sentence", [1, 3])
@pytest.mark.parametrize("limit", ["max_source_tokens", "MAX_CACHE_ELEMENTS", "MAX_LOGITS"])
def test_as_many_sentences_as_fit_are_decoded_together(
    translator: Translator, limit: str, rows_per_sentence: int, monkeypatch
):
    sources = sorted(translator.tokenizers.source.encode([text for text in TEXTS if text.strip()]), key=len)[::-1]
    decoder, longest = IncrementalDecoder(translator.model), len(sources[0]) + 1
    columns = max(longest, translators.COLUMNS_PER_RESERVE)
    sizes = {
        "MAX_CACHE_ELEMENTS": rows_per_sentence * columns * decoder.cache_width,
        "MAX_LOGITS": rows_per_sentence * len(translator.model.output.weight),
    }
    for count in (1, 2, 5):
        if limit in sizes:
            monkeypatch.setattr(translators, limit, count * sizes[limit])
        options = {} if limit in sizes else {limit: count * longest}
        finished: list[int] = []
        stepper = ModelStepper(decoder, sources, range(len(sources)), on_finish=finished.append, **options)
        with torch.inference_mode():
            assert stepper.admit(rows_per_sentence) == count
            assert stepper.admit(rows_per_sentence) == 0  # they fill the memory
            keep = torch.arange((count - 1) * rows_per_sentence)
            stepper.step(torch.full((count * rows_per_sentence,), stepper.bos))
            stepper.select(keep)
        assert finished == [1]


def test_every_sentence_that_finishes_is_counted(translator: Translator):
    finished: list[int] = []
    sources = translator.tokenizers.source.encode([text for text in TEXTS if text.strip()])
    decoder = IncrementalDecoder(translator.model)
    with torch.inference_mode():
        GreedySearch(Limits(extra=3)).search(
            ModelStepper(decoder, sources, range(len(sources)), on_finish=finished.append)
        )
    assert sum(finished) == len(sources) and min(finished) > 0


def test_special_tokens_are_never_part_of_an_output(translator: Translator):
    translator.model.output.bias = torch.nn.Parameter(torch.zeros(len(translator.model.output.weight)).double())
    translator.model.output.bias.data[[translator.model.pad, ModelStepper.bos]] = 1e4
    stepper = ModelStepper(IncrementalDecoder(translator.model), [[5, 6, 7]], [0])
    with torch.inference_mode():
        stepper.admit(1)
        scores = stepper.step(torch.tensor([stepper.bos]))
    assert scores.isneginf().nonzero().tolist() == [[0, translator.model.pad], [0, stepper.bos]]


def test_weights_that_overflow_are_said_to(translator: Translator):
    translator.model.output.weight.data.fill_(math.nan)
    with pytest.raises(ModelError, match="its weights overflow"):
        translator.translate(["ba be"], BeamSearch(2))


def test_a_pair_that_would_fill_the_memory_is_named(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    short, long = Pair("ba be", "be ba"), Pair("ba " * 40, "be", "x.tsv:2")
    length = len(translator.tokenizers.source.encode([long.source])[0])
    monkeypatch.setattr(translators, "MAX_TEACHER_FORCED_TOKENS", length)
    with pytest.raises(DataError, match=f"x.tsv:2: has {length} tokens, and the loss takes at most {length};"):
        translator.teacher_force([short, long])
    with pytest.raises(DataError, match="pair 1: has"):
        translator.teacher_force([Pair("ba", "be " * 40)])
    monkeypatch.setattr(translators, "MAX_TEACHER_FORCED_TOKENS", length + 1)
    assert len(translator.teacher_force([short, long])) == 2
