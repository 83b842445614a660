"""Attention weights and what is handed over."""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.data.toy_tasks import SentimentWords, charged_words
from regard.inspection.example import Example, tokens_from_ids
from regard.inspection.flow.norms import value_weighted_norms
from regard.inspection.heads.faithfulness import rank_correlation
from regard.inspection.trace import AttentionTrace, trace_forward
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.single_stack import EncoderOnly
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy_classifier import label_log_probs, train_toy_classifier

CLAIM = "Positions with higher attention weights contribute more to the output."
SOURCE = "lectures on attention; the measure is that of Kobayashi et al. 2020"
CLAIMS = (100,)
PREDICT = "How well do weights rank like the norms of what is handed over, weight times value? (correlation, -1 to 1)"
CHANGE = "LAYERS=4: does the correlation fall in deeper models?"
TURN = {"LAYERS": (1, 2, 4)}

WIDTH, LENGTH, STEPS, LAYERS, TEXTS = 32, 10, 250, 1, 32
WORDS = SentimentWords()

Contributions = Callable[[AttentionTrace], Tensor]
Points = list[tuple[float, float]]


def trace_texts(model: EncoderOnly) -> list[AttentionTrace]:
    """The last attention of some texts."""
    ids, _ = charged_words(TEXTS, LENGTH)
    traces = [trace_forward(model, Example(tokens_from_ids(row))) for row in ids.tolist()]
    return [trace.of_kind("encoder")[-1] for trace in traces]


def measure(contributions: Contributions) -> tuple[float, float, float, Points]:
    """Rank correlation; how often the largest weight contributes most; accuracy; weights and norms of one head."""
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0)
    model = train_toy_classifier(config, WORDS.vocab_size, lambda: charged_words(32, LENGTH), STEPS, learning_rate=5e-3)
    ids, labels = charged_words(256, LENGTH)
    with torch.no_grad():
        accuracy = (label_log_probs(model, ids).argmax(dim=-1) == labels).float().mean()
    correlations, agrees, points = [], [], []
    for attn in trace_texts(model):
        norms = contributions(attn)  # (H, T, T)
        for weights, head_norms in zip(attn.weights, norms, strict=True):
            correlations.append(rank_correlation(weights, head_norms, attn.attn_mask) or 0.0)
        agrees.append(float((attn.weights.argmax(dim=-1) == norms.argmax(dim=-1)).float().mean()))
        points += list(zip(attn.weights[0, 0].tolist(), norms[0, 0].tolist(), strict=True))
    return fmean(correlations), fmean(agrees), float(accuracy), points


def run(seeds: Sequence[int], value_weighted_norms: Contributions = value_weighted_norms) -> Finding:
    measured = over(seeds, lambda: measure(value_weighted_norms))
    correlations, agrees = [one[0] for one in measured], [one[1] for one in measured]
    ranked = sorted(point for one in measured for point in one[3] if min(point) > 1e-4)  # what a logarithm can show
    bins = [ranked[len(ranked) * n // 9 : len(ranked) * (n + 1) // 9] for n in range(9)]
    return Finding(
        [
            # 0.7: half of the variance of the ranks is shared; 0.5: in most rows
            Effect("rank correlation of weight and contribution", correlations, least=0.7),
            Effect("how often the largest weight is the largest contribution", agrees, least=0.5),
        ],
        Table.from_rows(
            {"weight": float(f"{fmean(w for w, _ in one):.2g}"), "norm handed over": fmean(n for _, n in one)}
            for one in bins
        ),
        [Need("accuracy of the classifier", [one[2] for one in measured], least=0.85)],
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "weight", "norm handed over", log="xy")


def broken(seeds: Sequence[int]) -> Finding:
    """Values whose norms are the inverse of their weights squared, as those of tokens on which attention is parked."""
    return run(seeds, value_weighted_norms=lambda attn: attn.weights * attn.weights.clamp(min=1e-6) ** -2)
