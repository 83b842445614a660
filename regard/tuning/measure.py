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

SCORED_METRICS = {name: METRICS[name] for name in ("bleu", "chrf", "ter")}


@dataclass(frozen=True)
class RunSummary:
    """One run in numbers. Scores are those on dev: metric -> {value, low, high, signature}."""

    parameters: int
    steps: int
    epochs: float
    minutes: float
    tokens_per_second: float
    """Target pieces a second."""
    loss: float | None
    unigram_loss: float | None = None
    """Dev loss of a model that only knows how frequent each piece is."""
    shuffled_source_loss: float | None = None
    """Dev loss with the sources of other sentences."""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pads_counted: Mapping[str, float] | None = None
    """Accuracy and loss in the way that flatters, as `evaluation.PadsCounted` has them."""
    collapse_reason: str = ""
    """Why this is no working model; empty if it works."""
    decoding_seconds: float | None = None
    """Seconds that a dev sentence took to translate, greedily, at the looks of training (their median)."""

    def value(self, metric: str) -> float | None:
        if metric == "loss":
            return self.loss
        return float(self.scores[metric]["value"]) if metric in self.scores else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(run: Run, max_sentences: int, device: str = "auto") -> RunSummary:
    """Translate dev with the best weights, score it, and judge whether the model looks at its source."""
    config = run.load_config()
    data = tokenize_corpora(run, config)
    stride = -(-len(data.dev) // max_sentences)
    pairs = data.dev.pairs()[::stride]  # spread over the whole of dev, the same for every trial
    evaluation = score_run(run, load(run.folder, device), pairs, "dev", metrics=SCORED_METRICS)
    unigram = unigram_loss(data.train.target_ids, data.dev.target_ids, data.tokenizers.target.vocab_size)
    return summarize_run(run, as_dict(evaluation), unigram)


def summarize_log(run: Run) -> RunSummary:
    """What the log alone says, of a run that was stopped early."""
    return summarize_run(run, {}, None)


def summarize_run(run: Run, evaluation: Mapping[str, Any], unigram: float | None) -> RunSummary:
    """The log of a run, put together with its scores."""
    records = list(log.read(run.log)) if run.log.exists() else []
    steps = [record for record in records if record["kind"] == "step"]
    validations = [parse_validation(record) for record in records if record["kind"] == "validation"]
    if not steps:
        raise RunError(f"{run.folder}: its log has no step, so there is nothing to measure; train it first")
    seconds = sum(step["seconds"] for step in steps)
    validation = find_best_validation(run, validations)
    scores, loss = evaluation.get("scores", {}), evaluation.get("loss")
    if not scores and validation is not None:
        scores = {"accuracy": {"value": 100 * validation.accuracy}} | (
            {"bleu": validation.bleu.as_dict()} if validation.bleu else {}
        )
    return RunSummary(
        parameters=count_parameters(run),
        steps=len(steps),
        epochs=round(_count_epochs(steps), 2),
        minutes=(seconds + sum(check.seconds for check in validations)) / 60,
        tokens_per_second=sum(step["tokens"] for step in steps) / seconds,
        loss=loss if loss is not None else validation.loss if validation else None,
        unigram_loss=unigram,
        shuffled_source_loss=validation.shuffled_source_loss if validation else None,
        scores=scores,
        pads_counted=evaluation.get("pads_counted"),
        collapse_reason=diagnose_collapse(validation, unigram, scores, evaluation.get("baselines")),
        decoding_seconds=median(decoding_times)
        if (decoding_times := [check.seconds_per_translation for check in validations if check.seconds_per_translation])
        else None,
    )


def read_validations(run: Run) -> list[Validation]:
    """Every look at dev that the log of a run holds."""
    records = log.read(run.log) if run.log.exists() else ()
    return [parse_validation(record) for record in records if record["kind"] == "validation"]


def find_best_validation(run: Run, validations: Sequence[Validation]) -> Validation | None:
    """The look at dev that the weights which translate had: a later one may be of weights that nobody uses.

    The log does not hold the look at an average, which is better than every other: there the best of them stands in.
    """
    best = run.read_json(run.best) if run.best.exists() else {}
    same_step = [check for check in validations if check.step == best.get("step")]
    if same_step and best["weights"] != run.average_weights.name:
        return same_step[-1]
    metric = best.get("metric", "loss") if all(check.bleu for check in validations) else "loss"
    return min(validations, key=lambda check: check.cost(metric), default=None)


def diagnose_collapse(
    validation: Validation | None,
    unigram: float | None,
    scores: Mapping[str, Mapping[str, Any]],
    baselines: Mapping[str, Any] | None,
) -> str:
    """Why a model does not translate, in words with numbers; empty if it does."""
    if validation is None:
        return ""
    reasons = []
    if unigram is not None:
        history = alarms.TrainingHistory([validation], [0.0], unigram, warmed_up=True)
        if alarms.above_unigram(history):
            reasons.append(
                f"its dev loss of {validation.loss:.2f} is no better than the unigram line, the {unigram:.2f} of a model "
                f"that only knows how frequent each piece is"
            )
        if (
            validation.shuffled_source_loss is not None
            and validation.shuffled_source_loss - validation.loss <= 0.02 * validation.loss
        ):
            reasons.append(
                f"it ignores its source: with the sources of other sentences its dev loss is {validation.shuffled_source_loss:.2f} "
                f"instead of {validation.loss:.2f}"
            )
        if alarms.repeats_output(history):
            reasons.append(
                f"only {validation.distinct_ratio or 0:.0%} of its translations of different dev sentences differ"
            )
    if baselines and "bleu" in scores:
        score, chance = scores["bleu"], baselines["shuffled_translations"]
        if score["value"] <= chance["high"] and not reasons:
            reasons.append(
                f"its BLEU of {score['value']:.1f} is no better than the {chance['value']:.1f} that translations of "
                f"other sentences score"
            )
    return "; ".join(reasons)


def count_parameters(run: Run) -> int:
    """How many numbers the weights of a run are, read from the head of a file."""
    from safetensors import safe_open

    name = run.read_json(run.best)["weights"] if run.best.exists() else None
    path = run.folder / name if name else run.weights(run.saved_steps()[-1])
    with safe_open(str(path), framework="numpy") as file:
        return sum(_num_elements(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118


def _num_elements(shape: Sequence[int]) -> int:
    size = 1
    for dim in shape:
        size *= dim
    return size


def _count_epochs(steps: Sequence[Mapping[str, Any]]) -> float:
    """Epochs, the last one in part: as much of it as of the one before."""
    epoch, batch = steps[-1]["data_position"]
    epoch_length = max(step["data_position"][1] for step in steps)
    return float(epoch + batch / max(1, epoch_length))


def parse_validation(record: Mapping[str, Any]) -> Validation:
    """A line of the log as the check that wrote it."""
    from regard.metrics import Score

    fields = {name: value for name, value in record.items() if name != "kind"}
    score = fields.pop("bleu")
    return Validation(**fields, bleu=Score("BLEU", **score) if score else None)


def read_sentences(path: Path) -> list[dict[str, str]]:
    """The rows of a sentences.tsv, cells as they were before they were made safe."""
    rows = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    names = rows[0].split("\t")
    return [dict(zip(names, map(_unescape_cell, row.split("\t")), strict=True)) for row in rows[1:]]


def _unescape_cell(text: str) -> str:
    return text.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")
