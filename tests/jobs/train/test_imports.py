"""Training imports only what it needs."""

import subprocess
import sys

import pytest

LIST_MODULES = "import sys, {module}; print(*(name for name in sys.modules if name.startswith('regard.')))"


@pytest.mark.parametrize("module", ["regard.jobs.train.fit", "regard.training.loop", "regard.training.log"])
def test_training_imports_neither_inspection_nor_pruning_nor_pages(module: str):
    command = [sys.executable, "-c", LIST_MODULES.format(module=module)]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert module in names
    unwanted = (
        "regard.inspection",
        "regard.jobs.prune",
        "regard.jobs.look",
        "regard.jobs.report",
        "regard.report.look",
    )
    assert [name for name in names if name.startswith(unwanted)] == []
