"""Noise: spans of a text are hidden from the encoder, and the decoder writes the text again, or the spans alone.

All draws come from (seed, epoch) and from the text itself: every epoch has other spans, a resumed run the same ones,
and the noise of a text does not depend on the batch that it is in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.batch import Batch, collate
from regard.data.store import Corpus
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import EOS
from regard.errors import DataError
from regard.tasks.denoise.spans import HiddenSpan, SpanScheme

MAX_SAMPLE = 2000
"""Texts whose noise is drawn to learn how long sources and targets are, and how frequent each target is."""


class NoisyText(NamedTuple):
    """A text as the model reads it, and what it has to write; ids without BOS and EOS."""

    source: list[int]
    target: list[int]
    is_hidden: list[bool]
    """Of each token of the target: whether the source lacks it."""


class Target(Protocol):
    """What the decoder writes."""

    @property
    def masks(self) -> tuple[int, ...]:
        """The tokens that stand for spans."""
        ...

    def hide(self, ids: Sequence[int], spans: Sequence[HiddenSpan]) -> NoisyText: ...

    def join(self, source: Sequence[int], output: Sequence[int]) -> list[int]:
        """The text again, from what the model read and wrote."""
        ...


@dataclass(frozen=True)
class TextTarget:
    """The whole text; every span is the same mask.  Lewis et al. 2020."""

    mask: int

    @property
    def masks(self) -> tuple[int, ...]:
        return (self.mask,)

    def hide(self, ids: Sequence[int], spans: Sequence[HiddenSpan]) -> NoisyText:
        is_hidden = [False] * len(ids)
        for begin, end in spans:
            is_hidden[begin:end] = [True] * (end - begin)
        return NoisyText(replace_spans(ids, spans, [self.mask] * len(spans)), list(ids), is_hidden)

    def join(self, source: Sequence[int], output: Sequence[int]) -> list[int]:
        return list(output)


@dataclass(frozen=True)
class SpansTarget:
    """Each span behind its sentinel, which stands for it in the source.  Raffel et al. 2020."""

    masks: tuple[int, ...]

    def hide(self, ids: Sequence[int], spans: Sequence[HiddenSpan]) -> NoisyText:
        spans = self._limit(spans, len(ids))
        target: list[int] = []
        is_hidden: list[bool] = []
        for sentinel, (begin, end) in zip(self.masks, spans, strict=False):
            target += [sentinel, *ids[begin:end]]
            is_hidden += [False, *[True] * (end - begin)]
        return NoisyText(replace_spans(ids, spans, self.masks), target, is_hidden)

    def join(self, source: Sequence[int], output: Sequence[int]) -> list[int]:
        """Every sentinel of the source is replaced by what follows it in the output, a missing one by nothing."""
        spans: dict[int, list[int]] = {}
        current: list[int] = []
        for token in output:
            if token in self.masks:
                current = spans.setdefault(token, [])
            else:
                current.append(token)
        return [token for part in source for token in (spans.get(part, []) if part in self.masks else [part])]

    def _limit(self, spans: Sequence[HiddenSpan], length: int) -> list[HiddenSpan]:
        """As many spans as there are sentinels, and as keep source and target no longer than the text."""
        kept = list(spans[: len(self.masks)])
        num_hidden = sum(end - begin for begin, end in kept)
        while len(kept) > min(num_hidden, length - num_hidden):
            begin, end = kept.pop()
            num_hidden -= end - begin
        return kept


def replace_spans(ids: Sequence[int], spans: Sequence[HiddenSpan], masks: Sequence[int]) -> list[int]:
    """The text with a mask in the place of each span."""
    source: list[int] = []
    position = 0
    for (begin, end), mask in zip(spans, masks, strict=False):
        source += [*ids[position:begin], mask]
        position = end
    return [*source, *ids[position:]]


class DenoisingCollator:
    """Rows of ids, each with the mark of its language if there are several -> a batch of noisy texts."""

    def __init__(self, tokenizer: SentencePieceText, scheme: SpanScheme, target: Target) -> None:
        self.scheme, self.target = scheme, target
        self.mark_ids = find_marks(tokenizer)
        self._starts_word = np.array(tokenizer.starts_word(range(tokenizer.vocab_size)))

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> Batch:
        """The targets are not needed: every text is its own."""
        texts = [self.corrupt(row, seed) for row in sources]
        return collate([text.source for text in texts], [text.target for text in texts])

    def corrupt(self, row: Sequence[int], seed: Sequence[int] = ()) -> NoisyText:
        """A text with the noise that it has in the epoch of a seed (seed of the run, epoch, …)."""
        rng = np.random.default_rng([*self._key(seed), *row])
        num_marks = int(bool(row) and row[0] in self.mark_ids)
        mark, ids = list(row[:num_marks]), row[num_marks:]
        noisy = self.target.hide(ids, self.scheme.draw(self._starts_word[list(ids)], rng))
        return NoisyText([*mark, *noisy.source], [*mark, *noisy.target], [*[False] * num_marks, *noisy.is_hidden])

    def sample(self, corpus: Corpus) -> list[NoisyText]:
        """Texts that are spread over a corpus, with noise."""
        rows = range(0, len(corpus), -(-len(corpus) // MAX_SAMPLE))
        return [self.corrupt(corpus.source_ids[row].tolist()) for row in rows]

    def _key(self, seed: Sequence[int]) -> Sequence[int]:
        return seed[:2]


class FixedDenoisingCollator(DenoisingCollator):
    """For dev sets: the noise of a text depends on the text alone."""

    def _key(self, seed: Sequence[int]) -> Sequence[int]:
        return ()


def count_targets(texts: Sequence[NoisyText], vocab_size: int) -> NDArray[np.float64]:
    """How often each token is a target: (V,)."""
    ids = [token for text in texts for token in (*text.target, EOS)]
    return np.bincount(ids, minlength=vocab_size).astype(np.float64)


def mark_of(language: str) -> str:
    """The token that a text of a language begins with."""
    return f"[{language}]"


def sentinel_of(number: int) -> str:
    """The token that stands for a span."""
    return f"[SPAN{number}]"


def find_marks(tokenizer: SentencePieceText) -> frozenset[int]:
    """The ids of the marks of languages."""
    names = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    is_mark = re.compile(r"\[[a-z]{2,3}\]").fullmatch
    return frozenset(i for i, name in enumerate(names) if is_mark(name) and find_token(tokenizer, name) == i)


def find_sentinels(tokenizer: SentencePieceText) -> tuple[int, ...]:
    """The ids of all sentinels of a vocabulary, in their order."""
    ids: list[int] = []
    while (token := tokenizer.tokenizer.find_control_symbol(sentinel_of(len(ids)))) is not None:
        ids.append(token)
    return tuple(ids)


def find_token(tokenizer: SentencePieceText, name: str) -> int | None:
    """The id of a token that no text is encoded with; None where the vocabulary has none."""
    return tokenizer.tokenizer.find_control_symbol(name)


def make_target(name: str, tokenizer: SentencePieceText) -> Target:
    """What the decoder writes: `text` or `spans`; a vocabulary without masks is refused."""
    sentinels = find_sentinels(tokenizer)
    if name == "text" and tokenizer.mask_id is not None:
        return TextTarget(tokenizer.mask_id)
    if name == "spans" and sentinels:
        return SpansTarget(sentinels)
    missing = MASK_TOKEN if name == "text" else sentinel_of(0)
    raise DataError(
        f"the vocabulary has no token {missing}, which denoise.target={name} needs; leave out --from, so that a "
        f"tokenizer is trained with it"
    )
