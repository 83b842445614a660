"""Samples of language models, for reports and for those who watch a training: texts, and masks that are filled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.data.store import Corpus
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.errors import RegardError
from regard.tasks.generate import GenerationOptions, LanguageModel
from regard.tasks.masked_lm.filler import MaskFiller
from regard.training.validate import DevPredictions, PredictedSample

if TYPE_CHECKING:
    from regard.report import Table

MAX_SAMPLES = 5
OPTIONS = GenerationOptions(max_new_tokens=100, temperature=0.8, top_p=0.95)
MAX_PROMPT_WORDS, MAX_MASKED_WORDS = 8, 30
NUM_CONTINUED, NUM_FILLED = 2, 3
"""Few, as nothing of a language model is generated for its score."""
GREEDY = GenerationOptions(max_new_tokens=20, temperature=0)
MAX_SHOWN_WORDS = 16


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
            texts = [one.text for one in self.model.generate(fitting, GREEDY)] if fitting else []
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
            part = first_words(pair.source, MAX_SHOWN_WORDS).replace(MASK_TOKEN, "")
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


def sample_continuations(model: LanguageModel, texts: Sequence[str]) -> "Table":
    """How the model continues an empty text, and the first words of others."""
    from regard.report import Table  # with all that draws, which training does not need

    prompts = ["", *dict.fromkeys(first_words(text, MAX_PROMPT_WORDS) for text in texts)][:MAX_SAMPLES]
    fitting = [prompt for prompt in prompts if len(model.tokenizer.encode([prompt])[0]) + 1 < model.max_length]
    generations = model.generate(fitting, OPTIONS)
    return Table.from_rows(
        {"prompt": _show_lines(prompt) or "(none)", "generated text": _show_lines(one.text)}
        for prompt, one in zip(fitting, generations, strict=True)
    )


def sample_fillings(filler: MaskFiller, texts: Sequence[str]) -> "Table":
    """What the model expects in the place of a word of each text; the word is chosen by the text alone."""
    from regard.report import Table  # with all that draws, which training does not need

    rows = []
    for text in texts[:MAX_SAMPLES]:
        part = first_words(text, MAX_MASKED_WORDS).replace(MASK_TOKEN, "")
        words = [match.span() for match in re.finditer(r"\w+", part)]
        if not words or len(filler.tokenizer.encode([part], 2 * filler.max_length)[0]) > filler.max_length:
            continue
        begin, end = words[int(np.random.default_rng(len(part)).integers(len(words)))]
        masked = f"{part[:begin]}{MASK_TOKEN}{part[end:]}"
        (candidates,) = filler.fill(masked, 5)
        expected = ", ".join(f"“{one.text or one.token}” {one.probability:.2f}" for one in candidates)
        rows.append({"text": masked, "hidden word": part[begin:end], "most probable tokens": expected})
    return Table.from_rows(rows)


def _show_lines(text: str) -> str:
    """The text with its line ends, which a table would not show."""
    return text.replace("\n", " ⏎ ")
