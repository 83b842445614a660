"""Summarize documents."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import overload

from regard.api.arguments import AnyPath
from regard.api.runs import TrainedRun, open_run
from regard.api.tasks.models import require_float
from regard.jobs.tasks.summarization.inputs import SummarizedLine, TextSummarizer, open_summarizer
from regard.model.modules import count_parameters


class SummaryModel:
    """A trained summarizer, which writes summaries or chooses sentences; `regard.load` opens one."""

    def __init__(self, run: TrainedRun, summarizer: TextSummarizer):
        self.run = run
        self.summarizer = summarizer
        """The model with its tokenizer: `summarizer.predictor.model` is the PyTorch module."""

    @overload
    def summarize(self, texts: str, *, sentences: int | None = None) -> str: ...

    @overload
    def summarize(self, texts: list[str], *, sentences: int | None = None) -> list[str]: ...

    def summarize(self, texts: str | list[str], *, sentences: int | None = None) -> str | list[str]:
        """Summarize a text, or every text of a list; the result has the form of the input.

            model.summarize("We study how … The results …")

        A text is a whole document, which is divided into sentences by rules. `sentences` is the number of those that an
        extract has; as many as in training if unset.
        """
        items = [texts] if isinstance(texts, str) else list(texts)
        for number, text in enumerate(items):
            if not isinstance(text, str):
                raise TypeError(f"summarize() takes str, or a list of str; item {number} is {type(text).__name__}")
        summarizer = self.summarizer.with_length(sentences) if sentences is not None else self.summarizer
        summaries = summarizer.summarize(items)
        return summaries[0] if isinstance(texts, str) else summaries

    def __repr__(self) -> str:
        return f"<SummaryModel {self.run.describe()}, {count_parameters(self.summarizer.predictor.model):,} parameters>"


def load_model(run: AnyPath, device: str = "auto", quantize: str = "none") -> SummaryModel:
    """The summarizer of a run, with its best weights so far."""
    require_float(quantize)
    return SummaryModel(open_run(run), open_summarizer(Path(run), device))


def summarize_stream(
    run: AnyPath, lines: Iterable[str], *, sentences: int | None = None, device: str = "auto"
) -> Iterator[SummarizedLine]:
    """Each line, which is a document, with its summary, as lines arrive; memory does not grow with their number.

        for line in regard.summarize_stream("runs/mine", open("abstracts.txt")):
            print(line.summary)

    A blank line has an empty summary. `sentences` is the number of those that an extract has.
    """
    if isinstance(lines, str):
        raise TypeError("summarize_stream() takes lines, as a file or a list of str, got one str")
    summarizer = open_summarizer(Path(run), device)
    if sentences is not None:
        summarizer = summarizer.with_length(sentences)
    return summarizer.summarize_lines(line.removesuffix("\n") for line in lines)
