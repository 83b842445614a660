"""Tagging: words in, tags out; or texts in, entities with character offsets out."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.data.store import Array
from regard.data.tokenizers.text_tokenizer import EncodedWords, TextTokenizer
from regard.languages.words import word_spans
from regard.model.modules import device_of, evaluation_mode
from regard.tasks.loss import TokenLoss
from regard.tasks.tag.tags import TagSet
from regard.tasks.tag.viterbi import viterbi
from regard.tasks.text_batch import batch_by_length, pad_rows
from regard.tasks.text_forward import TextModel, make_forward


class Entity(NamedTuple):
    """A span of a text; where tags are plain, a word."""

    type: str
    start: int
    """In characters."""
    end: int
    """Exclusive."""
    text: str
    probability: float
    """That all of its words have these tags: the product of their probabilities."""


class TaggedText(NamedTuple):
    """A text with its words, their tags, and the entities that the tags mark."""

    text: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    entities: tuple[Entity, ...]


FindWords = Callable[[str], list[tuple[int, int]]]
"""A text -> where each word begins and ends, in characters."""


def spaced_words(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends in a text that was divided into words by blanks."""
    return [match.span() for match in re.finditer(r"\S+", text)]


class SentenceWindow(NamedTuple):
    """Some words of a sentence that fit into the model together."""

    sentence: int
    start: int
    encoded: EncodedWords


def divide(sentences: Sequence[Sequence[str]], tokenizer: TextTokenizer, max_length: int) -> Iterator[SentenceWindow]:
    """Windows in which every word that has tokens is found once, at its first token."""
    pending = [(sentence, 0) for sentence in range(len(sentences))]
    while pending:
        # No more words than the model reads tokens: a long text is not encoded to its end again and again.
        slices = [sentences[sentence][start : start + max_length] for sentence, start in pending]
        encoded_slices = tokenizer.encode_words(slices, max_length)
        rest = []
        for (sentence, start), words, encoded in zip(pending, slices, encoded_slices, strict=True):
            last = max((n for n, position in enumerate(encoded.first_tokens) if position >= 0), default=None)
            end = start + (len(words) if last is None else last + 1)
            if last is not None:
                yield SentenceWindow(sentence, start, encoded)
            if end < len(sentences[sentence]):
                rest.append((sentence, end))
        pending = rest


class Tagger:
    """A trained model that tags words."""

    def __init__(self, model: TextModel, tokenizer: TextTokenizer, tags: TagSet, max_length: int):
        self.model = model
        self.tokenizer = tokenizer
        self.tags = tags
        self.max_length = max_length
        """The maximum number of tokens that the model reads at once; a longer sentence is divided."""
        self._loss = TokenLoss(model.output, label_smoothing=0.0)
        self._forward = make_forward(model, padding_free=True)
        self._transitions, self._starts = tags.transitions, tags.starts

    def log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Array]:
        """The log-probability of each tag for each word, in the same order: (words, K).

        A word without a token has its default tag for certain.
        """
        certain = np.where(np.array(self.tags.tags) == self.tags.default, 0.0, -np.inf)
        log_probs = [np.tile(certain, (len(words), 1)) for words in sentences]
        windows = list(divide(sentences, self.tokenizer, self.max_length))
        rows = [window.encoded.ids for window in windows]
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in batch_by_length(rows):
                states = self._token_states([rows[i] for i in batch])
                for i, row_states in zip(batch, states, strict=True):
                    sentence, start, encoded = windows[i]
                    words = [n for n, position in enumerate(encoded.first_tokens) if position >= 0]
                    firsts = row_states[[encoded.first_tokens[n] for n in words]]
                    log_probs[sentence][[start + n for n in words]] = self._loss.predict(firsts).double().cpu().numpy()
        return log_probs

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tag of each word; spans follow BIO to the letter."""
        return [self.decode(log_probs) for log_probs in self.log_probs(sentences)]

    def tag_texts(self, texts: Sequence[str], find_words: FindWords = word_spans) -> list[TaggedText]:
        """The words, tags and entities of each text."""
        spans = [find_words(text) for text in texts]
        sentences = [[text[a:b] for a, b in words] for text, words in zip(texts, spans, strict=True)]
        results = []
        for text, bounds, words, log_probs in zip(texts, spans, sentences, self.log_probs(sentences), strict=True):
            tags = self.decode(log_probs)
            entities = tuple(self._find_entities(text, bounds, tags, log_probs))
            results.append(TaggedText(text, tuple(words), tuple(tags), entities))
        return results

    def decode(self, log_probs: Array) -> list[str]:
        """The most probable tags of a sentence that follow the scheme."""
        return [self.tags.tags[i] for i in viterbi(log_probs, self._transitions, self._starts)]

    def _find_entities(
        self, text: str, words: Sequence[tuple[int, int]], tags: Sequence[str], log_probs: Array
    ) -> Iterator[Entity]:
        for span in self.tags.find_spans(tags):
            start, end = words[span.start][0], words[span.end - 1][1]
            numbers = range(span.start, span.end)
            probability = float(np.exp(sum(log_probs[n, self.tags.tags.index(tags[n])] for n in numbers)))
            yield Entity(span.type, start, end, text[start:end], probability)

    def _token_states(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """The states of sentences: (B, T, D)."""
        ids = pad_rows(rows, self.tokenizer.pad_id).to(device_of(self.model))
        states, layout = self._forward(ids, None)
        return layout.pad(states)
