"""Denoisers compared on documents: the same spans are hidden from all of them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from regard.formats import Pair
from regard.jobs.tasks.comparison import TaskComparison, compare_with_first, name_set
from regard.jobs.tasks.denoising.evaluation import DenoisingEvaluation
from regard.jobs.tasks.language.comparison import make_system, require_runs, require_same_targets
from regard.jobs.tasks.language.files import count_ratio
from regard.jobs.tasks.registry import open_predictor
from regard.progress import track
from regard.run import Run, open_run
from regard.tasks.denoise.denoiser import Denoiser

EvaluateDenoiser = Callable[[Run, Denoiser, Sequence[Pair]], DenoisingEvaluation]


def compare_denoisers(
    systems: Mapping[str, Path], pairs: Sequence[Pair], files: Sequence[str], device: str, evaluate: EvaluateDenoiser
) -> TaskComparison:
    """The loss and the shares of the same hidden tokens; runs with other tokens or other noise are refused."""
    require_runs(systems)
    runs = {name: open_run(path) for name, path in systems.items()}
    require_same_targets(list(runs.values()), _noise_settings)
    evaluations = {
        name: evaluate(runs[name], open_predictor(path, "denoise", device), pairs)
        for name, path in track(systems.items(), "evaluating systems")
    }
    compared = []
    for name, evaluation in evaluations.items():
        texts = [one.text for one in evaluation.passages]
        columns = ("nats", "num_targets", "num_correct", "num_hidden", "num_restored", "num_searched")
        nats, targets, correct, hidden, restored, searched = (
            np.array([getattr(one, column) for one in evaluation.passages], np.float64) for column in columns
        )
        counted = {"loss": count_ratio("nats per target token", nats, targets, texts, "passages")}
        if hidden.sum():
            counted["accuracy"] = count_ratio("hidden tokens predicted", 100 * correct, hidden, texts, "passages")
            counted["restored"] = count_ratio("hidden tokens restored", 100 * restored, searched, texts, "passages")
        compared.append(make_system(name, runs[name], evaluation.scores, counted, nats / targets))
    texts = [one.text for one in next(iter(evaluations.values())).passages]
    decisive = "restored" if "restored" in compared[0].counted else "loss"
    return TaskComparison(name_set(files), texts, (), compared, decisive, "passages", compare_with_first(compared))


def _noise_settings(run: Run) -> dict[str, object]:
    config = run.load_config()
    noise = config.denoise
    return {
        "denoise.scheme": noise.scheme,
        "denoise.mask_rate": noise.rate,
        "denoise.mean_span": noise.mean_span,
        "denoise.target": noise.target,
        "data.max_length": config.data.max_length,
    }
