"""Senses appear where the task asks for them."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import TopicWords, mask_tokens, pseudowords
from regard.inspection.embeddings import sense_auc
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import AttentionFunction, attend
from regard.model.build import ATTENDS, build_encoder, use_parts
from regard.model.single_stack import EncoderOnly
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "A static vector cannot tell the senses of a word apart; contextual vectors differ and so disambiguate."
SOURCE = "lectures on contextual embeddings (bank, run); Peters et al. 2018"
CLAIMS = (108, 109, 110)
PREDICT = "Trained to name the sense: by how much does a pair of the same sense beat chance at being closer? (0 to 0.5)"
CHANGE = "MASK_STEPS=100, then 50: how soon do masked words part the senses?"
TURN = {"MASK_STEPS": (25, 50, 100, 200, 400)}

WIDTH, LENGTH, STEPS, MASK_STEPS, TEXTS, LAYERS = 32, 10, 100, 200, 60, 1
WORDS, NO_POSITIONS = TopicWords(topical=24, neutral=4), PositionsConfig(kind="none")
JUDGED = ["trained to name the sense", "trained to repeat each word"]


def sense_loss(model: EncoderOnly) -> Tensor:  # what a translation asks: one of two words, by the sense
    (ids, senses), positions = pseudowords(32, LENGTH, WORDS)
    return F.cross_entropy(model.output(model(ids)[torch.arange(32), positions]), 4 + WORDS.topical * senses)


def masked_loss(model: EncoderOnly) -> Tensor:  # the hidden words of the same texts
    ids, targets = mask_tokens(pseudowords(32, LENGTH, WORDS)[0].ids, WORDS.mask, share=0.3)
    return F.cross_entropy(model.output(model(ids)).transpose(1, 2), targets)


def repeat_loss(model: EncoderOnly) -> Tensor:  # every word as it is: nothing that depends on its company
    ids = pseudowords(32, LENGTH, WORDS)[0].ids
    return F.cross_entropy(model.output(model(ids)).transpose(1, 2), ids)


TRAININGS: dict[str, tuple[Callable[[EncoderOnly], Tensor], str]] = {
    "trained to name the sense": (sense_loss, "STEPS"),
    "trained to fill masks": (masked_loss, "MASK_STEPS"),
    "trained to repeat each word": (repeat_loss, "STEPS"),
}


def measure_senses(vectors: Tensor, senses: Tensor) -> float:
    """How often a pair of the same sense is closer than a pair of two senses, above chance: -0.5 to 0.5."""
    return sense_auc(vectors.detach().double().numpy(), [str(sense) for sense in senses.tolist()]) - 0.5


def measure(attend: AttentionFunction) -> dict[str, float]:
    """For vectors of each kind how well they part the senses; by how much untrained ones differ."""
    ((ids, senses), positions), row = pseudowords(TEXTS, LENGTH, WORDS), torch.arange(TEXTS)
    results: dict[str, float] = {}
    config = ModelConfig(
        architecture="encoder", dim=WIDTH, layers=LAYERS, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=NO_POSITIONS
    )
    for name, (task_loss, steps) in TRAININGS.items():
        with use_parts(ATTENDS, softmax=attend):
            model = build_encoder(config, WORDS.vocab_size, 0)
        untrained = model(ids)[row, positions].detach()  # (B, D)
        results["static"] = measure_senses(model.encoder.embedding.embed_tokens(ids)[row, positions], senses)
        results["untrained"] = measure_senses(untrained, senses)
        results["change"] = float((untrained - untrained.mean(dim=0)).norm() / untrained.norm())
        train_toy(model, partial(task_loss, model), globals()[steps], learning_rate=1e-2)
        results[name] = measure_senses(model(ids)[row, positions], senses)
    return results


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    measured = over(seeds, lambda: measure(attend))
    values = {name: [one[name] for one in measured] for name in measured[0]}
    parts = [
        # 0.3: four of five pairs; 0.05: more than rounding. Masks, which differ from seed to seed, are only drawn.
        *(Effect(f"{name}: same sense closer, above chance", values[name], least=0.3) for name in JUDGED),
        Effect("untrained: the change of the vector between texts, of its length", values["change"], least=0.05),
    ]
    means = {name: 0.5 + fmean(values[name]) for name in ("static", "untrained", *TRAININGS)}
    return Finding(parts, Table({"vector": list(means), "same sense closer (0.5 is chance)": list(means.values())}))


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "vector", "same sense closer (0.5 is chance)")


def broken(seeds: Sequence[int]) -> Finding:
    """Attention that sees no context: every token hands itself its own value."""
    return run(seeds, attend=lambda q, k, v, *others, **names: (v, None))
