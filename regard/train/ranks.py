"""Who else trains with us. Solo has the face of many and no one to wait for, so the loop never asks."""

from torch import Tensor


class Solo:
    """One process."""

    rank, size = 0, 1

    def sum(self, value: float) -> float:
        """The total over all processes."""
        return value

    def backward(self, loss: Tensor) -> None:
        loss.backward()
