"""Documents as passages that an encoder can read: cut between lines, else between sentences, else between words."""

import functools
import re
from collections.abc import Callable, Sequence

from regard.data.sentences import rules_for, split_sentences
from regard.data.tokenizers.text_tokenizer import TextTokenizer

Splitter = Callable[[str], list[str]]
MAX_CHARACTERS = 100_000
"""Of what is encoded at once to count its tokens."""


def cut_passages(text: str, tokenizer: TextTokenizer, max_length: int, language: str = "") -> list[str]:
    """The passages of a document, each of at most `max_length` tokens; blanks around them belong to none.

    A passage has as many whole lines as fit; a line that is too long is cut between sentences, a long sentence between
    words, a long word between characters.
    """
    sentences = functools.partial(_split_sentences, language=language)
    packer = _Packer(tokenizer, max_length)
    passages = packer.pack(text, (_split_lines, sentences, _split_words, list))
    return [passage for passage in map(str.strip, passages) if passage]


class _Packer:
    """Joins neighbors as long as they fit."""

    def __init__(self, tokenizer: TextTokenizer, max_length: int):
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.num_special = self._count_tokens([""])[0]

    def pack(self, text: str, splitters: Sequence[Splitter]) -> list[str]:
        """The passages of a text: its parts by the first splitter, those that are too long by the others."""
        if not splitters or (len(text) <= MAX_CHARACTERS and self._fits(text)):
            return [text] if text else []
        parts = splitters[0](text)
        lengths = [length - self.num_special for length in self._count_tokens(parts)]
        passages: list[str] = []
        group: list[str] = []
        size = self.num_special
        for part, length in zip(parts, lengths, strict=True):
            if group and size + length > self.max_length:
                passages += self._pack_group(group, splitters)
                group, size = [], self.num_special
            group.append(part)
            size += length
        return passages + self._pack_group(group, splitters)

    def _pack_group(self, group: list[str], splitters: Sequence[Splitter]) -> list[str]:
        """Parts that should fit: together they may have a token more than one by one, and then are halved."""
        text = "".join(group)
        if len(group) < 2:
            return self.pack(text, splitters[1:])
        if self._fits(text):
            return [text]
        middle = len(group) // 2
        return [*self._pack_group(group[:middle], splitters), *self._pack_group(group[middle:], splitters)]

    def _fits(self, text: str) -> bool:
        return self._count_tokens([text])[0] <= self.max_length

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text without the blanks around it, special tokens included."""
        unlimited = max(1, 4 * max(map(len, texts), default=0)) + self.max_length  # a character has at most four bytes
        return [len(ids) for ids in self.tokenizer.encode([text.strip() for text in texts], unlimited)]


def _split_lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _split_sentences(text: str, language: str) -> list[str]:
    return [sentence.text + sentence.blank for sentence in split_sentences(text, rules_for(language))]


def _split_words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)
