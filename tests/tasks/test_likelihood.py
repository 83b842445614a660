"""How probable texts are: the formulas, windows, and that neither padding nor neighbors change anything."""

import math

import numpy as np
import pytest
import torch

from regard.errors import DataError
from regard.tasks import likelihood
from regard.tasks.likelihood import TextLikelihood, compute_token_nats, split_windows
from tests.model.conftest import REGISTERED, SCHEMES
from tests.tasks.test_generate import BOS, EOS, LIMIT, Bytes, make

TEXTS = ["abc", "", "a" * 97, "€ é\n" * 9, "cab", "b", "🙂 abc" * 3]


def test_formulas_on_a_small_text():
    text, nats = "ab c\n", [1.2, 0.7, 2.1, 0.4]
    measured = TextLikelihood(sum(nats), len(nats), len(text.split()), len(text.encode()))
    assert measured.bits_per_byte == pytest.approx(1.269572, abs=1e-6)
    assert measured.token_perplexity == pytest.approx(3.004166, abs=1e-6)
    assert measured.word_perplexity == pytest.approx(9.025013, abs=1e-6)
    assert TextLikelihood(1.4697, 1, 1, 1).bits_per_byte == pytest.approx(2.1203, abs=1e-4)


def test_no_text_has_no_bits_per_byte():
    with pytest.raises(DataError, match="no text"):
        _ = TextLikelihood(0.3, 1, 0, 0).bits_per_byte
    with pytest.raises(DataError, match="no text"):
        _ = TextLikelihood(0.3, 1, 0, 1).word_perplexity


@pytest.mark.parametrize("count", [1, 2, 7, 8, 13, 101])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 100, 101])
def test_every_token_is_new_once_and_has_half_a_window_before_it(count: int, size: int):
    windows = split_windows(5, count, size)
    assert [i for window in windows for i in range(window.new, window.end)] == list(range(count))
    for window in windows:
        assert window.row == 5 and 0 < window.end - window.start <= size and window.new < window.end
        assert window.start == 0 or window.new - window.start >= size - max(1, size // 2)
    assert len(windows) == 1 or count > size
    assert all(window.end - window.start == size for window in windows[:-1])


@torch.no_grad()
def plain_nats(model, ids: list[int], size: int) -> np.ndarray:
    """Token by token, each with the context of the first window that has it."""
    nats, stride, start, end = [], max(1, size // 2), 0, size
    for i in range(len(ids) - 1):
        if i == end:
            start, end = start + stride, end + stride
        log_p = model.output(model(torch.tensor([ids[start : i + 1]])))[0, -1].log_softmax(dim=-1)
        nats.append(-float(log_p[ids[i + 1]]))
    return np.array(nats)


@pytest.mark.parametrize("name", [*SCHEMES, *REGISTERED])
def test_nats_are_those_of_a_plain_loop_in_windows(name: str, example_plugin):
    for size in (LIMIT, 8):
        model = make(name, size)
        for text, nats in zip(TEXTS, model.token_nats(TEXTS), strict=True):
            ids = [BOS, *Bytes().encode([text])[0], EOS]
            assert len(nats) == len(text.encode()) + 1
            np.testing.assert_allclose(nats, plain_nats(model.model, ids, size), atol=1e-11)


def test_a_text_costs_the_same_among_any_others(monkeypatch):
    model = make()
    together = model.token_nats(TEXTS)
    alone = [model.token_nats([text])[0] for text in TEXTS]
    backwards = model.token_nats(TEXTS[::-1])[::-1]
    monkeypatch.setattr(likelihood, "MAX_WINDOW_TOKENS", 1)
    monkeypatch.setattr(likelihood, "MAX_LOGITS", 3 * len(model.model.output.weight))
    one_by_one = model.token_nats(TEXTS)
    for others in (alone, backwards, one_by_one):
        for one, other in zip(together, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_a_text_that_fits_costs_what_the_whole_forward_pass_says():
    model = make()
    (nats,) = model.token_nats(["abc cab"])
    ids = torch.tensor([[BOS, *Bytes().encode(["abc cab"])[0], EOS]])
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model.model.output(model.model(ids[:, :-1]))[0], ids[0, 1:])
    assert nats.mean() == pytest.approx(float(loss), abs=1e-12)


def test_a_likelihood_is_the_sum_over_texts():
    model = make()
    measured = model.likelihood(TEXTS)
    nats = model.token_nats(TEXTS)
    assert measured.nats == pytest.approx(sum(row.sum() for row in nats))
    assert measured.tokens == sum(map(len, nats)) == sum(len(text.encode()) + 1 for text in TEXTS)
    assert measured.num_bytes == sum(len(text.encode()) for text in TEXTS)
    assert measured.words == sum(len(text.split()) for text in TEXTS)
    assert measured.bits_per_byte == pytest.approx(measured.nats / math.log(2) / measured.num_bytes)
    model.model.train()
    assert model.likelihood(TEXTS) == measured and model.model.training  # without dropout, and as it was


def test_probabilities_of_all_texts_of_a_length_sum_to_one():
    model = make()
    rows = [[BOS, i, j] for i in range(len(model.model.output.weight)) for j in range(len(model.model.output.weight))]
    total = sum(math.exp(-nats.sum()) for nats in compute_token_nats(model.model, rows, LIMIT))
    assert total == pytest.approx(1, abs=1e-9)
