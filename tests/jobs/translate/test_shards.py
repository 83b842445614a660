"""A file that several processes translate is the file that one would have written, through kills and restarts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.errors import ConfigError, RunError
from regard.jobs.train import fit as job
from regard.jobs.translate import shards
from regard.jobs.translate.shards import ProcessRank, Shard, ShardFolder, find_rank, join_shards, translate_own_shards
from tests.commands import regard
from tests.jobs.conftest import TINY

LINES = 4099  # three shards, the last of three lines
JOB = {"input": "a", "precision": "none"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    from regard import config

    folder = tmp_path_factory.mktemp("runs") / "tiny"
    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    settings = config.override(config.build({"data": data}), [*TINY, "train.steps=5"])
    for _ in job.train_run(folder, settings, False, lambda: False):
        pass
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    """Short lines, since the run is hardly trained and answers each with as many tokens as it may."""
    words = (files / "train.en").read_text(encoding="utf-8").split()
    path = tmp_path_factory.mktemp("texts") / "big.en"
    lines = [" ".join(words[i * 7919 % 997 :][: 1 + i % 3]) if i % 31 else "" for i in range(LINES)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def environment(rank: int, count: int) -> dict[str, str]:
    group = {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(count)}
    return {**os.environ, **group, "OMP_NUM_THREADS": "1"}


def start(run: Path, text: Path, out: Path, rank: int, count: int, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "regard", "translate", run, text, "--out", out, "--beam", "1", *options]
    env = environment(rank, count)
    return subprocess.Popen(list(map(str, command)), env=env, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--quantize", "int8"), ("--json",), ("--sample", "--workers", "2")], ids=str)
def test_several_processes_write_what_one_writes(run: Path, text: Path, tmp_path: Path, options: tuple[str, ...]):
    alone = regard("translate", run, text, "--out", tmp_path / "one", "--beam", 1, "--workers", 1, *options)
    assert alone.returncode == 0, alone.stderr
    group = [start(run, text, tmp_path / "two", rank, 2, *options) for rank in (1, 0)]
    second, _ = (finish(process) for process in group)
    assert second == ""
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()
    issues = [(tmp_path / f"{name}.issues.tsv").read_bytes() for name in ("one", "two")]
    assert issues[0] == issues[1] and issues[0].count(b"\n") > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "one.issues.tsv", "two", "two.issues.tsv"]


@pytest.mark.slow
def test_torchrun_starts_them(run: Path, text: Path, tmp_path: Path):
    few = tmp_path / "few.en"
    few.write_text("".join(text.read_text(encoding="utf-8").splitlines(keepends=True)[:37]), encoding="utf-8")
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    done = subprocess.run(
        [sys.executable, *several, "translate", run, few, "--out", tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "37 lines are 1 shard of up to 2,048, so 1 of 2 processes had nothing to do" in done.stderr
    alone = regard("translate", run, few, "--out", tmp_path / "alone")
    assert alone.returncode == 0 and (tmp_path / "alone").read_bytes() == (tmp_path / "out").read_bytes()


@pytest.mark.slow
def test_a_killed_process_goes_on_after_its_last_shard(run: Path, text: Path, tmp_path: Path):
    """Killed after the first of its shards; started again, by another number of processes."""
    out, folder = tmp_path / "out", tmp_path / "out.shards"
    process = start(run, text, out, 0, 1)
    while not (folder / "000000.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists() and not (folder / "000002.json").exists()
    written = (folder / "000000.json").stat().st_mtime_ns
    second = start(run, text, out, 1, 2)
    finish(second)
    assert not out.exists() and (folder / "000000.json").stat().st_mtime_ns == written
    kept = json.loads((folder / "000000.json").read_text(encoding="utf-8"))
    kept["rows"][0] = "kept\n"  # which shows whether it was translated again
    (folder / "000000.json").write_text(json.dumps(kept), encoding="utf-8")
    finish(start(run, text, out, 0, 2))
    alone = regard("translate", run, text, "--out", tmp_path / "alone", "--beam", 1)
    assert alone.returncode == 0, alone.stderr
    rows = (tmp_path / "alone").read_text(encoding="utf-8").splitlines(keepends=True)
    assert out.read_text(encoding="utf-8") == "".join(["kept\n", *rows[1:]]) and not folder.exists()


@pytest.mark.parametrize(
    ("argv", "stdin", "message"),
    [
        (("{run}",), "a\n", "standard input can be read only once; name a regular file, or start one process"),
        (("{run}", "{text}"), "", "only one of them could write to standard output; name a file with --out"),
        (("{run}", "{text}", "--out", "/dev/stdout"), "", "only one of them could write to standard output"),
        (("{run}", "m.po", "--out", "out"), "", "m.po is translated as a whole; only text is cut into shards"),
        (("{run}", "none.en", "--out", "out"), "", "none.en: no such file"),
    ],
)
def test_what_cannot_be_cut_is_refused(run: Path, text: Path, tmp_path: Path, argv: tuple, stdin: str, message: str):
    (tmp_path / "m.po").write_text('msgid "a"\nmsgstr ""\n', encoding="utf-8")
    words = [word.format(run=run, text=text) for word in argv]
    out = regard("translate", *words, stdin=stdin, cwd=tmp_path, env=environment(0, 2))
    assert out.returncode == 2 and message in out.stderr and "Traceback" not in out.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.po"]


def test_an_empty_file_has_an_empty_translation(run: Path, tmp_path: Path):
    (tmp_path / "empty.en").write_text("", encoding="utf-8")
    for rank in (1, 0):
        words = ("translate", run, tmp_path / "empty.en", "--out", tmp_path / "out")
        out = regard(*words, env=environment(rank, 2))
        assert out.returncode == 0, out.stderr
    assert (tmp_path / "out").read_bytes() == b"" and not (tmp_path / "out.shards").exists()


def test_shards_of_another_translation_are_refused(run: Path, text: Path, tmp_path: Path):
    ShardFolder(tmp_path / "out", JOB).open()
    out = regard("translate", run, text, "--out", tmp_path / "out", env=environment(1, 2))
    assert out.returncode == 2 and "holds shards of another translation, with other device, engine, input" in out.stderr
    ShardFolder(tmp_path / "out", JOB).open()  # the same
    with pytest.raises(RunError, match=r"with other precision\. Start that one again to complete it, choose another"):
        ShardFolder(tmp_path / "out", JOB | {"precision": "int8"}).open()


def upper(chunk: list[str], first: int):
    return (([f"{number} {line.upper()}\n"], [(number, "numbers", line)]) for number, line in enumerate(chunk, first))


@pytest.mark.parametrize("counts", [(1, 1), (3, 3), (2, 5), (5, 2)], ids=str)
def test_the_number_of_processes_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int]):
    monkeypatch.setattr(shards, "CHUNK_LINES", 7)
    lines, folder = [f"line {i}" for i in range(61)], ShardFolder(tmp_path / "out", JOB)
    for rank in range(1, counts[0]):
        translate_own_shards(folder, ProcessRank(rank, counts[0]), lines, upper)
    for rank in reversed(range(counts[1])):
        sizes = translate_own_shards(folder, ProcessRank(rank, counts[1]), lines, upper)
    joined = list(join_shards(folder, sizes))
    assert [row for shard in joined for row in shard.rows] == [f"{i + 1} LINE {i}\n" for i in range(61)]
    assert [issue for shard in joined for issue in shard.issues] == [(i + 1, "numbers", f"line {i}") for i in range(61)]


def test_a_damaged_shard_is_translated_again_by_its_process_and_named_by_others(tmp_path: Path):
    folder, lines = ShardFolder(tmp_path / "out", JOB), ["one", "two"]
    translate_own_shards(folder, ProcessRank(0, 1), lines, upper)
    path = tmp_path / "out.shards" / "000000.json"
    whole = path.read_bytes()
    for damaged in (whole[:-9], b"[]", whole.replace(b'"num_lines": 2', b'"num_lines": 3')):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"000000.json: .*(damaged|another translation).* start again"):
            list(join_shards(folder, [2]))
        translate_own_shards(folder, ProcessRank(0, 1), lines, upper)
        assert path.read_bytes() == whole
    other = ShardFolder(tmp_path / "out", JOB | {"input": "b"})
    assert not other.is_complete(0, 2) and folder.is_complete(0, 2)


def test_the_first_process_waits_for_missing_shards(tmp_path: Path):
    import threading

    folder = ShardFolder(tmp_path / "out", JOB)
    folder.open()
    read: list[Shard] = []
    joining = threading.Thread(target=lambda: read.extend(join_shards(folder, [1, 2])))
    folder.write(0, 1, ["a\n"], [])
    joining.start()
    joining.join(0.1)
    assert joining.is_alive() and not read
    folder.write(1, 2, ["b\n", "c\n"], [])
    joining.join(30)
    assert [shard.rows for shard in read] == [["a\n"], ["b\n", "c\n"]]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WORLD_SIZE": "2", "RANK": "2"}, "RANK=2, WORLD_SIZE=2: expected a rank from 0"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE=two: expected a number"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE=0: expected a rank"),
        ({"WORLD_SIZE": "2", "RANK": "-1"}, "RANK=-1: expected a number"),
    ],
)
def test_a_wrong_rank_is_refused(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str):
    assert find_rank() is None
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        find_rank()


def test_processes_of_a_machine_divide_its_cores(monkeypatch: pytest.MonkeyPatch):
    from regard.jobs.translate.worker_pool import RuntimeOptions

    monkeypatch.setattr(shards, "count_cores", lambda: 7)
    options = [ProcessRank(0, 6, 0, 3).runtime(RuntimeOptions("cpu", workers)) for workers in (0, 5)]
    assert [(one.workers, one.threads, one.device) for one in options] == [(2, 1, "cpu"), (5, 1, "cpu")]
