"""Finding what stands somewhere else: a marked symbol, or the one some places before."""

import torch

from regard.data.toy_tasks.toy_batch import IGNORED, ToyBatch


def marked_symbols(rows: int, length: int, symbols: int, places: tuple[int, ...] | int = 1) -> ToyBatch:
    """Random symbols, some of which are marked; the targets are the marked ones: (B, N).

    Symbols are ids from 1 to `symbols`; a marked one has `symbols` added. `places` are those of the marks, or how many
    random ones there are, in the order of the text. Targets count from 0.
    """
    ids = torch.randint(1, symbols + 1, (rows, length))
    if isinstance(places, int):
        marks = torch.rand(rows, length).argsort(dim=1)[:, :places].sort(dim=1).values  # (B, N)
    else:
        marks = torch.tensor(places).expand(rows, -1)
    targets = ids.gather(1, marks) - 1
    return ToyBatch(ids.scatter(1, marks, ids.gather(1, marks) + symbols), targets)


def n_back(rows: int, length: int, symbols: int, n: int) -> ToyBatch:
    """Random symbols; the target at each place is the symbol `n` places before: (B, T). The first n have none."""
    ids = torch.randint(1, symbols + 1, (rows, length))
    targets = torch.full_like(ids, IGNORED)
    targets[:, n:] = ids[:, : length - n] - 1
    return ToyBatch(ids, targets)
