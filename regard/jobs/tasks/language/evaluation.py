"""The scores of a causal language model on documents: bits per byte beside those of cheap opponents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.baselines import OpponentResult, compare_bits, score_bits
from regard.baselines.language import BITS_SCALE
from regard.data.store import Array
from regard.jobs.tasks.language.opponents import OpponentBits
from regard.jobs.tasks.language.segments import TextSegment, cut_segments, describe_units, sum_by_segment
from regard.metrics import Score
from regard.metrics.intervals import FloatArray, make_score, ratio_interval
from regard.tasks.generate import LanguageModel


@dataclass(frozen=True)
class ScoredSegment:
    """A document, or a part of one."""

    text: str
    num_bytes: int
    bits: float


@dataclass(frozen=True)
class LanguageEvaluation:
    """The scores of a language model on a set of documents."""

    scores: dict[str, Score]
    loss: float
    """Nats per token, the ends of documents included."""
    segments: tuple[ScoredSegment, ...]
    units: str
    """What the segments are: documents, or segments of documents."""
    opponents: tuple[OpponentResult, ...] = ()


def evaluate_language_model(
    model: LanguageModel, texts: Sequence[str], opponents: OpponentBits | None = None
) -> LanguageEvaluation:
    """Score documents, each alone; with opponents, also theirs, and paired tests."""
    segments, units = cut_segments(texts), describe_units(texts)
    nats, positions = model.token_nats(texts), [_token_positions(model, text) for text in texts]
    bits = sum_by_segment(segments, positions, nats) / math.log(2)
    tokens = sum_by_segment(segments, positions, [np.ones(len(row)) for row in nats])
    sizes = np.array([segment.end - segment.begin for segment in segments])
    context = describe_context(model.max_length)
    per_byte = score_bits(bits, sizes, units)
    scores = {
        "bits_per_byte": replace(per_byte, signature=f"{per_byte.signature}|{context}"),
        "perplexity": score_perplexity(
            bits * math.log(2), tokens, f"{context}|vocabulary:{model.tokenizer.vocab_size}"
        ),
    }
    return LanguageEvaluation(
        scores,
        float(bits.sum() * math.log(2) / tokens.sum()),
        tuple(map(_make_segment, segments, bits.tolist(), [texts[segment.document] for segment in segments])),
        units,
        _compare(sizes, bits, opponents, units) if opponents else (),
    )


def describe_context(max_length: int) -> str:
    """How a document is read that is longer than the context, for signatures."""
    return f"context:{max_length}|stride:{max(1, max_length // 2)}"


def score_perplexity(nats: FloatArray, tokens: FloatArray, signature: str) -> Score:
    """exp(Σ nats / Σ tokens), with its interval over segments."""
    score = make_score(
        "perplexity per token",
        float(nats.sum() / tokens.sum()),
        ratio_interval(nats, tokens, BITS_SCALE),
        f"unit:token|tokens:{int(tokens.sum())}|{signature}",
        BITS_SCALE,
    )
    value, low, high = (None if x is None else math.exp(min(x, 700.0)) for x in (score.value, score.low, score.high))
    assert value is not None
    return replace(score, value=value, low=low, high=high)


def _token_positions(model: LanguageModel, text: str) -> Array:
    """The byte that each token of a document begins at, and where it ends."""
    (ids,) = model.tokenizer.encode([text])
    decode_token = model.tokenizer.byte_decoder([])
    return np.cumsum([0, *(len(decode_token(i)) for i in ids)])


def _make_segment(segment: TextSegment, bits: float, text: str) -> ScoredSegment:
    content = text.encode("utf-8")[segment.begin : segment.end]
    return ScoredSegment(content.decode("utf-8", errors="ignore"), segment.end - segment.begin, bits)


def _compare(sizes: FloatArray, bits: FloatArray, opponents: OpponentBits, units: str) -> tuple[OpponentResult, ...]:
    others = (OpponentResult(name, {"bits_per_byte": score}) for name, score in opponents.scores.items())
    return (*compare_bits(sizes, bits, opponents.bits, units), *others)
