"""Predictions of labels by several systems, compared on one test set: scores, intervals and paired tests."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.baselines.scoring import Answer, AnswerScoring, label_scoring, tag_scoring
from regard.errors import ConfigError, DataError, FormatError
from regard.formats import Pair
from regard.formats.labeled import (
    ColumnNames,
    LabeledText,
    TaggedSentence,
    read_labeled_texts,
    read_predictions,
    read_tagged_sentences,
)
from regard.formats.related import RelatedColumns
from regard.jobs.doctor import LabelTask
from regard.jobs.tasks.open_predictor import open_predictor
from regard.jobs.tasks.registry import get_task
from regard.metrics import Score
from regard.metrics.labels import Confusion, LabelTest, compare_with_baseline
from regard.progress import track
from regard.tasks.classify.examples import store_example
from regard.tasks.tag.examples import store_sentence

DECISIVE = ("macro_f1", "f1", "spearman", "mrr")
"""Measures that rank systems; each kind of answers has one of them."""


@dataclass(frozen=True)
class LabelSystem:
    """The predictions of a system, and how good they are."""

    name: str
    predictions: Sequence[Answer]
    scores: Mapping[str, Score]
    confusion: Confusion | None = None
    """Where every text has one label."""


@dataclass(frozen=True, repr=False)
class LabelComparison:
    """Systems side by side; every test is against the first one, the baseline."""

    name: str
    texts: Sequence[str]
    gold: Sequence[Answer]
    systems: Sequence[LabelSystem]
    tests: Mapping[str, Mapping[str, LabelTest]] = field(default_factory=dict)
    """Measure -> system -> test."""
    unit: str = "texts"
    majority: tuple[str, float] | None = None
    """The most frequent label of the test set, and the accuracy of always predicting it."""

    @property
    def baseline(self) -> LabelSystem:
        return self.systems[0]

    @property
    def best(self) -> LabelSystem:
        """The system with the highest value of the measure that decides."""
        return max(self.systems, key=lambda system: system.scores[self.decisive].value)

    @property
    def decisive(self) -> str:
        """The measure that ranks: accuracy hides rare classes, F1 does not."""
        return next(name for name in DECISIVE if name in self.baseline.scores)

    @property
    def has_errors(self) -> bool:
        """Whether an answer is right or wrong: a number that correlates with another is neither."""
        return "spearman" not in self.baseline.scores

    def as_dict(self) -> dict[str, Any]:
        """System -> measure -> value, interval, signature and p-values against the baseline."""
        return {
            system.name: {
                name: score.as_dict() | self._p_values(name, system.name) for name, score in system.scores.items()
            }
            for system in self.systems
        }

    def __repr__(self) -> str:
        names = ", ".join(system.name for system in self.systems)
        return f"<LabelComparison of {names} on {len(self.gold):,} {self.unit}>"

    def __str__(self) -> str:
        return "\n".join(f"{system.name}: {score}" for system in self.systems for score in system.scores.values())

    def _p_values(self, measure: str, system: str) -> dict[str, float]:
        test = self.tests.get(measure, {}).get(system)
        return {"p_bootstrap": test.p_bootstrap, "p_randomized": test.p_randomized} if test else {}


def compare_label_files(
    systems: Sequence[Path], task: str, files: Sequence[str], columns: ColumnNames
) -> LabelComparison:
    """Score runs and files of predictions against the labels of files, and test them against the first one."""
    if task not in COMPARISONS:
        raise ConfigError(f"task={task}: expected one of translate, {', '.join(COMPARISONS)}")
    if not files:
        raise DataError("no test texts: give them with --on test.csv")
    names = [path.name for path in systems]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        names = [str(path) if path.name in repeated else path.name for path in systems]
    return COMPARISONS[task](dict(zip(names, systems, strict=True)), files, columns)


def _compare_labels(systems: Mapping[str, Path], files: Sequence[str], columns: ColumnNames) -> LabelComparison:
    examples = [example for example in track(read_labeled_texts(files, columns), "reading texts") if example.labels]
    if not examples:
        raise DataError(f"{' '.join(files)}: has no labels to compare with")
    gold = [example.labels for example in examples]
    pairs = list(map(store_example, examples))
    predictions = {
        name: _predict(path, "classify", pairs) if path.is_dir() else list(read_predictions(path))
        for name, path in systems.items()
    }
    for name, answers in predictions.items():
        _require_length(name, len(answers), len(gold), "texts")
    texts = [_describe_text(example) for example in examples]
    comparison = _compare(files, texts, gold, predictions, label_scoring(gold, list(predictions.values())), "texts")
    if comparison.baseline.confusion is None:
        return comparison
    label, count = Counter(label for (label,) in gold).most_common(1)[0]
    return replace(comparison, majority=(label, 100 * count / len(gold)))


def _compare_tags(systems: Mapping[str, Path], files: Sequence[str], columns: ColumnNames) -> LabelComparison:
    if columns != ColumnNames():
        raise ConfigError("the columns of words and tags are fixed: the first one is the word, the last one the tag")
    sentences = list(track(read_tagged_sentences(files), "reading sentences"))
    if not sentences:
        raise DataError(f"{' '.join(files)}: has no sentences to compare with")
    gold = [sentence.tags for sentence in sentences]
    pairs = list(map(store_sentence, sentences))
    predictions = {
        name: _predict(path, "tag", pairs) if path.is_dir() else _read_tags(path, sentences)
        for name, path in systems.items()
    }
    texts = [" ".join(sentence.words) for sentence in sentences]
    return _compare(files, texts, gold, predictions, tag_scoring(gold), "sentences")


def _compare_embeddings(systems: Mapping[str, Path], files: Sequence[str], columns: ColumnNames) -> LabelComparison:
    from regard.jobs.tasks.embedding.comparison import compare_embeddings  # which imports this module

    return compare_embeddings(systems, files, RelatedColumns(columns.text, columns.text_pair, columns.label))


Compare = Callable[[Mapping[str, Path], Sequence[str], ColumnNames], LabelComparison]
COMPARISONS: Mapping[str, Compare] = {"classify": _compare_labels, "tag": _compare_tags, "embed": _compare_embeddings}
"""By task."""


def _compare(
    files: Sequence[str],
    texts: Sequence[str],
    gold: Sequence[Answer],
    predictions: Mapping[str, Sequence[Answer]],
    scoring: AnswerScoring,
    unit: str,
) -> LabelComparison:
    scored = {name: scoring.score(answers) for name, answers in track(predictions.items(), "scoring")}
    systems = [LabelSystem(name, predictions[name], one.scores, one.confusion) for name, one in scored.items()]
    counts = {name: one.counts for name, one in scored.items()}
    baseline = systems[0].predictions
    differing = {s.name: sum(a != b for a, b in zip(s.predictions, baseline, strict=True)) for s in systems}
    tests = {}
    if len(systems) > 1:
        tests = {
            name: compare_with_baseline(counts, differing, measure)
            for name, measure in track(scoring.measures.items(), "testing significance")
        }
    name = Path(files[0]).name.partition(".")[0]
    return LabelComparison(name, texts, gold, systems, tests, unit)


def _predict(folder: Path, task: LabelTask, pairs: Sequence[Pair]) -> list[Answer]:
    """What a run predicts for stored examples."""
    predictor = open_predictor(folder, task, "auto")
    answers: list[Answer] = get_task(task).predict_answers(predictor, pairs)
    return answers


def _read_tags(path: Path, sentences: Sequence[TaggedSentence]) -> list[Answer]:
    predicted = list(read_tagged_sentences([path]))
    _require_length(path.name, len(predicted), len(sentences), "sentences")
    for one, gold in zip(predicted, sentences, strict=True):
        if len(one.words) != len(gold.words):
            raise FormatError(
                f"{one.location}: the sentence has {len(one.words)} words, but {gold.location} has {len(gold.words)}; "
                f"predictions are for the words of the test set"
            )
    return [sentence.tags for sentence in predicted]


def _require_length(name: str, count: int, expected: int, unit: str) -> None:
    if count != expected:
        raise FormatError(
            f"{name} has {count:,} predictions, but the test set has {expected:,} {unit} with labels; expected one for "
            f"each"
        )


def _describe_text(example: LabeledText) -> str:
    return example.text if example.text_pair is None else f"{example.text} / {example.text_pair}"
