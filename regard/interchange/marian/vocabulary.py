"""Marian's vocabulary: which token has which id there, and the way to Regard's ids and back."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.data.tokenizers.remapped_sentencepiece import SPECIAL_TOKENS
from regard.data.tokenizers.tokenizer import EOS, Tokenizer
from regard.errors import FormatError
from regard.interchange.folder import CONFIG, ModelFolder, read_json, write_json

PAD_TOKEN, UNK_TOKEN, EOS_TOKEN = "<pad>", "<unk>", "</s>"


@dataclass(frozen=True)
class MarianVocabulary:
    """The tokens of a Marian folder by their ids, and the ids of its special tokens."""

    tokens: tuple[str, ...]
    pad: int
    unk: int
    eos: int

    @property
    def row_order(self) -> list[int]:
        """Marian's rows in Regard's order, from the unknown token on: Regard's padding has none."""
        special_ids = (self.unk, self.pad, self.eos)
        return [*special_ids, *(i for i in range(len(self.tokens)) if i not in special_ids)]

    @property
    def regard_tokens(self) -> tuple[str, ...]:
        """Every token in Regard's order."""
        return (*SPECIAL_TOKENS, *(self.tokens[i] for i in self.row_order[3:]))

    def to_regard(self, tensor: Tensor, padding_value: float) -> Tensor:
        """A row for each of Marian's tokens -> one for each of Regard's; the row of padding is filled."""
        return torch.cat((torch.full_like(tensor[:1], padding_value), tensor[self.row_order]))

    def to_marian(self, tensor: Tensor) -> Tensor:
        """A row for each of Regard's tokens -> one for each of Marian's; its padding gets the begin token's row."""
        reordered = torch.empty_like(tensor[1:])
        reordered[self.row_order] = tensor[1:]
        return reordered


def from_tokenizer(tokenizer: Tokenizer, joint: bool) -> MarianVocabulary:
    """A tokenizer's vocabulary in Marian's order: end, unknown, the rest; padding last, or third if not joint."""
    rest = tokenizer.convert_ids_to_tokens(range(EOS + 1, tokenizer.vocab_size))
    tokens = (EOS_TOKEN, UNK_TOKEN, *rest, PAD_TOKEN) if joint else (EOS_TOKEN, UNK_TOKEN, PAD_TOKEN, *rest)
    return MarianVocabulary(tokens, pad=len(tokens) - 1 if joint else 2, unk=1, eos=0)


def write_vocabulary(vocabulary: MarianVocabulary, path: Path) -> None:
    """vocab.json: the id of each token."""
    write_json(path, {token: i for i, token in enumerate(vocabulary.tokens)})


def read_vocabulary(folder: ModelFolder, file: str, size: int) -> MarianVocabulary:
    """The vocabulary of a vocab.json; ids that it leaves out are unused."""
    path = folder.path / file
    ids = read_json(path)
    if not isinstance(ids, dict) or not all(isinstance(i, int) and 0 <= i < size for i in ids.values()):
        raise FormatError(f"{path}: expected tokens with ids below {size}, the size in {CONFIG}")
    if missing := [name for name in (PAD_TOKEN, UNK_TOKEN, EOS_TOKEN) if name not in ids]:
        raise FormatError(f"{path}: has no token {missing[0]}, which Marian needs")
    by_id = {i: name for name, i in ids.items()}
    tokens = tuple(by_id.get(i, f"<unused {i}>") for i in range(size))
    return MarianVocabulary(tokens, ids[PAD_TOKEN], ids[UNK_TOKEN], ids[EOS_TOKEN])
