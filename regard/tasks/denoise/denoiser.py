"""A denoiser: texts with masks -> the whole texts, by an encoder-decoder, its tokenizer and a search."""

import itertools
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import torch

from regard.data.batch import collate
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import EOS
from regard.decode import GreedySearch, Search
from regard.errors import DataError, ModelError
from regard.model.modules import device_of, evaluation_mode
from regard.model.transformer import EncoderDecoder
from regard.progress import stage, track
from regard.runtime.attention import use_fused_attention
from regard.runtime.incremental import IncrementalDecoder
from regard.tasks.denoise.noise import NoisyText, Target, find_token, mark_of
from regard.tasks.masked_lm.filler import encode_masks
from regard.tasks.text_batch import batch_by_length
from regard.tasks.translate.translator import NOT_FINITE, ModelStepper


class ForcedText(NamedTuple):
    """A text under teacher forcing: the summed loss in nats of its targets, and how many hidden ones are predicted."""

    nats: float
    num_correct: int


class Denoiser:
    """A model that rebuilds texts."""

    def __init__(self, model: EncoderDecoder, tokenizer: SentencePieceText, target: Target, max_length: int):
        use_fused_attention(model)
        self.model, self.tokenizer, self.target, self.max_length = model, tokenizer, target, max_length

    def restore(self, texts: Sequence[str], language: str = "", search: Search | None = None) -> list[str]:
        """Each text with something in the place of every [MASK]: any number of words.

        A model of several languages needs the code of theirs.
        """
        sources = [self._encode(text, language) for text in texts]
        outputs = self.generate(sources, search)
        joined = (self.target.join(source, output) for source, output in zip(sources, outputs, strict=True))
        return [self.tokenizer.decode(ids) for ids in joined]

    def generate(self, sources: Sequence[Sequence[int]], search: Search | None = None) -> list[list[int]]:
        """What the decoder writes for each source; ids without BOS and EOS."""
        search = search or GreedySearch(scored=False)
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))  # similar lengths together
        outputs: list[list[int]] = [[] for _ in sources]
        with evaluation_mode(self.model), torch.inference_mode(), stage("restoring", len(order)) as current:
            decoder = IncrementalDecoder(self.model)
            stepper = ModelStepper(decoder, [sources[i] for i in order], order, on_finish=current.advance)
            for i, hypotheses in zip(order, search.search(stepper) if order else (), strict=True):
                if not hypotheses:
                    raise ModelError(NOT_FINITE)
                outputs[i] = [token for token in hypotheses[0].ids if token != EOS]
        return outputs

    def teacher_force(self, texts: Sequence[NoisyText]) -> list[ForcedText]:
        """How well every target is predicted, given those before it."""
        longest = [max(text.source, text.target, key=len) for text in texts]
        results: dict[int, ForcedText] = {}
        with evaluation_mode(self.model), torch.inference_mode():
            for numbers in track(batch_by_length([[*ids, EOS] for ids in longest]), "computing the loss"):
                results |= zip(numbers, self._force_batch([texts[i] for i in numbers]), strict=True)
        return [results[i] for i in range(len(texts))]

    def _force_batch(self, texts: Sequence[NoisyText]) -> Iterator[ForcedText]:
        batch = collate([text.source for text in texts], [text.target for text in texts]).to(device_of(self.model))
        log_probs = self.model.output(self.model(batch.source, batch.target_in)).float().log_softmax(dim=-1)
        nats = -log_probs.gather(2, batch.target_out[:, :, None])[:, :, 0].double()  # (B, T)
        is_correct = log_probs.argmax(dim=-1) == batch.target_out
        for text, row_nats, row_correct in zip(texts, nats, is_correct, strict=True):
            correct = row_correct[: len(text.target)].cpu()[torch.tensor(text.is_hidden, dtype=torch.bool)]
            yield ForcedText(float(row_nats[: len(text.target) + 1].sum()), int(correct.sum()))

    def _encode(self, text: str, language: str) -> list[int]:
        mark = find_token(self.tokenizer, mark_of(language)) if language else None
        if language and mark is None:
            raise DataError(f"the model has no mark of the language {language!r}; leave it out, or give another")
        if MASK_TOKEN not in text:
            raise DataError(f"the text has no {MASK_TOKEN}, which marks what is to be filled in; got {text[:60]!r}")
        assert self.tokenizer.mask_id is not None
        *ids, _ = encode_masks(text, self.tokenizer, self.tokenizer.mask_id, self.max_length - 1)
        ids = ids if mark is None else [mark, *ids]
        masks = itertools.cycle(self.target.masks)
        return [next(masks) if i == self.tokenizer.mask_id else i for i in ids]


def count_restored(text: NoisyText, output: Sequence[int]) -> int:
    """How many hidden tokens are in an output, where it is aligned with the target by its longest common parts."""
    matcher = SequenceMatcher(None, text.target, list(output), autojunk=False)
    return sum(sum(text.is_hidden[begin : begin + size]) for begin, _, size in matcher.get_matching_blocks())
