"""What a language model makes of the beginnings of dev texts at every validation, for those who watch the training."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.store import Corpus
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.errors import RegardError
from regard.tasks.generate import GenerationOptions, LanguageModel
from regard.tasks.masked_lm.filler import MaskFiller
from regard.training.validate import DevPredictions, PredictedSample

NUM_CONTINUED, NUM_FILLED = 2, 3
"""Few, as nothing of a language model is generated for its score."""
OPTIONS = GenerationOptions(max_new_tokens=20, temperature=0)
MAX_PROMPT_WORDS, MAX_MASKED_WORDS = 8, 16


@dataclass(frozen=True)
class ContinuedDev:
    """How the model continues the beginnings of the first dev texts, by greedy search."""

    model: LanguageModel
    dev: Corpus

    def __call__(self) -> DevPredictions:
        prompts = [first_words(pair.source, MAX_PROMPT_WORDS) for pair in self.dev.pairs(NUM_CONTINUED)]
        encode = self.model.tokenizer.encode
        fitting = [prompt for prompt in prompts if prompt and len(encode([prompt])[0]) + 1 < self.model.max_length]
        try:
            texts = [one.text for one in self.model.generate(fitting, OPTIONS)] if fitting else []
        except RegardError:  # of a model that diverges, which its loss says better
            return DevPredictions()
        return _show(fitting, texts)


@dataclass(frozen=True)
class FilledDev:
    """The token that the model expects in the place of the middle word of the first dev texts."""

    filler: MaskFiller
    dev: Corpus

    def __call__(self) -> DevPredictions:
        samples = []
        for pair in self.dev.pairs(NUM_FILLED):
            part = first_words(pair.source, MAX_MASKED_WORDS).replace(MASK_TOKEN, "")
            words = [match.span() for match in re.finditer(r"\w+", part)]
            if not words or len(self.filler.tokenizer.encode([part], 10**6)[0]) > self.filler.max_length:
                continue
            begin, end = words[len(words) // 2]
            masked = f"{part[:begin]}{MASK_TOKEN}{part[end:]}"
            try:
                (candidates,) = self.filler.fill(masked, 1)
            except RegardError:
                return DevPredictions()
            expected = f"{candidates[0].text or candidates[0].token} ({candidates[0].probability:.0%})"
            samples.append(PredictedSample.of(masked, expected, part[begin:end]))
        return DevPredictions(samples=samples)


def first_words(text: str, count: int) -> str:
    """The beginning of a text, up to this many words."""
    match = re.match(rf"\s*(?:\S+\s+){{0,{count - 1}}}\S+", text)
    return match[0].strip() if match else ""


def _show(prompts: Sequence[str], texts: Sequence[str]) -> DevPredictions:
    pairs = zip(prompts, texts, strict=True)
    return DevPredictions(samples=[PredictedSample.of(prompt, f"{prompt}{text}") for prompt, text in pairs])
