"""The states of texts, by a model of any architecture."""

from collections.abc import Callable, Sequence

from torch import Tensor

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.kernels import PaddingLayout
from regard.model.single_stack import DecoderOnly, EncoderOnly, TextEncoderDecoder
from regard.model.variants import TokenTypes
from regard.runtime.attention import use_fused_attention
from regard.runtime.padding_free import PackedStates, PaddingFreeStack, PaddingFreeText

SingleStack = EncoderOnly | DecoderOnly
TextModel = SingleStack | TextEncoderDecoder
"""What reads one text; of an encoder-decoder, both stacks do."""
StackForward = Callable[[Tensor, Tensor | None], PackedStates]
"""Padded ids (B, T) and their token types -> the states of all tokens."""
InputText = str | tuple[str, str]
"""A text, or a pair of texts."""


class PaddedStack:
    """The forward pass of a model on padded batches, with the interface of `PaddingFreeStack`."""

    def __init__(self, model: TextModel):
        use_fused_attention(model)
        self.model = model

    def __call__(self, ids: Tensor, token_type_ids: Tensor | None = None) -> PackedStates:
        layout = PaddingLayout(ids != self.model.pad)
        return PackedStates(layout.pack(self.model(ids, token_type_ids=token_type_ids)), layout)


def make_forward(model: TextModel, padding_free: bool) -> StackForward:
    if not padding_free:
        return PaddedStack(model)
    return PaddingFreeText(model) if isinstance(model, TextEncoderDecoder) else PaddingFreeStack(model)


def pool_states(model: TextModel, packed: PackedStates, attention_mask: Tensor) -> Tensor:
    """One state for each text: (B, D)."""
    return model.pool(packed.layout.pad(packed.states), attention_mask)


def has_token_types(model: TextModel) -> bool:
    """Whether the model tells two texts apart by token types."""
    token_types = model.stack.embedding.token_types
    return isinstance(token_types, TokenTypes) and len(token_types.table) > 1


def encode_inputs(tokenizer: TextTokenizer, texts: Sequence[InputText], max_length: int) -> list[list[int]]:
    """The ids of texts, or of pairs of texts."""
    pairs = [text for text in texts if not isinstance(text, str)]
    if not pairs:
        return tokenizer.encode([text for text in texts if isinstance(text, str)], max_length)
    if len(pairs) < len(texts):
        raise DataError(f"{len(pairs):,} of {len(texts):,} inputs are pairs of texts; expected all of them, or none")
    return tokenizer.encode_pairs(pairs, max_length)
