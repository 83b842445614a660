"""Saying where a token stands, whichever it is."""

import torch

from regard.data.toy_tasks.toy_batch import ToyBatch


def which_part(rows: int, length: int, symbols: int, parts: int) -> ToyBatch:
    """Random symbols; the target at each place is the part of the text that it is in, of `parts` equal ones: (B, T)."""
    ids = torch.randint(1, symbols + 1, (rows, length))
    return ToyBatch(ids, (torch.arange(length) * parts // length).repeat(rows, 1))
