"""The loss of masked tokens does not depend on other passages; frequencies are those of the training text."""

import numpy as np
import pytest

from regard.data.store import Texts
from regard.jobs.tasks.language.masked_evaluation import smooth_frequencies
from regard.jobs.tasks.registry import get_task

TASK = get_task("masked-lm")


@pytest.fixture(scope="module")
def evaluated(run_of):
    run = run_of("masked-lm")
    pairs = TASK.open_data(run, run.load_config()).test.pairs()
    predictor = TASK.load_predictor(run.folder, "cpu")
    return run, predictor, pairs, TASK.evaluate(run, predictor, pairs, "test")


def test_a_passage_does_not_depend_on_its_neighbors(evaluated):
    run, predictor, pairs, together = evaluated
    for pair, passage in zip(pairs, together.passages, strict=True):
        (alone,) = TASK.evaluate(run, predictor, [pair]).passages
        assert (alone.text, alone.num_masks, alone.num_correct) == (pair.source, passage.num_masks, passage.num_correct)
        assert alone.nats == pytest.approx(passage.nats, rel=1e-4)
    assert len(together.passages) > 5


def test_the_signature_says_how_tokens_are_masked(evaluated):
    *_, evaluation = evaluated
    assert "|rate:0.15|scheme:80/10/10|whole-words:no|masks:by-text|" in evaluation.scores["loss"].signature
    assert evaluation.loss == evaluation.scores["loss"].value
    total = sum(passage.nats for passage in evaluation.passages)
    assert evaluation.loss == pytest.approx(total / sum(passage.num_masks for passage in evaluation.passages))


def test_passages_fit_and_are_all_of_the_text(evaluated):
    run, predictor, *_ = evaluated
    for name in ("train", "dev", "test"):
        passages, documents = (Texts(run.store, f"{x}.source") for x in (f"{name}.passages", name))
        assert "".join("".join(passages).split()) == "".join("".join(documents).split())
        assert max(map(len, predictor.tokenizer.encode(list(passages), 999))) <= 29


def test_frequencies_are_probabilities_of_regular_tokens(evaluated):
    run, predictor, *_ = evaluated
    counts = np.array(run.read_json(run.opponents)["token_counts"])
    assert np.exp(smooth_frequencies(counts)).sum() == pytest.approx(1)
    rows = predictor.tokenizer.encode(list(Texts(run.store, "train.passages.source")), 29)
    special = predictor.tokenizer.special_ids
    assert counts.sum() == sum(token not in special for row in rows for token in row)
