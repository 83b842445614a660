"""Translation by native code, and by torch where native code has not what is asked."""

import functools
from collections.abc import Callable, Sequence

from regard.data.tokenizers.tokenizer import BOS, EOS, Tokenizers
from regard.decode import BeamSearch, Hypothesis, Search
from regard.decode.beam import distinct
from regard.errors import ConfigError
from regard.model.single_stack import SourceTargetDecoder
from regard.model.taps import named_taps
from regard.model.transformer import EncoderDecoder
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.linears import LinearFactory, dense_linear
from regard.runtime.native.coverage import covers_search, uncovered
from regard.runtime.native.decoder import NativeDecoder
from regard.runtime.native.library import load_library
from regard.tasks.translate.translator import Translator, max_output_length

COMPILE = "python -m regard.runtime.native.build"


class NativeTranslator(Translator):
    """A finished model that translates in native code; torch samples, and decodes while a tap is hooked."""

    def __init__(
        self, model: EncoderDecoder | SourceTargetDecoder, tokenizers: Tokenizers, linear_factory: LinearFactory
    ):
        """In float32 or, unless the factory is that of plain layers, in int8."""
        super().__init__(model, tokenizers)
        library = load_library()
        if reason := native_obstacle(model):
            raise ConfigError(f"native code cannot translate with this model: {reason}. Leave out --engine native.")
        assert library is not None
        self._linear_factory = linear_factory
        self._native = NativeDecoder(library, self.encoder_decoder, BOS, EOS, linear_factory is not dense_linear)
        self._taps = list(named_taps(model).values())
        self._max_output_length = max_output_length(model)

    def _search(
        self,
        search: Search,
        sources: Sequence[Sequence[int]],
        global_indices: Sequence[int],
        on_finish: Callable[[int], None],
    ) -> list[list[Hypothesis]]:
        if not covers_search(search) or any(tap.is_hooked for tap in self._taps):
            return super()._search(search, sources, global_indices, on_finish)
        ended = [[*source, EOS] for source in sources]
        outputs = self._native.search(search, ended, self._max_output_length, on_finish)
        nbest = search.nbest if isinstance(search, BeamSearch) else 1
        return [distinct(hypotheses, self.tokenizers.target.decode, nbest) for hypotheses in outputs]

    def without_shortlist(self) -> Translator:
        """This translator: native code has no shortlist."""
        return self

    @functools.cached_property
    def _torch_decoder(self) -> IncrementalDecoder:
        return IncrementalDecoder(self.model, self._linear_factory)

    def _incremental_decoder(self) -> IncrementalDecoder:
        return self._torch_decoder


def native_obstacle(model: EncoderDecoder | SourceTargetDecoder) -> str:
    """Why native code cannot translate with a model on this machine; "" if it can."""
    if load_library() is None:
        return f"it was not compiled for this machine; with a C++ compiler, `{COMPILE}` does that"
    reason = uncovered(model)
    return f"it has not {reason}" if reason else ""
