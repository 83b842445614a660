"""What `regard look` does for a classifier: explain one decision, or measure what all of them rest on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import Config
from regard.errors import ConfigError, DataError
from regard.formats import read_lines
from regard.formats.labeled import LabeledText, read_labeled_texts
from regard.hardware import configure_cpu
from regard.inspection.decisions.agreement import MeasurePair, mean_agreements, measure_pairs, rank_agreement
from regard.inspection.decisions.attribution import ERASURE, Decision, attention_of_text, explain_decisions
from regard.inspection.decisions.keywords import ClassKeywords, measure_keywords
from regard.inspection.decisions.listed_words import ListedWords, measure_listed_words
from regard.inspection.example import TokenizedText
from regard.inspection.heads.statistics import FloatArray
from regard.jobs.look.inspections import LookOptions, OutputFile, Outputs, are_files, csv_file, write_outputs
from regard.jobs.tasks.classification.inputs import classifies_pairs
from regard.jobs.tasks.classification.prepare import column_names
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.registry import task_of
from regard.jobs.train.training_data import find_training_store
from regard.metrics import Score
from regard.progress import stage, track
from regard.report import Table, Value
from regard.run import Run, open_run
from regard.tasks.classify.classifier import Classifier
from regard.tasks.classify.examples import restore_example
from regard.tasks.text_forward import InputText

UNSUPPORTED = ("--positions", "--head", "--svg", "--png", "--npz", "--no-measure", "--compare-with")
"""Options that inspect the attention of translators and encoders."""
TEXT_NAMES = ("first text", "second text")
SAMPLE_SEED = 3
MAX_NAMED_CLASSES = 5
MIN_DROP = 0.05
"""What a single word has to take from the probability of a label, to be what the decision rests on."""


def describe_input(side: TokenizedText) -> str:
    """The text; of a pair, both with a line between them."""
    return side.text if side.text_pair is None else f"{side.text} | {side.text_pair}"


@dataclass(frozen=True)
class ExplainedText:
    """One decision, whether its measures agree, and its attention."""

    decision: Decision
    agreements: Mapping[MeasurePair, float]
    """Spearman's rank correlations; NaN for a text of few words."""
    heads: Mapping[str, FloatArray]
    """The attention weights of each head (T, T)."""

    def describe(self) -> str:
        """The decision, and the word that it rests on most, in sentences."""
        decision = self.decision
        chosen = decision.classification.label or "no label"
        text = f"The decision is {chosen}, with a probability of {decision.classification.probability:.0%}."
        probability = math.exp(decision.log_prob)
        if decision.label not in decision.classification.labels:
            text += f" Explained is {decision.label}, with a probability of {probability:.0%}."
        costs = decision.measures[ERASURE]
        n = int(costs.argmax())
        without = math.exp(decision.log_prob - costs[n])
        if probability - without < MIN_DROP:
            return f"{text} It rests on no single word: without any one of them, it has {without:.0%} or more."
        side = decision.text
        of = "" if side.text_pair is None else f" of the {TEXT_NAMES[n >= side.num_first_words]}"
        return f"{text} It rests most on “{side.words[n]}”{of}: without this word, it has {without:.0%}."

    def as_dict(self) -> dict[str, Any]:
        """The texts, the decision, each word by every measure, and their agreement; None for an unknown number."""
        decision = self.decision
        side, chosen = decision.text, decision.classification
        return {
            "text": side.text,
            **({} if side.text_pair is None else {"text_pair": side.text_pair}),
            "label": chosen.label,
            "probabilities": dict(chosen.probabilities),
            "explained": decision.label,
            "words": list(self.tabulate().rows()),
            "special_attention": decision.special_attention,
            "rank_agreement": {
                f"{a.name} and {b.name}": None if math.isnan(value) else value
                for (a, b), value in self.agreements.items()
            },
        }

    def tabulate(self) -> Table:
        """One row per word, one column per measure."""
        side = self.decision.text
        columns: dict[str, Sequence[Value]] = {"word": side.words}
        if side.text_pair is not None:
            columns["text"] = [1 + (n >= side.num_first_words) for n in range(len(side.words))]
        return Table(columns | {measure.name: values.tolist() for measure, values in self.decision.measures.items()})


@dataclass(frozen=True)
class MeasuredTexts:
    """What the decisions about many texts rest on."""

    name: str
    num_texts: int
    agreements: Mapping[MeasurePair, Score]
    listed: ListedWords | None
    """None where no list was given, or none of its words occurs."""
    keywords: Sequence[ClassKeywords]

    def as_dict(self) -> dict[str, Any]:
        """The agreement of measures, and what is said of listed words and keywords."""
        return {
            "texts": self.num_texts,
            "rank_agreement": {score.name: score.as_dict() for score in self.agreements.values()},
            "listed_words": self.describe_listed(),
            "keywords": [
                {
                    "label": entry.label,
                    "keywords": list(entry.keywords),
                    "decisions": entry.num_texts,
                    "flipped": entry.flipped.as_dict(),
                    "random_flipped": entry.random_flipped,
                }
                for entry in self.keywords
            ],
        }

    def describe_agreement(self) -> str:
        """The measures that agree least and best."""
        if not self.agreements:
            return "Too few texts have enough words to compare the ranks of words."
        worst, best = (pick(self.agreements.values(), key=lambda score: score.value) for pick in (min, max))
        return (
            f"Mean rank correlation over texts, 0 is chance: {worst.name} agree least ({worst.value:.2f}), "
            f"{best.name} best ({best.value:.2f})."
        )

    def describe_listed(self) -> list[str]:
        """What listed words have of each measure, and what erasing them costs."""
        if self.listed is None:
            return []
        lines = [
            f"{share.measure.name}: listed words have {share.share:.0%}, {share.lift.value:.1f} times the average of a "
            f"word; random words of the same frequency {share.random_lift:.1f} times "
            f"({share.random_interval[0]:.1f} to {share.random_interval[1]:.1f}), p = {share.p_value:.3f}"
            for share in self.listed.shares
        ]
        if self.listed.cost is not None and self.listed.cost_difference is not None:
            difference = self.listed.cost_difference
            lines.append(
                f"erasing a listed word lowers the log-probability of the label by {self.listed.cost.value:.2f} nats, "
                f"{difference.value:.2f} more than another word of the same text ({difference.format_interval()})"
            )
        return lines

    def describe_reliance(self) -> str:
        """Of how many classes more decisions change without keywords than by chance, in one sentence."""
        if not self.keywords:
            return "No class has enough texts to select keywords."
        relying = [entry.label for entry in self.rank_keywords() if entry.exceeds_chance]
        count = len(self.keywords)
        of_all = "the one class" if count == 1 else f"{len(relying) or 'none'} of the {count} classes"
        if not relying:
            return (
                f"For {of_all} with enough texts, no more decisions change without its keywords than without random "
                f"words of the same frequency."
            )
        more = len(relying) - MAX_NAMED_CLASSES
        names = ", ".join(relying[:MAX_NAMED_CLASSES]) + (f" and {more} more" if more > 0 else "")
        return (
            f"For {of_all} with enough texts, more decisions change without a few keywords than without random words "
            f"of the same frequency: {names}."
        )

    def rank_keywords(self) -> list[ClassKeywords]:
        """The keywords of each class, those first without which most decisions change, beyond those of random words."""
        return sorted(self.keywords, key=lambda entry: entry.random_flipped - entry.flipped.value)

    def describe_keywords(self) -> list[str]:
        """For each class, how many of its decisions change without its keywords."""
        return [
            f"{entry.label}: {entry.flipped.value:.0f}% of {entry.num_texts} decisions for this class change without "
            f"{', '.join(entry.keywords)}{_format_percentages(entry.flipped)}; without random words of the same "
            f"frequency {entry.random_flipped:.0f}% ({entry.random_interval[0]:.0f} to {entry.random_interval[1]:.0f}%)"
            for entry in self.rank_keywords()
        ]


def _format_percentages(score: Score) -> str:
    """The interval in parentheses; nothing where there are too few texts for one."""
    return "" if score.low is None else f" ({score.format_interval(0)}%)"


@dataclass(frozen=True, repr=False)
class DecisionInspection:
    """What a classifier's decisions rest on, and files to write."""

    outputs: Outputs
    text: ExplainedText | None = None
    """One text; None if many were measured."""
    texts: MeasuredTexts | None = None
    notes: tuple[str, ...] = ()

    def write(self, paths: Mapping[str, Path]) -> "DecisionInspection":
        """Write files by their option; the inspection with notes on them."""
        return replace(self, notes=write_outputs(self.outputs, paths))

    def as_dict(self) -> dict[str, Any]:
        """What is printed, as JSON: the decision with every word, or what many decisions rest on."""
        if self.text is not None:
            return self.text.as_dict()
        assert self.texts is not None
        return self.texts.as_dict()

    def __repr__(self) -> str:
        return f"<DecisionInspection>\n{self}"

    def __str__(self) -> str:
        lines = [self.text.describe()] if self.text else []
        if self.texts:
            lines += [self.texts.describe_agreement(), *self.texts.describe_listed()]
            lines += [self.texts.describe_reliance(), *self.texts.describe_keywords()]
        return "\n".join([*lines, *self.notes])


def inspect(request: LookOptions, device: str = "cpu") -> DecisionInspection:
    """Explain the decision about a text, or measure those about many."""
    request.require_unset(UNSUPPORTED, f"does not apply to a classifier, as {request.run} is one: leave it out")
    files = [*request.data, *(request.texts if request.texts and are_files(request.texts) else ())]
    if request.texts and request.data:
        raise ConfigError("a text and --data: expected one of them, since a text is explained and data is measured")
    run = open_run(request.run)
    if request.texts and not files:
        _require_input(run, request.texts)
    configure_cpu(0)
    classifier: Classifier = task_of(run.load_config()).load_predictor(request.run, device)
    if request.texts and not files:
        request.require_unset(("--words",), "measures many texts, and one was given: use it with --data")
        return _inspect_text(classifier, request, run.folder.name)
    request.require_unset(("--label", "--csv"), "needs one text, quoted")
    examples, name = _read_examples(run, files, request.sentences)
    listed = read_words(request.words) if request.words is not None else None
    measured = measure_texts(classifier, [example.text for example in examples], name, listed)
    return DecisionInspection({"--out": partial(_texts_page, measured, run.folder.name)}, texts=measured)


def _require_input(run: Run, texts: Sequence[str]) -> None:
    """Refuse another number of texts than the run classifies at once."""
    if not classifies_pairs(run):
        if len(texts) > 1:
            raise ConfigError(f"{len(texts)} texts: expected one, quoted; measure several with --data FILE")
        return
    if len(texts) != 2:
        raise ConfigError(
            f"expected two texts, quoted, since {run.folder} classifies pairs, and got {len(texts)}: "
            f'regard look {run.folder} "a text" "another"'
        )


def _inspect_text(classifier: Classifier, request: LookOptions, name: str) -> DecisionInspection:
    first, *others = request.texts
    explained = explain_text(classifier, (first, others[0]) if others else first, request.label)
    outputs: Outputs = {
        "--out": partial(_text_page, explained, name),
        "--csv": partial(csv_file, explained.tabulate),
    }
    return DecisionInspection(outputs, text=explained)


def explain_text(classifier: Classifier, text: InputText, label: str | None = None) -> ExplainedText:
    """Explain the decision about one text, or one pair of texts."""
    decisions = explain_decisions(classifier, [text], label)
    if not decisions:
        raise DataError("there is no text to explain: it has no words")
    (decision,) = decisions
    agreements = {pair: rank_agreement(decision, pair) for pair in measure_pairs(decisions)}
    return ExplainedText(decision, agreements, attention_of_text(classifier, decision.text))


def measure_texts(
    classifier: Classifier, texts: Sequence[str], name: str, listed: Sequence[str] | None = None
) -> MeasuredTexts:
    """Agreement of the measures, listed words, and keywords, over many texts."""
    decisions = explain_decisions(classifier, texts)
    if not decisions:
        raise DataError(f"{name}: no text has any words; expected texts to measure on")
    with stage("comparing measures"):
        agreements = mean_agreements(decisions)
        listed_words = None if listed is None else measure_listed_words(decisions, listed)
    keywords = measure_keywords(classifier, [decision.text.text for decision in decisions])
    return MeasuredTexts(name, len(decisions), agreements, listed_words, keywords)


def _read_examples(run: Run, files: Sequence[str], count: int) -> tuple[list[LabeledText], str]:
    """A random sample of texts, the same every time: files are often sorted by label."""
    config = run.load_config()
    examples, name = (
        (_read_files(files, config), " ".join(Path(file).name for file in files)) if files else _read_dev(run)
    )
    if not examples:
        raise DataError(f"{name}: has no texts to measure on")
    if any(example.text_pair is not None for example in examples):
        raise DataError(
            f"{name}: has pairs of texts, and only decisions about single texts are measured; explain one pair: "
            f'regard look {run.folder} "a text" "another"'
        )
    if len(examples) > count:
        chosen = np.random.default_rng(SAMPLE_SEED).choice(len(examples), count, replace=False)
        examples = [examples[n] for n in sorted(chosen)]
    return examples, name


def _read_files(files: Sequence[str], config: Config) -> list[LabeledText]:
    return list(track(read_labeled_texts(files, column_names(config)), "reading texts"))


def _read_dev(run: Run) -> tuple[list[LabeledText], str]:
    store = find_training_store(run)
    if not store.texts_manifest.exists():
        raise DataError(f"{run.folder}: has no stored dev texts; give texts with --data FILE")
    return [restore_example(pair) for pair in read_stored_pairs(store, "dev")], "the run's dev set"


def read_words(path: Path) -> list[str]:
    """The words of a file, one per line."""
    words = [line.strip() for line in read_lines(path) if line.strip()]
    if not words:
        raise DataError(f"{path}: is empty; expected words, one per line")
    return words


def _text_page(explained: ExplainedText, name: str) -> OutputFile:
    from regard.jobs.look.decision_page import render_text  # draws

    with stage("rendering the page"):
        return OutputFile(render_text(explained, name).encode())


def _texts_page(measured: MeasuredTexts, name: str) -> OutputFile:
    from regard.jobs.look.decision_page import render_texts  # draws

    with stage("rendering the page"):
        return OutputFile(render_texts(measured, name).encode())
