"""store/opponents.json: what cheap opponents predict for dev and test, fitted once, before training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.baselines import OpponentPredictions
from regard.data.store import Texts
from regard.formats import Pair
from regard.jobs.train.training_data import read_texts_manifest
from regard.run import Run

PredictOpponents = Callable[[Sequence[Pair], Sequence[Pair], Sequence[Pair]], OpponentPredictions]
"""Training examples, dev examples, and those to predict for."""


@dataclass(frozen=True)
class StoredOpponents:
    """store/opponents.json, by the name of the set."""

    answers: dict[str, dict[str, tuple[tuple[str, ...], ...]]]
    reasons: dict[str, str]


def write_opponents(run: Run, predict: PredictOpponents) -> None:
    """Fit opponents on the training examples, and store what they predict for the other sets."""
    sets = [name for name in read_texts_manifest(run).sets if name != "train"]
    pairs = {name: read_stored_pairs(run, name) for name in sets}
    joined_pairs = [pair for name in sets for pair in pairs[name]]  # one fit serves all sets
    joined = predict(read_stored_pairs(run, "train"), pairs["dev"], joined_pairs)
    answers: dict[str, dict[str, Sequence[tuple[str, ...]]]] = {}
    begin = 0
    for name in sets:
        end = begin + len(pairs[name])
        answers[name] = {opponent: joined.answers[opponent][begin:end] for opponent in joined.answers}
        begin = end
    run.write_json(run.opponents, {"answers": answers, "reasons": dict(joined.reasons)})


def read_opponents(run: Run, name: str) -> OpponentPredictions:
    """What opponents predict for a stored set; none where they were not fitted."""
    if not run.opponents.exists():
        return OpponentPredictions({})
    stored = run.read_json(run.opponents, StoredOpponents)
    return OpponentPredictions(stored.answers.get(name, {}), stored.reasons)


def read_stored_pairs(run: Run, name: str) -> list[Pair]:
    """The examples of a stored set."""
    sides = (Texts(run.store, f"{name}.{side}") for side in ("source", "target"))
    return [Pair(*texts) for texts in zip(*sides, strict=True)]
