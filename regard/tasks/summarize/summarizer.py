"""Abstractive summarization: documents in, texts that a model writes out."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.tokenizers.tokenizer import Tokenizer, Tokenizers
from regard.decode import BeamSearch
from regard.decode.limits import Limits
from regard.formats import Pair
from regard.formats.summaries import SummarizedDocument
from regard.model.single_stack import SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.tasks.translate.translator import Translator


@dataclass(frozen=True)
class Summarizer:
    """A translator from documents to summaries, which reads the beginning of long documents."""

    translator: Translator
    max_source_tokens: int
    """Of a document, its end not counted; the rest of a longer one is not read."""
    max_summary_tokens: int
    """Of the longest training summary."""
    beam: int = 4
    alpha: float = 0.6

    @property
    def model(self) -> EncoderDecoder | SourceTargetDecoder:
        return self.translator.model

    @property
    def tokenizers(self) -> Tokenizers:
        return self.translator.tokenizers

    @property
    def limits(self) -> Limits:
        """No summary is longer than the longest of training."""
        return Limits(factor=0.0, extra=self.max_summary_tokens + 1)

    def summarize(self, documents: Sequence[Sequence[str]]) -> list[str]:
        """The summary of each document; that of an empty one is empty."""
        texts = cut_texts([" ".join(sentences) for sentences in documents], self._reader, self.max_source_tokens)
        return self.translator.translate(texts, BeamSearch(self.beam, self.alpha, limits=self.limits))

    def count_cut(self, documents: Sequence[Sequence[str]]) -> int:
        """How many documents are not read to their end."""
        rows = self._reader.encode([" ".join(sentences) for sentences in documents])
        return sum(len(ids) > self.max_source_tokens for ids in rows)

    def mean_loss(self, documents: Sequence[SummarizedDocument]) -> float | None:
        """Nats per token of the first reference."""
        texts = cut_texts([document.text for document in documents], self._reader, self.max_source_tokens)
        targets = cut_texts(
            [document.references[0] for document in documents],
            self.translator.tokenizers.target,
            self.max_source_tokens,
        )
        pairs = [Pair(*sides) for sides in zip(texts, targets, strict=True)]
        results = self.translator.teacher_force(pairs)
        return sum(one.loss for one in results) / sum(one.tokens for one in results)

    @property
    def _reader(self) -> Tokenizer:
        return self.translator.tokenizers.source


def cut_texts(texts: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> list[str]:
    """Each text up to this many tokens; a longer one ends with a whole word, unless it has none that short."""
    rows = tokenizer.encode(texts)
    return [
        text if len(ids) <= max_tokens else _cut_text(text, tokenizer.spans(text, ids), max_tokens)
        for text, ids in zip(texts, rows, strict=True)
    ]


def _cut_text(text: str, spans: Sequence[tuple[int, int]], max_tokens: int) -> str:
    end = spans[max_tokens][0]  # where the first token begins that is not read
    words = text[:end] if text[end].isspace() else text[:end].rpartition(" ")[0]
    return words.rstrip() or text[:end]
