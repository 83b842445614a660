"""A translator that runs on CTranslate2."""

import math
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from regard.data.tokenizer import EOS, Tokenizers
from regard.decode import BeamSearch, GreedySearch, Limits, Search
from regard.decode.limits import trim_loop
from regard.errors import ConfigError
from regard.interchange.ctranslate2 import MAX_POSITIONS, import_ctranslate2, vocabulary_tokens
from regard.progress import track
from regard.tasks.translate import Translation

MAX_BATCH_SIZE = 64  # sentences
PATIENCE = 2.0  # with 1 it stops at the first `beam_size` finished hypotheses, though a better one may follow


class CTranslate2Translator:
    """A CTranslate2 folder that translates, with the interface of a `Translator`."""

    def __init__(self, folder: Path, tokenizers: Tokenizers, workers: int, max_length: int = MAX_POSITIONS):
        """`max_length`: the longest output that the model has positions for."""
        self.tokenizers = tokenizers
        self._max_length = max_length
        # One thread per worker: a batch does not scale over threads, an int8 one least of all.
        self._engine = import_ctranslate2().Translator(
            str(folder), device="cpu", inter_threads=workers, intra_threads=1
        )
        self._source_tokens = vocabulary_tokens(tokenizers.source)
        self._target_ids = {token: i for i, token in enumerate(vocabulary_tokens(tokenizers.target))}

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        translations = [[Translation(text, 0.0)] for text in texts]  # blank lines are copied
        nonblank = [i for i, text in enumerate(texts) if text.strip()]
        ids = self.tokenizers.source.encode([texts[i] for i in nonblank])
        if not nonblank:
            return translations
        options, limits = self._options(search or BeamSearch())
        max_length = int((max(map(len, ids)) + 1) * limits.factor) + limits.extra
        futures = self._engine.translate_batch(
            [[self._source_tokens[token_id] for token_id in (*row, EOS)] for row in ids],
            max_batch_size=MAX_BATCH_SIZE,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(max_length, self._max_length),
            asynchronous=True,  # so that finished sentences can be counted
            **options,
        )
        for i, future in zip(nonblank, track(futures, "translating"), strict=True):
            result = future.result()
            scores = result.scores or repeat(math.nan, len(result.hypotheses))
            translations[i] = [
                self._make_translation(tokens, score, limits)
                for tokens, score in zip(result.hypotheses, scores, strict=True)
            ]
        return translations

    def _make_translation(self, tokens: Sequence[str], score: float, limits: Limits) -> Translation:
        ids = trim_loop([self._target_ids[token] for token in tokens], limits.loop_repeats)
        return Translation(self.tokenizers.target.decode(ids), score)

    @staticmethod
    def _options(search: Search) -> tuple[dict[str, Any], Limits]:
        if isinstance(search, GreedySearch):
            return {"beam_size": 1, "length_penalty": 1.0, "return_scores": search.scored}, search.limits
        if isinstance(search, BeamSearch):
            options = {"beam_size": search.size, "length_penalty": search.alpha, "num_hypotheses": search.nbest}
            return options | {"patience": PATIENCE, "return_scores": True}, search.limits
        raise ConfigError(
            "--sample: CTranslate2 has no seed, so its samples cannot be reproduced; leave out --engine or --sample"
        )
