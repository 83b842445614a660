"""Classify texts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import overload

from regard.api.arguments import AnyPath
from regard.api.runs import TrainedRun, open_run
from regard.errors import ConfigError
from regard.jobs.tasks.classification.inputs import ClassifiedLine, classifies_pairs, classify_lines
from regard.jobs.tasks.registry import open_predictor
from regard.model.modules import count_parameters
from regard.run import Run
from regard.tasks.classify.classifier import Classification, Classifier
from regard.tasks.text_forward import InputText


class ClassificationModel:
    """A trained classifier; `regard.load` opens one."""

    def __init__(self, run: TrainedRun, classifier: Classifier):
        self.run = run
        self.classifier = classifier
        """The model with its tokenizer and labels: `classifier.model` is the PyTorch module."""
        self._pairs = classifies_pairs(Run(run.folder))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training texts, in alphabetical order."""
        return self.classifier.labels.labels

    @overload
    def classify(self, texts: InputText, *, reject: float = 0.0) -> Classification: ...

    @overload
    def classify(self, texts: list[InputText] | list[str], *, reject: float = 0.0) -> list[Classification]: ...

    def classify(
        self, texts: InputText | list[InputText] | list[str], *, reject: float = 0.0
    ) -> Classification | list[Classification]:
        """Classify a text, or every text of a list; the result has the form of the input.

            model.classify("A lovely film.").label  # "positive"

        A run that was trained on pairs of texts takes tuples of two. `probability` of a result is that of its label,
        `probabilities` has those of all labels. The label is "?" where its probability is below `reject`.
        """
        one = isinstance(texts, str | tuple)
        inputs = [texts] if isinstance(texts, str | tuple) else list(texts)
        for number, text in enumerate(inputs):
            self._require_input(text, number)
        results = self.classifier.classify(inputs, _check_reject(reject))
        return results[0] if one else results

    def _require_input(self, text: object, number: int) -> None:
        is_pair = isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) for part in text)
        if is_pair if self._pairs else isinstance(text, str):
            return
        expected = "(text, text), since this run classifies pairs of texts" if self._pairs else "str"
        raise TypeError(f"classify() takes {expected}, or a list of them; item {number} is {type(text).__name__}")

    def __repr__(self) -> str:
        size = f"{len(self.labels):,} labels, {count_parameters(self.classifier.model):,} parameters"
        return f"<ClassificationModel {self.run.describe()}, {size}>"


def load_model(run: AnyPath, device: str = "auto", quantize: str = "none") -> ClassificationModel:
    """The classifier of a run, with its best weights so far."""
    if quantize != "none":
        raise ConfigError(f"quantize={quantize}: is for translators; leave it out")
    return ClassificationModel(open_run(run), open_predictor(Path(run), "classify", device))


def classify_stream(
    run: AnyPath, lines: Iterable[str], *, reject: float = 0.0, device: str = "auto", name: str = "line"
) -> Iterator[ClassifiedLine]:
    """Each line with its classification, as lines arrive; memory does not grow with their number.

        for line in regard.classify_stream("runs/mine", open("long.txt")):
            print(line.classification.label if line.classification else "")

    Where the run classifies pairs of texts, a line has two, separated by a tab. Blank lines are not classified.
    `name` names the lines in error messages.
    """
    if isinstance(lines, str):
        raise TypeError("classify_stream() takes lines, as a file or a list of str, got one str")
    _check_reject(reject)
    model = load_model(run, device)
    texts = (line.removesuffix("\n") for line in lines)
    pairs = classifies_pairs(Run(Path(run)))
    return classify_lines(model.classifier, texts, pairs, reject, lambda n: f"{name}:{n}")


def _check_reject(reject: float) -> float:
    if not 0 <= reject <= 1:
        raise ConfigError(f"reject={reject}: expected a probability from 0 to 1")
    return reject
