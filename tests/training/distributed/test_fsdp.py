"""A sharded model computes, saves and loads what the whole one does. One process holds all shards of its group."""

from collections.abc import Iterator

import pytest
import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from regard.config import TrainConfig
from regard.model.weights import tensors_of
from regard.run import Run
from regard.tasks.translate.loss import TranslationLoss
from regard.training.checkpoint import TrainingState
from regard.training.distributed.fsdp import FSDPCheckpoints, FSDPProcess, local_shard
from regard.training.ema import build_ema
from regard.training.optim import build_optimizers
from tests.training.conftest import make_batch, make_loss_module

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def process() -> Iterator[FSDPProcess]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
            patch.setenv(name, value)
        process = FSDPProcess(CPU)
        yield process
        process.close()


def gradients(loss_module: TranslationLoss) -> dict[str, torch.Tensor | None]:
    found = {name: p.grad for name, p in loss_module.model.named_parameters()}
    return {name: g.full_tensor() if isinstance(g, DTensor) else g for name, g in found.items()}


def test_a_sharded_copy_computes_what_the_whole_model_does(process: FSDPProcess):
    whole = make_loss_module()
    sharded = TranslationLoss(process.shard_model(whole.model), 0.1)
    assert not any(isinstance(p, DTensor) for p in whole.model.parameters())
    layers = [*sharded.model.encoder.layers, *sharded.model.decoder.layers]
    assert len(layers) == 4 and all(isinstance(module, FSDPModule) for module in (*layers, sharded.model))
    assert all(isinstance(p, DTensor) for p in sharded.model.parameters())
    batches = [make_batch([3, 7, 2], seed=seed) for seed in (5, 7)]
    for batch, last in zip(batches, (False, True), strict=True):
        with process.sync_gradients(sharded, last):
            mine, theirs = sharded(batch), whole(batch)
            torch.testing.assert_close(mine.objective, theirs.objective)
            mine.objective.backward()
            theirs.objective.backward()
        assert all((g is not None) == last for g in gradients(sharded).values())  # with the last batch, all of them
    for name, gradient in gradients(whole).items():
        torch.testing.assert_close(gradients(sharded)[name], gradient)


def checkpoints(process: FSDPProcess, folder, seed: int) -> FSDPCheckpoints:
    whole = make_loss_module().model
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in whole.parameters():
            p.normal_()
    shards = process.shard_model(whole)
    optimizers = build_optimizers(TrainConfig(), shards)
    for p in whole.parameters():
        p.detach().zero_()  # what is saved comes from the shards
    return FSDPCheckpoints(Run(folder), whole, optimizers, build_ema(shards, 0.0), 2, 2, sharded_model=shards)


def test_what_is_saved_whole_is_loaded_into_shards(process: FSDPProcess, tmp_path):
    first, second = checkpoints(process, tmp_path, 3), checkpoints(process, tmp_path, 5)
    for p in first.sharded_model.parameters():
        p.grad = torch.ones_like(p)
    first.optimizers.step(1.0)
    first.gather_shards()
    first.save(TrainingState(7))
    assert second.load() == TrainingState(7)
    expected = {name: tensor.full_tensor() for name, tensor in tensors_of(first.sharded_model).items()}
    assert not any(isinstance(tensor, DTensor) for tensor in first.resume_tensors().values())
    for name, tensor in tensors_of(second.sharded_model).items():
        assert isinstance(tensor, DTensor) and torch.equal(tensor.full_tensor(), expected[name])
        assert torch.equal(tensors_of(first.model)[name], expected[name])
        assert torch.equal(tensors_of(second.model)[name], expected[name])
    moments = second.optimizers.state_tensors()
    assert moments.keys() == first.optimizers.state_tensors().keys()
    for name, tensor in first.optimizers.state_tensors().items():
        assert isinstance(moments[name], DTensor) == bool(tensor.dim())
        assert torch.equal(process.full_tensor(moments[name]), process.full_tensor(tensor))
    like = next(iter(tensors_of(second.sharded_model).values()))
    assert torch.equal(local_shard(torch.ones(like.shape), like).full_tensor(), torch.ones(like.shape))
