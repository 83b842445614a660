"""A model that no device holds whole: each process keeps a share of every weight, gradient and moment (FSDP2).

The layers are gathered one at a time while they are needed. What is judged and saved is the whole model, which each
process keeps besides in the main memory of its machine, and which is brought up to date when somebody wants it.
"""

import contextlib
import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.model import weights
from regard.model.transformer import EncoderDecoder
from regard.training.checkpoint import Checkpoints
from regard.training.distributed.ddp import Many


class Sharded(Many):
    """One of several processes that share one model among them."""

    sharded = True

    @property
    def home(self) -> torch.device:
        return torch.device("cpu")

    def spread(self, model: EncoderDecoder) -> EncoderDecoder:
        """A copy of the model, in shares."""
        mesh = init_device_mesh(self.device.type, (self.size,))
        model = copy.deepcopy(model).to(self.device)
        for layer in (*model.encoder.layers, *model.decoder.layers):
            if hasattr(layer, "cross"):  # which is asked for the source's keys before its layer's turn comes
                fully_shard(layer.cross, mesh=mesh)
                register_fsdp_forward_method(layer.cross, "look_at")
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    def wrap(self, learner: nn.Module) -> nn.Module:
        return learner

    def alone(self, learner: nn.Module, last: bool) -> AbstractContextManager[None]:
        learner.model.set_requires_gradient_sync(last)  # type: ignore[operator, union-attr]
        return contextlib.nullcontext()

    def whole(self, tensor: Tensor) -> Tensor:
        return _whole(tensor)


@dataclass
class Gathered(Checkpoints):
    """Checkpoints of a model in shares. All processes collect; the first one saves what was collected."""

    trained: EncoderDecoder = field(kw_only=True)
    _rest: dict[str, Tensor] = field(default_factory=dict)

    def collect(self) -> None:
        with self.ema.applied():
            weights.load_into(self.model, self._whole(weights.tensors_of(self.trained)), "the shares")
        self._rest = self._whole(super().kept())

    @contextlib.contextmanager
    def judged(self) -> Iterator[dict[str, Tensor]]:
        yield weights.tensors_of(self.model)

    def kept(self) -> dict[str, Tensor]:
        return self._rest

    def take(self, judged: Mapping[str, Tensor], where: str) -> None:
        super().take(judged, where)
        shares = weights.tensors_of(self.trained)
        weights.load_into(self.trained, {name: share_of(judged[name], shares[name]) for name in shares}, where)

    def place(self, tensor: Tensor, like: Tensor) -> Tensor:
        return share_of(tensor, like) if tensor.shape == like.shape else super().place(tensor, like)

    def _whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: _whole(tensor).cpu() for name, tensor in tensors.items()}


def share_of(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's share of a whole tensor, where the other is one."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
