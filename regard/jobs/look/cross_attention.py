"""Cross-attention averaged over all layers and heads, by tokens and by words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import collate
from regard.inspection.example import Example, TokenizedText, build_pair_example
from regard.inspection.heads.alignment import merge_subwords
from regard.inspection.trace import cross_attention_weights
from regard.tasks.translate.translator import Translator

BATCH_SIZE = 64


@dataclass(frozen=True)
class CrossAttentionMatrix:
    """The mean cross-attention of one pair."""

    source_tokens: list[str]
    target_tokens: list[str]
    token_weights: Tensor  # (target tokens with eos, source tokens with eos)
    source_words: list[str]
    target_words: list[str]
    word_weights: Tensor  # (target words, source words)


def compute_cross_attention(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> list[CrossAttentionMatrix]:
    """The attention when each source is translated as its target."""
    matrices = []
    for start in range(0, len(sources), BATCH_SIZE):
        matrices += _compute_cross_attention_batch(
            translator, sources[start : start + BATCH_SIZE], targets[start : start + BATCH_SIZE]
        )
    return matrices


def _compute_cross_attention_batch(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> list[CrossAttentionMatrix]:
    examples = [build_pair_example(translator.tokenizers, *pair) for pair in zip(sources, targets, strict=True)]
    sides = [(example.source, _target(example)) for example in examples]
    batch = collate([source.ids[:-1] for source, _ in sides], [target.ids[:-1] for _, target in sides])  # adds eos
    matrices = []
    weights = cross_attention_weights(translator.encoder_decoder, batch)
    for (source, target), all_heads in zip(sides, weights, strict=True):
        mean = all_heads.float().mean(dim=(0, 1)).cpu()  # (layers, H, T, S) -> (T, S)
        has_words = source.words and target.words
        word_weights = merge_subwords(mean, target, source) if has_words else torch.zeros(0, 0)
        matrices.append(
            CrossAttentionMatrix(
                source_tokens=list(source.tokens),
                target_tokens=list(target.tokens),
                token_weights=mean,
                source_words=list(source.words),
                target_words=list(target.words),
                word_weights=word_weights,
            )
        )
    return matrices


def _target(example: Example) -> TokenizedText:
    assert example.target is not None
    return example.target
