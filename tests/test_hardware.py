"""What the machine has is read from where the system says it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard import hardware
from regard.errors import ConfigError
from regard.training.precision import Precision, resolve_precision, uses_padding_free

FLUSHED = """
import torch
from regard.hardware import configure_cpu, measure_matmul_flops
configure_cpu(2)
measure_matmul_flops(1)
tiny = torch.full((1_000_003,), 1e-39)
assert torch.get_num_threads() == 2
print(int((tiny * 1.0).count_nonzero()))
"""


def test_remembered_files_do_not_count_as_used():
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0.5 * free < hardware._system_available_memory() < total


def test_a_container_has_what_it_may_use(tmp_path: Path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\ninactive_file 150000\n")
    assert hardware._cgroup_available_memory(tmp_path) == 450_000
    (tmp_path / "memory.max").write_text("max\n")
    assert hardware._cgroup_available_memory(tmp_path) is None
    assert hardware._cgroup_available_memory(tmp_path / "none") is None


def test_tiny_numbers_are_zero_in_every_thread():
    done = subprocess.run([sys.executable, "-c", FLUSHED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_importing_it_does_not_import_torch():
    program = "import sys, regard.hardware; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split() == ["False"]


def test_padding_free_batches_are_for_full_models_on_cpus():
    cpu = torch.device("cpu")
    single, half = resolve_precision("float32", cpu), resolve_precision("bfloat16", cpu)
    assert uses_padding_free("auto", single, False)
    assert uses_padding_free(True, resolve_precision("float64", cpu), False)
    assert not uses_padding_free(False, single, False)
    elsewhere = Precision(torch.device("meta"))
    for precision, sharded in ((half, False), (single, True), (elsewhere, False)):
        assert not uses_padding_free("auto", precision, sharded)
        with pytest.raises(ConfigError, match=r"train.padding_free=true needs a CPU, .* train.padding_free=false"):
            uses_padding_free(True, precision, sharded)
    assert [str(precision) for precision in (single, half)] == ["float32", "bfloat16"]
