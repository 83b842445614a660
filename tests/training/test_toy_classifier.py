"""Classifiers of toy texts."""

from functools import partial

import torch

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.model.build import build_encoder
from regard.training.toy_classifier import erasure_costs_of_tokens, label_log_probs, train_toy_classifier

WORDS = SentimentWords(charged=3, neutral=5)
CONFIG = ModelConfig(architecture="encoder", dim=14, layers=1, heads=2, ffn=22, dropout=0.0)


def test_labels_have_probabilities_that_padding_does_not_change():
    torch.manual_seed(1)
    model = build_encoder(CONFIG, WORDS.vocab_size, 0, num_labels=2).eval()
    ids, _ = charged_words(5, 7, WORDS)
    log_probs = label_log_probs(model, ids)
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(5))
    padded = torch.cat((ids, torch.zeros(5, 3, dtype=torch.long)), dim=1)
    torch.testing.assert_close(label_log_probs(model, padded), log_probs)


def test_the_cost_of_a_token_is_what_the_answer_loses_without_it():
    torch.manual_seed(1)
    model = build_encoder(CONFIG, WORDS.vocab_size, 0, num_labels=2).eval()
    ids, _ = charged_words(5, 7, WORDS)
    costs = erasure_costs_of_tokens(model, ids)
    assert costs.shape == (5, 6)
    whole, answer = label_log_probs(model, ids)[2].max(dim=0)
    shorter = torch.cat((ids[2, :4], ids[2, 5:]))[None]
    torch.testing.assert_close(costs[2, 3], whole - label_log_probs(model, shorter)[0, answer])


def test_a_keyword_that_gives_the_label_away_is_learned():
    torch.manual_seed(1)
    draw_batch = partial(charged_words, 32, 7, WORDS, 1.0)
    model = train_toy_classifier(CONFIG, WORDS.vocab_size, draw_batch, steps=60, learning_rate=1e-2)
    ids, labels = draw_batch()
    assert (label_log_probs(model, ids).argmax(dim=1) == labels).float().mean() > 0.9
