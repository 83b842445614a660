"""Training in both directions: every pair as it is, and once more the other way round."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.store import Corpus, IdRow, open_ids, write_rows
from regard.data.tokenizers.tokenizer import Tokenizers

NAME = "both"
"""Of the ids on disk, beside those of the sets."""


@dataclass(frozen=True)
class BothDirections(Corpus):
    """The texts of a corpus, and twice as many rows of ids: source to target, and then target to source."""

    def __len__(self) -> int:
        return len(self.source_ids)


def write_both_directions(folder: Path, corpus: Corpus, source_tag: int, tokenizers: Tokenizers) -> None:
    """Write the ids of a corpus whose sources begin with a tag in both directions; the other one has its own tag."""
    write_rows(folder, NAME, _both_ways(corpus, source_tag), _vocab_sizes(tokenizers))


def open_both_directions(folder: Path, corpus: Corpus, tokenizers: Tokenizers) -> BothDirections:
    """What `write_both_directions` has written."""
    ids = open_ids(folder, NAME, _vocab_sizes(tokenizers), 2 * len(corpus))
    return BothDirections(corpus.source, corpus.target, *ids)


def _vocab_sizes(tokenizers: Tokenizers) -> tuple[int, int]:
    return tokenizers.source.vocab_size, tokenizers.target.vocab_size


def _both_ways(corpus: Corpus, source_tag: int) -> Iterator[IdRow]:
    for i in range(len(corpus)):
        yield corpus.source_ids[i].tolist(), corpus.target_ids[i].tolist()
    for i in range(len(corpus)):
        yield [source_tag, *corpus.target_ids[i].tolist()], corpus.source_ids[i].tolist()[1:]
