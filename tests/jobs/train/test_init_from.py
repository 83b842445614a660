"""Fine-tuning: a run that begins where another ended."""

from pathlib import Path

import pytest
import torch

from regard import config as settings
from regard.errors import ConfigError, RunError
from regard.jobs.contamination import load_trained_sources
from regard.jobs.tasks.translation import prepare
from regard.jobs.train import fit as job
from regard.jobs.train.events import Alarm, Note, TrainingFinished, ValidationFinished
from regard.model import weights
from regard.run import Run
from tests.jobs.train.test_fit import assert_same, never, train


@pytest.fixture(scope="module")
def origin(tmp_path_factory, files: Path) -> Path:
    from tests.jobs.conftest import TINY

    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    config = settings.override(settings.build({"data": data}), [*TINY, "train.steps=60", "train.learning_rate=0.01"])
    folder = tmp_path_factory.mktemp("origin") / "run"
    train(folder, config)
    return folder


def bare(files: Path, *changes: str):
    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    return settings.override(
        settings.build({"data": data}), ["train.threads=1", "train.validation_sentences=5", *changes]
    )


def test_tokeniser_sizes_and_weights_are_taken_and_told(tmp_path, files, origin):
    config = bare(files, "train.steps=1", "train.learning_rate=1e-9", "train.validate_every=1")
    events = list(job.train_run(tmp_path / "run", config, False, never, origin))
    note = next(e.text for e in events if isinstance(e, Note))
    assert note.startswith(f"initialized from {origin}: tokenizer.model, the model sizes, and the weights ")
    run, old = Run(tmp_path / "run"), Run(origin)
    assert run.tokenizer().read_bytes() == old.tokenizer().read_bytes()
    assert run.load_config().model.dim == 32 and run.load_config().data.vocab_size == 400
    theirs = weights.read(old.best_weights())
    mine = weights.read(run.weights(1))
    assert all(torch.allclose(mine[name], theirs[name], atol=1e-6) for name in theirs)
    first = next(e.result for e in events if isinstance(e, ValidationFinished))
    fresh = list(
        job.train_run(tmp_path / "fresh", bare(files, "train.steps=1", "train.validate_every=1"), False, never)
    )
    assert first.loss < next(e.result for e in fresh if isinstance(e, ValidationFinished)).loss - 0.5


def test_a_gentle_rate_is_chosen_unless_one_is_given(tmp_path, files, origin):
    list(job.train_run(tmp_path / "a", bare(files, "train.steps=1"), False, never, origin))
    assert Run(tmp_path / "a").load_config().train.learning_rate == pytest.approx(
        0.002
    )  # a quarter of what width 32 can stand
    list(job.train_run(tmp_path / "c", bare(files, "train.steps=1"), False, never, tmp_path / "a"))
    assert Run(tmp_path / "c").load_config().train.learning_rate == pytest.approx(0.002)  # a third run learns as fast
    list(job.train_run(tmp_path / "b", bare(files, "train.steps=1", "train.learning_rate=0.1"), False, never, origin))
    assert Run(tmp_path / "b").load_config().train.learning_rate == 0.1


def test_what_contradicts_the_weights_is_refused(tmp_path, files, origin):
    with pytest.raises(ConfigError, match=r"model.dim=64 contradicts --from .*, whose weights have model.dim=32"):
        list(job.train_run(tmp_path / "run", bare(files, "model.dim=64"), False, never, origin))
    assert not (tmp_path / "run").exists()
    with pytest.raises(RunError, match="no such run"):
        list(job.train_run(tmp_path / "run", bare(files), False, never, tmp_path / "nowhere"))


def test_a_fine_tuned_run_stopped_before_its_first_save_begins_where_it_began(tmp_path, files, origin):
    config = bare(files, "train.steps=6", "train.schedule=constant")
    list(job.train_run(tmp_path / "whole", config, False, never, origin))
    for event in job.train_run(tmp_path / "parted", config, False, never, origin):
        if "Progress" in type(event).__name__:
            break  # as a kill would end it
    assert isinstance(list(job.resume_run(tmp_path / "parted", {}, never))[-1], TrainingFinished)
    assert_same(tmp_path / "whole", tmp_path / "parted")


@pytest.mark.parametrize("part", ["fit.copy_init_files", "translation.write_texts", "translation.tokenize_corpora"])
def test_a_kill_while_a_run_is_made_leaves_no_trace_and_no_harm(tmp_path, files, origin, monkeypatch, part):
    config = bare(files, "train.steps=3", "train.schedule=constant")
    list(job.train_run(tmp_path / "whole", config, False, never, origin))
    before = {path: path.read_bytes() for path in (tmp_path / "whole").rglob("*") if path.is_file()}

    def killed(*_):
        raise KeyboardInterrupt

    for folder, overwrite in ((tmp_path / "whole", True), (tmp_path / "other", False)):
        module, _, name = part.partition(".")
        monkeypatch.setattr({"fit": job, "translation": prepare}[module], name, killed)
        with pytest.raises(KeyboardInterrupt):
            list(job.train_run(folder, config, overwrite, never, origin))
        monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
    assert {path: path.read_bytes() for path in (tmp_path / "whole").rglob("*") if path.is_file()} == before
    list(job.train_run(tmp_path / "other", config, False, never, origin))
    assert_same(tmp_path / "whole", tmp_path / "other")


def test_a_run_cannot_replace_what_it_begins_with(files, origin):
    with pytest.raises(ConfigError, match="cannot be initialized from itself"):
        list(job.train_run(origin, bare(files), True, never, origin))
    assert Run(origin).best.exists()


def test_a_tokeniser_without_its_checksum_is_learnt_again(tmp_path, files):
    config = bare(files, "train.steps=1", "model.dim=32", "model.heads=2", "model.layers=1")
    train(tmp_path / "whole", config)
    run = Run(tmp_path / "whole")
    run.write_json(run.checksums, {})
    for path in (run.tokens_manifest, run.latest, run.best):
        path.unlink()
    assert isinstance(list(job.resume_run(run.folder, {}, never))[-1], TrainingFinished)


def test_a_run_that_surely_collapses_is_called_out(tmp_path, files):
    config = bare(
        files, "train.steps=60", "train.learning_rate=3.0", "train.warmup=2", "train.validate_every=20",
        "model.norm=post", "model.dim=32", "model.heads=2", "model.layers=1", "train.batch_tokens=256",
        "data.vocab_size=400",
    )  # fmt: skip
    alarms = [e.text for e in train(tmp_path / "run", config) if isinstance(e, Alarm)]
    assert any("no better than the" in text and "Halve train.learning_rate" in text for text in alarms)


def test_sentences_that_the_first_run_was_trained_on_are_told(origin: Path, tmp_path: Path, files: Path):
    seen, sources = load_trained_sources(origin), (files / "train.en").read_text(encoding="utf-8").splitlines()
    assert (
        sources[0] in seen
        and f" {sources[0].upper()}" in seen
        and "never said" not in seen
        and len(seen) == len(set(sources))
    )
    again = [str(files / "train.en"), str(files / "train.fr")]
    config = settings.build({"data": {"train": again}, "train": {"steps": 2}})
    notes = [
        event for event in job.train_run(tmp_path / "second", config, False, never, origin) if isinstance(event, Note)
    ]
    warnings = [note.text for note in notes if f"occur in the training text of {origin}" in note.text]
    assert [text.partition(":")[0] for text in warnings] == ["dev", "test"]
    assert sources[0] in load_trained_sources(tmp_path / "second")  # by way of the first
