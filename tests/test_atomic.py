"""Output files: links are followed as the shell does, and what is no regular file is refused."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from regard.atomic import TEMPORARY_SUFFIX, atomic_write, check_output, open_output, write_text
from regard.errors import WriteError

CORPUS = [sys.executable, "-m", "regard", "corpus", "copy", "--pairs", "3", "--out"]


def test_a_link_is_followed_by_output_and_replaced_by_files_of_a_run(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    for text in (b"one", b"two"):  # which creates it, and replaces it
        with open_output(link) as file:
            file.write(text)
        assert link.is_symlink() and target.read_bytes() == text
    write_text(link, "three")
    assert not link.is_symlink() and target.read_bytes() == b"two"


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name, kind in (("fifo", "FIFO"), ("folder", "folder"), ("link", "FIFO"), ("socket", "socket")):
            with pytest.raises(WriteError, match=rf"{name}: is a {kind}; give the name of a file"):
                check_output(tmp_path / name)
    with pytest.raises(WriteError, match=r"/dev/null: is a device"):
        check_output(type(tmp_path)("/dev/null"))


@pytest.mark.parametrize("out", ["/dev/stdout", "/dev/fd/1", "-"])
def test_standard_output_may_be_named(out):
    done = subprocess.run([*CORPUS, out], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("\n") == 3, done.stderr


def test_permissions_stay_and_a_planted_name_is_not_used(tmp_path):
    path = tmp_path / "x"
    path.touch(0o600)
    own = tmp_path / f"x{TEMPORARY_SUFFIX}"
    own.symlink_to(tmp_path / "victim")
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.read_text() == "new"
    assert own.is_symlink() and not (tmp_path / "victim").exists()


def test_only_dead_temporary_files_are_removed(tmp_path):
    path = tmp_path / "x"
    left = tmp_path / f".x.0123456789abcdef{TEMPORARY_SUFFIX}"
    left.touch()
    with atomic_write(path) as one, atomic_write(path) as two:
        assert one.exists() and two.exists() and one != two and not left.exists()
        one.write_text("1")
        two.write_text("2")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]
