"""Language models compared on documents: bits per byte with any tokenizers, masked losses with the same masks."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from regard.config import Config
from regard.errors import DataError, RunError
from regard.formats import Pair
from regard.formats.document_texts import read_documents
from regard.jobs.tasks.comparison import ComparedSystem, TaskComparison, compare_with_first, name_set
from regard.jobs.tasks.language.evaluation import LanguageEvaluation, evaluate_language_model
from regard.jobs.tasks.language.files import count_ratio
from regard.jobs.tasks.language.masked_evaluation import MaskedEvaluation, cut_documents
from regard.jobs.tasks.registry import open_predictor
from regard.metrics import Score
from regard.metrics.intervals import FloatArray
from regard.metrics.labels.statistics import CountedScore
from regard.progress import track
from regard.run import Run, open_run
from regard.tasks.masked_lm.filler import MaskFiller

EvaluateMasked = Callable[[Run, MaskFiller, Sequence[Pair]], MaskedEvaluation]


def compare_language_models(
    systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
) -> TaskComparison:
    """Bits per byte of the same documents, or of segments of them where they are few; tokenizers may differ."""
    texts = _read_texts(files, config.causal_lm.documents, config)
    require_runs(systems)
    same_tokenizer = _have_same_tokenizer(list(map(open_run, systems.values())))
    evaluations = {
        name: evaluate_language_model(open_predictor(path, "causal-lm", device), texts)
        for name, path in track(systems.items(), "evaluating systems")
    }
    compared = [_count_bits(name, systems[name], one, same_tokenizer) for name, one in evaluations.items()]
    first = next(iter(evaluations.values()))
    notes = []
    if not same_tokenizer:
        notes.append("The tokenizers differ: perplexities per token would not be comparable, bits per byte are.")
    if first.units == "segments":
        notes.append(
            f"The test set has few documents: intervals and tests are over {len(first.segments)} parts of them."
        )
    return TaskComparison(
        name_set(files),
        [segment.text for segment in first.segments],
        (),
        compared,
        "bits_per_byte",
        first.units,
        compare_with_first(compared),
        notes=tuple(notes),
    )


def compare_masked_language_models(
    systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str, evaluate: EvaluateMasked
) -> TaskComparison:
    """The losses of the same masked tokens; runs with other tokens or other masks are refused."""
    texts = _read_texts(files, config.masked_lm.documents, config)
    require_runs(systems)
    runs = {name: open_run(path) for name, path in systems.items()}
    require_same_targets(list(runs.values()), _mask_settings)
    fillers = {name: open_predictor(path, "masked-lm", device) for name, path in systems.items()}
    first, c = next(iter(fillers.values())), next(iter(runs.values())).load_config().data
    passages = cut_documents(texts, first, c.source)
    pairs = [Pair(passage, "") for passage in passages]
    compared = [_count_masks(name, runs[name], evaluate(runs[name], filler, pairs)) for name, filler in fillers.items()]
    return TaskComparison(name_set(files), passages, (), compared, "loss", "passages", compare_with_first(compared))


def _count_bits(name: str, path: Path, evaluation: LanguageEvaluation, same_tokenizer: bool) -> ComparedSystem:
    segments = evaluation.segments
    bits, sizes = (np.array([getattr(one, key) for one in segments], np.float64) for key in ("bits", "num_bytes"))
    scores = {key: score for key, score in evaluation.scores.items() if same_tokenizer or key == "bits_per_byte"}
    counted = count_ratio("bits per byte", bits, sizes, [one.text for one in segments], evaluation.units)
    return make_system(name, Run(path), scores, {"bits_per_byte": counted}, bits / sizes)


def _count_masks(name: str, run: Run, evaluation: MaskedEvaluation) -> ComparedSystem:
    passages, texts = evaluation.passages, [one.text for one in evaluation.passages]
    nats, correct, masks = (
        np.array([getattr(one, key) for one in passages], np.float64) for key in ("nats", "num_correct", "num_masks")
    )
    counted = {
        "loss": count_ratio(evaluation.scores["loss"].name, nats, masks, texts, "passages"),
        "accuracy": count_ratio("accuracy", 100 * correct, masks, texts, "passages"),
    }
    return make_system(name, run, evaluation.scores, counted, nats / np.maximum(masks, 1))


def make_system(
    name: str,
    run: Run,
    scores: Mapping[str, Score],
    counted: Mapping[str, CountedScore],
    values: FloatArray,
) -> ComparedSystem:
    """What a run counts, with the value of each example as its answer."""
    return ComparedSystem(name, [(f"{value:.3f}",) for value in values.tolist()], scores, counted, run)


def _read_texts(files: Sequence[str], separator: str, config: Config) -> list[str]:
    documents = track(read_documents(files, separator, config.data.max_line_bytes), "reading documents")
    texts = [document.text for document in documents]
    if not texts:
        raise DataError(f"{' '.join(files)}: has no documents to compare on")
    return texts


def require_runs(systems: Mapping[str, Path]) -> None:
    """Refuse files of predictions: language models have none."""
    for path in systems.values():
        if not path.is_dir():
            raise DataError(
                f"{path}: is a file; language models are compared by the probabilities that their runs give to the "
                f"text of --on, so give run folders"
            )


def _have_same_tokenizer(runs: Sequence[Run]) -> bool:
    return len({_read_tokenizer(run) for run in runs}) == 1


def _read_tokenizer(run: Run) -> bytes:
    return run.read_bytes(run.tokenizer_json if run.tokenizer_json.exists() else run.tokenizer())


def require_same_targets(runs: Sequence[Run], read_settings: Callable[[Run], dict[str, object]]) -> None:
    """Refuse runs whose masked tokens would not be the same."""
    reason = (
        "masked losses are comparable only where tokenizer and masks are the same; compare what is trained --from them"
    )
    first, *others = runs
    settings = read_settings(first)
    for run in others:
        if not _have_same_tokenizer([first, run]):
            raise RunError(f"{run.folder}: has another tokenizer than {first.folder}; {reason}")
        for name, value in read_settings(run).items():
            if value != settings[name]:
                raise RunError(f"{run.folder}: has {name}={value}, but {first.folder} has {settings[name]}; {reason}")


def _mask_settings(run: Run) -> dict[str, object]:
    config = run.load_config()
    masks = config.masked_lm
    return {
        "masked_lm.mask_rate": masks.mask_rate,
        "masked_lm.mask_scheme": masks.mask_scheme,
        "masked_lm.whole_words": masks.whole_words,
        "data.max_length": config.data.max_length,
        "data.source": config.data.source,
    }
