"""Lines of text, each a document -> their summaries."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.config import Config
from regard.data.sentences import rules_for
from regard.errors import ConfigError
from regard.jobs.run_kind import refuse
from regard.jobs.tasks.registry import open_predictor
from regard.jobs.tasks.summarization.evaluation import SummaryPredictor
from regard.jobs.translate.stream import read_chunks
from regard.progress import report_note
from regard.run import open_run
from regard.tasks.extract.extractor import Extractor
from regard.tasks.summarize.documents import divide_text
from regard.tasks.summarize.summarizer import Summarizer

CHUNK = 64
"""Documents, which are longer than sentences."""
TASKS = ("summarize", "extract")


class SummarizedLine(NamedTuple):
    """A document, and its summary; an empty one for a blank line."""

    text: str
    summary: str


class TextSummarizer:
    """The summarizer of a run, for texts that are not divided into sentences."""

    def __init__(self, predictor: SummaryPredictor, config: Config):
        self.predictor = predictor
        """The model with its tokenizer: `predictor.model` is the PyTorch module."""
        self.config = config
        self._rules = rules_for(config.data.source)

    def with_length(self, num_sentences: int) -> "TextSummarizer":
        """The same for extracts of this many sentences."""
        if not isinstance(self.predictor, Extractor):
            raise ConfigError(
                f"sentences={num_sentences}: the run writes its summaries, and decides itself how long they are; only "
                f"runs of --task extract take a number of sentences"
            )
        if num_sentences < 1:
            raise ConfigError(f"sentences={num_sentences}: an extract has one sentence at least")
        extractor = Extractor(self.predictor.model, self.predictor.tokenizer, num_sentences, self.predictor.max_length)
        return TextSummarizer(extractor, self.config)

    def summarize(self, texts: Iterable[str]) -> list[str]:
        """The summary of each text, in the same order."""
        return self.predictor.summarize(self._divide(texts))

    def summarize_lines(self, lines: Iterable[str]) -> Iterator[SummarizedLine]:
        """Summarize each line; memory does not grow with their number."""
        num_cut = 0
        for chunk in read_chunks(lines, CHUNK):
            documents = self._divide(chunk)
            num_cut += self._count_cut(documents)
            yield from map(SummarizedLine, chunk, self.predictor.summarize(documents))
        if num_cut:
            report_note(
                f"{num_cut:,} {'document is' if num_cut == 1 else 'documents are'} longer than the model reads: the "
                f"rest is not summarized (data.max_length={self.config.data.max_length})"
            )

    def _divide(self, texts: Iterable[str]) -> list[tuple[str, ...]]:
        return [divide_text(text, self._rules) for text in texts]

    def _count_cut(self, documents: Sequence[Sequence[str]]) -> int:
        """How many documents are not read to their end; an extract is chosen from all sentences."""
        return self.predictor.count_cut(documents) if isinstance(self.predictor, Summarizer) else 0


def open_summarizer(folder: Path, device: str) -> TextSummarizer:
    """The summarizer of a run of either kind."""
    run = open_run(folder)
    config = run.load_config()
    if config.task not in TASKS:
        raise refuse(run, config, "summarize documents")
    return TextSummarizer(open_predictor(folder, config.task, device), config)
