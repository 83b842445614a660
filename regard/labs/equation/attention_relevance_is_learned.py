"""A token with a higher weight is more relevant, once this has been learned."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.model.taps import record
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "The scaled product of query and key gives more weight to the tokens that are more relevant."
SOURCE = "lectures on Transformers"
CLAIMS = (6,)
PREDICT = "One token of 11 is asked for. How many equal shares of attention does it get after training? (0 to 11)"
CHANGE = "STEPS=20: does the weight come before the right answer, or after it?"
TURN = {"STEPS": (20, 50, 150)}

TOKENS, SYMBOLS, STEPS, ROWS = 11, 8, 150, 64

Train = Callable[..., list[float]]


def measure(train_toy: Train) -> tuple[float, float]:
    """The weight of the marked token, as a multiple of an equal share, before and after training."""
    config = ModelConfig(dim=32, heads=1, layers=1, ffn=64, dropout=0.0, positions=PositionsConfig(kind="none"))
    model = build_encoder(config, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)

    def predict() -> tuple[Tensor, Tensor, Tensor]:
        """The labels' scores of the first token, the targets, and the ids."""
        ids, targets = marked_symbols(ROWS, TOKENS, SYMBOLS)
        return model.output(model(ids)[:, 0]), targets[:, 0], ids

    def relevance() -> float:
        with torch.no_grad(), record(model, "encoder.layers.0.self_attn.weights") as tensors:
            _, _, ids = predict()
        weights = tensors["encoder.layers.0.self_attn.weights"][:, 0, 0]  # (B, H, T, T) -> (B, T): the first query
        return float(weights[ids > SYMBOLS].mean()) * TOKENS

    before = relevance()
    train_toy(model, lambda: F.cross_entropy(*predict()[:2]), STEPS, learning_rate=1e-2)
    return before, relevance()


def run(seeds: Sequence[int], train_toy: Train = train_toy) -> Finding:
    before, after = zip(*over(seeds, lambda: measure(train_toy)), strict=True)
    return Finding(
        [
            # 2: twice what it would get if all tokens were alike, the least that deserves the word "more"
            Effect("the weight of the relevant token after training, in equal shares,", after, least=2),
            Effect("the weight of the relevant token before training, in equal shares,", before, least=2),
        ],
        Table.from_rows(
            {"model": name, "weight, in equal shares": sum(values) / len(values)}
            for name, values in (("not trained", before), ("trained", after))
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "model", "weight, in equal shares")


def broken(seeds: Sequence[int]) -> Finding:
    """No training: nothing makes the relevant token matter."""
    return run(seeds, train_toy=lambda *arguments, **options: [])
