"""What a trained run is worth: its scores on dev, what it cost, and whether it works at all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from regard.data.unigram import unigram_loss
from regard.errors import RunError
from regard.evaluation import METRICS
from regard.jobs.evaluate import as_dict, score_run
from regard.jobs.load import load
from regard.jobs.train.prepare import tokenize_corpora
from regard.run import Run
from regard.training import alarms, log
from regard.training.validate import Validation

SCORED = {name: METRICS[name] for name in ("bleu", "chrf", "ter")}


@dataclass(frozen=True)
class Measured:
    """One run in numbers. Scores are those on dev: metric -> {value, low, high, signature}."""

    parameters: int
    steps: int
    epochs: float
    minutes: float
    speed: float
    """Target pieces a second."""
    loss: float | None
    unigram: float | None = None
    """Dev loss of a model that only knows how frequent each piece is."""
    shuffled: float | None = None
    """Dev loss with the sources of other sentences."""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pads_counted: Mapping[str, float] | None = None
    """Accuracy and loss in the way that flatters, as `evaluation.PadsCounted` has them."""
    collapsed: str = ""
    """Why this is no working model; empty if it works."""
    decoding: float | None = None
    """Seconds that a dev sentence took to translate, greedily, at the looks of training (their median)."""

    def value(self, metric: str) -> float | None:
        if metric == "loss":
            return self.loss
        return float(self.scores[metric]["value"]) if metric in self.scores else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(run: Run, sentences: int, device: str = "auto") -> Measured:
    """Translate dev with the best weights, score it, and judge whether the model looks at its source."""
    config = run.load_config()
    data = tokenize_corpora(run, config)
    step = -(-len(data.dev) // sentences)
    pairs = data.dev.pairs()[::step]  # spread over the whole of dev, the same for every trial
    evaluation = score_run(run, load(run.folder, device), pairs, "dev", metrics=SCORED)
    unigram = unigram_loss(data.train.target_ids, data.dev.target_ids, data.tokenizers.target.vocab_size)
    return summary(run, as_dict(evaluation), unigram)


def glance(run: Run) -> Measured:
    """What the log alone says, of a run that was stopped early."""
    return summary(run, {}, None)


def summary(run: Run, found: Mapping[str, Any], unigram: float | None) -> Measured:
    """The log of a run, put together with its scores."""
    records = list(log.read(run.log)) if run.log.exists() else []
    steps = [record for record in records if record["kind"] == "step"]
    checks = [check_of(record) for record in records if record["kind"] == "check"]
    if not steps:
        raise RunError(f"{run.folder}: its log has no step, so there is nothing to measure; train it first")
    seconds = sum(step["seconds"] for step in steps)
    look = best_look(run, checks)
    scores, loss = found.get("scores", {}), found.get("loss")
    if not scores and look is not None:
        scores = {"accuracy": {"value": 100 * look.accuracy}} | ({"bleu": look.bleu.as_dict()} if look.bleu else {})
    return Measured(
        parameters=parameters(run),
        steps=len(steps),
        epochs=round(_epochs(steps), 2),
        minutes=(seconds + sum(check.seconds for check in checks)) / 60,
        speed=sum(step["tokens"] for step in steps) / seconds,
        loss=loss if loss is not None else look.loss if look else None,
        unigram=unigram,
        shuffled=look.shuffled_source_loss if look else None,
        scores=scores,
        pads_counted=found.get("pads_counted"),
        collapsed=collapse(look, unigram, scores, found.get("baselines")),
        decoding=median(timed)
        if (timed := [check.seconds_per_translation for check in checks if check.seconds_per_translation])
        else None,
    )


def looks(run: Run) -> list[Validation]:
    """Every look at dev that the log of a run holds."""
    records = log.read(run.log) if run.log.exists() else ()
    return [check_of(record) for record in records if record["kind"] == "check"]


def best_look(run: Run, checks: Sequence[Validation]) -> Validation | None:
    """The look at dev that the weights which translate had: a later one may be of weights that nobody uses.

    The log does not hold the look at an average, which is better than every other: there the best of them stands in.
    """
    best = run.read_json(run.best) if run.best.exists() else {}
    same = [check for check in checks if check.step == best.get("step")]
    if same and best["weights"] != run.average_weights.name:
        return same[-1]
    metric = best.get("metric", "loss") if all(check.bleu for check in checks) else "loss"
    return min(checks, key=lambda check: check.cost(metric), default=None)


def collapse(
    look: Validation | None,
    unigram: float | None,
    scores: Mapping[str, Mapping[str, Any]],
    baselines: Mapping[str, Any] | None,
) -> str:
    """Why a model does not translate, in words with numbers; empty if it does."""
    if look is None:
        return ""
    reasons = []
    if unigram is not None:
        seen = alarms.TrainingHistory([look], [0.0], unigram, warmed_up=True)
        if alarms.above_unigram(seen):
            reasons.append(
                f"its dev loss of {look.loss:.2f} is no better than the unigram line, the {unigram:.2f} of a model "
                f"that only knows how frequent each piece is"
            )
        if look.shuffled_source_loss is not None and look.shuffled_source_loss - look.loss <= 0.02 * look.loss:
            reasons.append(
                f"it ignores its source: with the sources of other sentences its dev loss is {look.shuffled_source_loss:.2f} "
                f"instead of {look.loss:.2f}"
            )
        if alarms.repeats_output(seen):
            reasons.append(f"only {look.distinct_ratio or 0:.0%} of its translations of different dev sentences differ")
    if baselines and "bleu" in scores:
        score, chance = scores["bleu"], baselines["shuffled"]
        if score["value"] <= chance["high"] and not reasons:
            reasons.append(
                f"its BLEU of {score['value']:.1f} is no better than the {chance['value']:.1f} that translations of "
                f"other sentences score"
            )
    return "; ".join(reasons)


def parameters(run: Run) -> int:
    """How many numbers the weights of a run are, read from the head of a file."""
    from safetensors import safe_open

    name = run.read_json(run.best)["weights"] if run.best.exists() else None
    path = run.folder / name if name else run.weights(run.saved_steps()[-1])
    with safe_open(str(path), framework="numpy") as file:
        return sum(_size(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118


def _size(shape: Sequence[int]) -> int:
    size = 1
    for side in shape:
        size *= side
    return size


def _epochs(steps: Sequence[Mapping[str, Any]]) -> float:
    """Epochs, the last one in part: as much of it as of the one before."""
    epoch, batch = steps[-1]["place"]
    longest = max(step["place"][1] for step in steps)
    return float(epoch + batch / max(1, longest))


def check_of(record: Mapping[str, Any]) -> Validation:
    """A line of the log as the check that wrote it."""
    from regard.metrics import Score

    fields = {name: value for name, value in record.items() if name != "kind"}
    score = fields.pop("bleu")
    return Validation(**fields, bleu=Score("BLEU", **score) if score else None)


def read_sentences(path: Path) -> list[dict[str, str]]:
    """The rows of a sentences.tsv, cells as they were before they were made safe."""
    rows = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    names = rows[0].split("\t")
    return [dict(zip(names, map(_uncell, row.split("\t")), strict=True)) for row in rows[1:]]


def _uncell(text: str) -> str:
    return text.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")
