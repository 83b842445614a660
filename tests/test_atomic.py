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


def test_output_that_could_not_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=rf"x: could not be written \({tmp_path / 'file'} is not a folder\)"):
        check_output(tmp_path / "file" / "x")
    with pytest.raises(WriteError, match=r"/dev/fd/999: could not be written \(Bad file descriptor\)"):
        check_output(type(tmp_path)("/dev/fd/999"))
    assert check_output(tmp_path / "new" / "x") == tmp_path / "new" / "x"


@pytest.mark.parametrize("out", ["--out=/dev/stdout", ""])
@pytest.mark.parametrize(("stdout", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left")])
def test_standard_output_that_is_closed_or_full_is_an_error_in_words(out, stdout, reason):
    command = f"exec {sys.executable} -m regard corpus copy --pairs 3 {out} {stdout}"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_standard_output_of_a_shell_may_be_a_file_or_a_process(tmp_path):
    """As /dev/stdout, `>` replaces a file and `>>` adds to it; >(cat) is a path under /dev/fd."""
    program, out = f"{sys.executable} -m regard corpus copy --pairs 3", tmp_path / "out"
    out.write_text("old\n")
    command = f"{program} --out /dev/stdout >> {out} && {program} --out >(cat >> {out}; echo end >> {out}) | cat"
    done = subprocess.run(["bash", "-c", f"{command}; while ! grep -q end {out}; do sleep 0.1; done"], timeout=60)
    lines = out.read_text().splitlines()
    assert done.returncode == 0 and len(lines) == 8 and lines[0] == "old" and lines[1:4] == lines[4:7]
