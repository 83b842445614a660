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


def test_a_container_has_the_cores_of_its_time_limit(tmp_path: Path):
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert hardware._cgroup_cores(tmp_path) == 2
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert hardware._cgroup_cores(tmp_path) is None
    assert hardware._cgroup_cores(tmp_path / "none") is None


@pytest.fixture
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Eleven cores, no other program, no variable."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(11)))
    monkeypatch.setattr(hardware, "_cgroup_cores", lambda: None)
    monkeypatch.setattr(hardware, "count_runnable_threads", lambda: 0)
    return monkeypatch


@pytest.mark.parametrize("value, cores", [("3", 3), (" 3,2", 3), ("13", 11), ("0", 11), ("", 11), ("many", 11)])
def test_the_number_of_threads_of_openmp_is_heeded(quiet_machine: pytest.MonkeyPatch, value: str, cores: int):
    quiet_machine.setenv("OMP_NUM_THREADS", value)
    assert hardware.count_cores() == cores
    requested = value.strip(" ,2").isdecimal() and int(value.split(",")[0]) > 0
    expected = (int(value.split(",")[0]), "OMP_NUM_THREADS") if requested else (11, "one per core")
    choice = hardware.choose_threads()
    assert (choice.threads, choice.reason) == expected


def test_the_one_thread_that_torchrun_sets_is_not_the_users(quiet_machine: pytest.MonkeyPatch):
    quiet_machine.setenv("OMP_NUM_THREADS", "1")
    quiet_machine.setenv("TORCHELASTIC_RUN_ID", "none")
    assert hardware.choose_threads(num_processes=3).threads == 3
    quiet_machine.setenv("OMP_NUM_THREADS", "2")
    assert hardware.choose_threads(num_processes=3).threads == 2


@pytest.mark.parametrize(
    "speeds, threads",
    [
        ({11: 5.0, 9: 7.0, 5: 6.0, 1: 3.0}, 9),
        ({11: 7.0, 9: 7.9, 5: 6.0, 1: 3.0}, 11),  # less than noise
        ({11: 0.5, 9: 0.7, 5: 0.9, 1: 2.0}, 1),
    ],
)
def test_a_busy_machine_gets_the_threads_that_are_fastest(
    quiet_machine: pytest.MonkeyPatch, speeds: dict[int, float], threads: int
):
    quiet_machine.setattr(hardware, "count_runnable_threads", lambda: 2)
    quiet_machine.setattr(hardware, "_measure_thread_counts", lambda counts: {count: speeds[count] for count in counts})
    notes: list[str] = []
    quiet_machine.setattr(hardware, "report_note", notes.append)
    choice = hardware.choose_threads()
    assert choice.threads == threads
    assert "busy" in choice.reason
    expected_note = f"the machine is busy, so {threads} of 11 threads are used"
    assert [note.split(":")[0] for note in notes] == ([expected_note] if threads != 11 else [])


def test_every_number_of_threads_is_measured():
    before = torch.get_num_threads()
    speeds = hardware._measure_thread_counts([2, 1])
    torch.set_num_threads(before)
    assert set(speeds) == {1, 2}
    assert min(speeds.values()) > 0


def test_other_programs_that_want_a_core_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            assert hardware.count_runnable_threads() >= 1
        finally:
            busy.kill()
    load_file = tmp_path / "loadavg"
    monkeypatch.setattr(hardware, "LOAD_FILE", load_file)
    load_file.write_text("5.00 4.00 3.00 1/7 99\n")
    assert hardware.count_runnable_threads() == 0  # this thread alone
    load_file.write_text("0.00 0.00 0.00 4/7 99\n")
    assert hardware.count_runnable_threads() == 3
    load_file.unlink()
    assert hardware.count_runnable_threads() == int(os.getloadavg()[0])


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
