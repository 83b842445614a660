"""What the trials of a study can be ranked by, and the words of a task for its predictions."""

from dataclasses import dataclass
from typing import Literal

from regard.training.validate import Validation

TOKENIZATION_SETTINGS = ("data.vocab_size", "data.joint_vocab", "data.tokenizer")
"""Settings that decide what a token is: the tokens of a smaller vocabulary are easier to predict."""


@dataclass(frozen=True)
class TaskMetric:
    """A score of dev that the trials of a study can be ranked by."""

    name: str
    higher_is_better: bool = True
    digits: int = 2
    """Decimal places that people read."""
    validated_as: Literal["loss", "accuracy", "score"] = "score"
    """What of a validation it is, or what stands in for it."""
    stand_in: str = ""
    """The name of what stands in for it in validations; empty where they have the metric itself."""
    checkpoint_metric: str = "loss"
    """What `train.metric` selects the best weights of a trial by."""
    bound_to: tuple[str, ...] = ()
    """Settings that may not vary: the targets of trials would differ, and so not only how well they are predicted."""
    substitutes: tuple[str, ...] = ()
    """Scores in its place where the data has none such: tags without spans, texts with several labels."""

    @property
    def validated_name(self) -> str:
        """The name of the metric of validations."""
        return self.stand_in or self.name

    def of_validation(self, validation: Validation) -> float | None:
        """The value in a validation; None where nothing was predicted."""
        if self.validated_as == "loss":
            return validation.loss
        if self.validated_as == "accuracy":
            return 100 * validation.accuracy
        return validation.score.value if validation.score else None


@dataclass(frozen=True)
class PredictionWords:
    """What a task calls the predictions for dev."""

    verb: str = ""
    """What a model does with an input: translate, classify; empty where nothing is predicted for dev."""
    noun: str = ""
    """What that is: translation, classification."""
    input: str = ""
    """What it is done with: sentence, text."""
    note: str = ""
    """How it is done in validations."""
    answers: str = "predictions"
    """What comes out."""


@dataclass(frozen=True)
class ReportWords:
    """How the report of a run says whether its model works."""

    works: str
    """What a model does that works, as the beginning of a sentence: Translates."""
    ability: str
    """What one that does not work has not learned, after `to`: translate."""
    examples: str
    """What its scores are computed on: sentences."""


LOSS = TaskMetric("loss", higher_is_better=False, digits=3, validated_as="loss")
