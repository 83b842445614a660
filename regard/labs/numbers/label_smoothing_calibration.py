"""Label smoothing makes confidences honest."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.metrics.labels.calibration import expected_calibration_error
from regard.model.build import build_encoder
from regard.model.projection import Projection
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.tasks.loss import TokenLoss
from regard.training.toy import train_toy

CLAIM = "Label smoothing calibrates: a model that is trained with it is less often surer than right."
SOURCE = "Müller et al. 2019, section 3"
CLAIMS = ()
PREDICT = "A fifth of the labels is wrong. Which share of its calibration error does a smoothing of 0.3 leave? (0 to 1)"
CHANGE = "WRONG=0.0: does it still help when all labels are right? SMOOTHINGS=(0.0, 0.1, 0.3, 0.6): can it be too much?"
TURN = {"TEXTS": (100, 300, 1000, 3000)}

WIDTH, LENGTH, TEXTS, WRONG, STEPS, SMOOTHINGS, SEEDS = 32, 10, 300, 0.2, 300, (0.0, 0.3), 9

LossFactory = Callable[[Projection, float], TokenLoss]


def draw_texts(rows: int) -> tuple[Tensor, Tensor]:
    """Texts of which a share has the wrong label."""
    ids, labels = charged_words(rows, LENGTH)
    return ids, labels ^ (torch.rand(rows) < WRONG)


def measure(smoothing: float, make_loss: LossFactory) -> tuple[float, float]:
    """The calibration error and the accuracy on new texts, in %, of a classifier that saw the same few often."""
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0)
    model = build_encoder(config, SentimentWords().vocab_size, 0, num_labels=2)
    criterion, (ids, labels) = make_loss(model.output, smoothing), draw_texts(TEXTS)

    def loss() -> Tensor:
        rows = torch.randint(TEXTS, (32,))
        return criterion(model.pool(model(ids[rows]), ids[rows] != 0), labels[rows]).objective / len(rows)

    train_toy(model, loss, STEPS)
    new_ids, new_labels = draw_texts(2000)
    with torch.no_grad():
        confidences, predictions = criterion.predict(model.pool(model(new_ids), new_ids != 0)).exp().max(dim=-1)
    correct = predictions == new_labels
    return expected_calibration_error(confidences.numpy(), correct.numpy()).value, 100 * float(correct.float().mean())


def run(seeds: Sequence[int], TokenLoss: LossFactory = TokenLoss) -> Finding:
    measured = {smoothing: over(seeds, partial(measure, smoothing, TokenLoss)) for smoothing in SMOOTHINGS}
    errors = {smoothing: [error for error, _ in rows] for smoothing, rows in measured.items()}

    without, most = errors[SMOOTHINGS[0]], errors[SMOOTHINGS[-1]]
    left = [after / before for before, after in zip(without, most, strict=True)]
    # 0.8: a fifth less is a change that a reader of a reliability curve sees
    parts = [Effect(f"the share of the calibration error that a smoothing of {SMOOTHINGS[-1]} leaves", left, most=0.8)]
    return Finding(
        parts,
        Table.from_rows(
            {"label smoothing": smoothing, "%": fmean(one[n] for one in rows), "what": what}
            for n, what in enumerate(("calibration error", "accuracy"))
            for smoothing, rows in measured.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "label smoothing", "%", "what")


def broken(seeds: Sequence[int]) -> Finding:
    """Labels that are smoothed by nothing."""
    return run(seeds, TokenLoss=lambda output, smoothing: TokenLoss(output, 0.0))
