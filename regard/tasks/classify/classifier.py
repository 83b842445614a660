"""Classification: strings in, labels and their probabilities out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.model.modules import device_of, evaluation_mode
from regard.tasks.classify.labels import LabelSet
from regard.tasks.classify.loss import make_label_loss
from regard.tasks.text_batch import batch_by_length, pad_rows
from regard.tasks.text_forward import (
    InputText,
    TextModel,
    encode_inputs,
    has_token_types,
    make_forward,
    pool_states,
)

REJECTED = "?"
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, repr=False)
class Classification:
    """The label of a text; where texts may have several, any number of them."""

    labels: tuple[str, ...]
    probability: float
    """Of the label; of several, of the least certain decision for or against one."""
    probabilities: Mapping[str, float]

    @property
    def label(self) -> str:
        """The label; several are joined by commas."""
        return ", ".join(self.labels)

    def __repr__(self) -> str:
        return f"<Classification {self.label or 'without a label'}, {self.probability:.1%}>"

    def _repr_html_(self) -> str:
        from regard.report import Table, TableView, render_fragment  # with all that draws

        by_probability = sorted(self.probabilities.items(), key=lambda item: -item[1])
        rows = Table.from_rows({"label": label, "probability": value} for label, value in by_probability)
        return render_fragment([TableView(rows, caption=repr(self).strip("<>"))])


class LabelChoice(Protocol):
    """How labels are chosen by their probabilities."""

    def log_probs(self, predictions: Tensor) -> Tensor:
        """What the loss predicts as the log-probability of each label: (N, C)."""
        ...

    def choose(self, probabilities: Sequence[float]) -> tuple[list[int], float]:
        """The numbers of the labels of a text, and the probability of this choice."""
        ...


class MostProbable:
    """The most probable label."""

    def log_probs(self, predictions: Tensor) -> Tensor:
        return predictions

    def choose(self, probabilities: Sequence[float]) -> tuple[list[int], float]:
        best = max(range(len(probabilities)), key=lambda i: probabilities[i])
        return [best], probabilities[best]


@dataclass(frozen=True)
class AboveThreshold:
    """Every label whose probability reaches its threshold."""

    thresholds: Sequence[float]

    def log_probs(self, predictions: Tensor) -> Tensor:
        return predictions[..., 1]  # of yes

    def choose(self, probabilities: Sequence[float]) -> tuple[list[int], float]:
        is_chosen = [p >= threshold for p, threshold in zip(probabilities, self.thresholds, strict=True)]
        certainty = min(p if chosen else 1 - p for p, chosen in zip(probabilities, is_chosen, strict=True))
        return [i for i, chosen in enumerate(is_chosen) if chosen], certainty


class Classifier:
    """A trained model that classifies texts, or pairs of texts."""

    def __init__(
        self,
        model: TextModel,
        tokenizer: TextTokenizer,
        labels: LabelSet,
        max_length: int,
        temperature: float = 1.0,
        thresholds: Mapping[str, float] | None = None,
    ):
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.max_length = max_length
        """The maximum number of tokens of a text, special tokens included; longer texts are truncated."""
        self.temperature = temperature
        """What logits are divided by, so that probabilities are calibrated.  Guo et al. 2017."""
        limits = thresholds or {}
        self.choice: LabelChoice = (
            AboveThreshold([limits.get(label, DEFAULT_THRESHOLD) for label in labels.labels])
            if labels.multi_label
            else MostProbable()
        )
        self._loss = make_label_loss(model.output, labels)
        self._forward = make_forward(model, padding_free=True)
        self._token_types = has_token_types(model)

    def log_probs(self, texts: Sequence[InputText]) -> Tensor:
        """The log-probability of each label for each text, in the same order: (N, C)."""
        return self.log_probs_of_ids(encode_inputs(self.tokenizer, texts, self.max_length))

    def log_probs_of_ids(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The same for texts that are encoded already."""
        log_probs = torch.empty(len(rows), len(self.labels.labels))
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in batch_by_length(rows):
                log_probs[batch] = self.predict(self._pool([rows[i] for i in batch])).float().cpu()
        return log_probs

    def predict(self, pooled_states: Tensor) -> Tensor:
        """The log-probability of each label, calibrated: (B, D) -> (B, C)."""
        # Dividing log-probabilities by the temperature is dividing logits: they differ by a constant.
        scaled = (self._loss.predict(pooled_states) / self.temperature).log_softmax(dim=-1)
        return self.choice.log_probs(scaled)

    def classify(self, texts: Sequence[InputText], reject: float = 0.0) -> list[Classification]:
        """The label of each text; "?" where its probability is below `reject`."""
        return [self.decide(row, reject) for row in self.log_probs(texts).exp().tolist()]

    def decide(self, probabilities: Sequence[float], reject: float = 0.0) -> Classification:
        """The label of a text by the probabilities of all labels."""
        ids, probability = self.choice.choose(probabilities)
        labels = (REJECTED,) if probability < reject else self.labels.decode(ids)
        return Classification(labels, probability, dict(zip(self.labels.labels, probabilities, strict=True)))

    def _pool(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The pooled states of texts: (B, D)."""
        device = device_of(self.model)
        ids = pad_rows(rows, self.tokenizer.pad_id).to(device)
        types = pad_rows([*map(self.tokenizer.token_type_ids, rows)], 0).to(device) if self._token_types else None
        return pool_states(self.model, self._forward(ids, types), ids != self.model.pad)
