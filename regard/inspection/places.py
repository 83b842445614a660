"""Positions seen: the vectors of any scheme, which places it takes for alike, and what it does to scores."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.record import Model, sites
from regard.model.positions import Absolute, Chosen, Concatenated, Positions, Rotary

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """What a stack knows of places."""

    stack: str
    scheme: str
    vectors: Matrix | None
    """(places, D) what is added to or put beside words; None where nothing is."""
    gram: Matrix | None
    """(places, places) their inner products: which places look alike."""
    singular: tuple[float, ...]
    """Singular values of the vectors, largest first."""
    effects: dict[str, Matrix]
    """By attention, (H, places, places): what is added to scores whatever the words are; rows are queries."""
    kernel: Matrix | None
    """(pairs, places) cosines of the angles by which rotation turns at each distance; None without rotation."""


@torch.no_grad()
def places(model: Model, stack: str, count: int) -> Places:
    """The first places of a stack."""
    embedding = getattr(model, stack).embedding
    at = torch.arange(min(count, embedding.positions.limit))[None]
    vectors = _vectors(embedding.positions, at)
    effects: dict[str, Matrix] = {}
    scheme: Positions = embedding.positions
    kernel = None
    for site in sites(model):
        own = site.attention.positions
        if site.name.split(".")[0] != stack or site.kind == "cross" or type(own) is Positions:
            continue
        scheme = own.of if isinstance(own, Chosen) else own
        if isinstance(scheme, Rotary):
            kernel = np.cos(np.outer(scheme.speed.double().cpu().numpy(), at[0].numpy()))
        elif (effect := _effect(own, site.attention.heads, site.attention.width, at)) is not None:
            effects[site.name] = effect
    gram = None if vectors is None else vectors @ vectors.T
    singular = () if vectors is None else tuple(np.linalg.svd(vectors, compute_uv=False).tolist())
    name = type(scheme).__name__.lower() if type(scheme) is not Positions else "none"
    return Places(stack, name, vectors, gram, singular, effects, kernel)


def _vectors(positions: Positions, at: Tensor) -> Matrix | None:
    if not isinstance(positions, Absolute):
        return None
    inner = positions.beside if isinstance(positions, Concatenated) else positions
    found = inner.vectors(at, torch.zeros(1))
    return np.asarray(found[0].double().cpu().numpy())


def _effect(positions: Positions, heads: int, width: int, at: Tensor) -> Matrix | None:
    """What a scheme adds to the scores of queries that say nothing; one that asks the query adds nothing there."""
    bias = positions.bias(torch.zeros(1, heads, at.shape[1], width), at, at)
    if bias is None:
        return None
    found = bias[0].expand(heads, -1, -1).double()
    hidden = found < torch.finfo(torch.float32).min / 8
    return np.asarray(found.masked_fill(hidden, -torch.inf).cpu().numpy())
