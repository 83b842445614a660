"""Classification as a whole: it is calibrated on dev, and takes several labels and pairs."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError, DataError
from regard.formats.labeled import LabeledText, write_labeled_texts
from regard.jobs.tasks.classification.evaluation import evaluate_classifier
from regard.jobs.tasks.opponents import read_opponents, read_stored_pairs
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.events import TrainingPlan
from regard.jobs.train.fit import train_run
from regard.metrics.labels.calibration import fit_temperature
from regard.run import Run
from regard.tasks.classify.examples import input_of, restore_example
from tests.jobs.conftest import TINY

TASK = get_task("classify")
SUBJECTS = ("The film", "This book", "My soup", "Her song", "Our house", "A walk", "The game")


def never() -> bool:
    return False


def make_texts(several: bool = False, pairs: bool = False) -> list[LabeledText]:
    """What is called big, red, or both."""
    texts = []
    for i, subject in enumerate(SUBJECTS):
        for big, red in ((1, 0), (0, 1), (1, 1), (0, 0))[: 4 if several else 2]:
            words = [word for word, is_said in (("big", big), ("red", red)) if is_said]
            text = f"{subject} number {i} is {' and '.join(words) or 'here'}"
            texts.append(LabeledText(text, tuple(words), f"and so it is {i}" if pairs else None))
    return texts


def make_config(folder: Path, texts: list[LabeledText], *changes: str) -> Config:
    for name in ("train", "dev", "test"):
        write_labeled_texts(folder / f"{name}.jsonl", texts)
    data = {name: [str(folder / f"{name}.jsonl")] for name in ("train", "dev", "test")}
    table = {"task": "classify", "data": {**data, "keep": ["overlap"]}}
    return settings.override(settings.build(table), [*TINY, *changes])


def test_the_temperature_is_that_of_dev_and_changes_no_label(classifier: Path):
    run = Run(classifier)
    stored = json.loads(run.calibration.read_text(encoding="utf-8"))["temperature"]
    examples = [restore_example(pair) for pair in read_stored_pairs(run, "dev")]
    calibrated = TASK.load_predictor(classifier, "cpu")
    assert calibrated.temperature == stored != 1
    plain = TASK.make_predictor(calibrated.model, calibrated.tokenizer, calibrated.labels, run.load_config())
    texts = [input_of(example) for example in examples]
    log_probs = plain.log_probs(texts).numpy()
    gold = [plain.labels.encode(example.labels)[0] for example in examples]
    assert stored == pytest.approx(fit_temperature(log_probs, gold), rel=1e-4)
    scaled = torch.tensor(log_probs / stored).log_softmax(dim=-1)
    np.testing.assert_allclose(calibrated.log_probs(texts).numpy(), scaled.numpy(), atol=1e-5)
    losses = [evaluate_classifier(one, examples).loss for one in (plain, calibrated)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4) == pytest.approx(-log_probs[range(len(gold)), gold].mean())
    assert [one.label for one in plain.classify(texts)] == [one.label for one in calibrated.classify(texts)]


def test_opponents_were_fitted_before_training_and_stand_beside_the_model(classifier: Path):
    run = Run(classifier)
    stored, scores = read_opponents(run, "test"), json.loads(run.scores("test").read_text(encoding="utf-8"))
    assert set(stored.answers) == set(scores["opponents"])
    assert {len(answers) for answers in stored.answers.values()} == {scores["examples"]}
    assert all("p_bootstrap" in one["accuracy"] for one in scores["opponents"].values())
    assert not read_opponents(run, "other").answers


@pytest.mark.parametrize("pairs", [False, True])
def test_texts_may_have_several_labels_or_none_and_come_in_pairs(tmp_path: Path, pairs: bool, monkeypatch):
    monkeypatch.setattr(type(TASK), "write_report", lambda *arguments: None)
    texts = make_texts(several=True, pairs=pairs)
    changes = ("train.steps=90", "train.learning_rate=0.01", "train.validate_every=90", "model.dropout=0")
    list(
        train_run(
            tmp_path / "run", make_config(tmp_path, texts, 'data.keep=["overlap", "unlabeled"]', *changes), False, never
        )
    )
    classifier = TASK.load_predictor(tmp_path / "run", "cpu")
    assert classifier.labels.labels == ("big", "red") and classifier.labels.multi_label
    calibration = json.loads(Run(tmp_path / "run").calibration.read_text(encoding="utf-8"))
    assert calibration.keys() == {"thresholds"} and calibration["thresholds"].keys() == {"big", "red"}
    known = [text for text in texts if text.labels]
    found = classifier.classify([input_of(text) for text in known])
    assert sum(one.labels == text.labels for one, text in zip(found, known, strict=True)) > 0.8 * len(known)


def test_what_cannot_be_trained_on_is_refused_in_a_sentence(tmp_path: Path):
    one_class = [LabeledText(f"text {i}", ("same",)) for i in range(9)]
    with pytest.raises(DataError, match="class"):
        list(train_run(tmp_path / "run", make_config(tmp_path, one_class), False, never))
    config = make_config(tmp_path, make_texts())
    with pytest.raises(ConfigError, match=r"train\.metric=bleu: task=classify is validated by loss or accuracy"):
        settings.override(config, ["train.metric=bleu"])


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_training_splits_tokens_and_validation_does_not(tmp_path: Path, rate: float):
    config = make_config(tmp_path, make_texts(), f"data.subword_regularization={rate}", "train.steps=1")
    list(train_run(tmp_path / "run", config, False, never))
    data = TASK.open_data(Run(tmp_path / "run"), config)
    assert TASK.build_collator(config, data, training=True).subword_regularization == rate
    assert TASK.build_collator(config, data, training=False).subword_regularization == 0


def test_the_plan_has_the_findings_of_the_doctor_for_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(TASK), "write_report", lambda *arguments: None)
    config = make_config(tmp_path, make_texts(), "train.steps=1")
    events = list(train_run(tmp_path / "run", config, False, never))
    (plan,) = (event for event in events if isinstance(event, TrainingPlan))
    assert plan.data.diagnosis is not None and plan.data.diagnosis.unit == "texts"
    assert "overlap" in {finding.kind.name for finding in plan.data.diagnosis.findings}
