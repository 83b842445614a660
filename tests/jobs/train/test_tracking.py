"""TensorBoard shows what the log has: in one session, in several, after a kill; and training is not changed by it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from regard.errors import ConfigError
from regard.jobs.evaluate import read_scores
from regard.jobs.train import fit as job
from regard.jobs.train.events import TrainingProgress
from regard.model import weights
from regard.run import Run
from regard.training import log
from tests.jobs.conftest import TINY
from tests.jobs.train.test_distributed import STEPS, command
from tests.jobs.train.test_distributed import run as launch
from tests.jobs.train.test_fit import assert_same, never, train

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="TensorBoard is not installed (the extra `track`)",
)
TRACKED = ("train.track=tensorboard", "train.schedule=inverse-sqrt", "train.validate_every=4", "train.save_every=3")
ALL_VALUES = {"scalars": 0, "histograms": 0, "tensors": 0}


def read_events(run: Run):
    """What TensorBoard's own reader makes of the files, without its rule to drop steps that are repeated."""
    events = event_accumulator.EventAccumulator(str(run.tensorboard), ALL_VALUES, purge_orphaned_data=False)
    return events.Reload()


def read_curves(run: Run) -> dict[str, list[tuple[int, float]]]:
    events = read_events(run)
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def logged_curves(run: Run) -> dict[str, list[tuple[int, float]]]:
    """The curves that the log and the scores have, in the precision of event files."""
    steps, validations = log.read_steps(run.log), log.read_validations(run.log)
    curves = {
        "train/loss": [(s.number, s.loss) for s in steps],
        "train/accuracy": [(s.number, s.accuracy) for s in steps],
        "train/learning_rate": [(s.number, s.learning_rate) for s in steps],
        "train/muon_learning_rate": [(s.number, s.muon_learning_rate) for s in steps if s.muon_learning_rate],
        "train/grad_norm": [(s.number, s.grad_norm) for s in steps],
        "train/tokens_per_second": [(s.number, s.tokens / s.seconds) for s in steps],
        "dev/loss": [(v.step, v.loss) for v in validations],
        "dev/accuracy": [(v.step, v.accuracy) for v in validations],
        "dev/bleu": [(v.step, v.score.value) for v in validations if v.score],
    }
    if run.finished():
        set_name = "test" if run.scores("test").exists() else "dev"
        scores, last = read_scores(run, set_name), run.read_latest().step
        final = {key: score.value for key, score in scores.scores.items()} | {"loss": scores.loss}
        curves |= {f"{set_name}/final_{key}": [(last, value)] for key, value in final.items()}
    return {tag: [(step, float(np.float32(y))) for step, y in curve] for tag, curve in curves.items() if curve}


def abort_after(events, step: int) -> None:
    """Take steps, and leave without a word after one of them."""
    for event in events:
        if isinstance(event, TrainingProgress) and event.step.number == step:
            events.close()
            return
    pytest.fail(f"there was no step {step}")


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_event_files_have_what_the_log_has_and_the_weights_are_the_same(tmp_path, tiny, optimizer, capfd):
    changes = ("train.steps=10", f"train.optimizer={optimizer}", *TRACKED)
    train(tmp_path / "tracked", tiny(*changes, "train.track_histograms=3"))
    train(tmp_path / "untracked", tiny(*changes, "train.track=[]"))
    assert_same(tmp_path / "tracked", tmp_path / "untracked")
    assert capfd.readouterr() == ("", "")
    run = Run(tmp_path / "tracked")
    curves = read_curves(run)
    assert curves == logged_curves(run)
    assert [step for step, _ in curves["dev/loss"]] == [4, 8, 10]
    assert ("train/muon_learning_rate" in curves) == (optimizer == "muon")
    assert not Run(tmp_path / "untracked").tensorboard.exists()
    assert run.tensorboard in run.paths()


def test_scores_travel_with_their_signatures(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=4", *TRACKED))
    run = Run(tmp_path / "run")
    events = read_events(run)

    def text(tag: str) -> str:
        return b"".join(events.Tensors(tag)[0].tensor_proto.string_val).decode()

    assert text("dev/bleu_signature").startswith(log.read_validations(run.log)[0].score.signature)
    assert text("test/final_scores") == "\n".join(f"- {s}" for s in read_scores(run, "test").scores.values())


def test_histograms_are_of_all_weights_and_gradients_every_few_steps(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=7", "train.optimizer=muon", "train.track_histograms=3", *TRACKED))
    run = Run(tmp_path / "run")
    events = read_events(run)
    tensors = weights.read(run.weights(6))
    names = {tag.partition("/")[::2] for tag in events.Tags()["histograms"]}
    assert names == {(group, name) for group in ("weights", "gradients") for name in tensors}
    for name, tensor in tensors.items():
        histograms = [events.Histograms(f"{group}/{name}") for group in ("weights", "gradients")]
        assert [[event.step for event in curve] for curve in histograms] == [[3, 6], [3, 6]]
        histogram = histograms[0][-1].histogram_value
        assert (histogram.num, sum(histogram.bucket)) == (tensor.numel(), tensor.numel())
        assert (histogram.min, histogram.max) == (float(tensor.min()), float(tensor.max()))
        assert histogram.sum == pytest.approx(float(tensor.double().sum()), abs=1e-9)
    norms = dict(read_curves(run)["train/grad_norm"])
    for step, i in ((3, 0), (6, 1)):  # gradients are clipped to a norm of 1
        squares = sum(events.Histograms(f"gradients/{name}")[i].histogram_value.sum_squares for name in tensors)
        assert squares**0.5 == pytest.approx(min(1.0, norms[step]), rel=1e-3)


def test_steps_after_the_checkpoint_are_gone_when_a_run_is_resumed(tmp_path, tiny):
    config = tiny("train.steps=11", *TRACKED, "train.track_histograms=1")
    run = Run(tmp_path / "run")
    abort_after(job.train_run(run.folder, config, False, never), 2)  # nothing saved
    assert len(read_curves(run)["train/loss"]) == 2
    abort_after(job.resume_run(run.folder, {}, never), 8)  # saved at 3, 4 and 6, validated at 4
    saved = run.read_latest().step
    assert saved == 6 and read_curves(run) == logged_curves(run)
    abort_after(job.resume_run(run.folder, {}, never), 7)  # nothing saved since
    assert read_curves(run) == logged_curves(run)
    list(job.resume_run(run.folder, {}, never))
    curves = read_curves(run)
    assert curves == logged_curves(run)
    assert [step for step, _ in curves["train/loss"]] == list(range(1, 12))
    tags = read_events(run).Tags()["histograms"]
    assert all([e.step for e in read_events(run).Histograms(tag)] == list(range(1, 12)) for tag in tags[:3])
    assert sorted(path.name[-8:] for path in run.tensorboard.iterdir()) == ["00000000", "00000006"]


def test_an_extended_run_keeps_no_score_of_its_former_end(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=5", *TRACKED))
    run = Run(tmp_path / "run")
    assert [step for step, _ in read_curves(run)["dev/loss"]] == [4, 5]
    list(job.resume_run(run.folder, {"train.steps": 9}, never))
    curves = read_curves(run)
    assert curves == logged_curves(run)
    assert [step for step, _ in curves["dev/loss"]] == [4, 8, 9]
    assert [step for step, _ in curves["test/final_bleu"]] == [9]


def test_tracking_may_begin_pause_and_continue_when_a_run_is_resumed(tmp_path, tiny):
    run, on, off = Run(tmp_path / "run"), {"train.track": "tensorboard"}, {"train.track": []}
    abort_after(job.train_run(run.folder, tiny("train.steps=5", *TRACKED, "train.track=[]"), False, never), 4)
    abort_after(job.resume_run(run.folder, on, never), 5)  # from 3; saved at 4
    assert run.read_latest().step == 4 and run.load_config().train.track == ("tensorboard",)
    list(job.resume_run(run.folder, {**off, "train.steps": 7}, never))
    assert [step for step, _ in read_curves(run)["train/loss"]] == [4]  # the fifth was taken again
    list(job.resume_run(run.folder, {**on, "train.steps": 9, "train.track_histograms": 2}, never))
    assert [step for step, _ in read_curves(run)["train/loss"]] == [4, 8, 9]
    assert [step for step, _ in logged_curves(run)["train/loss"]] == list(range(1, 10))
    assert [event.step for event in read_events(run).Histograms(read_events(run).Tags()["histograms"][0])] == [8]


def test_a_session_that_tracks_nothing_drops_the_events_of_one_that_saved_nothing(tmp_path, tiny):
    run = Run(tmp_path / "run")
    abort_after(job.train_run(run.folder, tiny("train.steps=9", *TRACKED), False, never), 5)  # saved at 3 and 4
    abort_after(job.resume_run(run.folder, {}, never), 5)  # nothing saved
    abort_after(job.resume_run(run.folder, {"train.track": []}, never), 7)  # saved at 6
    list(job.resume_run(run.folder, {"train.track": "tensorboard"}, never))
    assert [step for step, _ in read_curves(run)["train/loss"]] == [1, 2, 3, 4, 7, 8, 9]


def test_tracking_alone_does_not_reopen_a_finished_run(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2"))
    before = Run(tmp_path / "run").config.read_bytes()
    (note,) = job.resume_run(tmp_path / "run", {"train.track": "tensorboard"}, never)
    assert "is already finished" in note.text and Run(tmp_path / "run").config.read_bytes() == before


def test_a_killed_run_is_tracked_once(files: Path, tmp_path: Path):
    run = Run(tmp_path / "run")
    pairs = [str(files / f"train.{language}") for language in ("en", "fr")]
    changes = [*TINY, *TRACKED, "train.save_every=40", "train.validate_every=1000", "train.steps=100000"]
    options = [word for change in changes for word in ("--set", change)]
    line = [sys.executable, "-m", "regard", "train", *pairs, "--out", str(run.folder), *options]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not run.latest.exists() and process.poll() is None:
        time.sleep(0.02)
    saved = run.read_latest().step
    while len(read_curves(run)["train/loss"]) < saved + 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    saved = run.read_latest().step
    list(job.resume_run(run.folder, {"train.steps": saved + 2}, never))
    curves = read_curves(run)
    assert curves == logged_curves(run)
    assert [step for step, _ in curves["train/loss"]] == list(range(1, saved + 3))


@pytest.mark.slow
def test_of_several_processes_one_tracks(files: Path, tmp_path: Path):
    launch(command(files, tmp_path / "run", *TRACKED, "train.track_histograms=5", ranks=2))
    run = Run(tmp_path / "run")
    (path,) = run.tensorboard.iterdir()
    curves = read_curves(run)
    assert curves == logged_curves(run) and "dev/final_bleu" in curves
    assert len(curves["train/loss"]) == STEPS and path.name.endswith(".00000000")


def test_a_run_that_is_replaced_leaves_no_events(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2", *TRACKED))
    list(job.train_run(tmp_path / "run", tiny("train.steps=2"), True, never))
    assert not Run(tmp_path / "run").tensorboard.exists()


def test_without_the_package_nothing_is_prepared(tmp_path, tiny, monkeypatch):
    config = tiny("train.steps=2", *TRACKED)
    train(tmp_path / "old", config)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [name for name in sys.modules if name.startswith(("tensorboard.", "regard.training.tracking."))]:
        monkeypatch.delitem(sys.modules, name)
    missing = r"^train.track=tensorboard needs the package tensorboard, .* pip install '\.\[track\]'$"
    with pytest.raises(ConfigError, match=missing):
        next(job.train_run(tmp_path / "new", config, False, never))
    with pytest.raises(ConfigError, match=missing):
        next(job.resume_run(tmp_path / "old", {"train.steps": 3}, never))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
