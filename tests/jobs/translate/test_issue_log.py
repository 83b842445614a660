"""The file of issues: where a stream was named, it is written there; names of files need not be UTF-8."""

import os
import sys

from regard.cli.translate import _open_issue_log
from regard.jobs.translate.issue_log import IssueLog
from regard.tasks.translate import TranslationIssue

ISSUE = TranslationIssue("numbers", "it lacks 3")


def test_a_stream_is_written_to_and_not_replaced(tmp_path, capfd):
    link = tmp_path / "link"
    link.symlink_to("/dev/fd/2")
    with IssueLog(link, max_kept=1, always=True) as log:
        log.add("a.en:7", [ISSUE])
    sys.stderr.flush()
    assert link.is_symlink() and capfd.readouterr().err == "location\tkind\tissue\na.en:7\tnumbers\tit lacks 3\n"


def test_nothing_is_written_beside_a_stream(tmp_path, monkeypatch):
    with (tmp_path / "file").open("wb") as file:
        stream = tmp_path / "stdout"
        stream.symlink_to(f"/dev/fd/{file.fileno()}")  # a regular file, as that of `--out /dev/stdout > file`
        assert stream.is_file()
        with _open_issue_log(stream, None) as log:
            for number in range(99):
                log.add(f"a.en:{number}", [ISSUE])
    assert {path.name for path in tmp_path.iterdir()} == {"file", "stdout"}


def test_a_file_beside_the_output_has_what_is_not_shown(tmp_path):
    with _open_issue_log(tmp_path / "out.fr", None) as log:
        for number in range(99):
            log.add(f"a.en:{number}", [ISSUE])
    assert len((tmp_path / "out.fr.issues.tsv").read_text().splitlines()) == 100
    assert {path.name for path in tmp_path.iterdir()} == {"out.fr.issues.tsv"}


def test_a_location_need_not_be_utf8(tmp_path):
    with IssueLog(tmp_path / "issues.tsv", max_kept=1) as log:
        for line in range(3):
            log.add(os.fsdecode(b"\xff.en") + f":{line}", [TranslationIssue("omission", "far too short")])
    assert (tmp_path / "issues.tsv").read_text().split("\n")[1] == "\\udcff.en:0\tomission\tfar too short"
    assert log.counts["omission"] == 3 and len(log.first["omission"]) == 1
