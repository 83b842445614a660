"""Raw text holds its own labels."""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import TopicWords, mask_tokens, shuffle_between_texts, topic_texts
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.model.projection import Projection
from regard.model.single_stack import EncoderOnly
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "Raw text is useful without labels: a model that fills its masked words needs fewer labeled texts afterwards."
SOURCE = "Devlin et al. 2019; lectures on pretraining with novels"
CLAIMS = (112, 113)
PREDICT = "Six labeled texts of two topics: by how much does pretraining on raw text raise the accuracy? (0 to 0.5)"
CHANGE = "LABELED=12, then LABELED=200: when does raw text help most?"
TURN = {"LABELED": (6, 12, 40, 200)}

WIDTH, LENGTH, LABELED, RAW_STEPS, STEPS, RAW_TEXTS, TEST_TEXTS, SEEDS = 32, 12, 6, 250, 60, 2000, 500, 11
WORDS = TopicWords(topical=60, neutral=4)

Corpus = Callable[[Tensor], Tensor]


def pretrain(model: EncoderOnly, raw: Tensor) -> None:
    """Fill masked words of raw texts (N, T)."""

    def loss() -> Tensor:
        ids, targets = mask_tokens(raw[torch.randint(len(raw), (32,))], WORDS.mask, share=0.3)
        return F.cross_entropy(model.output(model(ids)).transpose(1, 2), targets)

    train_toy(model, loss, RAW_STEPS, learning_rate=1e-2)


def fine_tune(model: EncoderOnly, ids: Tensor, labels: Tensor) -> Projection:
    """Learn two labels from a few texts; the model pools the mean of its states."""
    output = Projection(torch.nn.Parameter(torch.zeros(2, WIDTH)), biased=True)

    def loss() -> Tensor:
        return F.cross_entropy(output(model.pool(model(ids), ids != model.pad)), labels)

    train_toy(torch.nn.ModuleList([model, output]), loss, STEPS, learning_rate=1e-3)
    return output


def measure(shuffle: Corpus) -> tuple[float, float, float]:
    """Accuracy on new texts: from scratch, after raw text, after the same words without their company."""
    config = ModelConfig(architecture="encoder", dim=WIDTH, layers=1, heads=2, ffn=2 * WIDTH, dropout=0.0)
    config = config.model_copy(update={"positions": PositionsConfig(kind="none")})
    raw, few, test = (topic_texts(rows, LENGTH, WORDS) for rows in (RAW_TEXTS, LABELED, TEST_TEXTS))
    accuracies = []
    for corpus in (None, raw.ids, shuffle(raw.ids)):
        model = build_encoder(config, WORDS.vocab_size, 0, pooling="mean")
        if corpus is not None:
            pretrain(model, corpus)
        output = fine_tune(model, *few)
        with torch.no_grad():
            predictions = output(model.pool(model(test.ids), test.ids != 0)).argmax(dim=1)
        accuracies.append(float((predictions == test.targets).float().mean()))
    return accuracies[0], accuracies[1], accuracies[2]


def run(seeds: Sequence[int], shuffle_between_texts: Corpus = shuffle_between_texts) -> Finding:
    measured = over(seeds, lambda: measure(shuffle_between_texts))
    scratch, raw, shuffled = ([one[n] for one in measured] for n in range(3))
    # 0.05: one text of twenty, about what twice as many labels give
    parts = [
        Effect("the gain over no raw text", [a - b for a, b in zip(raw, scratch, strict=True)], least=0.05),
        Effect("the gain over shuffled raw text", [a - b for a, b in zip(raw, shuffled, strict=True)], least=0.05),
    ]
    names = {"none": scratch, "as it is": raw, "words shuffled between texts": shuffled}
    return Finding(parts, Table.from_rows({"raw text": name, "accuracy": fmean(v)} for name, v in names.items()))


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "raw text", "accuracy")


def broken(seeds: Sequence[int]) -> Finding:
    """A shuffled control that is not shuffled: nothing is left that the company of words could explain."""
    return run(seeds, shuffle_between_texts=lambda ids: ids)
