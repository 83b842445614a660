"""How the answers of any system are scored against gold: single labels, sets of labels, tags."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from regard.data.tag_schemes import PLAIN, TagScheme, detect_scheme, find_spans, find_valid_spans
from regard.metrics import Score
from regard.metrics.labels import (
    SPAN_MEASURES,
    Confusion,
    count_confusion,
    count_spans,
    flat_measure,
    score_classes,
    score_spans,
)
from regard.metrics.labels.statistics import CountedScore, ExampleCounts, Measure

Answer = tuple[str, ...]
"""The labels of a text, or the tags of a sentence."""
FindParts = Callable[[Answer], Sequence[Hashable]]
STRICT_SCHEMES = ("BIO", "BIOES")
TESTED_CLASS_MEASURES = ("accuracy", "macro_f1", "mcc")
TESTED_SPAN_MEASURES: Mapping[str, Measure] = {"f1": SPAN_MEASURES["f1"][1]}


@dataclass(frozen=True)
class AnswerScores:
    """The scores of a system, and the counts of its examples that paired tests need."""

    scores: Mapping[str, Score]
    counts: ExampleCounts
    confusion: Confusion | None = None
    """Where every text has one label."""


@dataclass(frozen=True)
class AnswerScoring:
    """How answers are scored, and the measures that are tested."""

    score: Callable[[Sequence[Answer]], AnswerScores]
    measures: Mapping[str, Measure]

    def count(
        self, scored: AnswerScores, examples: Sequence[str], answers: Sequence[Answer], units: str
    ) -> dict[str, CountedScore]:
        """What each answer counts, for every measure that is tested."""
        return {
            key: CountedScore(scored.scores[key].name, scored.counts, measure, examples, answers, units)
            for key, measure in self.measures.items()
        }


def label_scoring(gold: Sequence[Answer], systems: Sequence[Sequence[Answer]]) -> AnswerScoring:
    """Of the labels of texts: a confusion matrix, or sets where any text has several labels or none."""
    if all(len(answer) == 1 for answers in (gold, *systems) for answer in answers):
        return _single_label_scoring(gold, systems)
    return _set_scoring(gold, lambda answer: answer, "labels")


def tag_scoring(gold: Sequence[Answer], strict: bool = True) -> AnswerScoring:
    """Of the tags of sentences: spans as conlleval finds them, words where tags mark no spans.

    With `strict`, also by the spans that follow the scheme of gold to the letter, which converted tags always do.
    """
    scheme = detect_scheme(gold)
    scoring = _set_scoring(gold, *_parts_of_tags(scheme))
    if scheme.name not in STRICT_SCHEMES or not strict:
        return scoring
    by_the_letter = _set_scoring(gold, lambda tags: find_valid_spans(tags, scheme.name), f"strict-{scheme.name}")

    def score_both(answers: Sequence[Answer]) -> AnswerScores:
        system, strict_f1 = scoring.score(answers), by_the_letter.score(answers).scores["f1"]
        return replace(system, scores={**system.scores, "strict_f1": replace(strict_f1, name="strict F1")})

    return replace(scoring, score=score_both)


def micro_f1(gold: Sequence[Sequence[Hashable]], predicted: Sequence[Sequence[Hashable]]) -> float:
    """2 · shared parts / (gold parts + predicted parts), from 0 to 1; where each text has one label, the accuracy."""
    shared = sum(len({*a} & {*b}) for a, b in zip(gold, predicted, strict=True))
    return 2 * shared / max(1, sum(map(len, gold)) + sum(map(len, predicted)))


def tag_f1(gold: Sequence[Answer], predicted: Sequence[Answer]) -> float:
    """F1 over the spans of all sentences, from 0 to 1; where tags mark no spans, the accuracy over words."""
    find, _ = _parts_of_tags(detect_scheme(gold))
    return micro_f1(*([find(answer) for answer in answers] for answers in (gold, predicted)))


def _parts_of_tags(scheme: TagScheme) -> tuple[FindParts, str]:
    """What is counted in the tags of a sentence, and what that is called in a signature."""
    if scheme.name == PLAIN:
        return lambda tags: tuple(enumerate(tags)), "words"
    return find_spans, "conlleval"


def _single_label_scoring(gold: Sequence[Answer], systems: Sequence[Sequence[Answer]]) -> AnswerScoring:
    labels = [label for (label,) in gold]
    classes = sorted({*labels, *(label for answers in systems for (label,) in answers)})

    def score(answers: Sequence[Answer]) -> AnswerScores:
        confusion = count_confusion(labels, [label for (label,) in answers], classes)
        return AnswerScores(score_classes(confusion), confusion.counts, confusion)

    return AnswerScoring(score, {name: flat_measure(name, len(classes)) for name in TESTED_CLASS_MEASURES})


def _set_scoring(gold: Sequence[Answer], find: FindParts, mode: str) -> AnswerScoring:
    """F1 over the parts of all answers: labels, spans or words."""
    gold_parts = [find(answer) for answer in gold]

    def score(answers: Sequence[Answer]) -> AnswerScores:
        counts = count_spans(gold_parts, [find(answer) for answer in answers])
        return AnswerScores(score_spans(counts, mode), counts)

    return AnswerScoring(score, TESTED_SPAN_MEASURES)
