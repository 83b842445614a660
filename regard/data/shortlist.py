"""The target tokens that can occur in the translation of given source tokens: a few hundred instead of thousands.

Every source token has its candidates (the tokens that IBM Model 1 aligns it with, and what copies it); the special
tokens and the most frequent ones are always among them. Decoding computes the logits of these tokens alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from regard.data.lexicon import Lexicon
from regard.data.store import Array
from regard.data.tokenizers.tokenizer import BOS, BYTE_TOKEN, EOS, PAD, SPACE, UNK, Tokenizer, Tokenizers
from regard.errors import DataError

SPECIAL = (PAD, UNK, BOS, EOS)
MAX_COPIED = 4  # target tokens of one source token
MAX_FILE_BYTES = 1 << 28
REMEDY = "Make it again with `regard shortlist`."


@dataclass(frozen=True)
class Shortlist:
    """Target tokens for source tokens."""

    candidates: Array
    """The candidates of one source token after those of another: (n,), int32."""
    starts: Array
    """Where those of each source token begin: (V source + 1,), int32."""
    always: Array
    """What any translation may have, special tokens included: (f,), int32."""
    target_size: int

    def select(self, source: Iterable[int]) -> Array:
        """The target tokens for all of these source tokens together, padding apart, in ascending order: (U,)."""
        chosen = np.zeros(self.target_size, bool)
        chosen[self.always] = True
        for token in set(source) - {PAD}:
            chosen[self[token]] = True
        return np.flatnonzero(chosen)

    def __getitem__(self, token: int) -> Array:
        """The candidates of a source token."""
        return self.candidates[self.starts[token] : self.starts[token + 1]]


def build_shortlist(lexicon: Lexicon, tokenizers: Tokenizers, min_probability: float) -> Shortlist:
    """What occurs with a source token, or in any sentence, with at least this probability, and what copies the source.

    One threshold for all tokens makes the shortest lists: each entry costs its place in every sentence with its token.
    """
    target_size = tokenizers.target.vocab_size
    is_always = (lexicon.frequency >= min_probability) & (lexicon.frequency > 0)
    is_always[list(SPECIAL)] = True
    is_candidate = (lexicon.probability >= min_probability) & ~is_always[lexicon.target]
    copies = [(token, copy) for token, row in enumerate(_copies(tokenizers)) for copy in row if not is_always[copy]]
    copied = np.array(copies, np.int64).reshape(-1, 2).T
    keys = np.unique(
        np.concatenate(
            (
                lexicon.source[is_candidate] * target_size + lexicon.target[is_candidate],
                copied[0] * target_size + copied[1],
            )
        )
    )
    starts = np.searchsorted(keys, np.arange(tokenizers.source.vocab_size + 1) * target_size)
    candidates = (keys % target_size).astype(np.int32)
    return Shortlist(candidates, starts.astype(np.int32), np.flatnonzero(is_always).astype(np.int32), target_size)


def _copies(tokenizers: Tokenizers) -> Iterator[list[int]]:
    """The target tokens that copy each source token: itself, or those that have its text."""
    if tokenizers.joint:
        yield from ([token] for token in range(tokenizers.source.vocab_size))
        return
    target_ids = {name: i for i, name in enumerate(_names(tokenizers.target))}
    for name in _names(tokenizers.source):
        if name in target_ids or BYTE_TOKEN.fullmatch(name):
            yield [target_ids[name]] if name in target_ids else []
        else:
            yield tokenizers.target.encode([name.replace(SPACE, " ").strip()])[0][:MAX_COPIED]


def _names(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))


def write_shortlist(shortlist: Shortlist, path: Path) -> None:
    """Write a safetensors file."""
    path.write_bytes(save({name: getattr(shortlist, name) for name in ("candidates", "starts", "always")}))


def read_shortlist(raw: bytes, path: Path, tokenizers: Tokenizers) -> Shortlist:
    """The shortlist of a file of `write_shortlist`, for these vocabularies; anything else is refused."""
    try:
        tensors = load(raw)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a safetensors file ({str(error)[:80]}). {REMEDY}") from None
    target_size = tokenizers.target.vocab_size
    candidates = _require_ids(tensors, "candidates", target_size, path)
    always = _require_ids(tensors, "always", target_size, path)
    starts = _require_ids(tensors, "starts", len(candidates) + 1, path)
    is_complete = len(starts) == tokenizers.source.vocab_size + 1 and starts[0] == 0 and starts[-1] == len(candidates)
    if not is_complete or (np.diff(starts) < 0).any():
        raise DataError(f"{path}: damaged, or of other vocabularies. {REMEDY}")
    if missing := set(SPECIAL) - set(always.tolist()):
        raise DataError(f"{path}: damaged: it lacks the special tokens {sorted(missing)}. {REMEDY}")
    return Shortlist(candidates, starts, always, target_size)


def _require_ids(tensors: dict[str, Array], name: str, limit: int, path: Path) -> Array:
    """A row of numbers from 0 to below the limit."""
    ids = tensors.get(name)
    if ids is None or ids.dtype != np.int32 or ids.ndim != 1:
        problem = "is missing" if ids is None else f"holds {ids.dtype} {ids.shape}, not a row of int32"
        raise DataError(f"{path}: damaged: {name} {problem}. {REMEDY}")
    if ids.size and (ids.min() < 0 or ids.max() >= limit):
        raise DataError(f"{path}: damaged: {name} holds numbers beyond {limit:,}. {REMEDY}")
    return ids
