"""A copy of the tree in which faults are planted, and what is known about them so far."""

import compileall
import dataclasses
import fcntl
import hashlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

from scripts.mutants.operators import Fault
from scripts.mutants.report import Result
from scripts.mutants.sampling import copy_tree, describe, draw

_HERE = Path(__file__).parent.parent.parent


def name(fault: Fault, source: bytes) -> str:
    return json.dumps([fault.file, *describe(fault, source), fault.function, fault.lines[0]])


def file_name(room: str) -> str:
    """The path of a room as a part of a file name."""
    return room.replace("/", ".")


class Workshop:
    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.tree = kept / "tree"

    def lock(self) -> BinaryIO:
        """Refuse to work beside another run: both would plant faults in one tree. Held until the file is closed."""
        self.kept.mkdir(exist_ok=True)
        file = (self.kept / "lock").open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            sys.exit(f"{self.kept} is in use by another `make mutants`; wait for its end")
        return file

    def set_up(self, root: Path) -> None:
        shutil.rmtree(self.tree, ignore_errors=True)
        copy_tree(root, self.tree)
        # By hash of the source: a broken file is compiled again, the others are not.
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.tree / "regard", quiet=2, invalidation_mode=mode)

    def digest(self, room: str) -> str:
        """Of everything that decides whether a test fails."""
        sha = hashlib.sha256()
        folders = [self.tree / "regard", self.tree / "tests" / room]
        above = [self.tree / "tests" / part / "conftest.py" for part in Path(room).parents]
        for path in sorted(p for p in (*(p for f in folders for p in f.rglob("*")), *above) if p.is_file()):
            if path.suffix != ".pyc":
                sha.update(str(path.relative_to(self.tree)).encode() + b"\0" + path.read_bytes())
        return sha.hexdigest()[:16]

    def run(self, module: str, *arguments: str) -> None:
        """A process in the copied tree; what it prints goes to a log."""
        environment = {**os.environ, "PYTHONPATH": f"{self.tree}{os.pathsep}{_HERE}", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", f"scripts.mutants.{module}", *arguments]
        with (self.kept / f"{module}.log").open("w", encoding="utf-8") as log:
            done = subprocess.run(command, cwd=self.tree, env=environment, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: see {self.kept / module}.log")

    def measure(self, room: str) -> Path:
        known = f"baseline-{file_name(room)}"
        out = self.kept / f"{known}-{self.digest(room)}.json"
        if not out.exists():
            for old in self.kept.glob(f"{known}-*.json"):
                old.unlink()
            self.run("baseline", room, str(out))
            code = json.loads(out.read_text(encoding="utf-8"))["code"]
            if code:
                print(
                    f"{room}: some tests fail without any fault (exit code {code}); they are left out", file=sys.stderr
                )
        return out

    def try_room(self, room: str, count: int, seed: str, only_survivors: bool = False) -> list[Result]:
        version = self.digest(room)
        kept = self.kept / f"results-{file_name(room)}-{seed}.jsonl"
        faults = draw(self.tree, room, count, seed)
        sources = {fault.file: (self.tree / fault.file).read_bytes() for fault in faults}
        names = [name(fault, sources[fault.file]) for fault in faults]
        known: dict[str, dict[str, str]] = {}
        for line in kept.read_text(encoding="utf-8").split("\n")[:-1] if kept.exists() else []:
            entry = json.loads(line)
            if entry["version"] == version or (only_survivors and entry["outcome"] in ("killed", "timeout")):
                known[entry["name"]] = entry
        left = {i: dataclasses.asdict(fault) for i, fault in enumerate(faults) if names[i] not in known}
        if left:
            out, job = self.kept / "trial.jsonl", self.kept / "trial.json"
            out.unlink(missing_ok=True)
            job.write_text(
                json.dumps({"room": room, "out": str(out), "baseline": str(self.measure(room)), "faults": left})
            )
            try:
                self.run("trial", str(job))
            finally:
                with kept.open("a", encoding="utf-8") as file:
                    for line in out.read_text(encoding="utf-8").split("\n")[:-1] if out.exists() else []:
                        entry = json.loads(line)
                        entry |= {"name": names[entry.pop("fault")], "version": version}
                        known[entry["name"]] = entry
                        file.write(json.dumps(entry) + "\n")
        results = []
        for i, fault in enumerate(faults):
            before, after = describe(fault, sources[fault.file])
            entry = known[names[i]]
            results.append(Result(room, fault.file, fault.line, before, after, entry["outcome"], entry["by"]))
        return results
