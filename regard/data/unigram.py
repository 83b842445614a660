"""The loss of a unigram model, which knows only how frequent each token is: a trained model must get below it."""

import numpy as np

from regard.data.store import Array, RaggedArray
from regard.data.tokenizers.tokenizer import EOS

MAX_TOKENS = 5_000_000  # tokens to count
CHUNK = 1 << 17


def unigram_loss(train: RaggedArray, dev: RaggedArray, vocab_size: int) -> float:
    """Nats per token of dev, EOS included, under the token frequencies of train with add-one smoothing."""
    train_counts = _count_tokens(train, vocab_size) + 1.0
    dev_counts = _count_tokens(dev, vocab_size)
    return float(-(dev_counts * np.log(train_counts / train_counts.sum())).sum() / max(1.0, dev_counts.sum()))


def _count_tokens(ids: RaggedArray, vocab_size: int) -> Array:
    counts, last = np.zeros(vocab_size), min(MAX_TOKENS, len(ids.values))
    for start in range(0, last, CHUNK):  # bincount copies its input to int64
        counts += np.bincount(ids.values[start : min(start + CHUNK, last)], minlength=vocab_size)
    ends = np.searchsorted(ids.starts, last, side="right") - 1
    counts[EOS] += float(ends)
    return counts
