"""Folders that are replaced as a whole: killed at any file operation, the old one or the new one is there, complete."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import exchange
from regard import run as runs
from regard.config import Config
from regard.errors import BusyError, RunError
from regard.run import Run, open_run, write_text
from regard.staged_run import stage_run

OPERATIONS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.chmod", "shutil.rmtree"}
KILLED = 9
OLD, NEW = {"log.jsonl": "old", "notes.txt": "mine", "photos/cat": "cat"}, {"notes.txt": "mine", "photos/cat": "cat"}


def count_down(operations: int) -> None:
    """End this process like a kill, before the file operation of this number."""
    left = operations

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in OPERATIONS and (event != "open" or arguments[1] != "r"):
            left -= 1
            if left < 0:
                os._exit(KILLED)

    sys.addaudithook(hook)


def kill_at(number: int, work: Callable[[], None]) -> bool:
    """Run the work in another process that is killed at an operation; whether it got that far."""
    child = os.fork()
    if not child:
        try:
            count_down(number)
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED), code
    return code == KILLED


def create(folder: Path, overwrite: bool = False) -> Run:
    with stage_run(folder, overwrite) as staged:
        staged.write_settings(Config())
        return staged.commit()


def content(folder: Path) -> dict[str, str]:
    ours = {"config.toml", "versions.json", ".lock"}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ours]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.mark.parametrize("has_exchange", [True, False], ids=["exchange", "two renames"])
def test_a_kill_while_a_run_is_replaced_leaves_the_old_one_or_the_new_one(tmp_path, monkeypatch, has_exchange: bool):
    if not has_exchange:
        monkeypatch.setattr(exchange, "swap_names", lambda first, second: False)
    number, outcomes, killed = 0, [], True
    while killed:
        folder = tmp_path / str(number) / "x"
        create(folder)
        for name, text in OLD.items():
            write_text(folder / name, text)
        killed = kill_at(number, lambda folder=folder: create(folder, overwrite=True))
        assert open_run(folder).load_config() == Config()
        assert content(folder) in (OLD, NEW), number
        outcomes.append(content(folder) == NEW)
        create(folder, overwrite=True)
        assert content(folder) == NEW and [path.name for path in folder.parent.iterdir()] == ["x"], number
        number += 1
    assert number > 20 and outcomes == sorted(outcomes) and set(outcomes) == {False, True}


def test_what_resembles_a_staging_folder_is_not_touched(tmp_path):
    victim = tmp_path / "victim"
    write_text(victim / "precious", "data")
    names = ["x.aside", "x.making", "x.regard-staging", "x.regard-tmp", ".x.regard-abcdefgh"]
    for name in names:
        write_text(tmp_path / name / "new" / "file", "mine")
        write_text(tmp_path / name / "lock", "mine")
    (tmp_path / ".x.regard-zzzzzzzz").symlink_to(victim)
    create(tmp_path / "x")
    create(tmp_path / "x", overwrite=True)
    assert all((tmp_path / name / "new" / "file").read_text() == "mine" for name in names)
    assert (victim / "precious").read_text() == "data" and (tmp_path / ".x.regard-zzzzzzzz").is_symlink()


def test_a_run_is_locked_from_the_start_of_an_overwrite_to_its_end(tmp_path):
    folder = tmp_path / "x"
    create(folder)
    with stage_run(folder, overwrite=True) as staged:
        staged.write_settings(Config())
        for _ in range(2):  # before the exchange and after it
            with pytest.raises(BusyError), runs.lock(Run(folder)):
                pass
            with pytest.raises(BusyError), stage_run(folder, overwrite=True):
                pass
            if staged.run.folder.exists():
                staged.commit()
    with runs.lock(Run(folder)):
        pass


def test_two_new_runs_of_one_name_do_not_replace_each_other(tmp_path):
    with exchange.stage_folder(tmp_path / "x", replace=False) as first:
        write_text(first.path / "a", "first")
        with exchange.stage_folder(tmp_path / "x", replace=False) as second:
            write_text(second.path / "a", "second")
            first.commit()
            with pytest.raises(BusyError, match="was written by another process meanwhile"):
                second.commit()
    assert (tmp_path / "x" / "a").read_text() == "first" and len(list(tmp_path.iterdir())) == 1


def test_a_link_to_a_run_stays_a_link(tmp_path):
    create(tmp_path / "disk" / "x")
    (tmp_path / "x").symlink_to(tmp_path / "disk" / "x")
    write_text(tmp_path / "x" / "log.jsonl", "old")
    create(tmp_path / "x", overwrite=True)
    assert (tmp_path / "x").is_symlink() and content(tmp_path / "disk" / "x") == {}


def test_links_in_a_run_are_not_written_through(tmp_path):
    run = create(tmp_path / "x")
    run.log.symlink_to(tmp_path / "victim")
    with pytest.raises(RunError, match=r"log.jsonl: is a link, and is not followed"):
        run.require_no_links()


def write_output(folder: Path, owned: tuple[str, ...] = ()) -> None:
    with exchange.write_folder(folder, owned) as staged:
        write_text(staged / "page", "new")
        write_text(staged / "charts" / "a", "new")


def read_texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("moves", ["exchanged", "one by one"])
def test_files_of_the_user_stay_in_a_folder_of_outputs_at_any_depth(tmp_path, monkeypatch, moves: str):
    monkeypatch.setattr(exchange, "MAX_KEPT", 7 if moves == "exchanged" else 2)
    for name in ("page", "charts/a", "charts/mine", "mine"):
        write_text(tmp_path / "x" / name, "old")
    inode = (tmp_path / "x").stat().st_ino
    write_output(tmp_path / "x")
    assert read_texts(tmp_path / "x") == {"page": "new", "charts/a": "new", "charts/mine": "old", "mine": "old"}
    assert ((tmp_path / "x").stat().st_ino == inode) == (moves == "one by one")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("has_exchange", [True, False], ids=["exchange", "two renames"])
def test_a_kill_while_a_folder_of_outputs_is_written_leaves_the_old_one_or_the_new_one(
    tmp_path, monkeypatch, has_exchange: bool
):
    if not has_exchange:
        monkeypatch.setattr(exchange, "swap_names", lambda first, second: False)
    old = {"page": "old", "charts/a": "old", "charts/mine": "old", "mine": "old"}
    number, outcomes, killed = 0, [], True
    while killed:
        folder = tmp_path / str(number) / "x"
        for name, text in old.items():
            write_text(folder / name, text)
        killed = kill_at(number, lambda folder=folder: write_output(folder))
        exchange.recover(folder)
        assert read_texts(folder) in (old, old | {"page": "new", "charts/a": "new"}), number
        assert [path.name for path in folder.parent.iterdir()] == ["x"], number
        outcomes.append(read_texts(folder)["page"] == "new")
        number += 1
    assert number > 15 and outcomes == sorted(outcomes) and set(outcomes) == {False, True}


def test_a_folder_that_is_owned_is_replaced(tmp_path):
    for name in ("charts/before", "mine"):
        write_text(tmp_path / "x" / name, "old")
    write_output(tmp_path / "x", owned=("charts",))
    assert read_texts(tmp_path / "x") == {"page": "new", "charts/a": "new", "mine": "old"}


@pytest.mark.parametrize("is_current", [False, True])
def test_a_planted_link_in_a_folder_of_outputs_is_not_followed(tmp_path, monkeypatch, is_current: bool):
    (tmp_path / "victim").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "charts").symlink_to(tmp_path / "victim")
    if is_current:  # which is not exchanged for another
        monkeypatch.chdir(tmp_path / "x")
        with pytest.raises(RunError, match="charts: is a link, and is not followed"):
            write_output(tmp_path / "x")
    else:
        write_output(tmp_path / "x")
        assert read_texts(tmp_path / "x") == {"page": "new", "charts/a": "new"}
    assert not list((tmp_path / "victim").iterdir())
