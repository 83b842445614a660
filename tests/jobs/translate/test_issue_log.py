"""The table of issues: everything is counted, the first ones are kept, and no file is lost for it."""

import os
from pathlib import Path

import pytest

from regard.atomic import is_stream
from regard.cli.translate import _open_issue_log
from regard.formats.tsv import parse_row
from regard.jobs.translate.issue_log import COLUMNS, IssueLog
from regard.tasks.translate.translator import TranslationIssue

NUMBERS, OMISSION = TranslationIssue("numbers", "it lacks 3"), TranslationIssue("omission", "it is far\ttoo short")


def rows(path: Path) -> list[list[str]]:
    return [parse_row(line) for line in path.read_text(encoding="utf-8").splitlines()]


def fill(log: IssueLog, lines: int) -> None:
    with log:
        for number in range(1, lines + 1):
            log.add(f"x:{number}", [NUMBERS, OMISSION] if number % 2 else [])


@pytest.mark.parametrize(("lines", "always", "written"), [(4, False, False), (5, False, True), (4, True, True)])
def test_a_file_is_written_if_it_was_asked_for_or_if_there_are_more_issues_than_are_kept(
    tmp_path: Path, lines: int, always: bool, written: bool
):
    log = IssueLog(tmp_path / "issues.tsv", 5, always)
    fill(log, lines)
    count = (lines + 1) // 2
    assert log.counts == {"numbers": count, "omission": count} and log.num_locations == count
    assert log.first["numbers"] == [(f"x:{number}", "it lacks 3") for number in range(1, lines + 1, 2)]
    assert (log.path is not None) == (tmp_path / "issues.tsv").exists() == written
    if written:
        places = [f"x:{number}" for number in range(1, lines + 1, 2)]
        expected = [[place, issue.kind, issue.message] for place in places for issue in (NUMBERS, OMISSION)]
        assert rows(tmp_path / "issues.tsv") == [list(COLUMNS), *expected]


def test_a_failure_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "issues.tsv"
    path.write_text("old\n")
    log = IssueLog(path, 1, always=True)
    with pytest.raises(RuntimeError), log:
        log.add("x:1", [NUMBERS, OMISSION])
        raise RuntimeError
    assert path.read_text() == "old\n" and [*tmp_path.iterdir()] == [path]


def test_a_link_is_followed_as_the_shell_does(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "real.tsv")
    fill(IssueLog(tmp_path / "link", 1, always=True), 1)
    assert (tmp_path / "link").is_symlink() and len(rows(tmp_path / "real.tsv")) == 3


def test_a_stream_is_written_to_and_not_replaced(tmp_path: Path):
    with (tmp_path / "stream").open("wb") as file:
        path = Path(f"/dev/fd/{file.fileno()}")
        (tmp_path / "link").symlink_to(path)
        assert is_stream(tmp_path / "link")
        fill(IssueLog(tmp_path / "link", 1, always=True), 1)
        assert (tmp_path / "link").readlink() == path and len(rows(tmp_path / "stream")) == 3


def test_nothing_is_written_beside_a_stream(tmp_path, monkeypatch):
    with (tmp_path / "file").open("wb") as file:
        stream = tmp_path / "stdout"
        stream.symlink_to(f"/dev/fd/{file.fileno()}")  # a regular file, as that of `--out /dev/stdout > file`
        assert stream.is_file()
        with _open_issue_log(stream, None) as log:
            for number in range(99):
                log.add(f"a.en:{number}", [NUMBERS])
    assert {path.name for path in tmp_path.iterdir()} == {"file", "stdout"}


def test_a_file_beside_the_output_has_what_is_not_shown(tmp_path):
    with _open_issue_log(tmp_path / "out.fr", None) as log:
        for number in range(99):
            log.add(f"a.en:{number}", [NUMBERS])
    assert len((tmp_path / "out.fr.issues.tsv").read_text().splitlines()) == 100
    assert {path.name for path in tmp_path.iterdir()} == {"out.fr.issues.tsv"}


def test_a_location_need_not_be_utf8(tmp_path):
    with IssueLog(tmp_path / "issues.tsv", max_kept=1) as log:
        for line in range(3):
            log.add(os.fsdecode(b"\xff.en") + f":{line}", [TranslationIssue("omission", "far too short")])
    assert (tmp_path / "issues.tsv").read_text().split("\n")[1] == "\\udcff.en:0\tomission\tfar too short"
    assert log.counts["omission"] == 3 and len(log.first["omission"]) == 1
