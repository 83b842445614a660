"""The scores of a tagger on tagged sentences, beside those of cheap opponents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar

import numpy as np

from regard.baselines import TAG_OPPONENTS, OpponentPredictions, OpponentResult, compare_tags, predict_by_opponents
from regard.baselines.scoring import Answer, tag_scoring
from regard.data.store import Array
from regard.data.tag_schemes import PLAIN, TaggedSpan, TagScheme, detect_scheme, find_spans, to_bio
from regard.formats.labeled import TaggedSentence
from regard.metrics import Score
from regard.metrics.labels import PartScores, score_parts
from regard.tasks.tag.tagger import Tagger

Value = TypeVar("Value")


@dataclass(frozen=True)
class SentencePrediction:
    """A sentence, its tags, and what was predicted."""

    sentence: TaggedSentence
    tags: tuple[str, ...]
    missing: tuple[TaggedSpan, ...]
    """Gold spans that were not predicted; of plain tags, words."""
    wrong: tuple[TaggedSpan, ...]
    """Predicted spans that are not in gold."""

    @property
    def num_errors(self) -> int:
        """A wrong span in place of a missing one is one error."""
        return max(len(self.missing), len(self.wrong))

    def describe(self, spans: Sequence[TaggedSpan]) -> str:
        """The words of spans with their types."""
        words = self.sentence.words
        return "; ".join(f"{' '.join(words[span.start : span.end])} ({span.type})" for span in spans)


@dataclass(frozen=True)
class TaggingEvaluation:
    """The scores of a tagger on a set of sentences."""

    scores: dict[str, Score]
    loss: float | None
    """Nats per word that has tokens; None where a sentence has a tag that the tagger does not know."""
    sentences: tuple[SentencePrediction, ...]
    types: tuple[PartScores, ...]
    """The spans of each type; of plain tags, the words of each tag. In alphabetical order."""
    opponents: tuple[OpponentResult, ...] = ()

    def describe_failure(self) -> str:
        """Why the tagger does not work: no span is right, or no more words than have one tag; empty if it does."""
        if "f1" in self.scores:
            return "" if self.scores["f1"].value > 0 else "no span that it finds is right"
        most = max(self.types, key=lambda one: one.gold)
        accuracy, chance = self.scores["accuracy"].value, 100 * most.gold / sum(one.gold for one in self.types)
        if accuracy > chance:
            return ""
        return f"its accuracy of {accuracy:.1f} is no better than the {chance:.1f} of always predicting {most.name!r}"


def evaluate_tagger(
    tagger: Tagger, sentences: Sequence[TaggedSentence], opponents: OpponentPredictions | None = None
) -> TaggingEvaluation:
    """Tag sentences, and score the tags; with opponents, also theirs, and paired tests."""
    log_probs = tagger.log_probs([sentence.words for sentence in sentences])
    predicted = [tuple(tagger.decode(one)) for one in log_probs]
    scheme = detect_scheme(sentence.tags for sentence in sentences)
    gold = unify_tags([sentence.tags for sentence in sentences], scheme)
    results = []
    if opponents is not None:
        answers = {name: unify_tags(tags, scheme) for name, tags in opponents.answers.items()}
        results = compare_tags(gold, predicted, replace(opponents, answers=answers))
    predictions = tuple(
        compare_spans(sentence, tags, gold_tags, scheme)
        for sentence, tags, gold_tags in zip(sentences, predicted, gold, strict=True)
    )
    return TaggingEvaluation(
        score_tags(gold, predicted),
        _mean_loss(log_probs, sentences, tagger),
        predictions,
        score_types(gold, predicted, scheme),
        tuple(replace(r, scores=_name(r.scores, scheme), tests=_select(r.tests, scheme)) for r in results),
    )


def score_tags(gold: Sequence[Answer], predicted: Sequence[Answer]) -> dict[str, Score]:
    """Precision, recall and F1 of spans; where tags are plain, the accuracy over words."""
    return _name(tag_scoring(gold).score(predicted).scores, detect_scheme(gold))


def unify_tags(sentences: Sequence[Answer], scheme: TagScheme) -> list[Answer]:
    """Tags of another scheme as BIO, which a tagger predicts; BIO itself stays as it is, with what breaks it."""
    if scheme.name in ("BIO", PLAIN):
        return list(sentences)
    return [tuple(to_bio(tags, scheme)) for tags in sentences]


def score_types(gold: Sequence[Answer], predicted: Sequence[Answer], scheme: TagScheme) -> tuple[PartScores, ...]:
    """The scores of each type of spans that occurs in gold or in the predictions."""
    spans, predicted_spans = ([_find_spans(tags, scheme) for tags in answers] for answers in (gold, predicted))
    return score_parts(spans, predicted_spans, attrgetter("type"))


def compare_spans(sentence: TaggedSentence, tags: Answer, gold_tags: Answer, scheme: TagScheme) -> SentencePrediction:
    """What the predicted tags of a sentence miss, and what they have in excess."""
    gold, predicted = _find_spans(gold_tags, scheme), _find_spans(tags, scheme)
    missing = tuple(span for span in gold if span not in predicted)
    return SentencePrediction(sentence, tags, missing, tuple(span for span in predicted if span not in gold))


def predict_opponents(
    training: Sequence[TaggedSentence], dev: Sequence[TaggedSentence], sentences: Sequence[TaggedSentence]
) -> OpponentPredictions:
    """What cheap opponents predict that were fitted on training sentences, and chosen on dev."""
    return predict_by_opponents(TAG_OPPONENTS, training, dev, sentences)


def _find_spans(tags: Answer, scheme: TagScheme) -> list[TaggedSpan]:
    if scheme.name == PLAIN:
        return [TaggedSpan(tag, i, i + 1) for i, tag in enumerate(tags)]
    return find_spans(tags)


def _name(scores: Mapping[str, Score], scheme: TagScheme) -> dict[str, Score]:
    """The scores by their names: of plain tags, F1, precision and recall are all the accuracy."""
    named = _select(scores, scheme)
    return {"accuracy": replace(named["accuracy"], name="accuracy")} if "accuracy" in named else named


def _select(values: Mapping[str, Value], scheme: TagScheme) -> dict[str, Value]:
    """What belongs to measures, under the name of the accuracy where tags are plain."""
    if scheme.name != PLAIN:
        return dict(values)
    return {"accuracy": values["f1"]} if "f1" in values else {}


def _mean_loss(log_probs: Sequence[Array], sentences: Sequence[TaggedSentence], tagger: Tagger) -> float | None:
    """The mean over words that have tokens: of the others the model has read nothing."""
    tags = tagger.tags
    if not all(tags.knows(sentence.tags) for sentence in sentences):
        return None
    losses = []
    for rows, sentence in zip(log_probs, sentences, strict=True):
        values = rows[np.arange(len(rows)), tags.encode(sentence.tags)]
        losses += (-values[np.isfinite(rows).all(axis=1)]).tolist()
    return float(np.mean(losses)) if losses else None
