"""What a job is to the rest of the program: how its files are read, learned from, predicted and scored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from torch import nn

from regard.config import Config
from regard.data.batch import Batches
from regard.data.store import Corpus
from regard.formats import Pair
from regard.jobs.live.previews import AttentionExample
from regard.jobs.tasks.task_metric import PredictionWords, ReportWords, TaskMetric
from regard.jobs.train.head_history import NullHeadRecorder
from regard.metrics import Score
from regard.metrics.labels.statistics import CountedScore
from regard.run import Run
from regard.tasks.loss import LossModule
from regard.training.alarms import AlarmWords
from regard.training.planning.cost import MeanLengths
from regard.training.planning.sizing import SizingInputs, SuggestedSetting
from regard.training.validate import Validator

if TYPE_CHECKING:
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table  # with all that draws, which training does not need


@dataclass(frozen=True)
class TrainingData:
    """What a run is trained, validated and tested on. Every example is stored as a pair of texts, input and target."""

    train: Corpus
    dev: Corpus
    test: Corpus | None
    notes: tuple[str, ...]
    """What preparing the data reported."""
    held_out: tuple[str, ...]
    """The sets that were held out of the training files."""

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding table."""
        raise NotImplementedError

    @property
    def output_size(self) -> int:
        """Rows of the output projection."""
        raise NotImplementedError


class TextSize(NamedTuple):
    """The size of the training text."""

    examples: int
    source_bytes: int
    target_bytes: int


class TaskEvaluation(Protocol):
    """The scores of a model on a set, of any task."""

    @property
    def scores(self) -> dict[str, Score]: ...

    @property
    def loss(self) -> float | None: ...


LossFactory = Callable[[nn.Module], LossModule]


class Task(Protocol):
    """A job. Its settings are in the config; it has no state of its own."""

    name: str
    example: str
    """What files consist of: pair, text, sentence, document."""
    unit: str
    """What the loss is averaged over: target token, text, word …"""
    target: str
    """What is predicted: token, class, tag."""
    main_score: str
    """The score that a verdict is about."""
    data_settings: tuple[str, ...]
    """Settings of the task that decide what its examples are."""

    @property
    def inspector(self) -> str:
        """The module that inspects its runs, by its function `inspect`: `regard look`."""
        ...

    def inspected_pair(self, pair: Pair) -> Pair:
        """A stored example as the texts that the model reads and writes."""
        ...

    @property
    def prediction_words(self) -> PredictionWords:
        """What the predictions for dev are called."""
        ...

    @property
    def report_words(self) -> ReportWords:
        """How a report says whether a model works."""
        ...

    @property
    def metrics(self) -> Mapping[str, TaskMetric]:
        """What the trials of a study can be ranked by; the first is the default."""
        ...

    @property
    def alarm_words(self) -> AlarmWords:
        """What the parts of an example are called where training goes wrong."""
        ...

    def require_files(self, config: Config) -> None:
        """Refuse settings without training files."""
        ...

    def write_texts(self, run: Run, config: Config) -> None:
        """Read every file, drop what cannot be learned from, hold out the missing sets, and store the texts."""
        ...

    def measure_texts(self, run: Run, config: Config) -> TextSize:
        """The size of the stored training texts, as they are trained on."""
        ...

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        """A value for every setting that the user has not set."""
        ...

    def tokenize(self, run: Run, config: Config) -> None:
        """Train the tokenizer, and store the texts as ids; labels are learned from the training texts alone."""
        ...

    def open_data(self, run: Run, config: Config) -> TrainingData:
        """Open what `write_texts` and `tokenize` have written; texts and ids are memory-mapped."""
        ...

    def count_examples(self, data: Any) -> float:
        """What an epoch of training consists of: pairs, texts, windows of documents."""
        ...

    def max_batch_rows(self, config: Config) -> float:
        """Examples of a batch at most; infinity where its tokens alone limit it."""
        ...

    def mean_lengths(self, data: Any) -> MeanLengths:
        """The mean number of tokens of an input and of a target."""
        ...

    def require_memory(self, config: Config, data: Any) -> None:
        """Refuse a model that does not fit into memory."""
        ...

    def build_model(self, config: Config, data: Any) -> nn.Module:
        """A randomly initialized model; the same for the same seed."""
        ...

    def build_loss_factory(self, config: Config, data: Any, padding_free: bool) -> LossFactory:
        """A function from a model to its loss module; what is fitted for it is fitted once."""
        ...

    def build_batches(self, config: Config, data: Any) -> Batches:
        """The batches of training; their order and their noise depend on the seed alone."""
        ...

    def build_predictor(self, model: Any, config: Config, data: Any) -> Any:
        """What predicts with the weights of a model as they are."""
        ...

    def build_validator(self, loss_module: LossModule, predictor: Any, config: Config, data: Any) -> Validator: ...

    def build_head_recorder(self, run: Run, config: Config, model: Any, data: Any) -> NullHeadRecorder:
        """What measures attention heads in training (`train.head_stats_every`)."""
        ...

    def find_attention_example(self, data: Any) -> AttentionExample | None:
        """A dev example whose attention is shown while the model is trained; None where there is none of its length."""
        ...

    def baseline_loss(self, config: Config, data: Any) -> float:
        """The dev loss of a model that knows only the frequency of each target."""
        ...

    def load_predictor(self, folder: Path, device: str) -> Any:
        """What predicts with the best weights of a run."""
        ...

    def calibrate(self, run: Run, predictor: Any, data: Any) -> None:
        """Fit on dev what predictions need beside the weights, and write it into the run."""
        ...

    def evaluate(self, run: Run, predictor: Any, pairs: Sequence[Pair], set_name: str = "") -> Any:
        """Predict for stored examples, and score the predictions; nothing is written.

        With the name of a stored set, cheap opponents are scored beside the model.
        """
        ...

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        """The examples of files, read by the settings of a run, in the form in which they are stored."""
        ...

    def evaluate_new(self, run: Run, predictor: Any, pairs: Sequence[Pair]) -> Any:
        """Evaluate examples that are in no stored set, beside opponents that are fitted on the stored training set."""
        ...

    def require_readable(self, files: Sequence[str], config: Config) -> None:
        """Refuse files that do not exist, or whose first example cannot be read: the rest is read later."""
        ...

    def select_dev(self, data: Any, max_examples: int) -> list[Pair]:
        """The stored dev examples that a trial of a study is scored on: all, or as many where predicting takes long."""
        ...

    def describe_failure(self, evaluation: Any) -> str | None:
        """Why a model does not work by its predictions, empty if it does; None where they do not tell."""
        ...

    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None:
        """What each example counts for a score of a set, from what `write_scores` wrote; None where it is not known."""
        ...

    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None":
        """What the examples of a set show of several runs, for a page; None where they show nothing more."""
        ...

    def tabulate_mistakes(self, evaluation: Any) -> "Table":
        """The worst mistakes of an evaluation, one in a row."""
        ...

    def write_scores(self, run: Run, name: str, evaluation: Any, files: Sequence[str] = ()) -> None:
        """Write the scores of a set into the run; `files` are those that it was read from."""
        ...

    def restore_evaluation(self, run: Run, set_name: str) -> Any:
        """The evaluation that `write_scores` has written; None where it must be computed again."""
        ...

    def write_report(self, run: Run, predictor: Any, evaluation: Any, set_name: str, epochs: float) -> None:
        """Write report.html of a run that has trained for this many epochs."""
        ...

    def describe_data(self, config: Config) -> str:
        """What is predicted from what, in a few words: en → fr, text → class."""
        ...

    def next_commands(self, folder: str) -> list[str]:
        """Commands that use a run."""
        ...

    def plan_notes(self, config: Config, data: Any) -> list[str]:
        """What the user should know before training begins."""
        ...

    def closing_seconds(self, config: Config, data: Any) -> float:
        """How long `close` will take, about."""
        ...

    def close(self, run: Run, config: Config, data: Any) -> list[str]:
        """Make what a run has besides weights and scores, once it is scored; what the user should know of it."""
        ...


@runtime_checkable
class ComparableTask(Task, Protocol):
    """A task that evaluates files and compares systems by its own scores; translators have a search to choose, too."""

    @property
    def file_example(self) -> str:
        """What files have many of."""
        ...

    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        """Runs and files of predictions on one test set, which is read as by a run with this config."""
        ...
