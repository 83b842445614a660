"""The comparison of architectures as a study: a set for each, with the same settings but for its stacks."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard import config as settings
from regard.config import ARCHITECTURE_REASONS, READING_TASKS, TASK_ARCHITECTURES, Config
from regard.errors import ConfigError
from regard.hardware import configure_cpu
from regard.jobs.tasks.registry import complete_task, task_of
from regard.jobs.train.estimate import choose_missing_settings
from regard.run import Run
from regard.tuning import study as studies
from regard.tuning.architectures.sizes import match_sizes
from regard.tuning.folder import is_study_folder
from regard.tuning.open_study import create_study, load_study, require_files
from regard.tuning.space import Params
from regard.tuning.study import Study
from regard.tuning.worker import StudyWorker

ARCHITECTURES = ("encoder", "decoder", "encoder-decoder")
DEFAULT_SEEDS, DEFAULT_MINUTES = 3, 8.0
SIZE_SETTINGS = ("model.architecture", "model.layers", "model.encoder_layers", "model.decoder_layers", "model.ffn")
"""What the sets differ in."""


def open_comparison(
    files: list[Path], values: Mapping[str, Any], budget: Mapping[str, float], seeds: int | None, out: Path | None
) -> StudyWorker:
    """The study of a folder, or a new one. One that was begun is continued with the settings that it has."""
    if len(files) == 1 and is_study_folder(files[0]):
        if values or budget or seeds is not None or out:
            raise ConfigError(f"{files[0]}: a comparison is resumed unchanged: leave out settings and --out")
        return _load(files[0])
    if not files:
        raise ConfigError("nothing to train on: give training files, or the folder of a comparison")
    config = complete_task(settings.with_values(settings.build({}), {"data.train": list(map(str, files)), **values}))
    folder = out or Path("studies") / f"{_name(files)}-architectures"
    budget, seeds = budget or {"minutes": DEFAULT_MINUTES}, DEFAULT_SEEDS if seeds is None else seeds
    if is_study_folder(folder):
        worker = _load(folder)
        _require_same(worker.study, config, budget, seeds, folder)
        return worker
    study = build_study(config, budget, seeds, _name(files))
    return create_study(study, folder)


def build_study(config: Config, budget: Mapping[str, float], seeds: int, name: str) -> Study:
    """A study of all architectures that do the job. Settings that are not set are chosen once, for all of them."""
    explicit = settings.explicit_settings(config)
    if refused := [name for name in SIZE_SETTINGS[:1] + SIZE_SETTINGS[2:4] if name in explicit]:
        raise ConfigError(f"{refused[0]}: is what the comparison varies; leave it out (model.layers is the sum)")
    names = list_architectures(config)
    task = task_of(config)
    task.require_files(config)
    if config.data.dev and not config.data.test:
        raise ConfigError(
            "architectures are compared on a test set, which is not held out where there are dev files: give --test, "
            "too, or neither"
        )
    fixed: dict[str, Any] = {f"train.{key}": limit for key, limit in budget.items()}
    if "train.guided_alignment" not in explicit:  # which needs cross-attention
        fixed["train.guided_alignment"] = 0.0
    config = settings.with_values(config, {"model.architecture": names[0]} | fixed)
    if not config.data.dev and config.data.split_seed is None:
        config = settings.with_values(config, {"data.split_seed": config.train.seed})
    config = _choose_settings(config)
    sized = match_sizes(config.model, names)
    base = settings.flatten(config.model_dump(mode="json", exclude_none=True, exclude_unset=True))
    for setting in SIZE_SETTINGS:
        base.pop(setting, None)
    study = studies.build(
        {
            "name": name,
            "sampler": "sets",
            "metric": task.main_score if task.main_score in task.metrics else None,
            "seeds": seeds,
            "each": dict(budget),
            "sets": {name: _train_as(config, one.params) for name, one in sized.items()},
            "base": settings.with_values(settings.build({}), base),
        }
    )
    require_files(study)
    return study


def list_architectures(config: Config) -> list[str]:
    """The architectures that do the job, the usual one first. At least two."""
    trained = TASK_ARCHITECTURES[config.task]
    names = [*trained, *(["encoder-decoder"] if config.task in READING_TASKS else [])]
    if len(names) < 2:
        reasons = "; ".join(
            f"not by {'an' if name[0] == 'e' else 'a'} {name}: {ARCHITECTURE_REASONS[config.task, name]}"
            for name in ARCHITECTURES
            if name not in trained
        )
        raise ConfigError(f"--task {config.task} is done by one architecture ({trained[0]}), and {reasons}")
    return names


def _train_as(config: Config, params: Params) -> Params:
    """What a set trains: of an encoder-decoder that embeds texts, its encoder alone, since its decoder has no part."""
    if config.task not in READING_TASKS or params["model.architecture"] != "encoder-decoder":
        return params
    return {
        "model.architecture": "encoder",
        "model.layers": params["model.encoder_layers"],
        "model.ffn": params["model.ffn"],
    }


def _choose_settings(config: Config) -> Config:
    """The settings, with a choice for each one that is not set, by the texts as training stores them."""
    configure_cpu(config.train.threads)
    with tempfile.TemporaryDirectory() as folder:
        run, task = Run(Path(folder)), task_of(config)
        task.write_texts(run, config)
        return choose_missing_settings(config, task.measure_texts(run, config))[0]


def _load(folder: Path) -> StudyWorker:
    worker = load_study(folder)
    if not set(worker.study.sets) <= set(ARCHITECTURES):
        raise ConfigError(f"{folder}: is a study of other sets, not of architectures; continue it with `regard tune`")
    return worker


def _require_same(study: Study, config: Config, budget: Mapping[str, float], seeds: int, folder: Path) -> None:
    """Refuse to continue a comparison with other files, settings, time or seeds."""
    stored = settings.flatten(study.base.model_dump(mode="json"))
    wanted = settings.flatten(config.model_dump(mode="json", exclude_unset=True))
    # The layers that were asked for are those of all sets together.
    changed = [name for name, value in wanted.items() if name not in SIZE_SETTINGS and stored.get(name) != value]
    changed += ["the time"] * (study.each.limits() != dict(budget)) + ["seeds"] * (study.seeds != seeds)
    if changed:
        raise ConfigError(
            f"{folder}: holds a comparison with another {', '.join(changed)}. Continue it with `regard architectures "
            f"{folder}`, or start another one with --out."
        )


def _name(files: list[Path]) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", files[0].name.partition(".")[0]).strip("-_") or "study"
