"""Evaluation of any function from strings to strings on pairs, so that other systems are scored in the same way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from regard.formats import Pair
from regard.metrics import (
    DEFAULT_TOKENIZATION,
    Metric,
    Score,
    Tokenization,
    choose_tokenization,
    corpus_bleu,
    corpus_chrf,
    corpus_rouge_l,
    corpus_ter,
    sentence_bleu,
    sentence_chrf,
    token_accuracy,
)
from regard.progress import stage, track

METRICS: Mapping[str, Metric] = {"bleu": corpus_bleu, "chrf": corpus_chrf, "ter": corpus_ter, "rouge": corpus_rouge_l}


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
    """One reference under teacher forcing: its tokens, those predicted correctly, and the summed loss in nats."""

    tokens: int
    correct: int
    loss: float


@dataclass(frozen=True)
class PadInclusiveScores:
    """Accuracy and loss with padding counted, to compare with reports that count it; not for training.

    Every reference is padded to the longest of its set and every position counts, as in `(guess == gold).mean()` and a
    cross-entropy without `ignore_index`. A model that is trained that way soon predicts padding after the end; this
    one is never trained on padding, so its predictions there mean nothing. A pad is therefore counted as correct, at
    no loss: an upper bound on how much such counting flatters the model.
    """

    accuracy: float
    """% of all positions."""
    loss: float
    """Nats per position."""
    positions: int
    """Of each sentence, its end included."""
    pad_percent: float
    """% of all positions that are padding."""


@dataclass(frozen=True)
class Baselines:
    """Scores that need no translation, by the same metric: a working model is above them."""

    copied_source: Score
    """The source itself as its translation."""
    shuffled_translations: Score
    """The translations of other sentences: the score of a model that ignores its source."""
    length_ratio: float
    """Characters of the translations per character of the references."""

    def is_below(self, bleu: Score) -> bool:
        """Whether BLEU is better than by chance: above the interval of other sentences' translations, if it has one.

        Where those have no match at all, any match is better.
        """
        chance = self.shuffled_translations
        has_interval = chance.high is not None and chance.value > 0
        return bleu.value > (chance.high if has_interval and chance.high is not None else chance.value)


@dataclass(frozen=True)
class Evaluation:
    """The scores of a system on a set of pairs."""

    scores: dict[str, Score]
    sentences: list[SentenceResult]
    baselines: Baselines
    loss: float | None = None
    """Nats per target token; None without teacher forcing."""
    pads_counted: PadInclusiveScores | None = None
    """Accuracy and loss with padding counted; None without teacher forcing."""
    tokenization: Tokenization = DEFAULT_TOKENIZATION
    """How the text was split for BLEU, and for TER and ROUGE where the language has no spaces."""


def evaluate(
    translate: Callable[[list[str]], Sequence[str]],
    pairs: Sequence[Pair],
    teacher_force: Callable[[Sequence[Pair]], Sequence[TeacherForcingResult]] | None = None,
    metrics: Mapping[str, Metric] = METRICS,
    language: str = "",
) -> Evaluation:
    """Translate every source and score the results against the targets; `teacher_force` adds accuracy and loss.

    `language` is the code of the target language, which text is split by; unset: that of the references.
    """
    references = [pair.target for pair in pairs]
    tokenization = choose_tokenization(language, references)
    translations = list(translate([pair.source for pair in pairs]))
    scores = {
        name: metric(translations, references, tokenization) for name, metric in track(metrics.items(), "scoring")
    }
    loss, pad_scores = None, None
    if teacher_force is not None:
        results = teacher_force(pairs)
        scores["accuracy"] = token_accuracy([r.correct for r in results], [r.tokens for r in results])
        loss = sum(r.loss for r in results) / sum(r.tokens for r in results)
        pad_scores = score_with_pads(results)
    sentences = [
        SentenceResult(
            pair.source,
            pair.target,
            out,
            sentence_bleu(out, pair.target, tokenization),
            sentence_chrf(out, pair.target),
        )
        for pair, out in track(zip(pairs, translations, strict=True), "scoring sentences", len(pairs))
    ]
    with stage("scoring baselines"):
        baselines = _baselines(pairs, translations, tokenization)
    return Evaluation(scores, sentences, baselines, loss, pad_scores, tokenization)


def score_with_pads(results: Sequence[TeacherForcingResult]) -> PadInclusiveScores:
    """Accuracy and loss as if padding were tokens that are always predicted correctly."""
    positions = max(r.tokens for r in results)
    total_positions = positions * len(results)
    pads = total_positions - sum(r.tokens for r in results)
    correct = sum(r.correct for r in results) + pads
    return PadInclusiveScores(
        100 * correct / total_positions,
        sum(r.loss for r in results) / total_positions,
        positions,
        100 * pads / total_positions,
    )


def _baselines(pairs: Sequence[Pair], translations: Sequence[str], tokenization: Tokenization) -> Baselines:
    references = [pair.target for pair in pairs]
    shift = max(1, len(pairs) // 2)  # every translation against the reference of another sentence
    shuffled_translations = [*translations[shift:], *translations[:shift]]
    length_ratio = sum(map(len, translations)) / max(1, sum(map(len, references)))
    return Baselines(
        corpus_bleu([pair.source for pair in pairs], references, tokenization),
        corpus_bleu(shuffled_translations, references, tokenization),
        length_ratio,
    )
