"""Two models that answer alike, and their heat maps."""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.inspection.heads.faithfulness import jensen_shannon
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.single_stack import EncoderOnly
from regard.model.taps import record
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy_classifier import label_log_probs, train_toy_classifier

CLAIM = "A heat map of attention shows clearly what a model has learned: who answers alike looks at the same words."
SOURCE = "lectures on attention; against it Jain and Wallace 2019, Wiegreffe and Pinter 2019"
CLAIMS = (103,)
PREDICT = "Two trainings give the same answers. In which share of texts do they attend most to the same word? (0 to 1)"
CHANGE = "LAYERS=1: are the heat maps of shallower models more alike?"
TURN = {"LAYERS": (1, 2, 3)}

WIDTH, LENGTH, STEPS, LAYERS, TEXTS, SEEDS = 32, 10, 180, 3, 256, 13
WORDS = SentimentWords()

Train = Callable[[], EncoderOnly]


def train_model() -> EncoderOnly:
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0)
    return train_toy_classifier(config, WORDS.vocab_size, lambda: charged_words(32, LENGTH), STEPS, learning_rate=5e-3)


@torch.no_grad()
def read_texts(model: EncoderOnly, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The answers (B,), and the weights of the first token, mean over heads and layers (B, T)."""
    with record(model, "*.weights") as layers:
        answers = label_log_probs(model, ids).argmax(dim=1)
    return answers, torch.stack([weights[:, :, 0].mean(dim=1) for weights in layers.values()]).mean(dim=0)


def compare(retrain: Callable[[EncoderOnly], EncoderOnly]) -> tuple[float, float, float]:
    """How often two trainings attend most to the same word; the divergence of their weights in bits; same answers."""
    first = train_model()
    second = retrain(first)
    ids, _ = charged_words(TEXTS, LENGTH)
    (answers, weights), (other_answers, other_weights) = read_texts(first, ids), read_texts(second, ids)
    same_word = weights[:, 1:].argmax(dim=1) == other_weights[:, 1:].argmax(dim=1)
    divergence = jensen_shannon(weights.double(), other_weights.double()).mean()
    return float(same_word.float().mean()), float(divergence), float((answers == other_answers).float().mean())


def run(seeds: Sequence[int], retrain: Callable[[EncoderOnly], EncoderOnly] = lambda first: train_model()) -> Finding:
    measured = over(seeds, lambda: compare(retrain))
    same_word, divergence, same_answer = ([one[n] for one in measured] for n in range(3))
    return Finding(
        # 0.95: as often as they give the same answer, which is what the map is said to show
        [Effect("how often both attend most to the same word", same_word, least=0.95)],
        Table.from_rows(
            [
                {"both models": "the same answer", "share of texts": fmean(same_answer)},
                {"both models": "the same most attended word", "share of texts": fmean(same_word)},
                {"both models": "overlap of weights (1 - divergence)", "share of texts": 1 - fmean(divergence)},
            ]
        ),
        [Need("how often both give the same answer", same_answer, least=0.9)],
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "both models", "share of texts")


def control(seeds: Sequence[int]) -> Finding:
    """A model and itself."""
    return run(seeds, retrain=lambda first: first)
