"""The vectors of words in sentences, layer by layer, of a model of any architecture.

A word is the mean of its tokens. A decoder has read only the text up to the word, so its vectors know nothing of what
follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.documents.tokenizer import DocumentTokenizer
from regard.data.tokenizers.byte_level_bpe import ByteLevelBPE
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.inspection.example import Example, build_span_example
from regard.inspection.trace import Model, get_reading_stack, pad_sequences
from regard.model import masks
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly
from regard.model.taps import record
from regard.progress import track
from regard.tasks.text_batch import batch_by_length

STATIC, POSITION = "static", "with position"
Span = tuple[int, int]
FloatArray = NDArray[np.float64]


class PlacedWord(Protocol):
    """A word in its sentence."""

    @property
    def sentence(self) -> str: ...
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...


def name_layers(model: Model) -> list[str]:
    """The names of all layers, from the embedding table on."""
    return [STATIC, POSITION, *(f"layer {i}" for i in range(len(get_reading_stack(model)[1].layers)))]


def read_layers(model: Model, sequences: Sequence[Sequence[int]]) -> dict[str, Tensor]:
    """The states of sequences of ids in each layer: (B, T, D)."""
    path, stack = get_reading_stack(model)
    is_causal = isinstance(model, DecoderOnly)
    ids = pad_sequences(sequences, max(0, model.pad)).to(device_of(model))  # an imported vocabulary has no padding
    attn_mask = masks.causal_mask(ids.shape[1], ids.device) if is_causal else masks.padding_mask(ids, model.pad)
    with record(model, f"{path}.embed", f"{path}.layers.*.out") as activations:
        stack(ids, attn_mask, masks.position_ids_of(ids))
    states = [stack.embedding.tokens(ids), activations[f"{path}.embed"]]
    states += [activations[f"{path}.layers.{i}.out"] for i in range(len(stack.layers))]
    return dict(zip(name_layers(model), states, strict=True))


@dataclass(frozen=True)
class WordReader:
    """A model that reads sentences, and its tokenizer."""

    model: Model
    tokenizer: TextTokenizer | DocumentTokenizer | ByteLevelBPE
    max_length: int

    @property
    def is_causal(self) -> bool:
        """Whether a word is read without what follows it."""
        return isinstance(self.model, DecoderOnly)

    def make_example(self, text: str) -> Example:
        """The tokens of a text, and its words."""
        ids, spans = encode_with_spans(self.tokenizer, text, self.max_length)
        return build_span_example(text, ids, self.tokenizer.convert_ids_to_tokens(ids), spans)

    def embed(self, words: Sequence[PlacedWord]) -> dict[str, FloatArray]:
        """The vectors of words in each layer: (words, D)."""
        rows = [self._encode(word) for word in words]
        vectors: dict[str, dict[int, FloatArray]] = {name: {} for name in name_layers(self.model)}
        with evaluation_mode(self.model), torch.inference_mode():
            for numbers in track(batch_by_length([ids for ids, _ in rows]), "reading sentences"):
                for name, states in read_layers(self.model, [rows[i][0] for i in numbers]).items():
                    table = states.double().cpu().numpy()  # (B, T, D)
                    vectors[name] |= {i: table[b, rows[i][1]].mean(axis=0) for b, i in enumerate(numbers)}
        return {name: np.stack([found[i] for i in range(len(words))]) for name, found in vectors.items()}

    def _encode(self, word: PlacedWord) -> tuple[list[int], list[int]]:
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
    spans = tokenizer.spans(text, ids)
    return [tokenizer.bos_id, *ids][:max_length], [(0, 0), *spans][:max_length]
