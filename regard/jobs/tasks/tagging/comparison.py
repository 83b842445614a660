"""Taggers, and files of predicted tags, compared on tagged sentences. Everything is compared in BIO."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.baselines.scoring import Answer, AnswerScoring, tag_scoring
from regard.data.tag_schemes import PLAIN, TagScheme, detect_scheme, find_spans
from regard.errors import DataError, FormatError
from regard.formats.labeled import TaggedSentence, read_tagged_sentences
from regard.jobs.tasks.comparison import (
    ComparedSystem,
    TaskComparison,
    compare_with_first,
    join_answer,
    name_set,
    require_length,
)
from regard.jobs.tasks.registry import open_predictor
from regard.jobs.tasks.reporting.part_scores import tabulate_parts
from regard.jobs.tasks.tagging.evaluation import score_types, unify_tags
from regard.progress import track
from regard.run import Run
from regard.tasks.tag.tagger import Tagger

BIO = "BIO"


def compare_taggers(systems: Mapping[str, Path], files: Sequence[str], device: str) -> TaskComparison:
    """Score runs and files of predictions against the tags of files."""
    sentences = list(track(read_tagged_sentences(files), "reading sentences"))
    if not sentences:
        raise DataError(f"{' '.join(files)}: has no sentences to compare with")
    scheme = detect_scheme(sentence.tags for sentence in sentences)
    gold = unify_tags([sentence.tags for sentence in sentences], scheme)
    read = {name: _read_tags(path, sentences, scheme) for name, path in systems.items() if not path.is_dir()}
    answers = {name: read[name] if name in read else _tag(path, sentences, device) for name, path in systems.items()}
    texts = [" ".join(sentence.words) for sentence in sentences]
    scoring = tag_scoring(gold, strict=scheme.name == BIO)
    compared = [_score(name, systems[name], answers[name], texts, scoring, gold) for name in track(answers, "scoring")]
    is_converted = scheme.name not in (BIO, PLAIN)
    return TaskComparison(
        name_set(files),
        texts,
        gold,
        compared,
        "f1",
        "sentences",
        compare_with_first(compared),
        "Tags" if scheme.name == PLAIN else "Types",
        (f"The tags of the test set are {scheme.name}; all tags are compared as BIO.",) if is_converted else (),
        join_answer if scheme.name == PLAIN else lambda n, tags: _describe_spans(sentences[n].words, tags),
    )


def _describe_spans(words: Sequence[str], tags: Answer) -> str:
    spans = find_spans(tags)
    return "; ".join(f"{' '.join(words[span.start : span.end])} ({span.type})" for span in spans) or "none"


def _tag(folder: Path, sentences: Sequence[TaggedSentence], device: str) -> list[Answer]:
    tagger: Tagger = open_predictor(folder, "tag", device)
    return [tuple(tags) for tags in tagger.tag([sentence.words for sentence in sentences])]


def _read_tags(path: Path, sentences: Sequence[TaggedSentence], scheme: TagScheme) -> list[Answer]:
    """The tags of a file, in BIO: written in the scheme of gold, as a rule, or in one that is unmistakable."""
    predicted = list(read_tagged_sentences([path]))
    require_length(path.name, len(predicted), len(sentences), "sentences")
    for one, gold in zip(predicted, sentences, strict=True):
        if len(one.words) != len(gold.words):
            raise FormatError(
                f"{one.location}: the sentence has {len(one.words)} words, but {gold.location} has {len(gold.words)}; "
                f"predictions are for the words of the test set"
            )
    tags = [sentence.tags for sentence in predicted]
    own_scheme = detect_scheme(tags)  # of bad predictions in BIO it may be IOB1, which changes no span
    return unify_tags(tags, own_scheme if own_scheme.name == "BIOES" else scheme)


def _score(
    name: str,
    path: Path,
    answers: Sequence[Answer],
    texts: Sequence[str],
    scoring: AnswerScoring,
    gold: Sequence[Answer],
) -> ComparedSystem:
    scored, scheme = scoring.score(answers), detect_scheme(gold)
    return ComparedSystem(
        name,
        answers,
        scored.scores,
        scoring.count(scored, texts, answers, "sentences"),
        Run(path) if path.is_dir() else None,
        parts=tabulate_parts(score_types(gold, answers, scheme), "tag" if scheme.name == PLAIN else "type", "gold"),
    )
