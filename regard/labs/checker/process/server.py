"""The process that forks one child for each function to check.

PyTorch takes more than a second to import, a check takes a tenth of that. So one process imports everything, stays
single-threaded, and forks. Requests and answers are lines of JSON.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from regard.labs.checker.assignments import ASSIGNMENTS
from regard.labs.checker.judge import judge
from regard.labs.checker.process.limits import CheckLimits, OutputLimitError, enter_limits
from regard.labs.checker.process.student import describe_error, load_functions, without_own_package
from regard.labs.checker.results import CheckResult

LOADED, CHECKED, FAILED = "loaded", "checked", "failed"
MAX_ANSWER = 1 << 20  # bytes


def serve() -> None:
    """Answer the requests on standard input until it ends."""
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # if anything prints, the answers stay lines of JSON
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """The result of a function, or why there is none; the names of all assignments if none is asked for."""
    if "name" not in request:
        return {"names": list(ASSIGNMENTS)}
    limits = CheckLimits(**request["limits"])
    folder = Path(tempfile.mkdtemp(prefix="regard-check-"))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _run_child(request, limits, folder, write_end)
    os.close(write_end)
    try:
        text, in_time = _read_answer(read_end, limits.wall_seconds * _business())
    finally:
        os.close(read_end)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shutil.rmtree(folder, ignore_errors=True)
    answer = _read_lines(text, _describe_end(status, limits) if in_time else _describe_wait(limits))
    return {**answer, "truths": [truth.sentence for truth in ASSIGNMENTS[request["name"]].truths]}


def _business() -> float:
    """On a machine with more to do than it has cores, waiting takes as much longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _read_answer(read_end: int, seconds: float) -> tuple[bytes, bool]:
    """What the child writes until it ends, and whether it ended in time."""
    text, deadline = b"", time.monotonic() + seconds
    while len(text) < MAX_ANSWER:
        ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return text, False
        block = os.read(read_end, 1 << 16)
        if not block:
            return text, True
        text += block
    return text, True


def _read_lines(text: bytes, end: str) -> dict[str, Any]:
    """The last answer among the lines that the child wrote, or how the child ended without one."""
    answers = []
    for line in text.split(b"\n"):
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            answers += [answer] if isinstance(answer, dict) and "stage" in answer else []
    if answers and answers[-1]["stage"] in (CHECKED, FAILED):
        return answers[-1]
    return {"stage": FAILED, "problem": end, "is_loaded": bool(answers)}


def _describe_wait(limits: CheckLimits) -> str:
    return f"it did not end within {limits.wall_seconds:g} s: does it wait for something?"


def _describe_end(status: int, limits: CheckLimits) -> str:
    if status == -signal.SIGXCPU:
        return f"it did not end within {limits.cpu_seconds} s of computing: is there a loop without an end?"
    if status == -signal.SIGKILL:
        return "its process was killed, perhaps because the memory of the machine was full"
    if status < 0:
        return f"it crashed Python itself ({signal.Signals(-status).name})"
    return f"it ended its process with code {status} before the check was done"


def _run_child(request: dict[str, Any], limits: CheckLimits, folder: Path, write_end: int) -> None:
    """In the child: never returns."""
    try:
        output = enter_limits(limits, folder)
        path = Path(request["path"])
        describe = describe_error(path)
        is_loaded = False

        def write(answer: dict[str, Any]) -> None:
            os.write(write_end, json.dumps(answer).encode() + b"\n")

        def load_and_judge() -> CheckResult:
            nonlocal is_loaded
            module = load_functions(path)
            is_loaded = True
            write({"stage": LOADED})
            name = request["name"]
            return judge(ASSIGNMENTS[name], getattr(module, name), request["seed"], describe)

        sys.path.insert(0, str(path.parent))
        try:
            with contextlib.nullcontext() if request["allow_regard"] else without_own_package():
                result = load_and_judge()
            write({"stage": CHECKED, "result": result.as_dict(), "printed": output.beginning})
        except OutputLimitError:
            problem = f"it prints more than {limits.printed_characters:,} characters"
            write({"stage": FAILED, "problem": problem, "is_loaded": is_loaded})
        except BaseException as error:
            write({"stage": FAILED, "problem": describe(error), "is_loaded": is_loaded})
    finally:
        os._exit(0)
