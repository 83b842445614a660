"""Every alarm is late to fire, says what to change, and is silent where all is well."""

import numpy as np
import pytest

from regard.data.store import open_corpus, write_ids, write_texts
from regard.data.tokenizers.tokenizer import EOS, Tokenizers, train_tokenizer
from regard.data.unigram import unigram_loss
from regard.formats import Pair
from regard.training.alarms import AlarmWords, ThroughputMonitor, TrainingHistory, TrainingMonitor, had_steps_to_learn
from regard.training.validate import Validation


def validation(step: int, loss: float, shuffled: float = 9.0, distinct: float = 1.0) -> Validation:
    return Validation(step, loss, 0.5, None, 1.0, shuffled, distinct)


def monitor() -> TrainingMonitor:
    return TrainingMonitor(unigram_loss=6.0, warmup=100)


def test_all_is_well():
    training_monitor = monitor()
    said = [training_monitor.update(validation(100 * i, 5.0 / i), 5.5 / i) for i in range(1, 9)]
    assert said == [[]] * 8


@pytest.mark.parametrize(
    ("late", "words"),
    [
        (validation(300, 6.1), ["no better than the 6.00", "Halve train.learning_rate"]),
        (validation(300, 4.0, shuffled=4.02), ["ignores its source", "regard doctor"]),
        (validation(300, 4.0, distinct=0.05), ["only 5% of the translations", "lower train.learning_rate"]),
    ],
)
def test_an_alarm_fires_once_and_only_after_the_warm_up(late, words):
    training_monitor = monitor()
    early = Validation(150, late.loss, 0.5, None, 1.0, late.shuffled_input_loss, late.distinct_ratio)
    assert training_monitor.update(early, 5.0) == []
    (text,) = training_monitor.update(late, 5.0)
    assert all(word in text for word in words)
    assert training_monitor.update(late, 5.0) == []


def test_a_model_collapses_only_after_the_steps_to_learn():
    (text,) = monitor().update(validation(300, 4.0, distinct=0.05), 5.0)
    (late,) = monitor().update(validation(2000, 4.0, distinct=0.05), 5.0)
    assert "collapsed" not in text and "The model has collapsed" in late


@pytest.mark.parametrize(
    ("steps", "epochs", "warmup", "enough"),
    [
        (2000, 0.1, 1000, True),
        (1999, 2.9, 100, False),
        (200, 3.0, 100, True),
        (199, 50.0, 1, False),  # a small corpus has many epochs in few steps
        (200, 3.0, 101, False),
        (7000, 9.0, 4000, False),  # the learning rate has not been at its peak for long
    ],
)
def test_steps_epochs_and_warmup_decide_whether_there_was_time_to_learn(steps, epochs, warmup, enough):
    assert had_steps_to_learn(steps, epochs, warmup) is enough


def test_learning_by_heart_is_noticed():
    training_monitor = monitor()
    said = [
        training_monitor.update(validation(i * 200, dev), tr)
        for i, (dev, tr) in enumerate([(3.0, 3.0), (3.1, 2.5), (3.2, 2.0)])
    ]
    assert said == [[], [], []]
    (text,) = training_monitor.update(validation(800, 3.3), 1.5)
    assert "from 3.000 to 3.300" in text and "model.dropout" in text
    rising_together = monitor()
    assert not any(rising_together.update(validation(i * 200, 3 + i / 10), 3 + i / 10) for i in range(6))


def test_a_slow_machine_is_noticed_after_minutes():
    pace = ThroughputMonitor(expected_tokens_per_second=900.0)
    assert not any(pace.update(200, 1.0) for _ in range(119))
    assert "less than a third of the expected 900" in pace.update(200, 1.0)
    assert pace.update(200, 1.0) == ""
    bursts = ThroughputMonitor(expected_tokens_per_second=900.0)
    assert not any(bursts.update(200 if i % 60 else 400, 1.0) for i in range(600))


def test_the_unigram_line_is_its_formula(tmp_path):
    rows = ["a b", "a a a", "b", "a c"]
    joint = train_tokenizer(rows * 3, 280, "bpe")
    both = Tokenizers(joint, joint)
    for name, texts in (("train", rows), ("dev", ["a b a", "c"])):
        write_texts(tmp_path, name, [Pair(t, t) for t in texts])
        write_ids(tmp_path, name, both)
    corpora = [open_corpus(tmp_path, name, both) for name in ("train", "dev")]
    counts = np.ones(joint.vocab_size)
    for ids in joint.encode(rows):
        np.add.at(counts, [*ids, EOS], 1)
    token_ids = [t for ids in joint.encode(["a b a", "c"]) for t in [*ids, EOS]]
    expected = -np.mean([np.log(counts[t] / counts.sum()) for t in token_ids])
    assert unigram_loss(corpora[0].target_ids, corpora[1].target_ids, joint.vocab_size) == pytest.approx(expected)


def test_an_alarm_is_about_the_newest_validation():
    history = TrainingHistory([validation(100, 3.0), validation(200, 2.0)], [3.0, 2.0], 6.0, True)
    assert history.latest.step == 200
    training_monitor = monitor()
    assert training_monitor.update(validation(300, 4.0), 5.0) == []
    assert len(training_monitor.update(validation(400, 6.1), 5.0)) == 1


def test_a_third_of_the_expected_speed_is_not_slow_yet():
    assert not any(ThroughputMonitor(900.0).update(300 * 500, 500.0) for _ in range(3))
    assert ThroughputMonitor(900.0).update(299 * 500, 500.0)


def test_alarms_speak_the_words_of_the_task():
    words = AlarmWords("a guesser", "ignores its color: with other colors", "every color is right", "it")
    for loss, expected in ((7.0, "of a guesser."), (3.0, "it ignores its color: with other colors the dev loss")):
        monitor = TrainingMonitor(unigram_loss=6.0, warmup=1, words=words)
        late = Validation(step=900, loss=loss, accuracy=0.5, score=None, seconds=1.0, shuffled_input_loss=loss)
        (message,) = monitor.update(late, 3.0)
        assert expected in message and "source" not in message and "token" not in message
    assert "900 words per second" in ThroughputMonitor(900.0, "word").update(1, 500.0)
