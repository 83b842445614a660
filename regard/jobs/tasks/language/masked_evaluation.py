"""The scores of a masked language model on passages: the loss of masked tokens beside that of their frequencies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from regard.baselines import OpponentResult, compare_sums
from regard.data.documents.passages import cut_passages
from regard.data.store import Array, RaggedArray
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.metrics import Score
from regard.metrics.intervals import FloatArray, NonNegativeScale, make_score, ratio_interval, ratio_score
from regard.model.modules import device_of, evaluation_mode
from regard.progress import track
from regard.tasks.masked_lm.filler import MaskFiller
from regard.tasks.masked_lm.masking import FixedMaskingCollator
from regard.tasks.text_batch import IGNORED, batch_by_length

NATS_SCALE = NonNegativeScale(unit=1)
UNIGRAM = "token frequencies"


class ScoredPassage(NamedTuple):
    """A passage, and how well its masked tokens are predicted."""

    text: str
    num_masks: int
    nats: float
    num_correct: int


@dataclass(frozen=True)
class MaskedEvaluation:
    """The scores of a masked language model on a set of passages."""

    scores: dict[str, Score]
    loss: float
    """Nats per masked token."""
    passages: tuple[ScoredPassage, ...]
    opponents: tuple[OpponentResult, ...] = ()


class MaskedRow(NamedTuple):
    """The masked tokens of a passage."""

    labels: Array
    nats: FloatArray
    num_correct: int


def evaluate_masked_language_model(
    filler: MaskFiller,
    collator: FixedMaskingCollator,
    texts: Sequence[str],
    signature: str,
    token_counts: FloatArray | None = None,
) -> MaskedEvaluation:
    """Predict the masked tokens of passages; with the counts of training tokens, also by their frequencies."""
    rows = _score_rows(filler, collator, texts)
    passages = tuple(
        ScoredPassage(text, len(row.labels), float(row.nats.sum()), row.num_correct)
        for text, row in zip(texts, rows, strict=True)
    )
    masks = np.array([one.num_masks for one in passages], np.float64)
    nats, correct = (np.array([getattr(one, name) for one in passages]) for name in ("nats", "num_correct"))
    scores = _make_scores(nats, correct, masks, signature)
    opponents = () if token_counts is None else (_score_frequencies(rows, token_counts, nats, masks, signature),)
    return MaskedEvaluation(scores, scores["loss"].value, passages, opponents)


def cut_documents(texts: Sequence[str], filler: MaskFiller, language: str) -> list[str]:
    """The passages of documents that the model reads as a whole."""
    return [
        passage
        for text in track(texts, "cutting documents into passages")
        for passage in cut_passages(text, filler.tokenizer, filler.max_length, language)
    ]


def smooth_frequencies(token_counts: FloatArray) -> FloatArray:
    """ln p of every token by its count in the training text, plus one: (V,)."""
    return np.asarray(np.log((token_counts + 1) / (token_counts + 1).sum()))


def count_regular_tokens(ids: RaggedArray, tokenizer: TextTokenizer) -> FloatArray:
    """How often each token occurs, special ones, which are never masked, aside: (V,)."""
    counts = np.bincount(ids.values, minlength=tokenizer.vocab_size).astype(np.float64)
    counts[list(tokenizer.special_ids)] = 0
    return counts


def _score_rows(filler: MaskFiller, collator: FixedMaskingCollator, texts: Sequence[str]) -> list[MaskedRow]:
    ids = filler.tokenizer.encode(texts, filler.max_length)
    scored: dict[int, MaskedRow] = {}
    with evaluation_mode(filler.model), torch.inference_mode():
        for numbers in track(batch_by_length(ids), "predicting masked tokens"):
            batch_rows = [ids[i] for i in numbers]
            scored |= dict(zip(numbers, _score_batch(filler, collator, batch_rows), strict=True))
    return [scored[i] for i in range(len(texts))]


def _score_batch(filler: MaskFiller, collator: FixedMaskingCollator, rows: list[list[int]]) -> Iterator[MaskedRow]:
    batch = collator(rows, rows, ()).to(device_of(filler.model))
    has_label = batch.labels != IGNORED
    log_probs = filler.model.output(filler.model(batch.ids)[has_label]).log_softmax(dim=-1)  # (N, V)
    labels = batch.labels[has_label]
    nats = -log_probs.gather(1, labels[:, None])[:, 0].double()
    is_correct = log_probs.argmax(dim=-1) == labels
    sizes = has_label.sum(dim=1).tolist()
    for row_labels, row_nats, correct in zip(*(x.cpu().split(sizes) for x in (labels, nats, is_correct)), strict=True):
        yield MaskedRow(row_labels.numpy(), row_nats.numpy(), int(correct.sum()))


def _make_scores(nats: FloatArray, correct: FloatArray, masks: FloatArray, signature: str) -> dict[str, Score]:
    total = f"unit:masked-token|tokens:{int(masks.sum())}|passages:{len(masks)}|{signature}"
    value, interval = float(nats.sum() / masks.sum()), ratio_interval(nats, masks, NATS_SCALE)
    return {
        "loss": make_score("nats per masked token", value, interval, total, NATS_SCALE),
        "accuracy": ratio_score("accuracy", correct.tolist(), masks.tolist(), total),
    }


def _score_frequencies(
    rows: Sequence[MaskedRow], token_counts: FloatArray, nats: FloatArray, masks: FloatArray, signature: str
) -> OpponentResult:
    """Every mask is filled by the frequencies of the training text alone."""
    log_probs = smooth_frequencies(token_counts)
    most_frequent = int(log_probs.argmax())
    its_nats = np.array([-log_probs[row.labels].sum() for row in rows])
    its_correct = np.array([np.count_nonzero(row.labels == most_frequent) for row in rows])
    tests = compare_sums(masks, nats, {UNIGRAM: its_nats})
    return OpponentResult(UNIGRAM, _make_scores(its_nats, its_correct, masks, signature), {"loss": tests[UNIGRAM]})
