"""One command in a forked process that has everything imported, with limits on memory and time."""

import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 20.0
"""On a machine that is otherwise idle; on a busy one a command has as much more as others take from it."""
MEMORY = 2 << 30
CRASHED = 99  # exit code of a command that raised
ALLOWED_CODES = frozenset({0, 1, 2})
OUT_OF_MEMORY = "not enough memory"  # the sentence of the command line, which is no answer to a small input
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SHOWN = 1500  # characters of the output of a failure


@dataclass(frozen=True)
class Case:
    """A command in a folder of its own, and what must not appear in what it prints and writes."""

    number: int
    target: str
    folder: Path
    argv: list[str]
    damage: str = ""
    secrets: tuple[str, ...] = ()
    prints_text: bool = False
    """Whether standard output is a translation, which may hold any character."""
    inputs: frozenset[str] = field(default_factory=frozenset)
    """Files that may hold a secret, because they held it before."""


@dataclass(frozen=True)
class Verdict:
    """How a case ended."""

    case: Case
    fault: str
    seconds: float
    growth: int
    output: str
    code: int


def run_all(cases: Iterable[Case], jobs: int = 1, seconds: float = SECONDS) -> Iterator[Verdict]:
    """Run the cases, so many at a time."""
    baseline = _resident()
    running: dict[int, tuple[Case, float]] = {}
    waiting = iter(cases)
    try:
        while True:
            while len(running) < jobs and (case := next(waiting, None)) is not None:
                running[_start(case)] = (case, time.monotonic())
            if not running:
                return
            limit = seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
            for child, (case, begin) in list(running.items()):
                pid, status, usage = os.wait4(child, os.WNOHANG)
                elapsed = time.monotonic() - begin
                if pid:
                    del running[child]
                    _kill(child)  # what it has started and left
                    yield _judge(case, status, elapsed, max(0, usage.ru_maxrss * 1024 - baseline))
                elif elapsed > limit:
                    del running[child]
                    _kill(child)
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    yield Verdict(case, f"hang: no end within {limit:.0f} s", elapsed, 0, _output(case), -1)
            time.sleep(0.005)
    finally:
        for child in running:
            _kill(child)
            os.kill(child, signal.SIGKILL)  # if it has no session yet


def _start(case: Case) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _run(case.argv, case.folder)
    return pid


def call(function: Callable[[], None], folder: Path) -> int:
    """Call a function in a process of its own, and return its exit code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _enter(folder)
        os._exit(_exit_code(function))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _run(argv: list[str], folder: Path) -> None:
    """In the child: never returns."""
    from regard.cli import main

    _enter(folder)
    # Not RLIMIT_AS: the JavaScript engine that draws charts reserves addresses that it never uses.
    limit = _data() + MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os._exit(_exit_code(lambda: main(argv)))


def _enter(folder: Path) -> None:
    os.setsid()
    os.chdir(folder)
    files = (os.open(os.devnull, os.O_RDONLY), *(_new_file(folder, name) for name in (".stdout", ".stderr")))
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
    # As Python opens them by itself in a UTF-8 locale, whatever the parent has made of them.
    sys.stdout = open(1, "w", encoding="utf-8", errors="strict", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


def _new_file(folder: Path, name: str) -> int:
    return os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def _exit_code(function: Callable[[], None]) -> int:
    try:
        function()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = CRASHED
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _judge(case: Case, status: int, seconds: float, growth: int) -> Verdict:
    code, output = os.waitstatus_to_exitcode(status), _output(case)
    return Verdict(case, _fault(case, code, growth, output), seconds, growth, output, code)


def _fault(case: Case, code: int, growth: int, output: str) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    if code == CRASHED or "Traceback (most recent call last)" in output:
        lines = [line for line in output.rstrip().split("\n") if line.strip()]
        return f"traceback: {lines[-1][:200] if lines else ''}"
    if code not in ALLOWED_CODES:
        return f"exit code {code}"
    if growth > MEMORY or OUT_OF_MEMORY in output:
        return f"memory: {growth / 1e9:.1f} GB"
    if code == 2 and not _read(case.folder / ".stderr").strip():
        return "exit code 2 without a sentence"
    shown = _read(case.folder / ".stderr") + ("" if case.prints_text else _read(case.folder / ".stdout"))
    if match := CONTROL.search(shown.replace("\r", "")):
        return f"control character {match[0]!r} is printed"
    return _leak(case, output)


def _leak(case: Case, output: str) -> str:
    if any(secret in output for secret in case.secrets):
        return "secret is printed"
    for path in case.folder.rglob("*") if case.secrets else ():
        if path.is_file() and path.name not in case.inputs:
            raw = path.read_bytes()
            if any(secret.encode() in raw for secret in case.secrets):
                return f"secret is in {path.relative_to(case.folder)}"
    return ""


def _output(case: Case) -> str:
    return _read(case.folder / ".stdout") + _read(case.folder / ".stderr")


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes().decode("utf-8", "replace")
    return ""


def _kill(pid: int) -> None:
    """A process and those that it has started, which are a session of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def remove(folder: Path) -> None:
    """Remove the folder of a case, whatever it has become."""
    shutil.rmtree(folder, ignore_errors=True)


def _data() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
