"""The loss of an encoder is that of its vectors, by whatever path."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.formats.related import RelatedTexts
from regard.kernels import keep_rows
from regard.tasks.embed.embedder import Embedder
from regard.tasks.embed.loss import EmbeddingLoss
from regard.tasks.embed.objectives import InBatchSoftmax, SimilarityRanking
from tests.tasks.conftest import TOKENIZER, make_stack
from tests.tasks.embed.test_batch import collate

PAIRS = [
    RelatedTexts("the kings sleep .", "cats"),
    RelatedTexts("a dog", "cats see"),
    RelatedTexts("Paris", "été a b c"),
]
RANKED = [replace(pair, similarity=float(n)) for n, pair in enumerate(PAIRS)]


def make_loss(padding_free: bool = False, **settings) -> EmbeddingLoss:
    model = make_stack(3, architecture="encoder", **settings)
    return EmbeddingLoss(model, InBatchSoftmax(), SimilarityRanking(), padding_free)


@pytest.mark.parametrize("examples", [PAIRS, RANKED], ids=["pairs", "similarities"])
def test_vectors_are_those_of_the_embedder_and_both_paths_agree(examples: list[RelatedTexts]):
    batch, results = collate(examples), []
    for padding_free in (False, True):
        module = make_loss(padding_free)
        embedder = Embedder(module.model, TOKENIZER, 64)
        texts = [text for side in ("text", "positive") for text in (getattr(one, side) for one in examples)]
        assert_close(module.embed(batch.ids).float(), embedder.embed(texts), rtol=1e-5, atol=1e-6)
        objective = module.pairs if batch.similarities is None else module.similarities
        totals = module(batch)
        assert_close(totals.loss, objective(module.embed(batch.ids), batch, keep_rows).loss)
        totals.objective.backward()
        results.append({name: p.grad for name, p in module.named_parameters() if p.grad is not None})
    assert results[0].keys() == results[1].keys() and len(results[0]) > 10
    for name, gradient in results[0].items():
        assert_close(results[1][name], gradient, rtol=1e-9, atol=1e-12)


def test_more_padding_changes_nothing():
    module, batch = make_loss(), collate(PAIRS)
    assert_close(module(replace(batch, ids=F.pad(batch.ids, (0, 5)))).loss, module(batch).loss)


def test_two_views_of_a_text_differ_by_dropout_alone():
    batch = collate([RelatedTexts(pair.text) for pair in PAIRS])
    noisy = make_loss(dropout=0.3).train()
    first, second = noisy.embed(batch.ids).chunk(2)
    assert not torch.allclose(first, second)
    first, second = noisy.eval().embed(batch.ids).chunk(2)
    assert_close(first, second)


@pytest.mark.parametrize("examples", [PAIRS, RANKED], ids=["pairs", "similarities"])
def test_cosines_are_never_those_of_bfloat16(examples: list[RelatedTexts]):
    module, batch = make_loss().float(), collate(examples)
    with torch.autocast("cpu", torch.bfloat16):
        vectors, totals = module.embed(batch.ids), module(batch)
    objective = module.pairs if batch.similarities is None else module.similarities
    assert vectors.dtype == totals.loss.dtype == torch.float32
    assert_close(totals.loss, objective(vectors, batch, keep_rows).loss, rtol=1e-6, atol=1e-6)


def test_vectors_are_the_same_every_time_and_those_of_as_many_tokens_as_allowed():
    model = make_loss(dropout=0.3).model.train()
    embedder = Embedder(model, TOKENIZER, 5)
    long, cut = "a b c d e a b c d e", [TOKENIZER.encode(["a b c d e a b c d e"], length)[0] for length in (5, 64)]
    assert len(cut[0]) == 5 < len(cut[1])
    first = embedder.embed([long, "a b c"])
    assert_close(embedder.embed([long, "a b c"]), first)
    assert_close(first.norm(dim=1), torch.ones(2)) and model.training
    assert not torch.allclose(Embedder(model, TOKENIZER, 64).embed([long]), first[:1], atol=1e-3)


def test_static_vectors_are_means_of_rows_of_the_table_without_special_tokens():
    model = make_loss(norm="post").model
    embedder, texts = Embedder(model, TOKENIZER, 64), ["the kings sleep .", "cats", "été a b"]
    table = model.encoder.embedding.tokens.weight.detach()
    ids = [[i for i in row if i not in TOKENIZER.special_ids] for row in TOKENIZER.encode(texts, 64)]
    expected = torch.stack([F.normalize(table[row].mean(0), dim=0) for row in ids]).float()
    assert_close(embedder.embed_tokens(texts), expected)
    assert not torch.allclose(embedder.embed(texts), expected, atol=0.1)
    assert_close(*(embedder.embed_tokens([text]) for text in ("a dog", "a a dog dog")))


def test_the_similarity_of_texts_is_the_product_of_their_vectors():
    embedder = Embedder(make_loss().model, TOKENIZER, 64)
    pairs = [("the kings", "cats"), ("cats", "a dog"), ("été", "été")]
    vectors = [embedder.embed(list(pair)) for pair in pairs]
    assert embedder.similarities(pairs) == pytest.approx([float(a @ b) for a, b in vectors], abs=1e-6)
    assert embedder.similarities(pairs)[2] == pytest.approx(1)
