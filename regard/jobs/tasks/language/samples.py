"""Samples for the reports of language models: texts that are generated, masks that are filled."""

import re
from collections.abc import Sequence

import numpy as np

from regard.data.tokenizers.text_tokenizer import MASK_TOKEN
from regard.jobs.tasks.language.dev_samples import first_words
from regard.report import Table
from regard.tasks.generate import GenerationOptions, LanguageModel
from regard.tasks.masked_lm.filler import MaskFiller

MAX_SAMPLES = 5
OPTIONS = GenerationOptions(max_new_tokens=100, temperature=0.8, top_p=0.95)
MAX_PROMPT_WORDS, MAX_MASKED_WORDS = 8, 30


def sample_continuations(model: LanguageModel, texts: Sequence[str]) -> Table:
    """How the model continues an empty text, and the first words of others."""
    prompts = ["", *dict.fromkeys(first_words(text, MAX_PROMPT_WORDS) for text in texts)][:MAX_SAMPLES]
    fitting = [prompt for prompt in prompts if len(model.tokenizer.encode([prompt])[0]) + 1 < model.max_length]
    generations = model.generate(fitting, OPTIONS)
    return Table.from_rows(
        {"prompt": _show_lines(prompt) or "(none)", "generated text": _show_lines(one.text)}
        for prompt, one in zip(fitting, generations, strict=True)
    )


def sample_fillings(filler: MaskFiller, texts: Sequence[str]) -> Table:
    """What the model expects in the place of a word of each text; the word is chosen by the text alone."""
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
