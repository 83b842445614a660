"""A translator that runs on CTranslate2."""

import copy
import math
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from regard.data.tokenizers.tokenizer import EOS, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Hypothesis, Limits, Search
from regard.decode.beam import distinct
from regard.decode.limits import trim_loop
from regard.errors import ConfigError, FormatError
from regard.interchange.ctranslate2 import MAX_POSITIONS, import_ctranslate2, vocabulary_tokens
from regard.progress import track
from regard.tasks.translate.translator import Translation

MAX_BATCH_SIZE = 64  # sentences
PATIENCE = 2.0  # with 1 it stops at the first `beam_size` finished hypotheses, though a better one may follow


class CTranslate2Translator:
    """A CTranslate2 folder that translates, with the interface of a `Translator`."""

    def __init__(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        workers: int,
        max_length: int = MAX_POSITIONS,
        uses_shortlist: bool = False,
    ):
        """`max_length`: the longest output that the model has positions for. The folder may have a vocabulary map."""
        self.tokenizers = tokenizers
        self.uses_shortlist = uses_shortlist
        self._folder, self._max_length = folder, max_length
        # One thread per worker: a batch does not scale over threads, an int8 one least of all.
        try:
            self._engine = import_ctranslate2().Translator(
                str(folder), device="cpu", inter_threads=workers, intra_threads=1
            )
        except (RuntimeError, ValueError, LookupError) as error:
            raise FormatError(f"{folder}: not a CTranslate2 model ({str(error)[:200]}); remove it") from None
        self._source_tokens = vocabulary_tokens(tokenizers.source)
        self._target_ids = {token: i for i, token in enumerate(vocabulary_tokens(tokenizers.target))}

    def without_shortlist(self) -> "CTranslate2Translator":
        """The same engine, with all tokens to choose from."""
        translator = copy.copy(self)
        translator.uses_shortlist = False
        return translator

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        translations = [[Translation(text, 0.0)] for text in texts]  # blank lines are copied
        nonblank = [i for i, text in enumerate(texts) if text.strip()]
        ids = self.tokenizers.source.encode([texts[i] for i in nonblank])
        if not nonblank:
            return translations
        options, limits, nbest = self._options(search or BeamSearch())
        futures = self._engine.translate_batch(
            [[self._source_tokens[token_id] for token_id in (*row, EOS)] for row in ids],
            max_batch_size=MAX_BATCH_SIZE,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max(self._max_output_length(row, limits) for row in ids),
            return_end_token=True,  # which shows whether a hypothesis was cut
            use_vmap=self.uses_shortlist,
            asynchronous=True,  # so that finished sentences can be counted
            **options,
        )
        decode = self.tokenizers.target.decode
        for i, row, future in zip(nonblank, ids, track(futures, "translating"), strict=True):
            hypotheses = self._wait(future, row, limits)
            translations[i] = [
                Translation(decode(h.ids), h.score, h.truncated) for h in distinct(hypotheses, decode, nbest)
            ]
        return translations

    def _wait(self, future: Any, source: Sequence[int], limits: Limits) -> list[Hypothesis]:
        """The hypotheses of a sentence; some damage is noticed only when the model translates."""
        try:
            return self._rank(future.result(), source, limits)
        except (RuntimeError, ValueError, LookupError) as error:  # KeyError: a token that the vocabulary has not
            raise FormatError(f"{self._folder}: not a CTranslate2 model ({str(error)[:200]}); remove it") from None

    def _max_output_length(self, source: Sequence[int], limits: Limits) -> int:
        return min(int((len(source) + 1) * limits.factor) + limits.extra, self._max_length)

    def _rank(self, result: Any, source: Sequence[int], limits: Limits) -> list[Hypothesis]:
        """The hypotheses of a sentence in the order of `BeamSearch`; the engine ranks cut ones like others."""
        scores = result.scores or repeat(math.nan, len(result.hypotheses))
        hypotheses = [
            self._make_hypothesis([self._target_ids[token] for token in tokens], score, source, limits)
            for tokens, score in zip(result.hypotheses, scores, strict=True)
        ]
        return sorted(hypotheses, key=lambda hypothesis: hypothesis.truncated)

    def _make_hypothesis(self, ids: list[int], score: float, source: Sequence[int], limits: Limits) -> Hypothesis:
        """The engine has one maximum length for all sentences, and no stop for loops: they are cut here."""
        ended = ids[-1:] == [EOS]
        output = ids[:-1] if ended else ids
        max_length = self._max_output_length(source, limits)
        if len(output) + ended > max_length:
            output, ended = output[:max_length], False
        if len(output) > len(source) + 1:  # a shorter one may copy a source that repeats itself
            trimmed = trim_loop(output, limits.loop_repeats)
            output, ended = trimmed, ended and len(trimmed) == len(output)
        return Hypothesis(tuple(output), score, truncated=not ended)

    @staticmethod
    def can_search(search: Search) -> bool:
        """Whether the engine has a search."""
        return isinstance(search, GreedySearch | BeamSearch)

    @staticmethod
    def _options(search: Search) -> tuple[dict[str, Any], Limits, int]:
        """The options of the engine, the limits, and how many hypotheses are wanted."""
        if isinstance(search, GreedySearch):
            return {"beam_size": 1, "length_penalty": 1.0, "return_scores": search.scored}, search.limits, 1
        if isinstance(search, BeamSearch):
            # All of the beam, since some may be cut or have the same text.
            options = {"beam_size": search.size, "length_penalty": search.alpha, "num_hypotheses": search.size}
            return options | {"patience": PATIENCE, "return_scores": True}, search.limits, search.nbest
        raise ConfigError(
            "--sample: CTranslate2 has no seed, so its samples cannot be reproduced; leave out --engine or --sample"
        )
