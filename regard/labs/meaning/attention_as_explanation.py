"""Is attention an explanation?"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.taps import record
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy_classifier import erasure_costs_of_tokens, label_log_probs, train_toy_classifier

CLAIM = "Attention weights are highest on charged words, and show which words the answer rests on."
SOURCE = "lectures on sentiment analysis with attention; against it Jain and Wallace 2019"
CLAIMS = (99, 101, 102)
PREDICT = "Two layers, 20 words: how many times as much attention does the charged word get as an average one?"
CHANGE = "DEPTHS=(1, 2, 4): does attention agree less with erasure in deeper models?"
TURN = {"LENGTH": (6, 10, 20)}

WIDTH, LENGTH, STEPS, DEPTHS, TEXTS, SEEDS = 32, 20, 300, (2,), 96, 18
WORDS = SentimentWords()


def mean_attention(layers: Mapping[str, Tensor]) -> Tensor:
    """The weight of each token for the first one, mean over heads and layers: (B, H, T, T) each -> (B, T)."""
    return torch.stack([weights[:, :, 0].mean(dim=1) for weights in layers.values()]).mean(dim=0)


Explanation = Callable[[Mapping[str, Tensor]], Tensor]


def measure(layers: int, explain: Explanation) -> tuple[float, float, float]:
    """Attention on the charged word in mean weights; how often it agrees with erasure; accuracy."""
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=layers, heads=2, ffn=2 * WIDTH, dropout=0.0)
    model = train_toy_classifier(config, WORDS.vocab_size, lambda: charged_words(32, LENGTH), STEPS, learning_rate=5e-3)
    ids, labels = charged_words(TEXTS, LENGTH)
    with record(model, "*.weights") as weights, torch.no_grad():
        accuracy = (label_log_probs(model, ids).argmax(dim=-1) == labels).float().mean()
    attention = explain(weights)[:, 1:]  # (B, T - 1)
    charged = (attention * WORDS.is_charged(ids[:, 1:])).sum(dim=1) / attention.mean(dim=1)
    agrees = attention.argmax(dim=1) == erasure_costs_of_tokens(model, ids).argmax(dim=1)
    return float(charged.mean()), float(agrees.float().mean()), float(accuracy)


def run(seeds: Sequence[int], mean_attention: Explanation = mean_attention) -> Finding:
    measured = {depth: over(seeds, partial(measure, depth, mean_attention)) for depth in DEPTHS}
    parts, rows, agreements = list[Effect](), list[dict[str, str | float]](), list[list[float]]()
    for depth, values in measured.items():
        name = f"{depth} layer{'s' * (depth > 1)}"
        charged, agrees, _ = (list(column) for column in zip(*values, strict=True))
        # 2: more than an average word, by more than a look at a picture can miss
        parts.append(Effect(f"{name}: attention on the charged word, times that on an average word", charged, least=2))
        agreements.append(agrees)
        rows.append({"layers": name, "share of texts": fmean(agrees), "which": "most attended = most costly to erase"})
        rows.append({"layers": name, "share of texts": 1 / (LENGTH - 1), "which": "by chance"})
    # 0.95: what shows the reason may miss it in one text of twenty
    agreement = [fmean(values) for values in zip(*agreements, strict=True)]
    parts.append(Effect("how often the most attended word is the most costly to erase", agreement, least=0.95, limit=1))
    needs = [Need("accuracy of the classifier", [one[2] for values in measured.values() for one in values], least=0.85)]
    return Finding(parts, Table.from_rows(rows), needs)


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "layers", "share of texts", "which")


def broken(seeds: Sequence[int]) -> Finding:
    """Weights that were drawn by lot instead of those of the model."""
    return run(seeds, mean_attention=lambda layers: torch.rand_like(mean_attention(layers)))
