"""Issues are counted and written, whatever the file is called."""

import os
from pathlib import Path

from regard.jobs.translate.issue_log import IssueLog
from regard.tasks.translate import TranslationIssue


def test_a_location_need_not_be_utf8(tmp_path: Path):
    with IssueLog(tmp_path / "issues.tsv", max_kept=1) as log:
        for line in range(3):
            log.add(os.fsdecode(b"\xff.en") + f":{line}", [TranslationIssue("omission", "far too short")])
    assert (tmp_path / "issues.tsv").read_text().split("\n")[1] == "\\udcff.en:0\tomission\tfar too short"
    assert log.counts["omission"] == 3 and len(log.first["omission"]) == 1
