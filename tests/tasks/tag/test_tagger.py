"""Words in, tags out; texts in, entities at their characters out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.tag_schemes import find_spans, find_valid_spans
from regard.languages.words import split_words
from regard.tasks import text_batch
from regard.tasks.tag.tagger import Tagger, spaced_words
from regard.tasks.tag.tags import TagSet
from tests.tasks.conftest import TOKENIZER, WORDS, make_stack, make_wordpiece

BIO = TagSet.of([["B-x", "I-x", "O"], ["B-y"]])
PLAIN = TagSet.of([["DET", "NOUN", "VERB"], ["PRON", "NOUN", "PUNCT"]])
RNG = np.random.default_rng(5)
SENTENCES = [[str(word) for word in RNG.choice(WORDS, n)] for n in (7, 1, 0, 13, 3, 5, 11, 2)]


def make_tagger(tags: TagSet = BIO, max_length: int = 101, **settings) -> Tagger:
    model = make_stack(5, **settings)
    model.stack.embedding.tokens.weight.data *= 5  # so that words differ, and many tags are predicted
    model.output.weight.data -= model.output.weight.data.mean(0)
    model.output.bias.data.zero_()
    return Tagger(model, TOKENIZER, tags, max_length)


SHARED = make_tagger()


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_sentence_alone_is_tagged_as_in_a_batch(stack: str, monkeypatch):
    tagger = make_tagger(stack=stack)
    together = tagger.log_probs(SENTENCES)
    for words, log_probs in zip(SENTENCES, together, strict=True):
        assert log_probs.shape == (len(words), 5)
        np.testing.assert_allclose(tagger.log_probs([words])[0], log_probs, rtol=1e-9)
    monkeypatch.setattr(text_batch, "MAX_TOKENS", 31)
    for one, other in zip(tagger.log_probs(SENTENCES[::-1]), together[::-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert tagger.tag([]) == [] and tagger.tag_texts([]) == [] and tagger.tag_texts([""]) == [("", (), (), ())]


def test_the_numbers_are_those_of_the_model_at_first_tokens():
    tagger = make_tagger(dropout=0.3)
    tagger.model.train()
    (log_probs,) = tagger.log_probs(SENTENCES[:1])
    assert tagger.model.training
    model = tagger.model.eval()
    (encoded,) = TOKENIZER.encode_words(SENTENCES[:1], 101)
    logits = model.output(model(torch.tensor([encoded.ids]))[0, encoded.first_tokens])
    np.testing.assert_allclose(log_probs, logits.log_softmax(-1).detach().numpy(), rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*WORDS, ""]), max_size=17), max_size=3))
def test_spans_follow_the_scheme_to_the_letter(sentences: list[list[str]]):
    results = SHARED.tag(sentences)
    assert [len(tags) for tags in results] == [len(words) for words in sentences]
    for words, tags in zip(sentences, results, strict=True):
        assert find_spans(tags) == find_valid_spans(tags, "BIO")  # default F1 = strict F1
        assert all(tag == "O" for word, tag in zip(words, tags, strict=True) if not word)


def test_the_model_alone_would_break_the_scheme():
    best = [[BIO.tags[i] for i in log_probs.argmax(1)] for log_probs in SHARED.log_probs(SENTENCES)]
    assert any(find_spans(tags) != find_valid_spans(tags, "BIO") for tags in best)
    assert {tag for tags in SHARED.tag(SENTENCES) for tag in tags} >= {"B-x", "B-y", "I-y", "O"}


def test_plain_tags_are_the_best_of_each_word():
    tagger = make_tagger(PLAIN)
    best = [[PLAIN.tags[i] for i in log_probs.argmax(1)] for log_probs in tagger.log_probs(SENTENCES)]
    assert tagger.tag(SENTENCES) == best
    (tagged,) = tagger.tag_texts(["the kings sleep."])
    assert [word.text for word in tagged.entities] == list(tagged.words) == ["the", "kings", "sleep", "."]
    assert [word.type for word in tagged.entities] == list(tagged.tags) == tagger.tag([tagged.words])[0]
    assert tagger.tag([["", "the"]])[0][0] == "NOUN"  # the most frequent one


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=31), max_size=3))
def test_entities_stand_at_their_characters(texts: list[str]):
    texts = [f"the kings {text} sleep, été Paris." for text in texts]
    for text, tagged in zip(texts, SHARED.tag_texts(texts), strict=True):
        entities = tagged.entities
        assert tagged.text == text
        for entity in entities:
            assert text[entity.start : entity.end] == entity.text == entity.text.strip() != ""
            assert entity.type in ("x", "y") and 0 < entity.probability <= 1
        ends = [position for entity in entities for position in (entity.start, entity.end)]
        assert ends == sorted(ends)
        words = split_words(text)
        (tags,), (log_probs,) = SHARED.tag([words]), SHARED.log_probs([words])
        assert (tagged.words, tagged.tags) == (tuple(words), tuple(tags))
        spans = find_spans(tags)
        assert [entity.type for entity in entities] == [span.type for span in spans]
        for entity, span in zip(entities, spans, strict=True):
            assert split_words(entity.text) == words[span.start : span.end] or "'" in text or "’" in text
            numbers = range(span.start, span.end)
            expected = np.prod([np.exp(log_probs[n, BIO.tags.index(tags[n])]) for n in numbers])
            assert entity.probability == pytest.approx(expected)


def test_words_between_blanks_are_words_as_they_are():
    text = " don't\u00a0stop:  U.S.\t"
    (tagged,) = SHARED.tag_texts([text], spaced_words)
    assert tagged.words == tuple(text.split()) == ("don't", "stop:", "U.S.")
    assert list(tagged.tags) == SHARED.tag([text.split()])[0]


@pytest.mark.parametrize("max_length", [7, 13])
def test_a_long_sentence_is_divided_and_every_word_is_tagged(max_length: int):
    tagger = make_tagger(PLAIN, max_length)
    words = [str(word) for word in RNG.choice([*WORDS, ""], 97)]
    (log_probs,) = tagger.log_probs([words])
    assert np.isfinite(log_probs).all(axis=1).tolist() == [word != "" for word in words]
    start = 0
    while start < len(words):  # each part is read as a sentence of its own
        (encoded,) = TOKENIZER.encode_words([words[start : start + max_length]], max_length)
        found = (n + 1 for n, position in enumerate(encoded.first_tokens) if position >= 0)
        end = start + max(found, default=max_length)
        np.testing.assert_allclose(log_probs[start:end], tagger.log_probs([words[start:end]])[0], rtol=1e-9)
        start = end
    assert len(tagger.tag([words] * 3)[2]) == 97


def test_words_without_tokens_are_outside():
    pytest.importorskip("tokenizers")
    tokenizer = make_wordpiece()
    model = make_stack(5, vocab_size=tokenizer.vocab_size)
    model.output.bias.data[BIO.tags.index("O")] -= 100
    tagger = Tagger(model, tokenizer, BIO, 64)
    tags = tagger.tag([["the", "\ufe0f", "kings"], ["\ufe0f"], ["\ufe0f", "sleep"]])
    assert tags[0][1] == tags[1][0] == tags[2][0] == "O"
    assert tags[0][0] != "O" and tags[0][2].startswith("B-") and tags[2][1].startswith("B-")
