"""A model that no device holds as a whole: each process has a shard of every weight, gradient and moment (FSDP2).

The layers are gathered one at a time while they are needed. The full model, which is validated and saved, is kept
besides in the main memory of each machine, and is updated from the shards before it is used.
"""

import contextlib
import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.model import weights
from regard.model.transformer import TransformerStack
from regard.training.checkpoint import CheckpointManager
from regard.training.distributed.ddp import MultiProcess


class FSDPProcess(MultiProcess):
    """One of several processes, each with a shard of the model."""

    sharded = True

    @property
    def full_model_device(self) -> torch.device:
        return torch.device("cpu")

    def shard_model(self, model: nn.Module) -> nn.Module:
        """A sharded copy of the model."""
        mesh = init_device_mesh(self.device.type, (self.world_size,))
        model = copy.deepcopy(model).to(self.device)
        for stack in model.modules():
            if isinstance(stack, TransformerStack):
                for layer in stack.layers:
                    fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    def wrap(self, loss_module: nn.Module) -> nn.Module:
        return loss_module

    def sync_gradients(self, loss_module: nn.Module, last: bool) -> AbstractContextManager[None]:
        loss_module.model.set_requires_gradient_sync(last)  # type: ignore[operator, union-attr]
        return contextlib.nullcontext()

    def full_tensor(self, tensor: Tensor) -> Tensor:
        return _full_tensor(tensor)


@dataclass
class FSDPCheckpoints(CheckpointManager):
    """Checkpoints of a sharded model. All processes gather the shards; the main process saves them."""

    sharded_model: nn.Module = field(kw_only=True)
    _resume_tensors: dict[str, Tensor] = field(default_factory=dict)

    def gather_shards(self) -> None:
        with self.ema.averaged_weights():
            weights.load_into(self.model, self._full_tensors(weights.tensors_of(self.sharded_model)), "the shards")
        self._resume_tensors = self._full_tensors(super().resume_tensors())

    @contextlib.contextmanager
    def evaluation_weights(self) -> Iterator[dict[str, Tensor]]:
        yield weights.tensors_of(self.model)

    def resume_tensors(self) -> dict[str, Tensor]:
        return self._resume_tensors

    def load_weights(self, tensors: Mapping[str, Tensor], where: str) -> None:
        super().load_weights(tensors, where)
        shards = weights.tensors_of(self.sharded_model)
        weights.load_into(
            self.sharded_model, {name: local_shard(tensors[name], shards[name]) for name in shards}, where
        )

    def place_tensor(self, tensor: Tensor, like: Tensor) -> Tensor:
        return local_shard(tensor, like) if tensor.shape == like.shape else super().place_tensor(tensor, like)

    def _full_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: _full_tensor(tensor).cpu() for name, tensor in tensors.items()}


def local_shard(tensor: Tensor, like: Tensor) -> Tensor:
    """The shard of a full tensor that belongs to this process, if `like` is sharded."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _full_tensor(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
