"""The estimate is of the pairs that training would store, and so of the settings that it would choose."""

from pathlib import Path

import pytest

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError
from regard.jobs.tasks.translation.prepare import measure_training_text, write_texts
from regard.jobs.train.estimate import choose_missing_settings, estimate_files
from regard.run import Run


def write_corpus(folder: Path, count: int) -> list[str]:
    """Pairs of which some are blank, some are twins, and all but the files of train have to be held out."""
    lines = [(f"Sentence {n} of the text.", f"Phrase {n} du texte.") for n in range(count)]
    lines += [(f" SENTENCE  {n} of the text.", f"Phrase {n} du texte, encore.") for n in range(0, count, 3)]
    lines += [("", "Rien.")] * 17
    for side, name in enumerate(("a.en", "a.fr")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in lines), encoding="utf-8")
    return [str(folder / "a.en"), str(folder / "a.fr")]


def test_an_estimate_of_no_files_is_refused():
    with pytest.raises(ConfigError, match="nothing to train on"):
        estimate_files(settings.build({}))


@pytest.mark.parametrize("names", [("train",), ("train", "dev")])
def test_an_estimate_counts_what_training_stores(tmp_path: Path, names: tuple[str, ...]):
    data = {}
    for name, count in zip(names, (700, 31), strict=False):
        (tmp_path / name).mkdir()
        data[name] = write_corpus(tmp_path / name, count)
    config = settings.override(settings.build({"data": data}), ["train.steps=7", "train.threads=1"])
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    write_texts(run, config)
    stored = measure_training_text(run)
    estimate = estimate_files(config)
    assert estimate.pairs == stored[0] < 700 + 700 / 3
    chosen, choices = choose_missing_settings(config, stored)
    assert (estimate.config, list(estimate.choices)) == (chosen, choices)
    assert isinstance(chosen, Config) and any(choice.name == "data.vocab_size" for choice in choices)
