"""Translation: strings in, strings out, by a model, its tokenisers and a search."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from regard.data.batch import Batch, collate, pad
from regard.data.tokenizer import BOS, EOS, Tokenizers
from regard.decode import BeamSearch, Search
from regard.evaluation import TeacherForcingResult
from regard.formats import Pair
from regard.model.positions import Positions
from regard.model.transformer import EncoderDecoder, device_of
from regard.runtime.incremental import COLUMNS_PER_RESERVE, DecodingBatch, IncrementalDecoder

MAX_SOURCE_TOKENS = 16384  # sentences at a time times the longest source among them
MAX_CACHE_ELEMENTS = 32 << 20  # numbers that their keys are at first, over rows, layers and heads
MAX_TEACHER_FORCED_TOKENS = 4096  # the same as ROOM, where the whole output is known
MAX_LOGITS = 1 << 24  # that are predicted at a time, over beams and vocabulary
MIN_ADMISSION_RATIO = 1.0  # of those inside: fewer new ones are not worth the interruption


@dataclass(frozen=True)
class Translation:
    """A translated text and its score: log-probability / length^α; 0 for a blank one, nan if nobody asked for it."""

    text: str
    score: float


class ModelStepper:
    """A model that walks through sentences, as many at a time as there is room for: the Stepper of a search."""

    bos, eos = BOS, EOS

    def __init__(
        self,
        decoder: IncrementalDecoder,
        sources: Sequence[Sequence[int]],
        global_indices: Sequence[int],
        max_source_tokens: int = MAX_SOURCE_TOKENS,
    ):
        """Sources as ids without their end, and which sentences of the whole job they are."""
        model = decoder.model
        device = device_of(model)
        self.source_lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
        self.global_indices = torch.tensor(global_indices, device=device)
        self.max_output_length = max_output_length(model)
        self._forbidden_ids = torch.tensor([model.pad, self.bos], device=device)
        self._decoder, self._sources, self._max_source_tokens = decoder, sources, max_source_tokens
        self._cache_elements_per_position = sum(
            max(part.heads for part in (layer.self_attn, layer.cross_attn)) * layer.self_attn.head_dim
            for layer in decoder.layers
        )
        self._vocab_size = len(model.output.weight)
        self._batch: DecodingBatch | None = None
        self._active_sentences: list[int] = []  # the sentences
        self._next_sentence = 0

    def admit(self, rows_per_sentence: int) -> int:
        count = self._count_fitting(rows_per_sentence)
        if count < MIN_ADMISSION_RATIO * len(self._active_sentences) or not count:
            return 0
        if self._batch is None:
            self._batch = self._decoder.new_batch(rows_per_sentence)
        new_sentences = range(self._next_sentence, self._next_sentence + count)
        self._batch.admit(pad([[*self._sources[i], EOS] for i in new_sentences]).to(self._forbidden_ids.device))
        self._active_sentences += new_sentences
        self._next_sentence += count
        return count

    def step(self, last_tokens: Tensor) -> Tensor:
        assert self._batch is not None
        scores = self._batch.step(last_tokens).float()  # (R, V)
        return scores.index_fill_(1, self._forbidden_ids, -torch.inf)  # what is never part of an output

    def select(self, rows: Tensor) -> None:
        assert self._batch is not None
        self._active_sentences = [
            self._active_sentences[i]
            for i in (rows[:: self._batch.rows_per_sentence] // self._batch.rows_per_sentence).tolist()
        ]
        self._batch.select(rows)

    def _count_fitting(self, rows_per_sentence: int) -> int:
        """How many of those that wait would fit in, so many rows each; one at least where nobody is inside."""
        count, longest = (
            len(self._active_sentences),
            max((len(self._sources[i]) for i in self._active_sentences), default=0),
        )
        for source in islice(self._sources, self._next_sentence, None):
            longest = max(longest, len(source))
            if count and not self._fits(count + 1, rows_per_sentence, longest + 1):
                break
            count += 1
        return count - len(self._active_sentences)

    def _fits(self, count: int, rows_per_sentence: int, longest: int) -> bool:
        """Whether so many sentences of so many rows may be inside, the longest source as given."""
        rows = count * rows_per_sentence
        cache_elements = rows * max(longest, COLUMNS_PER_RESERVE) * self._cache_elements_per_position
        return (
            count * longest <= self._max_source_tokens
            and cache_elements <= MAX_CACHE_ELEMENTS
            and rows * self._vocab_size <= MAX_LOGITS
        )


def max_output_length(model: EncoderDecoder) -> int:
    """The longest sequence that the decoder has places for, at its embeddings and in its attention."""
    schemes = [module for module in model.decoder.modules() if isinstance(module, Positions)]
    return min(scheme.limit for scheme in schemes)


class Translator:
    """A model that translates text: one in training, or a finished one that was made ready (`ready`) for it."""

    def __init__(
        self, model: EncoderDecoder, tokenizers: Tokenizers, prepared_decoder: IncrementalDecoder | None = None
    ):
        self.model = model
        self.tokenizers = tokenizers
        self.prepared_decoder = prepared_decoder

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The best translation of each text, in the same order. An empty text stays empty."""
        return [candidates[0].text for candidates in self.candidates(texts, search)]

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first; `numbers` says which texts of the whole job they are."""
        global_indices = range(len(texts)) if global_indices is None else global_indices
        search = search or BeamSearch()
        translations = [[Translation(text, 0.0)] for text in texts]  # blank lines stay as they are
        nonblank = [i for i, text in enumerate(texts) if text.strip()]
        ids = dict(zip(nonblank, self.tokenizers.source.encode([texts[i] for i in nonblank]), strict=True))
        rows = sorted(
            nonblank, key=lambda i: -len(ids[i])
        )  # like lengths together; what takes longest must not come last
        with self._eval_mode():
            stepper = ModelStepper(
                self._incremental_decoder(), [ids[i] for i in rows], [global_indices[i] for i in rows]
            )
            for i, hypotheses in zip(rows, search.search(stepper) if rows else (), strict=True):
                translations[i] = [Translation(self.tokenizers.target.decode(h.ids), h.score) for h in hypotheses]
        return translations

    def teacher_force(self, pairs: Sequence[Pair]) -> list[TeacherForcingResult]:
        """For each pair, how the model does when it is told the beginning of the reference."""
        sources = self.tokenizers.source.encode([pair.source for pair in pairs])
        targets = self.tokenizers.target.encode([pair.target for pair in pairs])
        results: dict[int, TeacherForcingResult] = {}
        longer = {
            i: max(source, target, key=len) for i, (source, target) in enumerate(zip(sources, targets, strict=True))
        }
        max_tokens = min(MAX_TEACHER_FORCED_TOKENS, MAX_LOGITS // self.tokenizers.target.vocab_size)
        for rows in _batches(longer, max_tokens):
            batch = collate([sources[i] for i in rows], [targets[i] for i in rows]).to(device_of(self.model))
            results |= zip(rows, self._teacher_force_batch(batch), strict=True)
        return [results[i] for i in range(len(pairs))]

    def _incremental_decoder(self) -> IncrementalDecoder:
        """Made anew where nothing is ready: in training the weights change between two calls."""
        return self.prepared_decoder or IncrementalDecoder(self.model)

    def _teacher_force_batch(self, batch: Batch) -> list[TeacherForcingResult]:
        self.model.eval()
        with torch.inference_mode():
            logp = self.model.output(self.model(batch.source, batch.target_in)).float().log_softmax(dim=-1)
        target_mask = batch.target_out != self.model.pad  # (B, T)
        loss = -logp.gather(2, batch.target_out[:, :, None])[:, :, 0] * target_mask
        correct = (logp.argmax(dim=-1) == batch.target_out) & target_mask
        rows = zip(target_mask.sum(1).tolist(), correct.sum(1).tolist(), loss.sum(1).tolist(), strict=True)
        return [TeacherForcingResult(*row) for row in rows]

    @contextlib.contextmanager
    def _eval_mode(self) -> Iterator[None]:
        """The model out of training, and as it was afterwards."""
        training = self.model.training
        self._set_training(False)
        try:
            with torch.inference_mode():
                yield
        finally:
            self._set_training(training)

    def _set_training(self, training: bool) -> None:
        """Into training or out of it, unless the model is there already: telling every part of it takes a while."""
        if self.model.training != training:
            self.model.train(training)


def _batches(ids: dict[int, list[int]], max_tokens: int) -> Iterator[list[int]]:
    """Sentences of like length together, as many as the budget holds."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: len(ids[i])):
        if batch and (len(batch) + 1) * (len(ids[i]) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
