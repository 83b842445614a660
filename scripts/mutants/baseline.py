"""Which test of a room executes which line, and how long it takes: one run of the tests under coverage.

    python -m scripts.mutants.baseline ROOM OUT.json

A line of a fixture that several tests share counts for all of them, not only for the first one.
"""

import contextlib
import functools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import coverage
import pytest

OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of libraries that are loaded before the tests
)
_IMPORT = ""  # the context of what runs before the first test


def processor_time() -> float:
    """Of this process and of those that it has waited for, in seconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def deterministic() -> None:
    """Hypothesis draws the same examples each time, and does not look for the smallest one that fails."""
    import hypothesis

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
    hypothesis.settings.load_profile("mutants")


def clear_caches() -> None:
    """A function with a cache runs again in every test, so that its lines belong to all tests that call it."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "regard":
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


class Baseline:
    """A plug-in of pytest that gives every test, and every fixture that tests share, a context of its own."""

    def __init__(self, cov: coverage.Coverage) -> None:
        self.cov = cov
        self.current = [_IMPORT]
        self.seconds: dict[str, float] = {}
        self.fixtures: dict[str, set[str]] = {}  # of a test
        self.failed: set[str] = set()
        self.starts_processes: set[str] = set()

    @contextlib.contextmanager
    def _context(self, name: str) -> Iterator[None]:
        start = processor_time()
        self.current.append(name)
        self.cov.switch_context(name)
        yield
        seconds = processor_time() - start
        self.current.pop()
        self.cov.switch_context(self.current[-1])
        self.seconds[name] = self.seconds.get(name, 0) + seconds
        if self.current[-1]:
            self.seconds[self.current[-1]] = self.seconds.get(self.current[-1], 0) - seconds

    def pytest_configure(self) -> None:
        deterministic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        clear_caches()
        self.fixtures[item.nodeid] = set()
        with self._context(item.nodeid):
            result = yield
        for name in getattr(item, "fixturenames", ()):
            for fixture in item._fixtureinfo.name2fixturedefs.get(name, ()):  # type: ignore[attr-defined]
                self.fixtures[item.nodeid].add(_name(fixture))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self.fixture_requested(fixturedef)
        with self._context(_name(fixturedef)):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)  # a skipped one shows nothing either

    def fixture_requested(self, fixturedef: Any) -> None:
        for test in self.current:
            if test in self.fixtures:
                self.fixtures[test].add(_name(fixturedef))

    def process_started(self) -> None:
        self.starts_processes.update(self.current[1:])


def _name(fixture: Any) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def watch_requests(baseline: Baseline) -> None:
    """A fixture that a test asks for while it runs is one of its own, whichever test it was set up for."""
    get_value = pytest.FixtureRequest.getfixturevalue

    def requested(request: Any, name: str) -> Any:
        value = get_value(request, name)
        baseline.fixture_requested(request._get_active_fixturedef(name))
        return value

    pytest.FixtureRequest.getfixturevalue = requested  # type: ignore[method-assign]


def watch_processes(baseline: Baseline) -> None:
    """Lines that run in another process are not seen: those tests are tried where no test executes a line."""
    start, popen = BaseProcess.start, subprocess.Popen.__init__

    def started(process: Any) -> None:
        baseline.process_started()
        start(process)

    def opened(process: Any, *arguments: Any, **options: Any) -> None:
        baseline.process_started()
        popen(process, *arguments, **options)

    BaseProcess.start = started  # type: ignore[method-assign]
    subprocess.Popen.__init__ = opened  # type: ignore[method-assign]


def main(room: str, out: Path) -> None:
    sys.path.insert(0, str(Path.cwd()))
    cov = coverage.Coverage(data_file=None, config_file=False, source=[str(Path.cwd() / "regard" / room)])
    baseline = Baseline(cov)
    watch_requests(baseline)
    watch_processes(baseline)
    cov.start()
    code = pytest.main([f"tests/{room}", *OPTIONS, f"--basetemp={out}.tmp"], plugins=[baseline])
    cov.stop()
    data = cov.get_data()
    users: dict[str, list[str]] = {_IMPORT: [_IMPORT]}
    for test, fixtures in baseline.fixtures.items():
        if test not in baseline.failed:
            for context in (test, *fixtures):
                users.setdefault(context, []).append(test)
    lines = {
        os.path.relpath(file): {
            str(line): sorted({test for context in contexts for test in users.get(context, ())})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    shared = {test: sum(baseline.seconds.get(name, 0) for name in names) for test, names in baseline.fixtures.items()}
    tests = {
        test: {"seconds": seconds, "shared": shared[test], "starts_processes": test in baseline.starts_processes}
        for test, seconds in baseline.seconds.items()
        if test in baseline.fixtures and test not in baseline.failed
    }
    modules = sorted(
        name for name in sys.modules if name.split(".")[0] not in ("regard", "tests", "scripts", "__main__")
    )
    out.write_text(
        json.dumps({"code": int(code), "tests": tests, "lines": lines, "modules": modules}), encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
