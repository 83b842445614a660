"""Keys and values of the sources that are being translated, bucketed by length so that little padding is read."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.model.attention import Attention, KeyValues
from regard.runtime.attention import AttentionMask, decode_heads
from regard.runtime.padding_free import PaddingFreeForward

TOKENS_PER_ENCODE = 1024  # source tokens encoded at a time: their activations stay in the CPU's cache
MIN_LENGTH_RATIO = 0.75  # of a bucket's longest source; a shorter one goes into another bucket
MIN_BUCKET_SIZE = 32  # sentences that pay for a bucket's own kernel calls
MIN_OCCUPANCY = 0.5  # of a bucket's rows; below it the bucket is compacted


class NoSourceCache:
    """For models without a source."""

    def admit(self, source: Tensor) -> None:
        """Add sources (n, S) after the present ones."""

    def select(self, sentences: Tensor) -> None:
        """Continue with these sentences, each of them once."""

    def attend(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        """Head outputs of queries (N, H, t, K), each over its own source."""
        raise NotImplementedError


class SourceCache(NoSourceCache):
    """The keys and values of N sources, for the cross-attention of every layer."""

    def __init__(self, source_encoder: PaddingFreeForward):
        self.count = 0
        self._source_encoder = source_encoder
        self._buckets: list[LengthBucket] = []

    def admit(self, source: Tensor) -> None:
        attention_mask = source != self._source_encoder.model.pad
        on_cpu = source.device.type == "cpu"
        for indices in _bucket_by_length(attention_mask.sum(dim=1).tolist()) if on_cpu else [range(len(source))]:
            rows = torch.tensor(indices, device=source.device)
            max_length = int(attention_mask[rows].sum(dim=1).max())
            self._buckets.append(LengthBucket(self._source_encoder, source[rows, :max_length], rows + self.count))
        self.count += len(source)

    def select(self, sentences: Tensor) -> None:
        order = torch.arange(len(sentences), device=sentences.device)
        if len(sentences) == self.count and torch.equal(sentences, order):
            return  # as when beams are reordered inside their sentences
        new_ids = torch.full((self.count,), -1, device=sentences.device)
        new_ids[sentences] = order
        self.count = len(sentences)
        self._buckets = [bucket for bucket in self._buckets if bucket.reindex(new_ids)]

    def attend(self, layer: int, attention: Attention, q: Tensor) -> Tensor:
        if len(self._buckets) == 1 and self._buckets[0].in_order:
            return self._buckets[0].attend(layer, attention, q)
        head_outputs = torch.empty_like(q)
        for bucket in self._buckets:
            head_outputs.index_copy_(
                0, bucket.active_sentences, bucket.attend(layer, attention, q[bucket.query_rows])[bucket.active_rows]
            )
        return head_outputs


class LengthBucket:
    """Sources of similar length: keys and values of every layer. Finished ones stay until there are many."""

    def __init__(self, source_encoder: PaddingFreeForward, source: Tensor, sentence_ids: Tensor):
        """Sources (n, S), and the indices of their sentences in the batch (n,)."""
        self._like = source_encoder.model.output.weight
        self._attn_mask = (source != source_encoder.model.pad)[:, None, None]  # (n, 1, 1, S)
        self._mask = AttentionMask.if_needed(self._attn_mask, self._like)
        self._kv = _encode_sources(source_encoder, source)
        self._set_sentences(sentence_ids)

    def reindex(self, new_ids: Tensor) -> bool:
        """Follow sentences to their new indices (N,), -1 for finished ones. Returns whether any is left."""
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
        any_position = kv.position_ids[:, :1]  # cross-attention has no positions
        return decode_heads(attention, q, kv, self._mask, any_position)

    def _set_sentences(self, sentence_ids: Tensor) -> None:
        """The index of each row's sentence in the batch (n,), -1 for finished ones."""
        self.active_rows = (sentence_ids >= 0).nonzero()[:, 0]
        self.active_sentences = sentence_ids[self.active_rows]
        self.query_rows = sentence_ids.clamp(min=0)  # a finished row repeats a query, and its output is not used
        self.in_order = torch.equal(sentence_ids, torch.arange(len(sentence_ids), device=sentence_ids.device))

    def _compact(self, order: Tensor) -> None:
        max_length = int(self._attn_mask[order].sum(dim=-1).max()) if len(order) else 0
        self._attn_mask = self._attn_mask[order, ..., :max_length]
        self._mask = AttentionMask.if_needed(self._attn_mask, self._like)
        self._kv = [_slice_kv(kv, order, max_length) for kv in self._kv]


def _slice_kv(kv: KeyValues, rows: Tensor, columns: int) -> KeyValues:
    k, v = (tensor[:, :, :columns].index_select(0, rows) for tensor in (kv.k, kv.v))
    return KeyValues(k, v, kv.position_ids[:, :columns])


def _bucket_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """The sentences of each bucket."""
    buckets: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not buckets or (
            len(buckets[-1]) >= MIN_BUCKET_SIZE and lengths[i] < MIN_LENGTH_RATIO * lengths[buckets[-1][0]]
        ):
            buckets.append([])
        buckets[-1].append(i)
    return [sorted(bucket) for bucket in buckets]


def _encode_sources(source_encoder: PaddingFreeForward, source: Tensor) -> list[KeyValues]:
    """Keys and values of sources (n, S) for every layer, encoded in parts."""
    batch_size = max(1, TOKENS_PER_ENCODE // source.shape[1]) if source.device.type == "cpu" else len(source)
    parts = [source_encoder.encode(rows) for rows in source.split(batch_size)]
    return [  # concatenated even if there is one part: its memory layout may be a slow one to attend to
        KeyValues(torch.cat([part.k for part in layer]), torch.cat([part.v for part in layer]), layer[0].position_ids)
        for layer in zip(*parts, strict=True)
    ]
