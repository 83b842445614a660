"""Any function from strings to strings, and pairs -> scores. So another system can be scored the same way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.formats import Pair
from regard.metrics import Metric, Score, accuracy, bleu, chrf, rouge_l, sentence_bleu, sentence_chrf, ter

METRICS: Mapping[str, Metric] = {"bleu": bleu, "chrf": chrf, "ter": ter, "rouge": rouge_l}


@dataclass(frozen=True)
class SentenceResult:
    """One sentence of an evaluation. Its scores are for sorting; their mean is not the corpus score."""

    source: str
    reference: str
    translation: str
    bleu: float
    chrf: float


@dataclass(frozen=True)
class TeacherForcingResult:
    """What a model made of one reference when told its beginning: pieces, those it got right, and nats lost."""

    tokens: int
    correct: int
    loss: float


@dataclass(frozen=True)
class PadInclusiveScores:
    """Accuracy and loss as they look where padding is counted: figures to know such numbers by, never to train by.

    Every reference is filled up to the longest of its set and every place counts, as `(guess == gold).mean()` and a
    cross-entropy that ignores nothing would have it. A model that is trained that way soon knows that after the end
    there are only pads; ours is never asked for one, so what it would answer there means nothing. A pad is therefore
    taken as guessed right, at no loss: the most that such counting can flatter the same model.
    """

    accuracy: float
    """% of all places."""
    loss: float
    """Nats per place."""
    positions: int
    """Of each sentence, its end included."""
    pad_percent: float
    """% of all places that hold no piece."""


@dataclass(frozen=True)
class Baselines:
    """What tells a working model from a broken one: the same metric where there is no translator at all."""

    copied_source: Score
    """The source itself as its translation."""
    shuffled_translations: Score
    """The translations of other sentences: what a model would score that ignores its source."""
    length_ratio: float
    """Characters translated for each character of the references."""


@dataclass(frozen=True)
class Evaluation:
    """What a system scored on a set of pairs."""

    scores: dict[str, Score]
    sentences: list[SentenceResult]
    baselines: Baselines
    loss: float | None = None
    """Nats per real target piece, where a model could be asked."""
    pads_counted: PadInclusiveScores | None = None
    """Accuracy and loss in a way that flatters, where a model could be asked."""


def evaluate(
    translate: Callable[[list[str]], Sequence[str]],
    pairs: Sequence[Pair],
    teacher_force: Callable[[Sequence[Pair]], Sequence[TeacherForcingResult]] | None = None,
    metrics: Mapping[str, Metric] = METRICS,
) -> Evaluation:
    """Translate every source and score the results against the targets; `forced` adds accuracy and loss."""
    references = [pair.target for pair in pairs]
    translations = list(translate([pair.source for pair in pairs]))
    scores = {name: metric(translations, references) for name, metric in metrics.items()}
    loss, pad_scores = None, None
    if teacher_force is not None:
        results = teacher_force(pairs)
        scores["accuracy"] = accuracy([one.correct for one in results], [one.tokens for one in results])
        loss = sum(one.loss for one in results) / sum(one.tokens for one in results)
        pad_scores = score_with_pads(results)
    sentences = [
        SentenceResult(pair.source, pair.target, out, sentence_bleu(out, pair.target), sentence_chrf(out, pair.target))
        for pair, out in zip(pairs, translations, strict=True)
    ]
    return Evaluation(scores, sentences, _baselines(pairs, translations), loss, pad_scores)


def score_with_pads(results: Sequence[TeacherForcingResult]) -> PadInclusiveScores:
    """What a model made of its references, if their pads were pieces that it always gets right."""
    positions = max(one.tokens for one in results)
    total_positions = positions * len(results)
    pads = total_positions - sum(one.tokens for one in results)
    correct = sum(one.correct for one in results) + pads
    return PadInclusiveScores(
        100 * correct / total_positions,
        sum(one.loss for one in results) / total_positions,
        positions,
        100 * pads / total_positions,
    )


def _baselines(pairs: Sequence[Pair], translations: Sequence[str]) -> Baselines:
    references = [pair.target for pair in pairs]
    shift = max(1, len(pairs) // 2)  # every translation beside a reference that is not its own
    shuffled_translations = [*translations[shift:], *translations[:shift]]
    length_ratio = sum(map(len, translations)) / max(1, sum(map(len, references)))
    return Baselines(
        bleu([pair.source for pair in pairs], references), bleu(shuffled_translations, references), length_ratio
    )
