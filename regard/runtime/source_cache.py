"""What decoding knows of its sources. Those of like length stand together, so that little padding is looked at."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import attention_saved_weights, to_additive_mask
from regard.model.attention import Attention, KeyValues
from regard.runtime.padding_free import PaddingFree

TOKENS_PER_ENCODE = 1024  # tokens of sources that are read at a time: what is computed of them stays in the cache
MIN_UNFUSED_ROWS = 8  # sentences for which one call of the fused kernel costs less than the four of plain products
MIN_LENGTH_RATIO = 0.75  # of the longest of a band: what is shorter stands in another one
MIN_BUCKET_SIZE = 32  # sentences for which a band is worth its calls
MIN_OCCUPANCY = 0.5  # of a band's sentences: if fewer are left, it closes its ranks


class AttentionMask(NamedTuple):
    """Which keys may be looked at (B, 1, 1, t), and the same as numbers to add to scores; None: all."""

    attn_mask: Tensor | None = None
    additive_mask: Tensor | None = None

    @staticmethod
    def of(attn_mask: Tensor, like: Tensor) -> "AttentionMask":
        return AttentionMask() if bool(attn_mask.all()) else AttentionMask(attn_mask, to_additive_mask(attn_mask, like))


def decode_attention(
    attention: Attention, q: Tensor, kv: KeyValues, mask: AttentionMask, position_ids: Tensor
) -> Tensor:
    """`Attention.mix`; on a CPU many rows do without the fused kernel, whose blocks are made for many queries each."""
    if len(q) < MIN_UNFUSED_ROWS or q.device.type != "cpu" or not attention.fusable:
        return attention.attend(q, kv, mask.attn_mask, position_ids)
    return attention.head_outputs(
        attention_saved_weights(
            q, kv.k, kv.v, mask.additive_mask, attention.positions.bias(q, position_ids, kv.position_ids)
        )
    )


class SourceCache:
    """What every layer looks at of N sources."""

    def __init__(self, source_encoder: PaddingFree):
        self.count = 0
        self._source_encoder = source_encoder
        self._buckets: list[LengthBucket] = []

    def admit(self, source: Tensor) -> None:
        """More sources (n, S), below those that are there."""
        attention_mask = source != self._source_encoder.model.pad
        for indices in (
            _bucket_by_length(attention_mask.sum(dim=1).tolist())
            if source.device.type == "cpu"
            else [range(len(source))]
        ):
            rows = torch.tensor(indices, device=source.device)
            max_length = int(attention_mask[rows].sum(dim=1).max())
            self._buckets.append(LengthBucket(self._source_encoder, source[rows, :max_length], rows + self.count))
        self.count += len(source)

    def select(self, sentences: Tensor) -> None:
        """Go on with these sentences, each of them once."""
        order = torch.arange(len(sentences), device=sentences.device)
        if len(sentences) == self.count and torch.equal(sentences, order):
            return  # as when beams change places inside their sentences
        new_ids = torch.full((self.count,), -1, device=sentences.device)
        new_ids[sentences] = order
        self.count = len(sentences)
        self._buckets = [bucket for bucket in self._buckets if bucket.reindex(new_ids)]

    def attend(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        """What queries (N, H, t, K) take from their own sources."""
        if len(self._buckets) == 1 and self._buckets[0].in_order:
            return self._buckets[0].attend(layer, attention, q)
        head_outputs = torch.empty_like(q)
        for bucket in self._buckets:
            head_outputs.index_copy_(
                0, bucket.active_sentences, bucket.attend(layer, attention, q[bucket.query_rows])[bucket.active_rows]
            )
        return head_outputs


class LengthBucket:
    """Sources of like length: keys and values of every layer. Those that are gone stay until many are."""

    def __init__(self, source_encoder: PaddingFree, source: Tensor, sentence_ids: Tensor):
        """Sources (n, S), and which sentences of all they are (n,)."""
        self._like = source_encoder.model.output.weight
        self._attn_mask = (source != source_encoder.model.pad)[:, None, None]  # (n, 1, 1, S)
        self._mask = AttentionMask.of(self._attn_mask, self._like)
        self._kv = _encode_sources(source_encoder, source)
        self._set_sentences(sentence_ids)

    def reindex(self, new_ids: Tensor) -> bool:
        """Sentences have moved: where each of them stands now (N,), -1 for those that are gone. Whether any is left."""
        old_ids = torch.full_like(self.query_rows, -1)
        old_ids[self.active_rows] = self.active_sentences
        sentence_ids = torch.where(old_ids < 0, old_ids, new_ids[old_ids.clamp(min=0)])
        active_count = int((sentence_ids >= 0).sum())
        if active_count < MIN_OCCUPANCY * len(sentence_ids):
            order = sentence_ids.argsort()[len(sentence_ids) - active_count :]
            self._compact(order)
            sentence_ids = sentence_ids[order]
        self._set_sentences(sentence_ids)
        return active_count > 0

    def attend(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        kv = self._kv[layer]
        return decode_attention(
            attention, q, kv, self._mask, kv.position_ids[:, :1]
        )  # wherever: cross-attention has no positions

    def _set_sentences(self, sentence_ids: Tensor) -> None:
        """Where each of its sentences stands among all (n,), -1 for those that are gone."""
        self.active_rows = (sentence_ids >= 0).nonzero()[:, 0]
        self.active_sentences = sentence_ids[self.active_rows]
        self.query_rows = sentence_ids.clamp(min=0)  # whom each asks for: somebody, where nobody wants the answer
        self.in_order = torch.equal(sentence_ids, torch.arange(len(sentence_ids), device=sentence_ids.device))

    def _compact(self, order: Tensor) -> None:
        max_length = int(self._attn_mask[order].sum(dim=-1).max()) if len(order) else 0
        self._attn_mask = self._attn_mask[order, ..., :max_length]
        self._mask = AttentionMask.of(self._attn_mask, self._like)
        self._kv = [_slice_kv(kv, order, max_length) for kv in self._kv]


def _slice_kv(kv: KeyValues, rows: Tensor, columns: int) -> KeyValues:
    k, v = (tensor[:, :, :columns].index_select(0, rows) for tensor in (kv.k, kv.v))
    return KeyValues(k, v, kv.position_ids[:, :columns])


def _bucket_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Which sentences stand together."""
    buckets: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not buckets or (
            len(buckets[-1]) >= MIN_BUCKET_SIZE and lengths[i] < MIN_LENGTH_RATIO * lengths[buckets[-1][0]]
        ):
            buckets.append([])
        buckets[-1].append(i)
    return [sorted(bucket) for bucket in buckets]


def _encode_sources(source_encoder: PaddingFree, source: Tensor) -> list[KeyValues]:
    """What every layer looks at of sources (n, S), read some at a time."""
    batch_size = max(1, TOKENS_PER_ENCODE // source.shape[1]) if source.device.type == "cpu" else len(source)
    parts = [source_encoder.encode(rows) for rows in source.split(batch_size)]
    return [  # put together even where there is one: what is read may lie otherwise than those who ask like it
        KeyValues(torch.cat([part.k for part in layer]), torch.cat([part.v for part in layer]), layer[0].at)
        for layer in zip(*parts, strict=True)
    ]
