"""Cross-attention averaged over all layers and heads, by tokens and by words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import collate
from regard.inspection.heads.alignment import merge_subwords_by_span
from regard.inspection.trace import cross_attention_weights
from regard.languages import word_spans
from regard.tasks.translate import Translator

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
    source_tokenizer, target_tokenizer = translator.tokenizers.source, translator.tokenizers.target
    source_ids, target_ids = source_tokenizer.encode(sources), target_tokenizer.encode(targets)
    weights = cross_attention_weights(translator.model, collate(source_ids, target_ids))
    matrices = []
    for i, all_heads in enumerate(weights):
        mean = all_heads.float().mean(dim=(0, 1)).cpu()  # (layers, H, T, S) -> (T, S)
        spans = (word_spans(sources[i]), word_spans(targets[i]))
        token_spans = (
            source_tokenizer.spans(sources[i], source_ids[i]),
            target_tokenizer.spans(targets[i], target_ids[i]),
        )
        matrices.append(
            CrossAttentionMatrix(
                source_tokens=[*source_tokenizer.convert_ids_to_tokens(source_ids[i]), "</s>"],
                target_tokens=[*target_tokenizer.convert_ids_to_tokens(target_ids[i]), "</s>"],
                token_weights=mean,
                source_words=[sources[i][a:b] for a, b in spans[0]],
                target_words=[targets[i][a:b] for a, b in spans[1]],
                word_weights=merge_subwords_by_span(mean, *token_spans, word_spans=spans)
                if spans[0] and spans[1]
                else torch.zeros(0, 0),
            )
        )
    return matrices
