"""What causal and masked language models share as tasks: their examples are documents, their targets tokens."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.config import Config
from regard.data.store import Texts
from regard.formats import Pair
from regard.formats.document_texts import read_documents
from regard.jobs.tasks.language.documents import write_documents
from regard.jobs.tasks.single_text import SingleTextData, SingleTextTask
from regard.jobs.tasks.task import TextSize
from regard.run import Run
from regard.training.planning.single_stack_sizing import TOKEN_SIZING, suggest_single_stack
from regard.training.planning.sizing import SizingInputs, SuggestedSetting

BYTES_PER_ROW = 900
"""Of what a model reads at once, about 256 tokens: documents may be much longer."""


@dataclass(frozen=True)
class LanguageData(SingleTextData):
    """Documents, or passages of them, and how a model reads them."""

    max_length: int
    """Tokens that are read at once."""
    target_share: float
    """Of the tokens, those that are predicted."""


class LanguageTask(SingleTextTask):
    """A task whose examples are documents, without labels."""

    @abstractmethod
    def separator(self, config: Config) -> str:
        """What separates documents: file, blank-line, line."""

    @abstractmethod
    def target_share(self, config: Config) -> float:
        """The share of the tokens that are predicted."""

    def write_texts(self, run: Run, config: Config) -> None:
        write_documents(run, config, self.separator(config))

    def require_readable(self, files: Sequence[str], config: Config) -> None:
        next(iter(read_documents(files, self.separator(config), config.data.max_line_bytes)), None)

    def read_examples(self, files: Sequence[str], config: Config) -> Iterator[Pair]:
        documents = read_documents(files, self.separator(config), config.data.max_line_bytes)
        return (Pair(document.text, "") for document in documents)

    def measure_texts(self, run: Run, config: Config) -> TextSize:
        texts = Texts(run.store, "train.source")
        rows = max(len(texts), texts.num_bytes // BYTES_PER_ROW)
        return TextSize(rows, texts.num_bytes, round(texts.num_bytes * self.target_share(config)))

    def open_data(self, run: Run, config: Config) -> LanguageData:
        data = super().open_data(run, config)
        return LanguageData(**vars(data), max_length=config.data.max_length, target_share=self.target_share(config))

    def suggest_settings(self, inputs: SizingInputs, config: Config) -> list[SuggestedSetting]:
        return suggest_single_stack(inputs, config, TOKEN_SIZING)

    def learn_labels(self, targets: Iterable[str]) -> None:
        return None

    def read_labels(self, run: Run) -> None:
        return None

    def count_outputs(self, tokenizer: Any, labels: Any) -> int:
        return int(tokenizer.vocab_size)

    def pooling(self, config: Config) -> None:
        return None
