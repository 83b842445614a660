"""The softmax of the output makes a distribution, and training makes it a probability."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "A linear layer and a softmax at the end give the probabilities of the words."
SOURCE = "slides of a lecture on Transformers"
CLAIMS = (32,)
PREDICT = "Two words in three are 'a'. By how much is the worst probability of a word off after 60 steps? (0 to 1)"
CHANGE = "STEPS=5: how many steps does a probability take?"
TURN = {"STEPS": (1, 5, 20, 60)}

WORDS, COMMON, ROWS, STEPS = 6, 10, 64, 60
"""The first word is COMMON times as frequent as each of the others."""

Softmax = Callable[[Tensor], Tensor]


def softmax(logits: Tensor) -> Tensor:
    return logits.softmax(dim=-1)


def word_shares() -> Tensor:
    """Of the words in the text, after padding."""
    counts = torch.tensor([0.0, COMMON, *[1] * (WORDS - 1)])
    return counts / counts.sum()


def measure(softmax: Softmax) -> tuple[float, list[float], list[float]]:
    """How far the numbers are from adding up to 1; what each word gets before and after training."""
    none = PositionsConfig(kind="none")
    config = ModelConfig(dim=16, heads=2, layers=1, ffn=32, dropout=0.0, tie_embeddings=False, positions=none)
    model = build_decoder(config, WORDS + 1, pad=0)

    def draw_words(count: int) -> Tensor:
        return torch.multinomial(word_shares(), count * ROWS, replacement=True).view(ROWS, count)

    def predict() -> Tensor:
        with torch.no_grad():
            return softmax(model.output(model(draw_words(1))[:, 0])).double().mean(0)

    def loss() -> Tensor:
        ids = draw_words(2)
        return F.cross_entropy(model.output(model(ids[:, :1])[:, 0]), ids[:, 1])

    before = predict()
    train_toy(model, loss, STEPS, learning_rate=3e-2)
    after = predict()
    return max(abs(float(p.sum()) - 1) for p in (before, after)), before.tolist(), after.tolist()


def run(seeds: Sequence[int], softmax: Softmax = softmax) -> Finding:
    sums, before, after = zip(*over(seeds, lambda: measure(softmax)), strict=True)
    shares = word_shares().tolist()

    def misses(predictions: Sequence[list[float]]) -> list[float]:
        return [max(abs(p - share) for p, share in zip(one, shares, strict=True)) for one in predictions]

    return Finding(
        [
            # 0.1: a probability that is wrong by a tenth would not be called one
            Effect("the largest error of a word's probability after training", misses(after), most=0.1),
            Effect("the largest error of a word's probability before training", misses(before), most=0.1),
            Exact("the distance from 1 of the sum of a model's numbers", sums, tolerance=1e-5),
        ],
        Table.from_rows(
            {"word": word, "probability": sum(one[n] for one in rows) / len(rows), "by": by}
            for by, rows in (("the text", [shares]), ("an untrained model", before), ("a trained one", after))
            for n, word in enumerate("abcdefghijk"[:WORDS], 1)
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "word", "probability", "by")


def broken(seeds: Sequence[int]) -> Finding:
    """No softmax: the logits themselves are no distribution, trained or not."""
    return run(seeds, softmax=lambda logits: logits)
