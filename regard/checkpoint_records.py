"""Which checkpoint of a run is which: the records of latest.json and best.json."""

from dataclasses import dataclass

from regard.files import Count, Finite


@dataclass(frozen=True)
class BestWeights:
    """best.json: the weights to translate with."""

    weights: str  # the file, relative to the run folder
    step: Count
    cost: Finite | None  # on dev: the loss, or BLEU with its sign changed; None if never validated
    metric: str


@dataclass(frozen=True)
class LatestCheckpoint:
    """latest.json: the checkpoint to resume from."""

    step: Count
    finished: bool = False
