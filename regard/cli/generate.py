"""regard generate"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from regard.cli.lines import prompt_for_lines, read_input
from regard.cli.options import (
    DEVICE,
    MAX_SAMPLES,
    MAX_SEED,
    MAX_TOKENS,
    MAX_TOP_K,
    OUTPUT,
    RUN,
    SEARCH,
    argument,
    flag,
    option,
)

SEPARATOR = "---"
TEMPERATURE = option(
    SEARCH, "NUMBER", "Below 1 is more conservative, above 1 more diverse, 0 is greedy search.", default=1.0
)
TOP_K = option(SEARCH, "NUMBER", "Draw from the k most probable tokens; 0 is all.", default=0, min=0, max=MAX_TOP_K)
TOP_P = option(SEARCH, "NUMBER", "Draw from the smallest set with total probability p (nucleus).", default=1.0)
MIN_P = option(SEARCH, "NUMBER", "Draw from tokens at least this fraction as probable as the best.", default=0.0)
MAX_NEW_TOKENS = option(
    SEARCH,
    "NUMBER",
    "Generate at most this many tokens; a full context ends a text, too.",
    default=256,
    min=1,
    max=MAX_TOKENS,
)
STOP = option(SEARCH, "TEXT", "End a text before this string. May be repeated.")
SAMPLES = option(
    OUTPUT, "NUMBER", "Continue each prompt this many times, differently each time.", default=1, min=1, max=MAX_SAMPLES
)


def generate(
    run: Path = RUN,
    prompt: str | None = argument("PROMPT", "The beginning of a text; lines of standard input if unset.", None),
    temperature: float = TEMPERATURE,
    top_k: int = TOP_K,
    top_p: float = TOP_P,
    min_p: float = MIN_P,
    max_tokens: int = MAX_NEW_TOKENS,
    stop: list[str] | None = STOP,
    seed: int = option(SEARCH, "NUMBER", "Random seed.", default=1, min=0, max=MAX_SEED),
    samples: int = SAMPLES,
    as_json: bool = flag(OUTPUT, "Print a JSON object for each text: prompt, text, score, finish reason.", "--json"),
    device: str = DEVICE,
) -> None:
    """Continue prompts with a language model, and print each prompt and its text as it comes.

    The run is one of `regard train --task causal-lm`, or an imported GPT-2. A line --- separates several texts.

    Examples:
      regard generate runs/shakespeare "ROMEO:" --temperature 0.8
      regard generate runs/gpt2 "The weather today" --max-tokens 40 --stop "." --samples 3
      regard generate runs/shakespeare --top-p 0.9 --json < prompts.txt

    Read more: `regard train --help` and `regard import --help`.
    """
    from regard.api.tasks.language import generate as generate_texts
    from regard.api.tasks.language import generate_stream, make_options

    values = (max_tokens, temperature, top_k, top_p, min_p, stop or (), seed)
    options = make_options(*values)  # wrong values are refused before a model is loaded
    if prompt is None:
        prompt_for_lines("prompt")
    prompts = read_input(None) if prompt is None else iter([prompt])
    if as_json:
        texts = list(prompts)
        names = ("max_tokens", "temperature", "top_k", "top_p", "min_p", "stop", "seed")
        generations = generate_texts(
            run,
            texts,
            samples=samples,
            device=device,
            **dict(zip(names, values, strict=True)),  # type: ignore[arg-type]
        )
        for number, one in enumerate(generations):
            fields = {"prompt": texts[number // samples], "text": one.text, "score": one.score}
            print(json.dumps(fields | {"finish_reason": one.finish_reason}, ensure_ascii=False))
        return
    _print_texts(generate_stream(run, prompts, samples=samples, options=options, device=device))


def _print_texts(texts: Iterator[tuple[str, Iterator[str]]]) -> None:
    """Print each text chunk by chunk, as it is generated."""
    for number, (prompt, chunks) in enumerate(texts):
        if number:
            print(SEPARATOR)
        print(prompt, end="", flush=True)
        for chunk in chunks:
            print(chunk, end="", flush=True)
        print(flush=True)
    sys.stdout.flush()
