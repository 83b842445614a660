"""Which numbers are computed with, and whether padding is left out."""

import os
from pathlib import Path

import pytest
import torch

from regard.errors import ConfigError
from regard.training.distributed import ddp, fsdp
from regard.training.precision import Precision, resolve_precision, uses_padding_free

CPU = torch.device("cpu")


def test_the_precision_of_a_setting():
    assert resolve_precision("auto", CPU) == resolve_precision("float32", CPU) == Precision(CPU)
    assert resolve_precision("float64", CPU).weight_dtype == torch.float64
    half = resolve_precision("bfloat16", CPU)
    assert half == Precision(CPU, torch.float32, torch.bfloat16) and str(half) == "bfloat16"
    assert str(resolve_precision("float64", CPU)) == "float64"
    weight = torch.randn(3, 5)
    with half.context():
        assert (weight @ weight.mT).dtype == torch.bfloat16
    with Precision(CPU).context():
        assert (weight @ weight.mT).dtype == torch.float32


@pytest.mark.parametrize(
    ("precision", "sharded", "supported"),
    [
        (Precision(CPU), False, True),
        (Precision(CPU, torch.float64), False, True),
        (Precision(CPU), True, False),
        (Precision(CPU, autocast_dtype=torch.bfloat16), False, False),
        (Precision(torch.device("cuda")), False, False),
    ],
)
def test_padding_is_left_out_where_kernels_can(precision: Precision, sharded: bool, supported: bool):
    assert uses_padding_free("auto", precision, sharded) == supported
    assert not uses_padding_free(False, precision, sharded)
    if supported:
        assert uses_padding_free(True, precision, sharded)
    else:
        with pytest.raises(ConfigError, match=r"train\.padding_free=true needs a CPU"):
            uses_padding_free(True, precision, sharded)


def test_a_process_alone_is_the_main_one_and_sums_its_own():
    one = ddp.SingleProcess(CPU)
    assert one.is_main_process and (one.rank, one.world_size, one.local_world_size) == (0, 1, 1) and not one.sharded
    assert one.all_reduce_sum((1.0, 2.0)) == [1.0, 2.0] and one.broadcast(3.0) == 3.0 and one.full_model_device == CPU
    module = torch.nn.Linear(2, 2)
    assert one.wrap(module) is module
    other = ddp.SingleProcess(CPU)
    other.rank = 1
    assert not other.is_main_process


def test_torchrun_is_known_by_what_it_sets(monkeypatch: pytest.MonkeyPatch):
    for name in ("WORLD_SIZE", "MASTER_ADDR", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    assert not ddp.is_distributed() and ddp.local_rank() == 0 and ddp.launch_id() == ""
    assert isinstance(ddp.init_processes(CPU), ddp.SingleProcess)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert not ddp.is_distributed()
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    assert ddp.is_distributed() and ddp.init_processes(CPU, lambda device: device) is CPU  # type: ignore[arg-type,return-value]
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not ddp.is_distributed()
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "run")
    assert ddp.local_rank() == 3
    name, parent, started = ddp.launch_id().split(" ")
    assert (name, int(parent)) == ("run", os.getppid()) and ddp.launch_id() == f"{name} {parent} {started}"


def test_when_a_process_started_is_what_the_system_says():
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    assert ddp._process_start_time(os.getpid()) == fields[19] != ddp._process_start_time(1)  # proc(5): field 22
    assert ddp._process_start_time(2**30) == ""


def test_a_sharded_model_is_saved_from_the_main_memory():
    assert fsdp.FSDPProcess.sharded and not ddp.MultiProcess.sharded
    process = object.__new__(fsdp.FSDPProcess)
    process.device = torch.device("cuda")
    module = torch.nn.Linear(2, 2)
    assert process.full_model_device == CPU and process.wrap(module) is module
    tensor = torch.zeros(3)
    assert fsdp.local_shard(tensor, module.weight) is tensor and process.full_tensor(tensor) is tensor
