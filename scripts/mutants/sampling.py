"""A tree of files to break, and faults of a room drawn by a seed."""

import random
import shutil
import subprocess
from pathlib import Path

from scripts.mutants.operators import Fault, compiles, faults

ROOMS = (
    *("model", "runtime", "kernels", "decode", "metrics", "languages", "data", "formats", "inspection", "baselines"),
    *("tasks", "training", "tuning", "jobs/tasks"),
)
"""Folders of the package, by their path; the tests of a room are those of the same path below tests/."""


def last_commit(root: Path) -> str:
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def copy_tree(root: Path, to: Path) -> None:
    """The files that git knows or would take, as they are now: tests read more of the tree than the package."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)


def draw(tree: Path, room: str, count: int, seed: str) -> list[Fault]:
    """`count` faults of a room, at most one in each statement."""
    paths = sorted((tree / "regard" / room).rglob("*.py"))
    sources = {str(path.relative_to(tree)): path.read_bytes() for path in paths}
    candidates = [fault for file, source in sources.items() for fault in faults(file, source)]
    random.Random(f"{seed} {room}").shuffle(candidates)
    drawn: dict[tuple[str, int], Fault] = {}
    for fault in candidates:
        if len(drawn) == count:
            break
        place = fault.file, fault.lines[0]
        if place not in drawn and compiles(fault, sources[fault.file]):
            drawn[place] = fault
    return list(drawn.values())


def describe(fault: Fault, source: bytes) -> tuple[str, str]:
    """The line before and after, blanks collapsed: a name that survives changes elsewhere in the file."""
    first = source.rfind(b"\n", 0, fault.start) + 1
    last = source.find(b"\n", fault.end)
    last = len(source) if last < 0 else last
    before = source[first:last].decode()
    after = (source[first : fault.start] + fault.text.encode() + source[fault.end : last]).decode()
    return " ".join(before.split()), " ".join(after.split())
