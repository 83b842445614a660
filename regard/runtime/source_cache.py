"""What decoding knows of its sources. Those of like length stand together, so that little padding is looked at."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import attend_kept, hide
from regard.model.attention import Attention, KeyValues
from regard.runtime.padding_free import Packed

READ = 1024  # tokens of sources that are read at a time: what is computed of them stays in the cache
FEW = 8  # sentences for which one call of the fused kernel costs less than the four of plain products
ALIKE = 0.75  # of the longest of a band: what is shorter stands in another one
WORTH = 32  # sentences for which a band is worth its calls
SPARSE = 0.5  # of a band's sentences: if fewer are left, it closes its ranks


class Mask(NamedTuple):
    """Which keys may be looked at (B, 1, 1, t), and the same as numbers to add to scores; None: all."""

    keep: Tensor | None = None
    hidden: Tensor | None = None

    @staticmethod
    def of(keep: Tensor, like: Tensor) -> "Mask":
        return Mask() if bool(keep.all()) else Mask(keep, hide(keep, like))


def mix(attention: Attention, q: Tensor, seen: KeyValues, mask: Mask, at: Tensor) -> Tensor:
    """`Attention.mix`; on a CPU many rows do without the fused kernel, whose blocks are made for many queries each."""
    if len(q) < FEW or q.device.type != "cpu" or not attention.fusable:
        return attention.mix(q, seen, mask.keep, at)
    return attention.mixed(attend_kept(q, seen.k, seen.v, mask.hidden, attention.positions.bias(q, at, seen.at)))


class Memory:
    """What every layer looks at of N sources."""

    def __init__(self, reader: Packed):
        self.count = 0
        self._reader = reader
        self._bands: list[_Band] = []

    def enter(self, source: Tensor) -> None:
        """More sources (n, S), below those that are there."""
        real = source != self._reader.model.pad
        for numbers in _alike(real.sum(dim=1).tolist()) if source.device.type == "cpu" else [range(len(source))]:
            rows = torch.tensor(numbers, device=source.device)
            longest = int(real[rows].sum(dim=1).max())
            self._bands.append(_Band(self._reader, source[rows, :longest], rows + self.count))
        self.count += len(source)

    def select(self, sentences: Tensor) -> None:
        """Go on with these sentences, each of them once."""
        order = torch.arange(len(sentences), device=sentences.device)
        if len(sentences) == self.count and torch.equal(sentences, order):
            return  # as when beams change places inside their sentences
        now = torch.full((self.count,), -1, device=sentences.device)
        now[sentences] = order
        self.count = len(sentences)
        self._bands = [band for band in self._bands if band.follow(now)]

    def mix(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        """What queries (N, H, t, K) take from their own sources."""
        if len(self._bands) == 1 and self._bands[0].in_order:
            return self._bands[0].mix(layer, attention, q)
        mixed = torch.empty_like(q)
        for band in self._bands:
            mixed.index_copy_(0, band.places, band.mix(layer, attention, q[band.asks])[band.left])
        return mixed


class _Band:
    """Sources of like length: keys and values of every layer. Those that are gone stay until many are."""

    def __init__(self, reader: Packed, source: Tensor, places: Tensor):
        """Sources (n, S), and which sentences of all they are (n,)."""
        self._like = reader.model.output.weight
        self._real = (source != reader.model.pad)[:, None, None]  # (n, 1, 1, S)
        self._mask = Mask.of(self._real, self._like)
        self._seen = _read(reader, source)
        self._stand(places)

    def follow(self, now: Tensor) -> bool:
        """Sentences have moved: where each of them stands now (N,), -1 for those that are gone. Whether any is left."""
        before = torch.full_like(self.asks, -1)
        before[self.left] = self.places
        places = torch.where(before < 0, before, now[before.clamp(min=0)])
        left = int((places >= 0).sum())
        if left < SPARSE * len(places):
            order = places.argsort()[len(places) - left :]
            self._keep(order)
            places = places[order]
        self._stand(places)
        return left > 0

    def mix(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        seen = self._seen[layer]
        return mix(attention, q, seen, self._mask, seen.at[:, :1])  # wherever: cross-attention has no positions

    def _stand(self, places: Tensor) -> None:
        """Where each of its sentences stands among all (n,), -1 for those that are gone."""
        self.left = (places >= 0).nonzero()[:, 0]
        self.places = places[self.left]
        self.asks = places.clamp(min=0)  # whom each asks for: somebody, where nobody wants the answer
        self.in_order = torch.equal(places, torch.arange(len(places), device=places.device))

    def _keep(self, order: Tensor) -> None:
        longest = int(self._real[order].sum(dim=-1).max()) if len(order) else 0
        self._real = self._real[order, ..., :longest]
        self._mask = Mask.of(self._real, self._like)
        self._seen = [_part(seen, order, longest) for seen in self._seen]


def _part(seen: KeyValues, rows: Tensor, columns: int) -> KeyValues:
    k, v = (side[:, :, :columns].index_select(0, rows) for side in (seen.k, seen.v))
    return KeyValues(k, v, seen.at[:, :columns])


def _alike(lengths: Sequence[int]) -> list[list[int]]:
    """Which sentences stand together."""
    bands: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not bands or (len(bands[-1]) >= WORTH and lengths[i] < ALIKE * lengths[bands[-1][0]]):
            bands.append([])
        bands[-1].append(i)
    return [sorted(band) for band in bands]


def _read(reader: Packed, source: Tensor) -> list[KeyValues]:
    """What every layer looks at of sources (n, S), read some at a time."""
    each = max(1, READ // source.shape[1]) if source.device.type == "cpu" else len(source)
    parts = [reader.read(rows) for rows in source.split(each)]
    return [  # put together even where there is one: what is read may lie otherwise than those who ask like it
        KeyValues(torch.cat([part.k for part in layer]), torch.cat([part.v for part in layer]), layer[0].at)
        for layer in zip(*parts, strict=True)
    ]
