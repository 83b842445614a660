"""The vectors of words in sentences, layer by layer, of a model of any architecture.

A word is the mean of its tokens. A decoder has read only the text up to the word, so its vectors know nothing of what
follows.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.documents.tokenizer import DocumentTokenizer
from regard.data.tokenizers.byte_level_bpe import ByteLevelBPE
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.inspection.trace import Model, pad_sequences
from regard.model import masks
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly
from regard.model.taps import record
from regard.model.transformer import TransformerStack
from regard.progress import track
from regard.tasks.text_batch import batch_by_length

STATIC, POSITION = "static", "with position"
Span = tuple[int, int]
FloatArray = NDArray[np.float64]


class Word(Protocol):
    """A word in its sentence."""

    @property
    def sentence(self) -> str: ...
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True)
class WordReader:
    """A model that reads sentences, and its tokenizer."""

    model: Model
    tokenizer: TextTokenizer | DocumentTokenizer | ByteLevelBPE
    max_length: int

    @property
    def stack(self) -> TransformerStack:
        """The encoder, or the decoder of a model that has no other stack."""
        return self.model.decoder if isinstance(self.model, DecoderOnly) else self.model.encoder

    @property
    def is_causal(self) -> bool:
        """Whether a word is read without what follows it."""
        return isinstance(self.model, DecoderOnly)

    @property
    def layers(self) -> list[str]:
        """The names of all layers, from the embedding table on."""
        return [STATIC, POSITION, *(f"layer {i}" for i in range(len(self.stack.layers)))]

    def embed(self, words: Sequence[Word]) -> dict[str, FloatArray]:
        """The vectors of words in each layer: (words, D)."""
        rows = [self._encode(word) for word in words]
        vectors: dict[str, list[FloatArray | None]] = {name: [None] * len(words) for name in self.layers}
        with evaluation_mode(self.model), torch.inference_mode():
            for numbers in track(batch_by_length([ids for ids, _ in rows]), "reading sentences"):
                for name, batch in self._embed_batch([rows[i] for i in numbers]):
                    for i, vector in zip(numbers, batch, strict=True):
                        vectors[name][i] = vector
        return {name: np.stack([x for x in column if x is not None]) for name, column in vectors.items()}

    def _embed_batch(self, rows: Sequence[tuple[list[int], list[int]]]) -> Iterator[tuple[str, list[FloatArray]]]:
        stack, pad = self.stack, max(0, self.model.pad)  # an imported vocabulary has no padding
        ids = pad_sequences([row for row, _ in rows], pad).to(device_of(self.model))  # (B, T)
        attn_mask = masks.causal_padding_mask(ids, -1) if self.is_causal else masks.padding_mask(ids, self.model.pad)
        path = "decoder" if self.is_causal else "encoder"
        with record(self.model, f"{path}.embed", f"{path}.layers.*.out") as activations:
            stack(ids, attn_mask, masks.position_ids_of(ids))
        states = [stack.embedding.tokens(ids), activations[f"{path}.embed"]]
        states += [activations[f"{path}.layers.{i}.out"] for i in range(len(stack.layers))]
        for name, state in zip(self.layers, states, strict=True):
            table = state.double().cpu().numpy()  # (B, T, D)
            yield name, [table[b, positions].mean(axis=0) for b, (_, positions) in enumerate(rows)]

    def _encode(self, word: Word) -> tuple[list[int], list[int]]:
        """The ids of a sentence, and the positions of the tokens of the word."""
        ids, spans = encode_with_spans(self.tokenizer, word.sentence, self.max_length)
        positions = [i for i, (begin, end) in enumerate(spans) if begin < word.end and end > word.begin]
        if not positions:
            raise DataError(
                f"'{word.sentence[word.begin : word.end]}' is not among the {self.max_length} tokens that the model "
                f"reads of '{word.sentence[:40]}…'; shorten the sentence"
            )
        return ids, positions


def encode_with_spans(tokenizer: Any, text: str, max_length: int) -> tuple[list[int], list[Span]]:
    """The ids of a text as its model reads it, and the characters that each covers."""
    if not isinstance(tokenizer, DocumentTokenizer | ByteLevelBPE):
        (ids,) = tokenizer.encode([text], max_length)
        return ids, tokenizer.spans(text, max_length)
    (ids,) = tokenizer.encode([text])
    decode = tokenizer.byte_decoder([])
    borders = np.cumsum([0, *(len(decode(i)) for i in ids)]).tolist()
    characters = [i for i, letter in enumerate(text) for _ in letter.encode()]  # byte -> character
    spans = [(characters[a], characters[b - 1] + 1) if a < b else (0, 0) for a, b in itertools.pairwise(borders)]
    return [tokenizer.bos_id, *ids][:max_length], [(0, 0), *spans][:max_length]
