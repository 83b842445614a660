"""The statistics of the training text of a run: written when it is trained, read when it translates."""

from dataclasses import replace
from pathlib import Path

from regard.config import Config
from regard.data.store import Texts
from regard.data.text_statistics import TextStatistics, measure_texts
from regard.errors import DataError, RunError
from regard.jobs.train.training_data import find_training_store
from regard.progress import stage
from regard.run import Run, is_run


def write_statistics(run: Run, config: Config) -> None:
    """Measure the training text of a run, unless that was done. A fine-tuned run has seen what its initial run has."""
    if run.text_statistics.exists():
        return
    statistics = _measure(run, config)
    initial = Run(Path(config.train.init_from))
    if config.train.init_from and is_run(initial.folder):
        known, own = load_statistics(initial).source_characters, statistics.source_characters
        statistics = replace(statistics, source_characters=None if known is None or own is None else known | own)
    run.write_json(run.text_statistics, statistics.as_dict())


def load_statistics(run: Run) -> TextStatistics:
    """The statistics of a run, or of the one it was pruned from. Without its training text they have default values."""
    trained_run = find_training_store(run)
    if trained_run.text_statistics.exists():
        table = trained_run.read_json(trained_run.text_statistics)
        try:
            return TextStatistics.from_dict(table)
        except DataError as error:
            raise RunError(f"{trained_run.text_statistics}: {error}. Remove it, or train again.") from None
    if not trained_run.texts_manifest.exists():  # an imported model
        return TextStatistics()
    config = trained_run.load_config()
    statistics = _measure(trained_run, config)
    return replace(statistics, source_characters=None) if config.train.init_from else statistics


def _measure(run: Run, config: Config) -> TextStatistics:
    sources, targets = (Texts(run.store, f"train.{side}") for side in ("source", "target"))
    with stage("measuring the training text"):
        return measure_texts(sources, targets, config.data.source)
