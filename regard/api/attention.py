"""The attention of one sentence: a matrix for every head."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import ModelError
from regard.inspection.example import Example, TokenizedText
from regard.inspection.heads.alignment import merge_subwords
from regard.inspection.trace import attention_sites, attention_weights
from regard.jobs.look.inspected_run import InspectedRun
from regard.report import Chart, Figure, Paragraph, heatmap_chart, render_fragment
from regard.report.charts.heads import AXIS_TITLES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class SentenceAttention:
    """The attention weights of every head for one sentence.

    Rows are queries, columns are keys, and every row sums to 1. In the decoder, row t is the query that predicts target
    token t; its keys are the tokens before it, beginning with <s>.
    """

    source: str
    target: str | None
    """The translation; None for an encoder-only model."""
    weights: Mapping[str, "npt.NDArray[np.float32]"]
    """The matrix (queries, keys) of each head by its name, as in decoder.0.cross.1."""
    _example: Example

    @property
    def heads(self) -> list[str]:
        """The names of all heads, in the order of the forward pass."""
        return list(self.weights)

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """The tokens that the encoder reads, its end token included."""
        return self._example.source.tokens

    @property
    def target_tokens(self) -> tuple[str, ...]:
        """The tokens that the decoder predicts, the end token included; none for an encoder-only model."""
        return self._example.target.tokens if self._example.target else ()

    @property
    def source_words(self) -> tuple[str, ...]:
        return self._example.source.words

    @property
    def target_words(self) -> tuple[str, ...]:
        return self._example.target.words if self._example.target else ()

    def __getitem__(self, head: str) -> "npt.NDArray[np.float32]":
        """The matrix of a head."""
        if head not in self.weights:
            raise ModelError(f"there is no head {head}: this model has {self.heads[0]} to {self.heads[-1]}; see .heads")
        return self.weights[head]

    def by_words(self, head: str) -> "npt.NDArray[np.float32]":
        """The matrix of a head with tokens merged into words.

        The weight of a word is the sum over its tokens as keys and the mean over its tokens as queries. Special tokens
        are left out, and rows sum to 1.
        """
        import torch

        queries, keys = self._axes(head)
        merged: npt.NDArray[np.float32] = merge_subwords(torch.from_numpy(self[head].copy()), queries, keys).numpy()
        return merged

    def heatmap(self, head: str, words: bool = False) -> Chart:
        """The weights of a head as a heat map, by tokens or by words. A chart shows itself in a notebook."""
        queries, keys = self._axes(head)
        rows, columns = (queries.words, keys.words) if words else (queries.tokens, keys.tokens)
        row_title, column_title = _axis_titles(_kind(head), words)
        matrix = self.by_words(head) if words else self[head]
        return heatmap_chart(
            matrix.tolist(), rows, columns, title=head, row_title=row_title, column_title=column_title
        ).with_name("head")

    def mean_heatmap(self) -> Chart:
        """Cross-attention by words, averaged over all layers and heads; self-attention for an encoder-only model."""
        kind = "cross" if self.target is not None else "encoder"
        names = [head for head in self.heads if _kind(head) == kind]
        mean = sum(self.by_words(head) for head in names) / len(names)
        queries, keys = self._axes(names[0])
        row_title, column_title = _axis_titles(kind, words=True)
        title = "Cross-attention" if kind == "cross" else "Self-attention"
        return heatmap_chart(
            mean.tolist(),  # type: ignore[union-attr]
            queries.words,
            keys.words,
            title=f"{title}, mean of all layers and heads",
            row_title=row_title,
            column_title=column_title,
        ).with_name("attention")

    def __repr__(self) -> str:
        translation = f" → {self.target!r}" if self.target is not None else ""
        return f"<SentenceAttention {self.source!r}{translation}, {len(self.weights)} heads>"

    def _repr_html_(self) -> str:
        first, last = self.heads[0], self.heads[-1]
        heads = f"{len(self.heads)} heads, {first} to {last}; one of them: .heatmap('{last}')"
        if not self.source_words or (self.target is not None and not self.target_words):
            return render_fragment([Paragraph(f"No words to draw. {heads}")])
        return render_fragment([Figure(self.mean_heatmap()), Paragraph(heads)])

    def _axes(self, head: str) -> tuple[TokenizedText, TokenizedText]:
        """The texts of the rows and the columns of a head."""
        kind = _kind(head)
        return self._example.query_labels(kind), self._example.key_tokens(kind)


def trace_attention(inspected_run: InspectedRun, source: str, target: str | None = None) -> SentenceAttention:
    """Run the model on one sentence and keep the weights of every head."""
    example = inspected_run.make_example(source, target)
    by_attention = attention_weights(inspected_run.model, [example])[0]
    weights = {
        str(head): by_attention[site.name][row].float().numpy()
        for site in attention_sites(inspected_run.model)
        for row, head in enumerate(site.heads)
    }
    target_text = example.target.text if example.target else None
    return SentenceAttention(example.source.text, target_text, weights, example)


def _axis_titles(kind: str, words: bool) -> tuple[str, str]:
    row_title, column_title = (title.replace("token", "word" if words else "token") for title in AXIS_TITLES[kind])
    return row_title, column_title


def _kind(head: str) -> str:
    """encoder, decoder or cross."""
    return "cross" if ".cross." in head else head.partition(".")[0]
