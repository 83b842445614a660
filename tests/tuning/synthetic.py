"""Synthetic studies: logs, scores and storage as training would write them, without training."""

import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.run import Run, write_text
from regard.tuning import open_study
from regard.tuning import study as studies
from regard.tuning.measure import RunSummary
from regard.tuning.results import NAME_ATTR, NUMBER_ATTR, OUTCOME_ATTR
from regard.tuning.space import Params
from regard.tuning.study import Study
from regard.tuning.worker import StudyWorker, _start_trial

REFERENCES = [" ".join(random.Random(n).choices("abcdefghijkl", k=3 + n % 33)) for n in range(120)]
FOUR = {
    "set 1": {"model.layers": 2, "model.heads": 8, "model.dim": 128, "model.dropout": 0.1},
    "set 2": {"model.layers": 4, "model.heads": 8, "model.dim": 128, "model.dropout": 0.2},
    "set 3": {"model.layers": 4, "model.heads": 12, "model.dim": 192, "model.dropout": 0.2},
    "set 4": {"model.layers": 6, "model.heads": 12, "model.dim": 192, "model.dropout": 0.1},
}


def study_of(**fields: Any) -> Study:
    return studies.build(
        {"name": "made", "base": {"data": {"train": ["a.en", "a.fr"], "dev": ["b.en", "b.fr"]}}, "each": {"epochs": 25}}
        | fields
    )


def until(true: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def quality(params: Params, rng: random.Random) -> float:
    """The quality of a combination: depth and width help, dropout near 0.2 is best, and there is noise."""
    layers, dim, dropout = (
        float(params.get(f"model.{n}", d)) for n, d in (("layers", 4), ("dim", 128), ("dropout", 0.2))
    )
    return 0.5 * layers + dim / 96 - 60 * (dropout - 0.2) ** 2 + rng.gauss(0, 0.3)


def write_log(run: Run, good: float, rng: random.Random, turns: bool, checks: int = 25, per: int = 12) -> None:
    """A log with falling losses; if `turns`, the dev loss rises from the middle on."""
    lines = []
    for n in range(1, checks * per + 1):
        share = n / (checks * per)
        loss = 6.5 * math.exp(-3 * share) + 1.8 - 0.1 * good - (0.8 * share if turns else 0)
        position = [(n - 1) // per, 1 + (n - 1) % per]
        step = {
            "kind": "step",
            "number": n,
            "data_position": position,
            "loss": loss + rng.gauss(0, 0.15),
            "tokens": 900,
        }
        lines.append(step | {"accuracy": 0.7 - loss / 12, "learning_rate": 1.0, "grad_norm": 1.0, "seconds": 0.8})
        if n % per == 0:
            dev = 6.5 * math.exp(-3 * share) + 2.3 - 0.1 * good + (3 * max(0.0, share - 0.5) if turns else 0)
            score = {"value": 3 + good * 3 * share, "low": 2.0, "high": 9.0, "signature": "s", "name": "BLEU"}
            check = {
                "kind": "validation",
                "step": n,
                "loss": dev,
                "accuracy": 0.68 - dev / 12,
                "score": score,
                "seconds": 2.0,
            }
            lines.append(
                check | {"shuffled_input_loss": dev + 1.5, "distinct_ratio": 0.9, "seconds_per_prediction": 0.01}
            )
    write_text(run.log, "".join(json.dumps(line) + "\n" for line in lines))


def write_sentences(run: Run, good: float, rng: random.Random) -> None:
    rows = ["source\treference\ttranslation\tbleu\tchrf"]
    for reference in REFERENCES:
        wrong = max(0.05, 0.55 - 0.08 * good)
        words = [w if rng.random() > wrong else rng.choice("mnopq") for w in reference.split()]
        same = sum(a == b for a, b in zip(words, reference.split(), strict=True)) / len(words)
        rows.append(f"{reference}\t{reference}\t{' '.join(words)}\t{100 * same**2:.2f}\t{100 * same:.2f}")
    write_text(run.sentence_scores("dev"), "\n".join(rows) + "\n")


def make(study: Study, folder: Path, collapsed: tuple[int, ...] = (), turning: tuple[int, ...] = ()) -> StudyWorker:
    """A finished study."""
    study_worker = open_study.create_study(study, folder)
    study_worker.claims.add_trials(study.num_trials())
    while (number := study_worker.claims.claim()) is not None:
        trial, _ = _start_trial(study_worker, number)
        assert trial is not None and trial.user_attrs[NUMBER_ATTR] == number and NAME_ATTR in trial.user_attrs
        rng = random.Random(number)
        good = quality(trial.params, rng)
        summaries = []
        for seed in range(study.seeds):
            run = Run(study_worker.study_folder.trial_folder(number, seed))
            write_log(run, good, rng, turns=number in turning)
            write_sentences(run, good, rng)
            summaries.append(make_summary(trial.params, good + (rng.gauss(0, 0.1) if seed else 0), number in collapsed))
        trial.set_user_attr(
            OUTCOME_ATTR, {"state": "complete", "reason": "", "seed_summaries": [one.as_dict() for one in summaries]}
        )
        values = [one.value(study.metric) or 0.0 for one in summaries]
        study_worker.optuna_study.tell(trial, sum(values) / len(values))
        study_worker.claims.finish(number)
    return study_worker


def make_summary(params: Params, good: float, collapsed: bool) -> RunSummary:
    scores = {
        name: {"value": value, "low": value - 0.9, "high": value + 0.9, "signature": f"{name}|made"}
        for name, value in (
            ("bleu", 10 + 3 * good),
            ("chrf", 30 + 3 * good),
            ("ter", 80 - 3 * good),
            ("accuracy", 50 + good),
        )
    }
    layers, dim = int(params.get("model.layers", 4)), int(params.get("model.dim", 128))
    reason = "it ignores its source: with the sources of other sentences its dev loss is 5.01 instead of 5.00"
    return RunSummary(
        parameters=28 * layers * dim * dim + 6000 * dim,
        steps=300,
        epochs=25.0,
        minutes=2 + layers * dim / 100,
        tokens_per_second=90000 / layers,
        loss=3.2 - 0.1 * good,
        unigram_loss=5.9,
        shuffled_input_loss=5.0,
        scores=scores,
        decoding_seconds=0.001 * layers,
        pads_counted={"accuracy": 80 + good, "loss": 1.2, "positions": 59, "pad_percent": 61.8},
        collapse_reason=reason if collapsed else "",
    )
