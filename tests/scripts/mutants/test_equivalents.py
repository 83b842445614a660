"""What is listed as equivalent is a fault that can still be planted, and has a reason."""

import tomllib
from pathlib import Path

import pytest

from scripts.mutants.operators import compiles, faults
from scripts.mutants.report import EQUIVALENT
from scripts.mutants.sampling import describe

ROOT = Path(__file__).parent.parent.parent.parent
ENTRIES = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]


@pytest.mark.parametrize("file", sorted({entry["file"] for entry in ENTRIES}))
def test_an_equivalent_fault_can_be_planted_and_has_a_reason(file: str):
    source = (ROOT / file).read_bytes()
    entries = [entry for entry in ENTRIES if entry["file"] == file]
    lines = {entry["before"] for entry in entries}
    changes: dict[str, set[str]] = {}
    for fault in faults(file, source):
        before, after = describe(fault, source)
        if before in lines and compiles(fault, source):
            changes.setdefault(before, set()).add(after)
    for entry in entries:
        assert entry["reason"].strip()
        assert entry["before"] in changes, f"no such line: {entry['before']}"
        assert entry["after"] == "*" or entry["after"] in changes[entry["before"]], entry["after"]
