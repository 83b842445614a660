"""The texts of an example as one row of ids, and such a row as texts again.

A row is stored as a whole, each text complete with its special tokens, and with an id between two texts that no token
has. The similarity is beside it, as a whole number.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from regard.data.store import IdRow
from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.formats.related import RelatedTexts

SIMILARITY_STEPS = 10_000
"""Of 1: a similarity is stored as a whole number of steps, more precise than people judge."""
MAX_SIMILARITY = 100.0


def separator_of(tokenizer: TextTokenizer) -> int:
    """The id between two texts."""
    return tokenizer.vocab_size


def encode_examples(examples: Sequence[RelatedTexts], tokenizer: TextTokenizer, max_length: int) -> Iterator[IdRow]:
    """The ids of examples; each text is truncated to `max_length` tokens.

    A single text is its own positive: two views of it that differ by dropout. It is stored twice, since it is
    embedded twice.
    """
    texts = [[one.text, one.text if one.positive is None else one.positive, *one.negatives] for one in examples]
    encoded = iter(tokenizer.encode(list(chain.from_iterable(texts)), max_length))
    separator = separator_of(tokenizer)
    for example, parts in zip(examples, texts, strict=True):
        row: list[int] = []
        for number in range(len(parts)):
            row += [*([separator] if number else []), *next(encoded)]
        yield row, [] if example.similarity is None else [round(SIMILARITY_STEPS * example.similarity)]


def split_row(row: Sequence[int], separator: int) -> list[list[int]]:
    """The ids of each text of a row."""
    texts: list[list[int]] = [[]]
    for token in row:
        if token == separator:
            texts.append([])
        else:
            texts[-1].append(token)
    return texts
