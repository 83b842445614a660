"""Any function from strings to strings, and pairs -> scores. So another system can be scored the same way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.formats import Pair
from regard.metrics import Metric, Score, accuracy, bleu, chrf, rouge_l, sentence_bleu, sentence_chrf, ter

METRICS: Mapping[str, Metric] = {"bleu": bleu, "chrf": chrf, "ter": ter, "rouge": rouge_l}


@dataclass(frozen=True)
class Sentence:
    """One sentence of an evaluation. Its scores are for sorting; their mean is not the corpus score."""

    source: str
    reference: str
    translation: str
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Forced:
    """What a model made of one reference when told its beginning: pieces, those it got right, and nats lost."""

    tokens: int
    correct: int
    loss: float


@dataclass(frozen=True)
class Baselines:
    """What tells a working model from a broken one: the same metric where there is no translator at all."""

    copied: Score
    """The source itself as its translation."""
    shuffled: Score
    """The translations of other sentences: what a model would score that ignores its source."""
    length_ratio: float
    """Characters translated for each character of the references."""


@dataclass(frozen=True)
class Evaluation:
    """What a system scored on a set of pairs."""

    scores: dict[str, Score]
    sentences: list[Sentence]
    baselines: Baselines
    loss: float | None = None
    """Nats per real target piece, where a model could be asked."""


def evaluate(
    translate: Callable[[list[str]], Sequence[str]],
    pairs: Sequence[Pair],
    forced: Callable[[Sequence[Pair]], Sequence[Forced]] | None = None,
    metrics: Mapping[str, Metric] = METRICS,
) -> Evaluation:
    """Translate every source and score the results against the targets; `forced` adds accuracy and loss."""
    references = [pair.target for pair in pairs]
    translations = list(translate([pair.source for pair in pairs]))
    scores = {name: metric(translations, references) for name, metric in metrics.items()}
    loss = None
    if forced is not None:
        told = forced(pairs)
        scores["accuracy"] = accuracy([one.correct for one in told], [one.tokens for one in told])
        loss = sum(one.loss for one in told) / sum(one.tokens for one in told)
    sentences = [
        Sentence(pair.source, pair.target, out, sentence_bleu(out, pair.target), sentence_chrf(out, pair.target))
        for pair, out in zip(pairs, translations, strict=True)
    ]
    return Evaluation(scores, sentences, _baselines(pairs, translations), loss)


def _baselines(pairs: Sequence[Pair], translations: Sequence[str]) -> Baselines:
    references = [pair.target for pair in pairs]
    shift = max(1, len(pairs) // 2)  # every translation beside a reference that is not its own
    others = [*translations[shift:], *translations[:shift]]
    written = sum(map(len, translations)) / max(1, sum(map(len, references)))
    return Baselines(bleu([pair.source for pair in pairs], references), bleu(others, references), written)
