"""Any function from strings to strings, and pairs -> scores. So another system can be scored the same way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.formats import Pair
from regard.metrics import Score, bleu, chrf, sentence_bleu, sentence_chrf

METRICS = {"bleu": bleu, "chrf": chrf}


@dataclass(frozen=True)
class Sentence:
    """One sentence of an evaluation. Its scores are for sorting; their mean is not the corpus score."""

    source: str
    reference: str
    translation: str
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Evaluation:
    """What a system scored on a set of pairs."""

    scores: dict[str, Score]
    sentences: list[Sentence]


def evaluate(translate: Callable[[list[str]], Sequence[str]], pairs: Sequence[Pair]) -> Evaluation:
    """Translate every source and score the results against the targets."""
    references = [pair.target for pair in pairs]
    translations = list(translate([pair.source for pair in pairs]))
    scores = {name: metric(translations, references) for name, metric in METRICS.items()}
    sentences = [
        Sentence(pair.source, pair.target, out, sentence_bleu(out, pair.target), sentence_chrf(out, pair.target))
        for pair, out in zip(pairs, translations, strict=True)
    ]
    return Evaluation(scores, sentences)
