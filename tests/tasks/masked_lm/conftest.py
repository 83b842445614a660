"""A tokenizer of a few words, each of which is one token or two, and an encoder that has learned them."""

import numpy as np
import pytest
import torch

from regard.config import ModelConfig
from regard.model.build import build_encoder
from regard.tasks.masked_lm.loss import MaskedLMLoss
from regard.tasks.masked_lm.masking import MaskingCollator

PAD, EOS, MASK = 0, 3, 4
SMALL = ModelConfig(dim=24, heads=3, ffn=40, layers=2, dropout=0.0)
SENTENCES = ["the cat sees the dog .", "the dog hears a cat .", "a bird sings .", "the bird hears the cat and sings ."]


class LetterTokenizer:
    """Words of at most two letters are a token; of longer ones the first two letters and the rest are one each."""

    pad_id, mask_id = PAD, MASK
    special_ids = frozenset({PAD, 2, EOS, MASK})

    def __init__(self, texts):
        words = sorted({word for text in texts for word in text.split(" ")})
        pieces = {piece for word in words for piece in self._pieces(word)} | {"\u2581"}
        self.tokens = ["<pad>", "<unk>", "<s>", "</s>", "[MASK]", *sorted(pieces)]
        self.vocab_size = len(self.tokens)

    @staticmethod
    def _pieces(word):
        return ["\u2581" + word[:2], *([word[2:]] if word[2:] else [])]

    def _encode(self, text):
        """The (token, begin, end) of a text."""
        result, begin = [], 0
        for word in text.split(" "):
            lead, stem = word.startswith("\u2042"), word
            if lead:  # a mark of its own, after a blank of its own, as SentencePiece would have it
                result += [("\u2581", max(begin - 1, 0), begin), ("<unk>", begin, begin + 1)]
                stem = word[1:]
            position = begin + lead
            for number, piece in enumerate(self._pieces(stem) if stem else []):
                piece = piece[1:] if lead and not number else piece
                length = len(piece.removeprefix("\u2581"))
                result.append((piece, position - (not number and position > 0 and not lead), position + length))
                position += length
            begin += len(word) + 1
        return result

    def encode(self, texts, max_length):
        ids = [[self.tokens.index(t) if t in self.tokens else 1 for t, _, _ in self._encode(text)] for text in texts]
        return [[*row[: max_length - 1], EOS] for row in ids]

    def spans(self, text, max_length):
        return [*((a, b) for _, a, b in self._encode(text)[: max_length - 1]), (0, 0)]

    def starts_word(self, ids):
        return [self.tokens[i].startswith("\u2581") for i in ids]

    def convert_ids_to_tokens(self, ids):
        return [self.tokens[i] for i in ids]

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids if i not in self.special_ids).replace("\u2581", " ").strip()


@pytest.fixture(scope="session")
def tokenizer() -> LetterTokenizer:
    return LetterTokenizer(SENTENCES)


@pytest.fixture(scope="session")
def rows(tokenizer) -> list[list[int]]:
    return tokenizer.encode(SENTENCES, 99)


@pytest.fixture(scope="session")
def trained(tokenizer, rows) -> MaskedLMLoss:
    """Weights after some steps, enough to know the four sentences."""
    torch.manual_seed(11)
    loss_module = MaskedLMLoss(build_encoder(SMALL, tokenizer.vocab_size, PAD), label_smoothing=0.0)
    optimizer = torch.optim.AdamW(loss_module.parameters(), lr=5e-3)
    collator = MaskingCollator(tokenizer, rate=0.25)
    for step in range(150):
        batch = collator(rows, [], (1, 0, step))
        (loss_module(batch).objective / batch.num_targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss_module.eval()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)
