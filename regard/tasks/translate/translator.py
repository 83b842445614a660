"""Translation: strings in, strings out, by a model, its tokenizers and a search."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data.batch import Batch, collate, pad
from regard.data.shortlist import Shortlist
from regard.data.tokenizers.tokenizer import BOS, EOS, Tokenizers
from regard.decode import BeamSearch, Hypothesis, Search
from regard.errors import DataError, ModelError
from regard.formats import Pair
from regard.model.modules import device_of, evaluation_mode
from regard.model.positions import Positions
from regard.model.single_stack import DecoderOnly, SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.progress import stage
from regard.runtime.attention import use_fused_attention
from regard.runtime.incremental import COLUMNS_PER_RESERVE, DecodingBatch, IncrementalDecoder

if TYPE_CHECKING:  # what scores is not needed to translate, and takes a while to import
    from regard.evaluation import TeacherForcingResult

MAX_SOURCE_TOKENS = 16384  # of a batch, padding included
MAX_CACHE_ELEMENTS = 32 << 20  # of the keys at first, over rows, layers and heads
MAX_TEACHER_FORCED_TOKENS = 4096  # of a batch whose outputs are known
MAX_LOGITS = 1 << 24  # of a step, over beams and vocabulary
NOT_FINITE = (
    "the model gives no token a finite probability: its weights overflow. Train a new run with a lower "
    "train.learning_rate, or restore the weights from a copy."
)
MIN_ADMISSION_RATIO = 1.0  # of the active sentences: fewer new ones do not pay for the interruption


@dataclass(frozen=True)
class Translation:
    """A translated text and its score: log-probability / length^α; 0 for a blank text, nan if not requested."""

    text: str
    score: float
    truncated: bool = False
    """Whether it was cut at the maximum length, or where it began to repeat itself."""
    issues: tuple["TranslationIssue", ...] = ()
    """What may be wrong with it, found by comparison with its source."""


@dataclass(frozen=True, slots=True)
class TranslationIssue:
    """Something of the source that the translation has probably lost.

    The kinds are those of ITS 2.0: `omission` (far too short, or cut), `numbers` (lost or changed) and `characters`
    (that the model has never seen).
    """

    kind: str
    message: str


def _ignore_count(count: int) -> None:
    pass


class ModelStepper:
    """A model that decodes sentences, as many at a time as fit into memory: the Stepper of a search."""

    bos, eos = BOS, EOS

    def __init__(
        self,
        decoder: IncrementalDecoder,
        sources: Sequence[Sequence[int]],
        global_indices: Sequence[int],
        max_source_tokens: int = MAX_SOURCE_TOKENS,
        on_finish: Callable[[int], None] = _ignore_count,
        surface: Callable[[Sequence[int]], Hashable] = tuple,
    ):
        """Sources as ids without eos, and the indices of their sentences in the whole job.

        `on_finish` is called with the number of sentences that have just left the batch. `surface` is the text of ids.
        """
        model = decoder.model
        device = device_of(model)
        self.source_lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
        self.global_indices = torch.tensor(global_indices, device=device)
        self.max_output_length = max_output_length(model)
        self._forbidden_ids = torch.tensor([model.pad, self.bos], device=device)
        self._decoder, self._sources, self._max_source_tokens = decoder, sources, max_source_tokens
        self._vocab_size = len(model.output.weight)
        self._on_finish, self.surface = on_finish, surface
        self._batch: DecodingBatch | None = None
        self._active_sentences: list[int] = []
        self._next_sentence = 0

    def admit(self, rows_per_sentence: int) -> int:
        count = self._count_fitting(rows_per_sentence)
        if count < MIN_ADMISSION_RATIO * len(self._active_sentences) or not count:
            return 0
        if self._batch is None:
            self._batch = self._decoder.new_batch(rows_per_sentence)
        new_sentences = range(self._next_sentence, self._next_sentence + count)
        self._read([[*self._sources[i], EOS] for i in new_sentences])
        self._active_sentences += new_sentences
        self._next_sentence += count
        return count

    def step(self, last_tokens: Tensor) -> Tensor:
        assert self._batch is not None
        scores = self._batch.step(last_tokens).float()  # (R, V)
        # What is never part of an output.
        return scores.index_fill_(1, self._batch.output.columns_of(self._forbidden_ids), -torch.inf)

    def tokens_at(self, columns: Tensor) -> Tensor:
        assert self._batch is not None
        return self._batch.output.tokens_at(columns)

    def select(self, rows: Tensor) -> None:
        assert self._batch is not None
        beams, num_active = self._batch.rows_per_sentence, len(self._active_sentences)
        self._active_sentences = [self._active_sentences[i] for i in (rows[::beams] // beams).tolist()]
        self._batch.select(rows)
        if num_finished := num_active - len(self._active_sentences):
            self._on_finish(num_finished)

    def _read(self, sources: list[list[int]]) -> None:
        """Add sentences with these sources to the batch."""
        assert self._batch is not None
        self._batch.admit(pad(sources).to(self._forbidden_ids.device))

    def _count_fitting(self, rows_per_sentence: int) -> int:
        """How many waiting sentences fit in, with this many rows each; at least one if none is active."""
        count = len(self._active_sentences)
        longest = max((len(self._sources[i]) for i in self._active_sentences), default=0)
        for source in islice(self._sources, self._next_sentence, None):
            longest = max(longest, len(source))
            if count and not self._fits(count + 1, rows_per_sentence, longest + 1):
                break
            count += 1
        return count - len(self._active_sentences)

    def _fits(self, count: int, rows_per_sentence: int, longest: int) -> bool:
        """Whether this many sentences fit, with this many rows each and a longest source of this length."""
        rows = count * rows_per_sentence
        cache_elements = rows * max(longest, COLUMNS_PER_RESERVE) * self._decoder.cache_width
        return (
            count * longest <= self._max_source_tokens
            and cache_elements <= MAX_CACHE_ELEMENTS
            and rows * self._vocab_size <= MAX_LOGITS
        )


class PrefixStepper(ModelStepper):
    """A decoder that reads each source before its translation: sentences are decoded together that begin together."""

    def __init__(self, decoder: IncrementalDecoder, sources: Sequence[Sequence[int]], *args: Any, **options: Any):
        super().__init__(decoder, sources, *args, **options)
        longest = max((len(source) for source in sources), default=0) + 1
        self.max_output_length = max(1, self.max_output_length - longest)

    def admit(self, rows_per_sentence: int) -> int:
        if self._active_sentences:
            return 0
        self._batch = None
        return super().admit(rows_per_sentence)

    def _read(self, sources: list[list[int]]) -> None:
        assert self._batch is not None
        self._batch.prefill(sources)

    def _fits(self, count: int, rows_per_sentence: int, longest: int) -> bool:
        """The cache holds the source, too, once for each row."""
        attention_elements = count * longest**2 * self._decoder.max_heads
        return attention_elements <= MAX_CACHE_ELEMENTS and super()._fits(count, rows_per_sentence, 2 * longest)


def max_output_length(model: EncoderDecoder | DecoderOnly | SourceTargetDecoder) -> int:
    """The longest sequence that the decoder has positions for, in its embeddings and in its attention."""
    schemes = [module for module in model.decoder.modules() if isinstance(module, Positions)]
    return min(scheme.limit for scheme in schemes)


class Translator:
    """A model that translates text: one in training, or a finished one with a `prepared_decoder`."""

    def __init__(
        self,
        model: EncoderDecoder | SourceTargetDecoder,
        tokenizers: Tokenizers,
        prepared_decoder: IncrementalDecoder | None = None,
    ):
        use_fused_attention(model)
        self.model = model
        self._stepper = ModelStepper if isinstance(model, EncoderDecoder) else PrefixStepper
        self.tokenizers = tokenizers
        self.prepared_decoder = prepared_decoder

    @property
    def encoder_decoder(self) -> EncoderDecoder:
        """The model, where it has both stacks, with cross-attention between them."""
        assert isinstance(self.model, EncoderDecoder)
        return self.model

    def with_shortlist(self, shortlist: Shortlist | None) -> "Translator":
        """The same translator, which chooses among the tokens of a shortlist, or among all."""
        return Translator(self.model, self.tokenizers, self._incremental_decoder().with_shortlist(shortlist))

    def without_shortlist(self) -> "Translator":
        """The same translator, which chooses among all tokens."""
        return self.with_shortlist(None)

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """The best translation of each text, in the same order. An empty text stays empty."""
        return [candidates[0].text for candidates in self.candidates(texts, search)]

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first; `global_indices`: of the texts in the whole job."""
        global_indices = range(len(texts)) if global_indices is None else global_indices
        search = search or BeamSearch()
        translations = [[Translation(text, 0.0)] for text in texts]  # blank lines stay as they are
        nonblank = [i for i, text in enumerate(texts) if text.strip()]
        ids = dict(zip(nonblank, self.tokenizers.source.encode([texts[i] for i in nonblank]), strict=True))
        rows = sorted(nonblank, key=lambda i: -len(ids[i]))  # similar lengths together, the slowest first
        with evaluation_mode(self.model), torch.inference_mode(), stage("translating", len(rows)) as current:
            indices, sources, decode = (
                [global_indices[i] for i in rows],
                [ids[i] for i in rows],
                self.tokenizers.target.decode,
            )
            outputs = self._search(search, sources, indices, current.advance) if rows else []
            for i, hypotheses in zip(rows, outputs, strict=True):
                if not hypotheses:
                    raise ModelError(NOT_FINITE)
                translations[i] = [Translation(decode(h.ids), h.score, h.truncated) for h in hypotheses]
        return translations

    def teacher_force(self, pairs: Sequence[Pair]) -> "list[TeacherForcingResult]":
        """For each pair, the loss and accuracy of the model when it is given the beginning of the reference."""
        sources = self.tokenizers.source.encode([pair.source for pair in pairs])
        targets = self.tokenizers.target.encode([pair.target for pair in pairs])
        results: dict[int, TeacherForcingResult] = {}
        longer = {
            i: max(source, target, key=len) for i, (source, target) in enumerate(zip(sources, targets, strict=True))
        }
        for i, ids in longer.items():  # attention takes memory for each pair of tokens
            if len(ids) >= MAX_TEACHER_FORCED_TOKENS:
                raise DataError(
                    f"{pairs[i].location or f'pair {i + 1:,}'}: has {len(ids):,} tokens, and the loss takes at "
                    f"most {MAX_TEACHER_FORCED_TOKENS:,}; divide it into sentences, or remove it"
                )
        max_tokens = min(MAX_TEACHER_FORCED_TOKENS, MAX_LOGITS // self.tokenizers.target.vocab_size)
        with stage("computing the loss", len(pairs)) as current:
            for rows in _batches(longer, max_tokens):
                batch = collate([sources[i] for i in rows], [targets[i] for i in rows]).to(device_of(self.model))
                results |= zip(rows, self._teacher_force_batch(batch), strict=True)
                current.advance(len(rows))
        return [results[i] for i in range(len(pairs))]

    def _search(
        self,
        search: Search,
        sources: Sequence[Sequence[int]],
        global_indices: Sequence[int],
        on_finish: Callable[[int], None],
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source; `on_finish` counts sentences that are finished."""
        decode = self.tokenizers.target.decode
        return search.search(
            self._stepper(self._incremental_decoder(), sources, global_indices, on_finish=on_finish, surface=decode)
        )

    def _incremental_decoder(self) -> IncrementalDecoder:
        """A new one unless one is prepared: in training the weights change between two calls."""
        return self.prepared_decoder or IncrementalDecoder(self.model)

    def _teacher_force_batch(self, batch: Batch) -> "list[TeacherForcingResult]":
        from regard.evaluation import TeacherForcingResult

        with evaluation_mode(self.model), torch.inference_mode():
            logp = self.model.output(self.model(batch.source, batch.target_in)).float().log_softmax(dim=-1)
        target_mask = batch.target_out != self.model.pad  # (B, T)
        loss = -logp.gather(2, batch.target_out[:, :, None])[:, :, 0] * target_mask
        correct = (logp.argmax(dim=-1) == batch.target_out) & target_mask
        rows = zip(target_mask.sum(1).tolist(), correct.sum(1).tolist(), loss.sum(1).tolist(), strict=True)
        return [TeacherForcingResult(*row) for row in rows]


def _batches(ids: dict[int, list[int]], max_tokens: int) -> Iterator[list[int]]:
    """Batches of sentences of similar length."""
    batch: list[int] = []
    for i in sorted(ids, key=lambda i: len(ids[i])):
        if batch and (len(batch) + 1) * (len(ids[i]) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
