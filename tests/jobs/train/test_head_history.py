"""heads.jsonl: what is written is read, and what a killed process wrote too much is dropped."""

from pathlib import Path

import pytest

from regard.errors import RunError
from regard.jobs.train.head_history import (
    HeadHistoryEntry,
    HeadSnapshot,
    append_entry,
    read_head_history,
    truncate_after,
)

HEADS = {
    "encoder.0.self.1": HeadSnapshot(1.5, 0.25, "previous", 3.5),
    "decoder.0.cross.0": HeadSnapshot(0.5, 0.75, None, None),
}


def test_entries_are_read_as_they_were_written_and_dropped_after_a_step(tmp_path: Path):
    path = tmp_path / "heads.jsonl"
    assert read_head_history(path) == []
    entries = [HeadHistoryEntry(step, HEADS) for step in (2, 4, 6)]
    for entry in entries:
        append_entry(path, entry)
    assert read_head_history(path) == entries
    truncate_after(path, 5)
    assert read_head_history(path) == entries[:2]
    path.write_text('{"step": 2, "heads": {"encoder.0.self.1": {"entropy": 1.0}}}\n')
    with pytest.raises(RunError, match=r"heads.jsonl: a line is not the history of heads"):
        read_head_history(path)
