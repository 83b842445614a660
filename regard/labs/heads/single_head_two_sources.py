"""One head can read two tokens."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.attention import AttentionFunction, Normalizer, attend, masked_softmax
from regard.model.build import ATTENDS, build_encoder, use_parts
from regard.model.variants import hard_attention
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "An output that depends on two tokens needs two heads: a head attends to one place at a time."
SOURCE = "lectures on Transformers, about the tense of a verb; discussion sheet of a course on deep learning"
CLAIMS = (23,)
PREDICT = (
    "Two marked symbols of 11 are to be reported. What does a second head add to the accuracy at width 32? (0 to 1)"
)
CHANGE = "WIDTHS=8: what is too little, heads or width?"

WIDTHS, HEADS, TOKENS, SYMBOLS, STEPS, SEEDS = (16, 32), (1, 2), 11, 8, 200, 4
ROWS, TEST_ROWS = 64, 512


def accuracy(masked_softmax: Normalizer, dim: int, heads: int) -> float:
    """The share of texts in which a trained encoder of one layer names both marked symbols, in any order."""
    config = ModelConfig(
        dim=dim, heads=heads, layers=1, ffn=2 * dim, dropout=0.0, positions=PositionsConfig(kind="none")
    )
    attention: AttentionFunction = partial(attend, normalizer=masked_softmax)
    with use_parts(ATTENDS, softmax=attention):
        model = build_encoder(config, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)

    def logits(rows: int) -> tuple[Tensor, Tensor]:
        batch = marked_symbols(rows, TOKENS, SYMBOLS, places=2)
        return model.output(model(batch.ids)[:, 0]), batch.targets  # (B, V), (B, 2)

    def loss() -> Tensor:
        scores, targets = logits(ROWS)
        return F.cross_entropy(scores.repeat(2, 1), targets.T.flatten())

    train_toy(model, loss, STEPS, learning_rate=1e-2)
    with torch.no_grad():
        scores, targets = logits(TEST_ROWS)
    best = scores.topk(2).indices  # (B, 2)
    return float((targets[:, :, None] == best[:, None, :]).any(-1).all(-1).double().mean())


def run(seeds: Sequence[int], masked_softmax: Normalizer = masked_softmax) -> Finding:
    measured = {
        (dim, heads): over(seeds, partial(accuracy, masked_softmax, dim, heads)) for dim in WIDTHS for heads in HEADS
    }
    gains = {
        dim: [two - one for one, two in zip(measured[dim, HEADS[0]], measured[dim, HEADS[1]], strict=True)]
        for dim in WIDTHS
    }
    return Finding(
        [
            # 0.1: what needs a second head fails without it, in a tenth of the texts at least
            Effect(
                f"what a second head adds to the accuracy at width {dim}",
                gains[dim],
                least=0.1,
                grain=1 / TEST_ROWS,
                limit=1,
            )
            for dim in sorted(WIDTHS, reverse=True)
        ],
        Table.from_rows(
            {"heads": heads, "accuracy": sum(values) / len(values), "width": f"width {dim}"}
            for (dim, heads), values in measured.items()
        ),
        [Need("the accuracy with two heads", measured[max(WIDTHS), HEADS[1]], 0.9)],
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "heads", "accuracy", "width")


def control(seeds: Sequence[int]) -> Finding:
    """Heads that attend to one token alone, by argmax, with the softmax's gradient: now a second one is needed."""

    def one_token(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        weights = masked_softmax(scores, attn_mask)
        return hard_attention(scores, attn_mask) + weights - weights.detach()

    return run(seeds, masked_softmax=one_token)
