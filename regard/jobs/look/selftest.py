"""The self-tests of `regard look`."""

from collections.abc import Iterator

from regard.hardware import configure_cpu
from regard.inspection import selftest
from regard.inspection.selftest import SelfTestResult


def run_selftests() -> Iterator[SelfTestResult]:
    """Run every self-test on this machine."""
    configure_cpu(1)  # the models are so small that more threads would only wait for each other
    yield from selftest.run_selftests()
