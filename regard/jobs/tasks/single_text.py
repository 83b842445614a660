"""What the tasks share whose model reads one text at a time."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from regard.baselines import OpponentPredictions
from regard.config import Config
from regard.data import store
from regard.data.batch import Batches, Collator, batches_by_length
from regard.data.store import Corpus, IdRow, Texts
from regard.data.tokenizers import tokenizer as tokenizer_module
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.errors import ConfigError
from regard.formats import Pair
from regard.hardware import available_memory, pick_device
from regard.jobs.load import count_embeddings, load_text_tokenizer, load_weights
from regard.jobs.run_kind import KINDS, require_weights, use_command
from regard.jobs.tasks.attention_task import AttentionTask
from regard.jobs.tasks.opponents import read_stored_pairs, write_opponents
from regard.jobs.tasks.task import LossFactory, TextSize, TrainingData
from regard.jobs.tasks.task_metric import PredictionWords, TaskMetric
from regard.jobs.train.head_history import NullHeadRecorder
from regard.jobs.train.training_data import open_sets, read_notes, read_texts_manifest
from regard.metrics.labels.statistics import CountedScore
from regard.model.build import build_decoder, build_encoder, build_text_encoder_decoder
from regard.progress import stage, track
from regard.run import Run, atomic_write, open_run
from regard.tasks.loss import LossModule
from regard.tasks.text_forward import TextModel
from regard.training.alarms import AlarmWords
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_bytes
from regard.training.validate import DevPredictor, Validator

if TYPE_CHECKING:
    from regard.inspection.text_readers import TextReader
    from regard.jobs.tasks.comparison import TaskComparison
    from regard.jobs.tasks.reporting.example_section import ExampleSection
    from regard.report import Table

SEPARATOR = "\x1e"
"""Between the parts of a stored example: two texts, several labels, words."""
CHUNK = 2_000
BUILDERS: Mapping[str, Callable[..., TextModel]] = {
    "encoder": build_encoder,
    "decoder": build_decoder,
    "encoder-decoder": build_text_encoder_decoder,
}
"""By architecture."""


@dataclass(frozen=True)
class SingleTextData(TrainingData):
    """Texts with their targets, a tokenizer, and the labels of the training texts."""

    tokenizer: Any
    """A TextTokenizer; of a causal language model, a DocumentTokenizer."""
    labels: Any
    """A LabelSet or a TagSet; None where tokens are predicted."""
    num_outputs: int

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.vocab_size

    @property
    def output_size(self) -> int:
        return self.num_outputs


class SingleTextTask(AttentionTask, ABC):
    """A task of a model that reads one text. A subclass says what its examples, labels, losses and scores are."""

    name: str
    example: str
    unit: str
    target: str
    main_score: str
    test_file: str
    """The name of a file that its runs are scored on, for examples of commands."""
    data_settings: tuple[str, ...]

    @property
    def file_example(self) -> str:
        """What files have many of; an example, unless examples are cut from it."""
        return self.example

    @property
    def prediction_words(self) -> PredictionWords:
        """Nothing is predicted for dev but probabilities, unless a subclass predicts more."""
        return PredictionWords()

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, TaskMetric]: ...

    @abstractmethod
    def write_texts(self, run: Run, config: Config) -> None: ...

    @abstractmethod
    def learn_labels(self, targets: Iterable[str]) -> Any:
        """The labels of the stored targets of the training texts; None where tokens are predicted."""

    @abstractmethod
    def read_labels(self, run: Run) -> Any:
        """What `learn_labels` has learned, from labels.json."""

    @abstractmethod
    def encode(self, pairs: Sequence[Pair], tokenizer: Any, labels: Any, config: Config) -> Iterator[IdRow]:
        """The ids of stored examples."""

    @abstractmethod
    def count_outputs(self, tokenizer: Any, labels: Any) -> int:
        """Rows of the output projection."""

    def predict_opponents(
        self, training: Sequence[Pair], dev: Sequence[Pair], pairs: Sequence[Pair]
    ) -> OpponentPredictions:
        """What cheap opponents predict for stored examples: they were fitted on others, and chosen on dev."""
        return OpponentPredictions({})

    def store_opponents(self, run: Run, tokenizer: Any) -> None:
        """Fit cheap opponents, and store what evaluation needs of them."""
        write_opponents(run, self.predict_opponents)

    def open_tokenizer(self, run: Run) -> Any:
        """The tokenizer of a run."""
        return load_text_tokenizer(run)

    def split_for_tokenizer(self, texts: Iterable[str]) -> Iterator[str]:
        """The lines that a tokenizer is trained on."""
        return (part for text in texts for part in text.replace(SEPARATOR, "\n").split("\n"))

    def control_symbols(self, run: Run, config: Config) -> tuple[str, ...]:
        """The tokens of a new vocabulary that no text is encoded with."""
        return (MASK_TOKEN,)

    def store_rows(self, run: Run, name: str, tokenizer: Any, labels: Any, config: Config) -> None:
        """Store the ids of a set."""
        sizes = self.id_limits(tokenizer, labels)
        store.write_rows(run.store, name, self.encode_set(run, name, tokenizer, labels, config), sizes)

    def open_rows(self, run: Run, name: str, tokenizer: Any, labels: Any) -> Corpus:
        """A set that `store_rows` has stored."""
        return store.open_rows(run.store, name, self.id_limits(tokenizer, labels))

    @abstractmethod
    def pooling(self, config: Config) -> str | None: ...

    @abstractmethod
    def build_collator(self, config: Config, data: SingleTextData, training: bool) -> Collator: ...

    @abstractmethod
    def build_loss(self, model: Any, config: Config, data: SingleTextData, padding_free: bool) -> LossModule: ...

    @abstractmethod
    def build_dev_predictor(self, predictor: Any, config: Config, data: SingleTextData) -> DevPredictor: ...

    @abstractmethod
    def make_predictor(self, model: Any, tokenizer: Any, labels: Any, config: Config) -> Any: ...

    @property
    def alarm_words(self) -> AlarmWords:
        return AlarmWords(
            f"a model that knows only the frequency of each {self.target}",
            f"ignores its {self.example}: with other {self.example}s",
            f"every {self.target} belongs to its {self.example}",
            "the model",
        )

    def require_files(self, config: Config) -> None:
        if not config.data.train:
            raise ConfigError(f"nothing to train on: give files of {self.example}s, or set data.train")

    def measure_texts(self, run: Run, config: Config) -> TextSize:
        sides = [Texts(run.store, f"train.{side}") for side in ("source", "target")]
        return TextSize(len(sides[0]), *(side.num_bytes for side in sides))

    def tokenize(self, run: Run, config: Config) -> None:
        if run.tokens_manifest.exists():
            return
        tokenizer, notes = self._train_tokenizer(run, config)
        labels = self._write_labels(run)
        for name in read_texts_manifest(run).sets:
            self.store_rows(run, name, tokenizer, labels, config)
        self.store_opponents(run, tokenizer)
        run.write_json(run.tokens_manifest, {"notes": notes})

    def open_data(self, run: Run, config: Config) -> SingleTextData:
        tokenizer, labels = self.open_tokenizer(run), self.read_labels(run)
        corpora = open_sets(run, lambda name: self.open_rows(run, name, tokenizer, labels))
        return SingleTextData(
            corpora["train"],
            corpora["dev"],
            corpora.get("test"),
            read_notes(run),
            read_texts_manifest(run).held_out,
            tokenizer,
            labels,
            self.count_outputs(tokenizer, labels),
        )

    def id_limits(self, tokenizer: Any, labels: Any) -> tuple[int, int]:
        """What the ids of inputs and of targets are below."""
        return tokenizer.vocab_size, max(tokenizer.vocab_size, self.count_outputs(tokenizer, labels)) + 1

    def count_examples(self, data: Any) -> float:
        return len(data.train)

    def max_batch_rows(self, config: Config) -> float:
        return math.inf

    def mean_lengths(self, data: Any) -> MeanLengths:
        texts = len(data.train)
        return MeanLengths(len(data.train.source_ids.values) / texts, self.targets_per_text(data))

    def targets_per_text(self, data: Any) -> float:
        """How many states of a text are projected, on average."""
        return 1.0

    def require_memory(self, config: Config, data: SingleTextData) -> None:
        counts = compute_parameter_counts(config.model, data.vocab_size, data.vocab_size, joint_vocab=True)
        needed = training_bytes(config.model, counts, data.num_outputs, config.train.batch_tokens)
        free = available_memory()
        if free and needed > free and pick_device(config.train.device).type == "cpu" and not config.train.shard:
            raise ConfigError(
                f"training would take about {needed / 2**30:,.1f} GB, and {free / 2**30:,.1f} GB are free: "
                f"{counts.total:,} parameters, batches of {config.train.batch_tokens:,} tokens. "
                f"Lower model.dim, model.layers or train.batch_tokens."
            )

    def build_model(self, config: Config, data: SingleTextData) -> Any:
        return self.new_model(config, data.tokenizer, data.labels)

    def new_model(self, config: Config, tokenizer: Any, labels: Any) -> Any:
        """A randomly initialized model; the same for the same seed."""
        torch.manual_seed(config.train.seed)
        num_labels = None if labels is None else self.count_outputs(tokenizer, labels)
        rows = count_embeddings(config, tokenizer)
        build = BUILDERS[config.model.architecture]
        model: TextModel = build(config.model, rows, tokenizer.pad_id, num_labels, self.pooling(config))
        return model

    def build_loss_factory(self, config: Config, data: SingleTextData, padding_free: bool) -> LossFactory:
        def build_loss(model: nn.Module) -> LossModule:
            return self.build_loss(model, config, data, padding_free)

        return build_loss

    def build_batches(self, config: Config, data: SingleTextData) -> Batches:
        max_length = config.data.max_length + 1  # rows are complete; the plan counts one more for the end of a sentence
        collator = self.build_collator(config, data, training=True)
        return Batches(data.train, collator, config.train.batch_tokens, max_length, config.train.seed)

    def build_predictor(self, model: Any, config: Config, data: SingleTextData) -> Any:
        return self.make_predictor(model, data.tokenizer, data.labels, config)

    def build_validator(
        self, loss_module: LossModule, predictor: Any, config: Config, data: SingleTextData
    ) -> Validator:
        collator = self.build_collator(config, data, training=False)
        return Validator(
            loss_module,
            lambda: (batch for _, batch in batches_by_length(data.dev, config.train.batch_tokens, collator=collator)),
            self.build_dev_predictor(predictor, config, data),
        )

    def build_head_recorder(self, run: Run, config: Config, model: nn.Module, data: Any) -> NullHeadRecorder:
        raise ConfigError(
            f"train.head_stats_every={config.train.head_stats_every}: heads are measured in training only by "
            f"task=translate; leave it out"
        )

    def load_predictor(self, folder: Path, device: str) -> Any:
        run = open_run(folder)
        config = run.load_config()
        require_weights(run, KINDS[self.name].ability)
        with stage(f"loading {run.folder.name}"):
            tokenizer, labels = self.open_tokenizer(run), self.read_labels(run)
            with torch.random.fork_rng(devices=[]):  # weights are replaced: draws of the caller must not change
                model = self.new_model(config, tokenizer, labels)
            load_weights(model, run, run.best_weights())
            model = model.to(pick_device(device)).eval()
        return self.finish_predictor(self.make_predictor(model, tokenizer, labels, config), run)

    def describe_data(self, config: Config) -> str:
        return f"{self.example} → {self.target}"

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        raise ConfigError(
            f"runs of --task {self.name} are scored on the sets that they were trained with, not on files"
        )

    @abstractmethod
    def compare(
        self, systems: Mapping[str, Path], files: Sequence[str], config: Config, device: str
    ) -> "TaskComparison":
        """Runs and files of predictions on one test set, which is read as by a run with this config."""

    def require_readable(self, files: Sequence[str], config: Config) -> None:
        next(iter(self.read_examples(files, config)), None)

    def select_dev(self, data: SingleTextData, max_examples: int) -> list[Pair]:
        """All: predictions take no search."""
        return data.dev.pairs()

    def describe_failure(self, evaluation: Any) -> str | None:
        """Nothing but the loss tells, unless a subclass knows more."""
        return None

    @abstractmethod
    def count_stored(self, run: Run, set_name: str, metric: str) -> CountedScore | None: ...

    @abstractmethod
    def show_examples(self, runs: Mapping[str, Run], set_name: str) -> "ExampleSection | None": ...

    def evaluate_new(self, run: Run, predictor: Any, pairs: Sequence[Pair]) -> Any:
        """Without opponents, unless a subclass fits them."""
        return self.evaluate(run, predictor, pairs)

    @abstractmethod
    def write_scores(self, run: Run, name: str, evaluation: Any, files: Sequence[str] = ()) -> None: ...

    @abstractmethod
    def evaluate(self, run: Run, predictor: Any, pairs: Sequence[Pair], set_name: str = "") -> Any: ...

    def tabulate_mistakes(self, evaluation: Any) -> "Table":
        """None, unless a subclass has some."""
        from regard.report import Table  # with all that draws, which training does not need

        return Table({})

    def calibrate(self, run: Run, predictor: Any, data: SingleTextData) -> None:
        """Nothing to fit, unless a subclass has something."""
        return

    def finish_predictor(self, predictor: Any, run: Run) -> Any:
        """The predictor with what was fitted on dev."""
        return predictor

    def make_reader(self, run: Run, predictor: Any) -> "TextReader":
        """How the model reads a text that is inspected."""
        from regard.inspection.text_readers import WholeText  # with all that inspects, which training does not need

        return WholeText(predictor.tokenizer)

    def list_dev_texts(self, run: Run) -> Iterable[str]:
        """The dev texts that heads are measured on, in the form that the reader takes."""
        return (pair.source for pair in read_stored_pairs(run, "dev"))

    def next_commands(self, folder: str) -> list[str]:
        return [use_command(self.name, folder), f"regard evaluate {folder} {self.test_file}"]

    def plan_notes(self, config: Config, data: SingleTextData) -> list[str]:
        return []

    def encode_set(self, run: Run, name: str, tokenizer: Any, labels: Any, config: Config) -> Iterator[IdRow]:
        """The ids of all examples of a stored set."""
        sources, targets = (Texts(run.store, f"{name}.{side}") for side in ("source", "target"))
        for begin in track(range(0, len(sources), CHUNK), f"encoding {name}"):
            part = slice(begin, begin + CHUNK)
            pairs = [Pair(*sides) for sides in zip(sources[part], targets[part], strict=True)]
            yield from self.encode(pairs, tokenizer, labels, config)

    def _write_labels(self, run: Run) -> Any:
        from dataclasses import asdict

        labels = self.learn_labels(track(Texts(run.store, "train.target"), "learning labels"))
        if labels is not None:
            run.write_json(run.labels, asdict(labels))
            run.record_checksums(run.labels)
        return labels

    def _train_tokenizer(self, run: Run, config: Config) -> tuple[Any, list[str]]:
        """Train a tokenizer, unless that was done before a kill, or another run's was copied."""
        path = run.tokenizer()
        if config.train.init_from or run.has_checksum(path):
            return self.open_tokenizer(run), []
        texts, wanted = Texts(run.store, "train.source"), config.data.vocab_size
        with stage("training the tokenizer"):
            lines = self.split_for_tokenizer(texts)
            symbols = self.control_symbols(run, config)
            tokenizer = tokenizer_module.train_tokenizer(lines, wanted, config.data.tokenizer, symbols)
        with atomic_write(path) as temporary:
            temporary.write_bytes(tokenizer.model)
        run.record_checksums(path)
        notes = []
        if tokenizer.vocab_size != wanted:
            reason = "the training text has no more" if tokenizer.vocab_size < wanted else "its characters need more"
            notes = [f"vocabulary: {tokenizer.vocab_size:,} tokens instead of data.vocab_size={wanted:,}: {reason}"]
        return self.open_tokenizer(run), notes
