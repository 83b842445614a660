"""Classifiers, and files of predicted labels, compared on labeled texts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.baselines.scoring import Answer, AnswerScoring, label_scoring
from regard.config import Config
from regard.errors import DataError
from regard.formats.labeled import LabeledText, read_labeled_texts, read_predictions
from regard.jobs.tasks.classification.prepare import column_names
from regard.jobs.tasks.comparison import ComparedSystem, TaskComparison, compare_with_first, name_set, require_length
from regard.jobs.tasks.registry import open_predictor
from regard.jobs.tasks.reporting.part_scores import tabulate_parts
from regard.metrics.labels import score_parts
from regard.progress import track
from regard.run import Run
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.examples import input_of


def compare_classifiers(
    systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
) -> TaskComparison:
    """Score runs and files of predictions against the labels of files."""
    texts = read_labeled_texts(files, column_names(config))
    examples = [example for example in track(texts, "reading texts") if example.labels]
    if not examples:
        raise DataError(f"{' '.join(files)}: has no labels to compare with")
    read = {name: list(read_predictions(path)) for name, path in systems.items() if not path.is_dir()}
    for name, labels in read.items():
        require_length(name, len(labels), len(examples), "texts")
    answers = {
        name: read[name] if name in read else _classify(path, examples, device) for name, path in systems.items()
    }
    gold, shown = [example.labels for example in examples], list(map(describe_text, examples))
    scoring = label_scoring(gold, list(answers.values()))
    compared = [_score(name, systems[name], answers[name], shown, scoring, gold) for name in track(answers, "scoring")]
    return TaskComparison(
        name_set(files),
        shown,
        gold,
        compared,
        "macro_f1" if "macro_f1" in compared[0].scores else "f1",  # accuracy hides rare classes
        "texts",
        compare_with_first(compared),
        "Classes" if compared[0].confusion else "Labels",
        _describe_majority(gold) if compared[0].confusion else (),
    )


def describe_text(example: LabeledText) -> str:
    """The text, or both texts of a pair."""
    return example.text if example.text_pair is None else f"{example.text} / {example.text_pair}"


def _classify(folder: Path, examples: Sequence[LabeledText], device: str) -> list[Answer]:
    classifier: Classifier = open_predictor(folder, "classify", device)
    return [one.labels for one in classifier.classify([input_of(example) for example in examples])]


def _score(
    name: str,
    path: Path,
    answers: Sequence[Answer],
    texts: Sequence[str],
    scoring: AnswerScoring,
    gold: Sequence[Answer],
) -> ComparedSystem:
    scored = scoring.score(answers)
    return ComparedSystem(
        name,
        answers,
        scored.scores,
        scoring.count(scored, texts, answers, "texts"),
        Run(path) if path.is_dir() else None,
        scored.confusion,
        tabulate_parts(score_parts(gold, answers), "class" if scored.confusion else "label", "texts"),
    )


def _describe_majority(gold: Sequence[Answer]) -> tuple[str, ...]:
    label, count = Counter(label for (label,) in gold).most_common(1)[0]
    accuracy = 100 * count / len(gold)
    return (f"Always predicting {label!r}, the most frequent label, has accuracy {accuracy:.1f}.",)
