"""The scores of predicted tags: of any scheme the same, of every type, and where tags mark no spans."""

import numpy as np
import pytest

from regard.baselines import OpponentPredictions
from regard.data.tag_schemes import TagScheme, detect_scheme
from regard.formats.labeled import TaggedSentence
from regard.jobs.tasks.tagging.evaluation import compare_spans, evaluate_tagger, score_tags, score_types, unify_tags
from regard.tasks.tag.tags import TagSet

BIO, PLAIN = TagScheme("BIO"), TagScheme("plain")
GOLD = [("B-x", "I-x", "O", "B-y"), ("O", "B-x", "B-x"), ("B-y", "O")]
BIOES = [("B-x", "E-x", "O", "S-y"), ("O", "S-x", "S-x"), ("S-y", "O")]
PREDICTED = [("B-x", "O", "O", "B-y"), ("B-y", "B-x", "B-x"), ("O", "O")]
SPEECH = [("NOUN", "VERB"), ("NOUN", "NOUN", "VERB")]


class Oracle:
    """A tagger that predicts what it is told, with a probability."""

    def __init__(self, tags: TagSet, answers: list[tuple[str, ...]], probability: float = 0.7):
        self.tags, self.answers, self.probability = tags, answers, probability

    def log_probs(self, sentences):
        rest = np.log((1 - self.probability) / (len(self.tags.tags) - 1))
        rows = [np.full((len(one), len(self.tags.tags)), rest) for one in self.answers]
        for table, answer in zip(rows, self.answers, strict=True):
            table[np.arange(len(answer)), [self.tags.tags.index(tag) for tag in answer]] = np.log(self.probability)
        return rows

    def decode(self, log_probs):
        return [self.tags.tags[i] for i in log_probs.argmax(1)]


def sentences_of(tags: list[tuple[str, ...]]) -> list[TaggedSentence]:
    return [TaggedSentence(tuple(f"w{i}" for i in range(len(one))), one) for one in tags]


@pytest.mark.parametrize("gold", [GOLD, BIOES], ids=["BIO", "BIOES"])
def test_the_scheme_of_the_file_changes_no_score(gold: list[tuple[str, ...]]):
    tagger = Oracle(TagSet.of(GOLD), PREDICTED)
    evaluation = evaluate_tagger(tagger, sentences_of(gold), OpponentPredictions({"same": gold}))
    scores = {name: score.value for name, score in evaluation.scores.items()}
    assert scores == pytest.approx({"f1": 60, "precision": 60, "recall": 60, "strict_f1": 60})
    (opponent,) = evaluation.opponents
    assert opponent.scores["f1"].value == opponent.scores["strict_f1"].value == 100
    assert opponent.tests["f1"].difference == pytest.approx(-40)
    assert [one.num_errors for one in evaluation.sentences] == [1, 1, 1]
    assert [one.sentence.tags for one in evaluation.sentences] == gold
    right = np.concatenate([np.array(a) == np.array(b) for a, b in zip(GOLD, PREDICTED, strict=True)])
    expected = -np.where(right, np.log(0.7), np.log(0.3 / (len(tagger.tags.tags) - 1))).mean()
    assert evaluation.loss == pytest.approx(expected)


def test_types_add_up_to_all_spans():
    predicted = [("O", "O", "O", "B-y"), *PREDICTED[1:]]
    types = score_types(GOLD, predicted, BIO)
    assert [(one.name, one.gold, one.predicted) for one in types] == [("x", 3, 2), ("y", 2, 2)]
    right = sum(one.recall * one.gold / 100 for one in types)
    assert right == pytest.approx(sum(one.precision * one.predicted / 100 for one in types)) == pytest.approx(3)
    assert score_tags(GOLD, predicted)["recall"].value == pytest.approx(100 * right / 5)
    for one in types:
        assert one.f1 == pytest.approx(2 * one.precision * one.recall / (one.precision + one.recall))


def test_plain_tags_are_scored_by_the_accuracy_over_words():
    predicted = [("NOUN", "NOUN"), ("NOUN", "NOUN", "VERB")]
    tagger = Oracle(TagSet.of(SPEECH), predicted)
    evaluation = evaluate_tagger(tagger, sentences_of(SPEECH), OpponentPredictions({"same": SPEECH}))
    assert {name: score.value for name, score in evaluation.scores.items()} == pytest.approx({"accuracy": 80})
    assert evaluation.scores["accuracy"].name == "accuracy"
    assert evaluation.opponents[0].tests["accuracy"].difference == pytest.approx(-20)
    assert [one.num_errors for one in evaluation.sentences] == [1, 0]
    assert evaluation.sentences[0].describe(evaluation.sentences[0].missing) == "w1 (VERB)"


def test_a_tag_that_the_tagger_lacks_is_an_error_without_a_loss():
    evaluation = evaluate_tagger(Oracle(TagSet.of(GOLD), PREDICTED), sentences_of([*GOLD[:2], ("B-z", "O")]))
    assert evaluation.loss is None and evaluation.scores["f1"].value < 100
    assert [one.name for one in evaluation.types] == ["x", "y", "z"]


def test_what_is_missing_and_what_is_wrong():
    (sentence,) = sentences_of([("B-x", "I-x", "O", "B-y")])
    result = compare_spans(sentence, ("B-x", "O", "B-y", "B-y"), sentence.tags, BIO)
    assert result.describe(result.missing) == "w0 w1 (x)" and result.describe(result.wrong) == "w0 (x); w2 (y)"
    assert result.num_errors == 2


def test_broken_bio_is_left_to_the_strict_score():
    broken = [("I-x", "O", "B-x"), ("B-x", "B-x", "O")]
    assert unify_tags(broken, BIO) == broken and detect_scheme(broken).name == "BIO"
    scores = score_tags([("B-x", "O", "B-x"), broken[1]], broken)
    assert scores["f1"].value == 100 > scores["strict_f1"].value
    assert unify_tags([("I-x", "I-x")], TagScheme("IOB1")) == [("B-x", "I-x")]
    assert unify_tags(SPEECH, PLAIN) == SPEECH
