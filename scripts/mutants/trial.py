"""Runs, for every fault of a list, the tests that execute its line; the quickest first, until one fails.

    python -m scripts.mutants.trial JOB.json

The tests are imported and collected once. For each fault a forked child exchanges the code of the one function that
differs and runs the tests; a fault in what runs at import gets a child that imports the package anew, with the
libraries already loaded.
"""

import contextlib
import dataclasses
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.mutants.baseline import OPTIONS, deterministic
from scripts.mutants.operators import Fault

_MEMORY = 12 << 30  # a fault that allocates more is seen by the MemoryError; of data alone, since V8 reserves much more
_COSTLY = 0.5  # seconds of processor: fixtures dearer than this come last, and their tests stay together


class Job:
    def __init__(self, path: Path) -> None:
        job = json.loads(path.read_text(encoding="utf-8"))
        self.room: str = job["room"]
        self.out = Path(job["out"])
        self.baseline: dict[str, Any] = json.loads(Path(job["baseline"]).read_text(encoding="utf-8"))
        self.faults = {int(i): Fault(**{**fault, "lines": tuple(fault["lines"])}) for i, fault in job["faults"].items()}

    def tests(self, fault: Fault) -> list[str]:
        """The tests that execute the statement; none stands for: at import."""
        lines = self.baseline["lines"].get(fault.file, {})
        first, last = fault.lines
        found = {test for line in range(first, last + 1) for test in lines.get(str(line), ())}
        if "" in found or not fault.function:
            of_file = {test for tests in lines.values() for test in tests} - {""}
            rest = self.baseline["tests"].keys() - of_file
            return self._quickest(of_file) + self._quickest(rest)
        return self._quickest(found or {test for test, t in self.baseline["tests"].items() if t["starts_processes"]})

    def runs_at_import(self, fault: Fault) -> bool:
        lines = self.baseline["lines"].get(fault.file, {})
        return not fault.function or any("" in lines.get(str(n), ()) for n in range(fault.lines[0], fault.lines[1] + 1))

    def _quickest(self, tests: set[str]) -> list[str]:
        def cost(test: str) -> tuple[bool, str, float]:
            timing = self.baseline["tests"][test]
            dear = timing["shared"] > _COSTLY
            return dear, test.split("::")[0] if dear else "", timing["seconds"]

        return sorted(tests, key=cost)

    def seconds(self, tests: list[str]) -> int:
        total = sum(self.baseline["tests"][test]["seconds"] for test in tests)
        dearest = max((self.baseline["tests"][test]["shared"] for test in tests), default=0)
        return int(10 + 4 * (total + 2 * dearest))

    def save(self, number: int, outcome: str, by: str) -> None:
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"fault": number, "outcome": outcome, "by": by}) + "\n")


@contextlib.contextmanager
def planted(fault: Fault) -> Iterator[bytes]:
    """The fault in the file itself: for children of tests, and for modules that are imported late."""
    path = Path(fault.file)
    source = path.read_bytes()
    try:
        broken = fault.apply(source)
        path.write_bytes(broken)
        yield broken
    finally:
        path.write_bytes(source)


def in_child(work: Callable[[Callable[[str], None]], None], seconds: int) -> str:
    """What `work` says first, in a fork with limits; "crash" or "timeout" where it cannot."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.close(read)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))  # SIGXCPU, then SIGKILL
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            work(lambda text: os.write(write, text.encode()) and None)
        except BaseException as error:
            os.write(write, f"crash {error!r}"[:4000].encode())
        finally:
            os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], 60 + 10 * seconds)
    text = os.read(read, 8192).decode(errors="replace") if ready else "timeout"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.close(read)
    _, status, usage = os.wait4(pid, 0)
    if not text:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        # A SIGKILL may also come from a machine without memory: that is no fault's doing.
        late = number == signal.SIGXCPU or usage.ru_utime + usage.ru_stime >= seconds
        return "timeout" if late else f"crash by signal {number}"
    return text


def judge(tests: list[str], attempt: Callable[[list[str]], str], control: Callable[[list[str]], str]) -> str:
    """The outcome of a fault. What fails, or is late, without the fault as well (`control`) shows nothing of it."""
    tests = list(tests)
    while tests:
        text = attempt(tests)
        outcome, _, by = text.partition(" ")
        if outcome == "timeout":
            return text if control(tests) == "survived" else "survived by chance: too slow without the fault too"
        if outcome != "killed":
            return text
        # A file that cannot be imported is seen by any of its tests.
        of_file = [test for test in tests if test.split("::")[0] == by.split(" ")[-1]][:1]
        seen = tests[: tests.index(by) + 1] if by in tests else of_file or tests
        without = control(seen)
        if without == "survived":
            return text
        failing = without.partition(" ")[2]
        tests.remove(failing if failing in seen else seen[-1])
    return "survived no test executes the line"


class _FirstFailure:
    """Says at once which test failed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.say(f"killed {report.nodeid}")
            os._exit(0)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.say(f"killed by import of {report.nodeid}")
            os._exit(0)


class Collected:
    """A plug-in of pytest: instead of the tests, it runs the trials, each in a child."""

    def __init__(self, job: Job, faults: dict[int, Fault]) -> None:
        self.job = job
        self.faults = faults
        self.late: dict[int, Fault] = {}  # those whose function is not found by name

    def pytest_configure(self) -> None:
        deterministic()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = _functions()
        for number, fault in self.faults.items():
            tests = [test for test in self.job.tests(fault) if test in items]

            def attempt(names: list[str], fault: Fault = fault) -> str:
                with planted(fault) as source:
                    return self._trial(fault, [items[name] for name in names], functions, source)

            def control(names: list[str], fault: Fault = harmless(fault)) -> str:
                return attempt(names, fault)

            text = judge(tests, attempt, control)
            if text == "late":
                self.late[number] = fault
            else:
                outcome, _, by = text.partition(" ")
                self.job.save(number, outcome, by)
        return True

    def _trial(self, fault: Fault, tests: list[pytest.Item], functions: dict[Any, Any], source: bytes) -> str:
        file = str(Path(fault.file).resolve())
        imported = any(
            vars(module).get("__file__") == file for name, module in sys.modules.items() if name[:6] == "regard"
        )
        olds = functions.get((file, fault.function, fault.occurrence), [])
        if imported and not olds:
            return "late"

        def work(say: Callable[[str], None]) -> None:
            try:
                code = _find(compile(source, file, "exec", dont_inherit=True), fault.function, fault.occurrence)
                for old in olds:
                    old.__code__ = code
            except (ValueError, LookupError):
                return say("late")
            tests[0].config.pluginmanager.register(_FirstFailure(say))
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            return say("survived")

        return in_child(work, self.job.seconds([test.nodeid for test in tests]))


def _codes(code: types.CodeType, name: str) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_qualname == name:
                yield constant
            elif name.startswith(constant.co_qualname + "."):
                yield from _codes(constant, name)


def _find(module: types.CodeType, name: str, occurrence: int) -> types.CodeType:
    return list(_codes(module, name))[occurrence]


def _functions() -> dict[tuple[str, str, int], list[types.FunctionType]]:
    """Every function of the package that lives, by file, name and which one of that name."""
    root = str(Path("regard").resolve()) + os.sep
    by_line: dict[tuple[str, str], dict[int, list[types.FunctionType]]] = {}
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType and thing.__code__.co_filename.startswith(root):
            code = thing.__code__
            by_line.setdefault((code.co_filename, code.co_qualname), {}).setdefault(code.co_firstlineno, []).append(
                thing
            )
    sources = {file: compile(Path(file).read_bytes(), file, "exec", dont_inherit=True) for file, _ in by_line}
    found = {}
    for (file, name), lines in by_line.items():
        for i, code in enumerate(_codes(sources[file], name)):
            if code.co_firstlineno in lines:
                found[file, name, i] = lines[code.co_firstlineno]
    return found


class _Chosen:
    """A plug-in of pytest: these tests, in this order; all of their files where a fault has changed their names."""

    def __init__(self, tests: list[str]) -> None:
        self.tests = tests

    def pytest_configure(self) -> None:
        deterministic()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {item.nodeid: item for item in items}
        if all(test in by_name for test in self.tests):
            items[:] = [by_name[test] for test in self.tests]


def anew(job: Job, fault: Fault, tests: list[str], temporary: str) -> str:
    def work(say: Callable[[str], None]) -> None:
        files = sorted({test.split("::")[0] for test in tests})
        plugins = [_Chosen(tests), _FirstFailure(say)]
        code = pytest.main([*files, *OPTIONS, "-x", temporary], plugins=plugins)
        say("survived" if code == 0 else f"killed exit {code}")

    with planted(fault):
        return in_child(work, 20 + job.seconds(tests))


def harmless(fault: Fault) -> Fault:
    """A change at the same place that changes nothing: what fails with it fails for a reason of its own."""
    return dataclasses.replace(fault, end=fault.start, text="")


def preload(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(BaseException), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)


def main(path: Path) -> None:
    job = Job(path)
    sys.path.insert(0, str(Path.cwd()))
    sys.dont_write_bytecode = True
    preload(job.baseline["modules"])
    temporary = f"--basetemp={job.out}.tmp"
    at_import = {n: fault for n, fault in job.faults.items() if job.runs_at_import(fault)}
    rest = {n: fault for n, fault in job.faults.items() if n not in at_import}
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        trials = Collected(job, rest)
        code = pytest.main([f"tests/{job.room}", *OPTIONS, temporary], plugins=[trials])
        os.write(write, json.dumps(list(trials.late)).encode())
        os._exit(int(code))
    os.close(write)
    late = json.loads(os.read(read, 1 << 16) or b"[]")
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit(f"the trials ended with status {status}")
    for number in [*late, *at_import]:
        fault = job.faults[number]
        text = judge(
            job.tests(fault),
            lambda tests, fault=fault: anew(job, fault, tests, temporary),  # type: ignore[misc]
            lambda tests, fault=harmless(fault): anew(job, fault, tests, temporary),  # type: ignore[misc]
        )
        outcome, _, by = text.partition(" ")
        job.save(number, outcome, by)


if __name__ == "__main__":
    started = time.monotonic()
    main(Path(sys.argv[1]))
    print(f"{time.monotonic() - started:.0f} s")
