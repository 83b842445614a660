"""A keyword that gives the label away: do heat maps find it?"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.single_stack import EncoderOnly
from regard.model.taps import record
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy_classifier import erasure_costs_of_tokens, label_log_probs, train_toy_classifier

CLAIM = "Heat maps of attention reveal that a model relies on a keyword instead of reading the text."
SOURCE = "lectures on attention as a way to find faults of models"
CLAIMS = (104,)
PREDICT = "A keyword decides the answer. In which share of texts does it get the most attention? (0 to 1)"
CHANGE = "RELIABLE=0.5: does a model that sees a worse keyword read the text after all?"
TURN = {"RELIABLE": (0.1, 0.5, 0.9, 1.0)}

WIDTH, LENGTH, STEPS, LAYERS, TEXTS, RELIABLE, SEEDS = 32, 10, 150, 2, 128, 1.0, 12
WORDS = SentimentWords()

Explanation = Callable[[EncoderOnly, Tensor], Tensor]


@torch.no_grad()
def mean_attention(model: EncoderOnly, ids: Tensor) -> Tensor:
    """The weight of each token for the first one, mean over heads and layers: (B, T - 1), without the first."""
    with record(model, "*.weights") as layers:
        model(ids)
    return torch.stack([weights[:, :, 0, 1:].mean(dim=1) for weights in layers.values()]).mean(dim=0)


def swap_keywords(ids: Tensor) -> Tensor:
    """The same texts with the keyword of the other label."""
    first, second = WORDS.keywords
    return torch.where(ids == first, second, torch.where(ids == second, first, ids))


def measure(explanations: Sequence[Explanation]) -> list[float]:
    """How often each explanation names the keyword first; last, how often the answer turns with the keyword."""
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0)
    draw_batch = partial(charged_words, 32, LENGTH, WORDS, RELIABLE)
    model = train_toy_classifier(config, WORDS.vocab_size, draw_batch, STEPS)
    ids, _ = charged_words(TEXTS, LENGTH, WORDS, RELIABLE)
    places = ((ids == WORDS.keywords[0]) | (ids == WORDS.keywords[1]))[:, 1:].int().argmax(dim=1)
    shares = [float((explain(model, ids).argmax(dim=1) == places).float().mean()) for explain in explanations]
    with torch.no_grad():
        answers = [label_log_probs(model, rows).argmax(dim=1) for rows in (ids, swap_keywords(ids))]
    return [*shares, float((answers[0] != answers[1]).float().mean())]


def run(seeds: Sequence[int], mean_attention: Explanation = mean_attention) -> Finding:
    measured = over(seeds, lambda: measure([mean_attention, erasure_costs_of_tokens]))
    attention, erasure, turned = ([one[n] for one in measured] for n in range(3))
    # 0.5: in most texts the keyword is what a reader of the heat map sees first
    parts = [Effect("how often the keyword gets the most attention", attention, least=0.5, grain=1 / TEXTS, limit=1)]
    needs = [Need("how often another keyword turns the answer", turned, least=0.8)]
    return Finding(
        parts,
        Table.from_rows(
            [
                {"found by": "attention", "share of texts": fmean(attention)},
                {"found by": "erasure", "share of texts": fmean(erasure)},
                {"found by": "chance", "share of texts": 1 / (LENGTH - 1)},
            ]
        ),
        needs,
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "found by", "share of texts")


def broken(seeds: Sequence[int]) -> Finding:
    """Weights that were drawn by lot instead of those of the model."""
    return run(seeds, mean_attention=lambda model, ids: torch.rand(len(ids), ids.shape[1] - 1))
