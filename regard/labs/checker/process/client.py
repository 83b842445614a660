"""Checking a file: its functions one by one, each in a process of its own."""

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import regard
from regard.errors import LabError
from regard.labs.checker.process.limits import CheckLimits
from regard.labs.checker.process.student import defined_functions
from regard.labs.checker.results import CheckResult

SERVER = ("regard.labs.checker.process.server", "serve")
START = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "getattr(importlib.import_module(sys.argv[2]), sys.argv[3])()"
)


class CheckServer(AbstractContextManager["CheckServer"]):
    """The process that checks. It takes a second to start, and serves any number of files."""

    def __init__(self, limits: CheckLimits = CheckLimits()):
        self.limits = limits
        home = str(Path(regard.__file__).parent.parent)
        paths = [home, *(path for path in sys.path if path and path != home)]
        # Isolated: what the environment says about Python is not for a student's file.
        command = [sys.executable, "-I", "-c", START, json.dumps(paths), *SERVER]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def check(self, path: Path, seed: int, allow_regard: bool) -> tuple[CheckResult, ...]:
        """Every assignment that the file defines; LabError for a file that defines none or cannot be loaded."""
        functions = defined_functions(path, allow_regard)
        assignments = self._ask({})["names"]
        names = [name for name in assignments if name in functions]
        if not names:
            raise LabError(f"{path} defines none of the functions of the assignments: {', '.join(assignments)}")
        return tuple(self._check_function(path, name, seed, allow_regard) for name in names)

    def _check_function(self, path: Path, name: str, seed: int, allow_regard: bool) -> CheckResult:
        answer = self._ask(
            {
                "path": str(path.resolve()),
                "name": name,
                "seed": seed,
                "allow_regard": allow_regard,
                "limits": self.limits.as_dict(),
            }
        )
        if "result" in answer:
            return replace(CheckResult.from_dict(answer["result"]), printed=answer["printed"])
        if not answer["is_loaded"]:
            raise LabError(f"{path} cannot be loaded: {answer['problem']}")
        return CheckResult(name, failed=tuple(answer["truths"]), problem=answer["problem"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            _, message = self.process.communicate()
            raise LabError(f"the process that checks has ended: {message.strip().split(chr(10))[-1][:300]}")
        return json.loads(line)
