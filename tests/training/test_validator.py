"""A validation is the numbers that one would compute by hand."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from regard.data.batch import Batch, batches_by_length
from regard.data.store import Corpus
from regard.data.tokenizers.tokenizer import PAD
from regard.decode import GreedySearch
from regard.jobs.tasks.translation.task import GreedyTranslations
from regard.metrics import DEFAULT_TOKENIZATION, Score, corpus_bleu
from regard.tasks.loss import LossModule
from regard.tasks.translate.translator import Translator
from regard.training import validate
from regard.training.validate import Validation, Validator
from tests.training.loops import make_loop, write_corpus
from tests.training.test_loop import settings, take


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("store"))


@pytest.fixture
def validator(corpus) -> Validator:
    loop = make_loop(corpus, settings(), dropout=0.2)
    take(loop, 5)  # so that the source matters, and translations differ
    return build_validator(loop.loss_module, corpus, sentences=11)


def build_validator(loss_module: LossModule, corpus, sentences: int) -> Validator:
    translations = GreedyTranslations(
        Translator(loss_module.model, corpus[1]), corpus[0], sentences, DEFAULT_TOKENIZATION
    )
    return Validator(loss_module, lambda: dev_batches(corpus[0]), translations)


def dev_batches(dev: Corpus, batch_tokens: int = 61) -> list[Batch]:
    return [batch for _, batch in batches_by_length(dev, batch_tokens)]


def losses(validator: Validator, shift: int, count: int | None = None) -> tuple[float, float]:
    """Loss and accuracy per token of the first batches, each sentence with the source of the one `shift` before."""
    model, total, correct, tokens = validator.loss_module.model, 0.0, 0, 0
    for batch in list(validator.dev_batches())[:count]:
        with torch.no_grad():
            logits = model.output(model(batch.source.roll(shift, 0), batch.target_in))[batch.target_out != PAD]
        gold = batch.target_out[batch.target_out != PAD]
        total += float(F.cross_entropy(logits, gold, reduction="sum"))
        correct += int((logits.argmax(-1) == gold).sum())
        tokens += len(gold)
    return total / tokens, correct / tokens


def test_loss_accuracy_and_bleu_are_those_of_the_dev_set(validator: Validator, corpus):
    found = validator.validate(17)
    assert {module.training for module in validator.loss_module.modules()} == {True}
    validator.loss_module.eval()
    assert found.step == 17 and (found.loss, found.accuracy) == pytest.approx(losses(validator, 0), rel=1e-6)
    pairs = corpus[0].pairs(11)
    outputs = validator.predict_dev.translator.translate([pair.source for pair in pairs], GreedySearch())
    bleu = corpus_bleu(outputs, [pair.target for pair in pairs])
    assert found.score == replace(bleu, signature=f"{bleu.signature}, by greedy decoding")
    assert found.distinct_ratio == len(set(outputs)) / len({pair.source for pair in pairs})
    assert 0 < found.seconds_per_prediction < found.seconds


def test_other_sources_are_those_of_the_sentence_before(validator: Validator, monkeypatch):
    monkeypatch.setattr(validate, "SHUFFLED_BATCHES", 1)
    found = validator.validate(1)
    validator.loss_module.eval()
    assert len(next(iter(validator.dev_batches())).source) > 2
    expected = found.loss + losses(validator, 1, 1)[0] - losses(validator, 0, 1)[0]
    assert found.shuffled_input_loss == pytest.approx(expected, rel=1e-6) and expected != found.loss


def test_a_few_batches_stand_for_all(validator: Validator, corpus, monkeypatch):
    monkeypatch.setattr(validate, "SHUFFLED_BATCHES", 2)
    batches = dev_batches(corpus[0], 37)
    assert len([batch for batch in batches if len(batch.source) > 1]) > 2 * validate.SHUFFLED_BATCHES
    read = []
    keep = Validator._evaluate_batches

    class Counted(Validator):
        def _evaluate_batches(self, batches):
            read.append(len(list(batches)))
            return keep(self, batches)

    counted = Counted(validator.loss_module, validator.dev_batches, validator.predict_dev)
    counted._shuffled_input_loss(batches, 1.0)
    assert read == [validate.SHUFFLED_BATCHES] * 2
    alone = [replace(batch, source=batch.source[:1]) for batch in batches]
    assert counted._shuffled_input_loss(alone, 1.0) is None


def test_without_sentences_nothing_is_translated(validator: Validator, corpus):
    found = build_validator(validator.loss_module, corpus, sentences=0).validate(1)
    assert found.score is None and found.distinct_ratio is None and found.loss > 0
    few = build_validator(validator.loss_module, corpus, sentences=4)
    assert few.validate(1).distinct_ratio is None  # too few to say


def test_what_is_minimized():
    validation = Validation(1, 2.5, 0.5, Score("BLEU", 30.0, None, None, ""), 1.0)
    assert validation.cost("loss") == 2.5 and validation.cost("bleu") == -30
