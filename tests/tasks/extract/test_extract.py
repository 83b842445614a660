"""Extraction: a sentence is the mean of its tokens, and a document does not depend on its neighbors."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.errors import DataError
from regard.jobs.tasks.registry import get_task
from regard.run import Run
from regard.tasks.extract.extractor import Extractor
from regard.tasks.extract.labels import ExtractStatistics
from regard.tasks.extract.loss import pool_sentences
from tests.tasks.conftest import TOKENIZER, make_stack


def test_sentences_are_the_means_of_their_tokens():
    states = torch.randn(2, 7, 5)
    starts = torch.zeros(2, 7, dtype=torch.bool)
    starts[0, [1, 4]] = starts[1, 2] = True
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 5:] = False
    expected = torch.stack([states[0, 1:4].mean(0), states[0, 4:].mean(0), states[1, 2:5].mean(0)])
    assert_close(pool_sentences(states, starts, mask), expected)
    assert pool_sentences(states, torch.zeros_like(starts), mask).shape == (0, 5)


def test_statistics_of_labels():
    statistics = ExtractStatistics.of([[0, 1, 0], [1, 1], [0, 0, 0]])
    assert statistics == ExtractStatistics(num_left=5, num_taken=3, num_sentences=2)
    assert statistics.entropy == pytest.approx(-(5 / 8) * np.log(5 / 8) - (3 / 8) * np.log(3 / 8))
    for labels, message in (([[0, 0]], "no sentence of the training documents"), ([[1], [1, 1]], "wholly extracted")):
        with pytest.raises(DataError, match=message):
            ExtractStatistics.of(labels)


def open_extractor(folder: object, max_length: int) -> Extractor:
    extractor = get_task("extract").load_predictor(Run(folder).folder, "cpu")
    return Extractor(extractor.model, extractor.tokenizer, 1, max_length)


def test_a_long_document_is_read_in_parts_that_end_between_sentences(extractor_run):
    sentences = ["It rains in the town.", "Here we see that the red cat runs.", "A train has come."] * 7
    short, long = (open_extractor(extractor_run, length).log_probs([sentences])[0] for length in (31, 997))
    assert short.shape == long.shape == (21, 2) and np.isfinite(short).all()
    assert_close(np.exp(short).sum(axis=1), np.ones(21))
    assert not np.allclose(short, long)


def test_extracts_are_sentences_in_the_order_of_the_document(extractor_run):
    extractor = open_extractor(extractor_run, 97)
    document = ["It rains in the town.", "A train has come.", "Here we see that the red cat runs."]
    for count in (1, 2, 3, 5):
        (numbers,) = extractor.choose([document], count)
        assert numbers == sorted(set(numbers)) and len(numbers) == min(count, 3)
        assert extractor.summarize([document, []], count) == [" ".join(document[n] for n in numbers), ""]
    assert extractor.choose([document], 1) == [[2]]  # as in training


@pytest.mark.parametrize("document", [["", "a dog"], ["a dog", ""], ["", "", "a dog", ""]])
def test_a_sentence_without_a_token_is_left(document: list[str]):
    extractor = Extractor(make_stack(2, architecture="encoder"), TOKENIZER, 1, 64)
    (log_probs,) = extractor.log_probs([document])
    expected = [not text for text in document]
    assert [row.tolist() == [0.0, -np.inf] for row in log_probs] == expected
    assert extractor.summarize([document]) == ["a dog"]
