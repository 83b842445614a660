"""Look at what a translator attends to while it writes a given translation."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import collate
from regard.data.corpora import GoldPair, spans
from regard.inspection.alignment import Counts, by_words, compare, link
from regard.inspection.record import cross_weights
from regard.tasks.translate import Translator

BATCH = 64


@dataclass(frozen=True)
class Attention:
    """Cross-attention averaged over all layers and heads, by pieces and by words."""

    source_pieces: list[str]
    target_pieces: list[str]
    pieces: Tensor  # (target pieces with eos, source pieces with eos)
    source_words: list[str]
    target_words: list[str]
    words: Tensor  # (target words, source words)


def attention(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Attention]:
    """What was looked at when each source is translated as its target."""
    found = []
    for start in range(0, len(sources), BATCH):
        found += _attention(translator, sources[start : start + BATCH], targets[start : start + BATCH])
    return found


def alignment_error(translator: Translator, pairs: Sequence[GoldPair]) -> Counts:
    """The averaged cross-attention as an aligner, against gold."""
    looks = attention(translator, [pair.source for pair in pairs], [pair.target for pair in pairs])
    total = Counts()
    for look, pair in zip(looks, pairs, strict=True):
        total += compare(link(look.words), pair.alignment)
    return total


def _attention(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Attention]:
    read, write = translator.tokenizers.source, translator.tokenizers.target
    source_ids, target_ids = read.encode(sources), write.encode(targets)
    weights = cross_weights(translator.model, collate(source_ids, target_ids))
    found = []
    for i, all_heads in enumerate(weights):
        mean = all_heads.float().mean(dim=(0, 1)).cpu()  # (layers, H, T, S) -> (T, S)
        ends = (spans(sources[i]), spans(targets[i]))
        pieces = (read.spans(sources[i], source_ids[i]), write.spans(targets[i], target_ids[i]))
        found.append(
            Attention(
                source_pieces=[*read.pieces(source_ids[i]), "</s>"],
                target_pieces=[*write.pieces(target_ids[i]), "</s>"],
                pieces=mean,
                source_words=[sources[i][a:b] for a, b in ends[0]],
                target_words=[targets[i][a:b] for a, b in ends[1]],
                words=by_words(mean, *pieces, words=ends) if ends[0] and ends[1] else torch.zeros(0, 0),
            )
        )
    return found
