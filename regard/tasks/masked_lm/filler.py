"""Filling masks: a text with [MASK] in it -> the tokens that a masked language model expects there."""

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, TextTokenizer
from regard.errors import DataError
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import EncoderOnly
from regard.runtime.attention import use_fused_attention
from regard.tasks.masked_lm.masking import require_mask

PLACEHOLDER = "\u2042"
"""⁂ is encoded where a mask is: a mark that tokenizers join to no word. Its tokens are then replaced by [MASK]."""
CONTINUATION = "##"  # WordPiece's prefix of a token that continues a word
Span = tuple[int, int]


@dataclass(frozen=True)
class FillCandidate:
    """A token in the place of a mask."""

    token: str
    text: str
    probability: float
    sequence: str
    """The text with this token; other masks stay."""


class MaskFiller:
    """A trained encoder that fills masks."""

    def __init__(self, model: EncoderOnly, tokenizer: TextTokenizer, max_length: int):
        use_fused_attention(model)
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.mask_id = require_mask(tokenizer)

    def fill(self, text: str, top_k: int = 5) -> list[list[FillCandidate]]:
        """For each [MASK] of a text the most probable tokens, given the rest of it; several masks independently."""
        masks = find_masks(text)
        if not masks:
            raise DataError(f"the text has no {MASK_TOKEN}, which marks what is to be filled in; got {text[:60]!r}")
        ids = encode_masks(text, self.tokenizer, self.mask_id, self.max_length)
        with evaluation_mode(self.model), torch.inference_mode():
            row = torch.tensor([ids], device=device_of(self.model))
            probabilities = self.model.output(self.model(row)[row == self.mask_id]).softmax(dim=-1)  # (M, V)
        return [
            self._candidates(text, mask, mask_probabilities, top_k)
            for mask, mask_probabilities in zip(masks, probabilities, strict=True)
        ]

    def _candidates(self, text: str, mask: Span, probabilities: Tensor, top_k: int) -> list[FillCandidate]:
        special_ids = list(self.tokenizer.special_ids)
        regular = probabilities.index_fill(0, torch.tensor(special_ids, device=probabilities.device), -1.0)
        values, ids = regular.topk(min(top_k, len(regular) - len(special_ids)))
        return [
            self._make_candidate(text, mask, token, probability)
            for token, probability in zip(ids.tolist(), values.tolist(), strict=True)
        ]

    def _make_candidate(self, text: str, mask: Span, token: int, probability: float) -> FillCandidate:
        before, after = text[: mask[0]], text[mask[1] :]
        (starts_word,) = self.tokenizer.starts_word([token])
        (name,) = self.tokenizer.convert_ids_to_tokens([token])
        word = self.tokenizer.decode([token]).strip()
        if not starts_word:  # it continues the word before it
            before, word = before.rstrip(" "), word.removeprefix(CONTINUATION)
        elif before and not before[-1].isspace():
            before += " "
        return FillCandidate(name, word, probability, before + word + after)


def find_masks(text: str) -> list[Span]:
    """Where the masks of a text are."""
    return [match.span() for match in re.finditer(re.escape(MASK_TOKEN), text)]


def encode_masks(text: str, tokenizer: TextTokenizer, mask_id: int, max_length: int) -> list[int]:
    """The ids of a text with the token [MASK] for each of its masks."""
    return tokenize_masks(text, tokenizer, mask_id, max_length)[0]


def tokenize_masks(
    text: str, tokenizer: TextTokenizer, mask_id: int, max_length: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """The ids of a text with the token [MASK] for each of its masks, and the characters of each token."""
    masks = find_masks(text)
    replaced = text.replace(MASK_TOKEN, PLACEHOLDER)
    positions = [begin - i * (len(MASK_TOKEN) - 1) for i, (begin, _) in enumerate(masks)]
    (ids,), spans = tokenizer.encode([replaced], max_length), tokenizer.spans(replaced, max_length)
    masks_of_token = [[i for i, p in enumerate(positions) if begin <= p < end] for begin, end in spans]
    row: list[tuple[int, Span]] = []
    filled: set[int] = set()
    for n, (token, span) in enumerate(zip(ids, spans, strict=True)):
        is_last = n + 1 == len(ids)
        is_blank = token not in tokenizer.special_ids and not replaced[slice(*span)].strip()
        if masks_of_token[n]:
            new = [i for i in masks_of_token[n] if i not in filled]  # bytes of the placeholder come one by one
            row += [(mask_id, masks[i]) for i in new]
            filled.update(new)
        elif is_last or not masks_of_token[n + 1] or not is_blank:  # a blank before a mask is a part of its word
            begin, end = (edge + (len(MASK_TOKEN) - 1) * sum(p < edge for p in positions) for edge in span)
            row.append((token, (begin, end)))
    if len(filled) < len(masks):
        raise DataError(
            f"the text is longer than {max_length} tokens, which is all that the model reads, and one of its "
            f"{len(masks)} {MASK_TOKEN} is behind them; shorten it"
        )
    return [token for token, _ in row], [span for _, span in row]
