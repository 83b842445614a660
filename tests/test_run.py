"""The run folder: safe writing, and damage that is named."""

import resource
import signal

import pytest

from regard import run as runs
from regard.atomic import TEMPORARY_SUFFIX
from regard.config import Config
from regard.errors import BusyError, RunError
from regard.run import (
    RUN_FORMAT,
    BestWeights,
    LatestCheckpoint,
    Run,
    atomic_write,
    open_run,
    write_text,
)
from regard.staged_run import stage_run


def create(folder, config, overwrite=False):
    """A run as training makes one."""
    with stage_run(folder, overwrite) as staged:
        staged.write_settings(config)
        return staged.commit()


def test_a_fresh_run_holds_its_settings(tmp_path):
    run = create(tmp_path / "a" / "b", Config())
    assert run.load_config() == Config()
    assert open_run(tmp_path / "a" / "b") == run


@pytest.mark.parametrize(
    ("versions", "own_format"),
    [(None, "none"), ({"regard": "0.0.9"}, "none"), ({"regard": "9.9", "format": RUN_FORMAT + 1}, str(RUN_FORMAT + 1))],
)
def test_a_run_of_another_format_is_refused_with_a_remedy(tmp_path, versions, own_format):
    run = create(tmp_path / "x", Config())
    run.versions.unlink()
    if versions:
        run.write_json(run.versions, versions)
    wrote = (versions or {}).get("regard", "unknown")
    expected = (
        rf"x: has run format {own_format}, but Regard \S+ reads format {RUN_FORMAT}: train again with --overwrite, "
        rf"or use the version that wrote it \(Regard {wrote}\)\."
    )
    with pytest.raises(RunError, match=expected):
        open_run(run.folder)
    if versions:
        create(run.folder, Config(), overwrite=True)  # an old run may be replaced
        assert open_run(run.folder).load_config() == Config()


def test_an_occupied_folder_is_refused_unless_told(tmp_path):
    create(tmp_path / "x", Config())
    (tmp_path / "x" / "old").touch()
    with pytest.raises(RunError, match=r"already holds a run. Continue it with --resume .*--overwrite"):
        create(tmp_path / "x", Config())
    write_text(tmp_path / "x" / "log.jsonl", "old")
    create(tmp_path / "x", Config(), overwrite=True)
    assert not (tmp_path / "x" / "log.jsonl").exists()
    assert (tmp_path / "x" / "old").exists()  # which is no part of a run, and so not ours to remove
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x"]


def test_a_run_that_is_replaced_leaves_no_tokeniser_behind(tmp_path):
    run = create(tmp_path / "x", Config())
    for path in (run.tokenizer(), run.tokenizer("source"), run.vocab(), run.vocab("target"), run.tokenizer_json):
        path.touch()
    assert len(run.tokenizer_files()) == 5
    assert create(tmp_path / "x", Config(), overwrite=True).tokenizer_files() == []


def test_until_a_run_is_ready_the_old_one_is_untouched(tmp_path):
    run = create(tmp_path / "x", Config())
    write_text(run.log, "old")
    with stage_run(tmp_path / "x", overwrite=True) as staged:
        staged.write_settings(Config())
        assert run.log.read_text() == "old" and staged.run.folder != run.folder
    assert [path.name for path in tmp_path.iterdir()] == ["x"] and run.log.read_text() == "old"


def test_a_folder_that_is_no_run_is_never_overwritten(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    (tmp_path / "photos" / "config.toml").write_text("[album]")
    with pytest.raises(RunError, match="already exists and is not a run"):
        create(tmp_path / "photos", Config(), overwrite=True)
    assert (tmp_path / "photos" / "cat.jpg").exists()
    (tmp_path / "photos" / "config.toml").unlink()
    with pytest.raises(RunError, match="not a run folder"):
        open_run(tmp_path / "photos")
    with pytest.raises(RunError, match="no such run"):
        open_run(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file/x: cannot be written \(Not a directory\). Choose another folder"):
        create(tmp_path / "file" / "x", Config())


def test_what_fails_half_way_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "x.json"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_full_disk_leaves_the_old_file_whole_and_says_so(tmp_path):
    path = tmp_path / "x.bin"
    write_text(path, "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(RunError, match=r"x.bin: could not be written .*existing file is unchanged"):
            write_text(path, "n" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["x.bin"]


def test_a_flipped_byte_is_noticed(tmp_path):
    run = create(tmp_path / "x", Config())
    path = run.weights(5)
    write_text(path, "weights")
    run.record_checksums(path)
    assert run.verify(path) == path
    path.write_text("weightz")
    with pytest.raises(RunError, match=r"00000005.safetensors: damaged: its checksum"):
        run.verify(path)
    path.unlink()
    with pytest.raises(RunError, match=r"00000005.safetensors: missing"):
        run.verify(path)


def test_broken_json_is_named(tmp_path):
    run = create(tmp_path / "x", Config())
    run.best.write_text("{")
    with pytest.raises(RunError, match=r"best.json: damaged"):
        run.read_best()
    run.best.write_text('{"step": 3}')
    with pytest.raises(RunError, match=r"best.json: damaged .*weights: field required.*Restore it from a copy"):
        run.read_best()
    with pytest.raises(RunError, match=r"latest.json: missing"):
        run.read_latest()


def test_what_is_written_is_read(tmp_path):
    run = create(tmp_path / "x", Config())
    best = BestWeights("weights/00000003.safetensors", 3, 1.5, "loss")
    run.write_best(best)
    assert run.read_best() == best and run.best_weights() == run.weights(3)
    assert not run.finished()
    run.write_latest(LatestCheckpoint(3))
    assert not run.finished()
    run.write_latest(LatestCheckpoint(3, finished=True))
    assert run.read_latest() == LatestCheckpoint(3, finished=True) and run.finished()


def test_leftovers_are_swept(tmp_path):
    run = create(tmp_path / "x", Config())
    left = run.weights(3).with_name(f".00000003.safetensors.0123456789abcdef{TEMPORARY_SUFFIX}")
    left.parent.mkdir()
    left.touch()
    own = run.weights(3).with_name(f"notes{TEMPORARY_SUFFIX}")  # which the user has named so
    own.touch()
    with atomic_write(run.scores("test")) as live:  # of another command
        run.remove_temporary_files()
        assert live.exists() and own.exists() and not left.exists() and run.config.exists()
    assert Run(run.folder).saved_steps() == []


def test_a_run_is_held_by_one_at_a_time_and_let_go(tmp_path):
    run = create(tmp_path / "run", Config())
    with runs.lock(run):
        with pytest.raises(BusyError, match="another process is training there"), runs.lock(run):
            pass
        with pytest.raises(RunError, match="another process is training there"):
            create(run.folder, Config(), overwrite=True)
    create(run.folder, Config(), overwrite=True)
