"""What is remembered of runs: last verdicts, predictions, and files that others have damaged."""

from dataclasses import replace

from regard.labs.suite.records import LabRecord, append_records, last_records, read_records, state_folder
from regard.progress import report_progress_to
from tests.notes import NoteListener

RECORD = LabRecord("far", "holds", "Holds: x", "0.75 [0.7, 0.8]", 0.3, True, "2026-01-02T03:04:05+00:00", "0.1.0")


def test_the_last_run_with_its_own_knobs_counts(state):
    assert last_records() == {}
    other = replace(RECORD, verdict="does not hold", prediction=None)
    append_records([RECORD, replace(RECORD, lab="near")])
    append_records([other, replace(RECORD, verdict="undecided", is_own=False)])
    assert last_records() == {"far": other, "near": replace(RECORD, lab="near")}
    assert [record.prediction for record in read_records()] == [0.3, 0.3, None, 0.3]
    assert state_folder() == state


def test_a_damaged_line_is_passed_over(state):
    append_records([RECORD])
    with (state / "labs.jsonl").open("ab") as file:
        file.write(b'{"lab": 7}\nnot JSON\n\xff\xfe\n' + b'{"lab": "cut')
    assert list(read_records()) == [RECORD]


def test_a_state_folder_that_cannot_be_written_costs_a_note_and_no_result(tmp_path, monkeypatch):
    (tmp_path / "state").write_text("a file, not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    notes: list[str] = []
    with report_progress_to(NoteListener(notes)):
        append_records([RECORD])
    assert len(notes) == 1 and "this run was not recorded" in notes[0]
    assert last_records() == {}


def test_a_relative_state_folder_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder() == tmp_path / ".local" / "state" / "regard"
