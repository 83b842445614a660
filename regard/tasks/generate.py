"""Language models: the continuation of a prompt, as a whole or as it comes, and how probable texts are."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.decode import SamplingSearch
from regard.decode.greedy import token_log_probs
from regard.decode.stepper import compact_rows
from regard.decode.text_stream import TextStream
from regard.errors import ConfigError, DataError, ModelError
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly
from regard.progress import stage
from regard.runtime.attention import use_fused_attention
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.likelihood import TextLikelihood, compute_token_nats
from regard.tasks.translate.translator import MAX_CACHE_ELEMENTS, MAX_LOGITS, NOT_FINITE, max_output_length

MAX_ATTENTION_ELEMENTS = 1 << 26  # of the scores of prompts, over rows, heads, queries and keys
FinishReason = Literal["eos", "stop", "length"]
"""The end of the document, a stop string, or the maximum number of tokens."""
ByteDecoder = Callable[[int], bytes]
"""The next token of a text -> the bytes that it adds."""


class PromptTokenizer(Protocol):
    """What a language model, and what shows one, needs of its tokenizer."""

    bos_id: int
    eos_id: int

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without bos and eos."""
        ...

    def byte_decoder(self, prompt: Sequence[int]) -> ByteDecoder:
        """What gives, for each token after a prompt, the bytes that it adds; these may end inside a character."""
        ...

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]: ...

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The characters of a text that each of its tokens covers."""
        ...


@dataclass(frozen=True)
class GenerationOptions:
    """How a prompt is continued; the same options give the same text."""

    max_new_tokens: int = 256
    """At most; the model's context may end it before."""
    temperature: float = 1.0
    """Below 1 is more conservative, above 1 more diverse; 0 is greedy search."""
    top_k: int = 0
    """Draw from this many of the most probable tokens; 0: all."""
    top_p: float = 1.0
    """Draw from the smallest set of tokens with this total probability; 1: all."""
    min_p: float = 0.0
    """Draw from tokens at least this fraction as probable as the most probable one; 0: all."""
    stop: tuple[str, ...] = ()
    """Strings before which the text is cut."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens={self.max_new_tokens}: must be 1 or more")
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature={self.temperature}: must be 0 (greedy search) or more")
        if isinstance(self.stop, str):
            raise ConfigError(f"stop={self.stop!a:.80}: expected a tuple of strings")
        if not all(self.stop):
            raise ConfigError("--stop is empty: give the string that a text ends before, or leave it out")
        self.sampling()  # refuses other wrong values

    def sampling(self) -> SamplingSearch:
        """How a token is drawn, where the temperature is not 0."""
        return SamplingSearch(self.temperature or 1.0, self.top_k, self.top_p, self.seed, min_p=self.min_p)


@dataclass(frozen=True)
class Generation:
    """A text that a language model has generated."""

    text: str
    """What comes after the prompt. A character that was not finished is left out."""
    score: float
    """Mean log-probability per token, those of eos or of the stop string included."""
    finish_reason: FinishReason


@dataclass
class _Continuation:
    """One prompt on its way."""

    prompt: list[int]
    max_tokens: int
    rng: np.random.Generator
    decode_token: ByteDecoder
    stream: TextStream
    num_tokens: int = 0
    total_log_prob: float = 0.0
    finish_reason: FinishReason | None = None
    chunks: list[str] = field(default_factory=list)

    def append(self, token: int | None, log_prob: float) -> None:
        """Add a token, None for eos, and what can be shown of the text by then."""
        self.num_tokens += 1
        self.total_log_prob += log_prob
        if token is not None:
            self.chunks.append(self.stream.add(self.decode_token(token)))
        if token is None:
            self.finish_reason = "eos"
        elif self.stream.stopped:
            self.finish_reason = "stop"
        elif self.num_tokens == self.max_tokens:
            self.finish_reason = "length"
        if self.finish_reason is not None:
            self.chunks.append(self.stream.finish())

    def result(self) -> Generation:
        assert self.finish_reason is not None
        return Generation("".join(self.chunks), self.total_log_prob / self.num_tokens, self.finish_reason)


class _ContinuationBatch:
    """Prompts that are continued together, one token a step; what is finished leaves."""

    def __init__(
        self,
        decoder: IncrementalDecoder,
        tokenizer: PromptTokenizer,
        continuations: Sequence[_Continuation],
        options: GenerationOptions,
    ):
        self.active = list(continuations)
        self._tokenizer = tokenizer
        self._sampling = options.sampling() if options.temperature else None
        self._batch = decoder.new_batch()
        self._last_tokens: Tensor | None = None
        vocab_size = len(decoder.model.output.weight)
        special_ids = {decoder.model.pad, tokenizer.bos_id} - {tokenizer.eos_id}
        forbidden_ids = [i for i in special_ids if i >= 0] + list(range(tokenizer.vocab_size, vocab_size))
        self._forbidden_ids = torch.tensor(forbidden_ids, dtype=torch.long, device=device_of(decoder.model))

    def step(self) -> None:
        """Continue every prompt by one token."""
        if self._last_tokens is None:
            logits = self._batch.prefill([continuation.prompt for continuation in self.active])
        else:
            logits = self._batch.step(self._last_tokens)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))  # (R, V)
        tokens = self._choose(logits.index_fill(1, self._forbidden_ids, -torch.inf))
        log_probs = token_log_probs(logits, tokens)
        if not bool(torch.isfinite(log_probs).all()):
            raise ModelError(NOT_FINITE)
        for continuation, token, log_prob in zip(self.active, tokens.tolist(), log_probs.tolist(), strict=True):
            continuation.append(None if token == self._tokenizer.eos_id else token, log_prob)
        self._last_tokens = tokens
        self._drop_finished()

    def _choose(self, scores: Tensor) -> Tensor:
        """The next token (R,) of each row of scores (R, V)."""
        if self._sampling is None:
            return scores.argmax(dim=-1)
        uniforms = torch.tensor([continuation.rng.random() for continuation in self.active], dtype=torch.float64)
        return self._sampling.draw(scores, uniforms)

    def _drop_finished(self) -> None:
        finished = [continuation.finish_reason is not None for continuation in self.active]
        if not any(finished):
            return
        assert self._last_tokens is not None
        rows = compact_rows(torch.tensor(finished, device=self._last_tokens.device))
        self._batch.select(rows)
        self._last_tokens = self._last_tokens[rows]
        self.active = [self.active[i] for i in rows.tolist()]


class LanguageModel:
    """A model that continues text: one in training, or a finished one with a `prepared_decoder`.

    A text is a document: bos comes before its first token, in generation as in scoring.
    """

    def __init__(
        self,
        model: DecoderOnly,
        tokenizer: PromptTokenizer,
        max_length: int,
        prepared_decoder: IncrementalDecoder | None = None,
    ):
        use_fused_attention(model)
        self.model = model
        self.tokenizer = tokenizer
        self.max_length = min(max_length, max_output_length(model))
        """The tokens of a context: of a prompt, with bos, and the text after it; or of a window that is scored."""
        self.prepared_decoder = prepared_decoder

    def generate(
        self,
        prompts: Sequence[str],
        options: GenerationOptions = GenerationOptions(),
        global_indices: Sequence[int] | None = None,
    ) -> list[Generation]:
        """A continuation of each prompt, in the same order; `global_indices`: of the prompts in the whole job.

        A prompt's random numbers depend on the seed and its index alone. A text ends where prompt and text together
        fill the context (`max_length`), with the finish reason "length": older tokens are never dropped.
        """
        continuations = self._continuations(prompts, options, global_indices)
        decoder = self._incremental_decoder()
        with stage("generating", len(continuations)) as current:
            for batch in self._batches(decoder, continuations, options):
                while batch.active:
                    num_active = len(batch.active)
                    self._step(batch)
                    current.advance(num_active - len(batch.active))
        return [continuation.result() for continuation in continuations]

    def stream(
        self, prompt: str, options: GenerationOptions = GenerationOptions(), global_index: int = 0
    ) -> Iterator[str]:
        """The text that `generate` gives for this prompt, chunk by chunk; no chunk is empty."""
        (continuation,) = self._continuations([prompt], options, [global_index])
        batch = _ContinuationBatch(self._incremental_decoder(), self.tokenizer, [continuation], options)
        return self._stream(batch, continuation)

    def token_nats(self, texts: Sequence[str]) -> list[npt.NDArray[np.float64]]:
        """-ln p of every token of each text and of its end, given the tokens before it.

        A text longer than the context is read in windows that each start half a context later; a token is scored in the
        first window that has it, so its context is at least half a window, unless the text begins there.
        """
        rows = [[self.tokenizer.bos_id, *ids, self.tokenizer.eos_id] for ids in self.tokenizer.encode(texts)]
        return compute_token_nats(self.model, rows, self.max_length)

    def likelihood(self, texts: Sequence[str]) -> TextLikelihood:
        """How probable these texts are together."""
        nats = self.token_nats(texts)
        return TextLikelihood(
            sum(float(row.sum()) for row in nats),
            sum(map(len, nats)),
            sum(len(text.split()) for text in texts),
            sum(len(text.encode("utf-8")) for text in texts),
        )

    def _stream(self, batch: _ContinuationBatch, continuation: _Continuation) -> Iterator[str]:
        while batch.active:
            start = len(continuation.chunks)
            self._step(batch)
            if chunk := "".join(continuation.chunks[start:]):
                yield chunk

    def _step(self, batch: _ContinuationBatch) -> None:
        # Only around a step: what reads a stream must not find itself in inference mode between two.
        with evaluation_mode(self.model), torch.inference_mode():
            batch.step()

    def _incremental_decoder(self) -> IncrementalDecoder:
        """A new one unless one is prepared: in training the weights change between two calls."""
        with torch.no_grad():
            return self.prepared_decoder or IncrementalDecoder(self.model)

    def _continuations(
        self, prompts: Sequence[str], options: GenerationOptions, global_indices: Sequence[int] | None
    ) -> list[_Continuation]:
        continuations = []
        global_indices = range(len(prompts)) if global_indices is None else global_indices
        for i, ids in enumerate(self.tokenizer.encode(prompts)):
            row = [self.tokenizer.bos_id, *ids]
            if len(row) >= self.max_length:
                raise DataError(
                    f"prompt {i + 1:,} has {len(row):,} tokens, but the model's context is {self.max_length:,}, "
                    f"the text after the prompt included; shorten the prompt"
                )
            max_tokens = min(options.max_new_tokens, self.max_length - len(row))
            rng = np.random.default_rng([options.seed, global_indices[i]])
            decode_token = self.tokenizer.byte_decoder(row)
            continuations.append(_Continuation(row, max_tokens, rng, decode_token, TextStream(options.stop)))
        return continuations

    def _batches(
        self, decoder: IncrementalDecoder, continuations: Sequence[_Continuation], options: GenerationOptions
    ) -> Iterator[_ContinuationBatch]:
        """Prompts of similar length together, as many as fit into memory."""
        waiting = sorted(continuations, key=lambda continuation: -len(continuation.prompt))
        while waiting:
            columns = len(waiting[0].prompt) + options.max_new_tokens
            limits = (
                MAX_CACHE_ELEMENTS // (min(columns, self.max_length) * decoder.cache_width),
                MAX_ATTENTION_ELEMENTS // (len(waiting[0].prompt) ** 2 * decoder.max_heads),
                MAX_LOGITS // len(self.model.output.weight),
            )
            count = max(1, min(limits))
            yield _ContinuationBatch(decoder, self.tokenizer, waiting[:count], options)
            waiting = waiting[count:]
