"""Language models: continue prompts, and fill masks."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.api.arguments import AnyPath
from regard.api.terminal import showing
from regard.jobs.load import load_language_model
from regard.jobs.tasks.registry import open_predictor
from regard.tasks.generate import Generation, GenerationOptions
from regard.tasks.masked_lm.filler import FillCandidate, MaskFiller


def generate(
    run: AnyPath,
    prompts: str | Sequence[str] = "",
    *,
    samples: int = 1,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    stop: Sequence[str] = (),
    seed: int = 1,
    device: str = "auto",
    progress: bool = False,
) -> list[Generation]:
    """Continue a prompt, or every prompt of a list, by the language model of a run, trained or imported.

        regard.generate("runs/shakespeare", "ROMEO:", temperature=0.8, samples=3)

    A `Generation` has `text`, what comes after the prompt, `score`, the mean log-probability of a token, and
    `finish_reason`: eos, stop or length. Each prompt is continued `samples` times, one after the other, each time with
    other random numbers. A `temperature` of 0 is greedy search; `top_k`, `top_p` and `min_p` leave improbable tokens
    out. The text ends before the first of the strings `stop`, after `max_tokens` tokens, or where the context is full.
    """
    options = make_options(max_tokens, temperature, top_k, top_p, min_p, stop, seed)
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    with showing(progress):
        return load_language_model(Path(run), device).generate(list(_repeat(texts, samples)), options)


def generate_stream(
    run: AnyPath,
    prompts: Iterable[str],
    *,
    samples: int = 1,
    options: GenerationOptions | None = None,
    device: str = "auto",
) -> Iterator[tuple[str, Iterator[str]]]:
    """Each prompt, as many times as there are samples, with its continuation, chunk by chunk as it is generated.

        for prompt, chunks in regard.generate_stream("runs/shakespeare", ["ROMEO:"]):
            for chunk in chunks:
                print(chunk, end="", flush=True)

    The texts are those of `generate`. A text that is not read to its end is not generated to its end.
    """
    if isinstance(prompts, str):
        raise TypeError("generate_stream() takes prompts, as a list of str, got one str")
    model, options = load_language_model(Path(run), device), options or GenerationOptions()
    return ((prompt, model.stream(prompt, options, number)) for number, prompt in enumerate(_repeat(prompts, samples)))


def fill(
    run: AnyPath, texts: str | Sequence[str], *, top: int = 5, device: str = "auto", progress: bool = False
) -> list[Any]:
    """The most probable tokens for every [MASK] of a text, or of each text of a list, by a masked language model.

        for candidate in regard.fill("runs/reviews", "The film was [MASK].")[0]:
            print(candidate.text, candidate.probability, candidate.sequence)

    The result has a list for each mask, its `FillCandidate`s the most probable first; for a list of texts, a list of
    such results. Several masks are filled independently.
    """
    with showing(progress):
        filled = list(fill_stream(run, [texts] if isinstance(texts, str) else texts, top=top, device=device))
    return filled[0] if isinstance(texts, str) else filled


def fill_stream(
    run: AnyPath, texts: Iterable[str], *, top: int = 5, device: str = "auto"
) -> Iterator[list[list[FillCandidate]]]:
    """As `fill` for texts that arrive one by one.

    for masks in regard.fill_stream("runs/reviews", open("masked.txt")):
        print(masks[0][0].sequence)
    """
    if isinstance(texts, str):
        raise TypeError("fill_stream() takes texts, as a file or a list of str, got one str")
    filler = load_mask_filler(run, device)
    return (filler.fill(text.removesuffix("\n"), top) for text in texts)


def load_mask_filler(run: AnyPath, device: str = "auto") -> MaskFiller:
    """The masked language model of a run."""
    filler: MaskFiller = open_predictor(Path(run), "masked-lm", device)
    return filler


def make_options(
    max_tokens: int, temperature: float, top_k: int, top_p: float, min_p: float, stop: Sequence[str], seed: int
) -> GenerationOptions:
    """How texts are generated; wrong values are refused."""
    stop = (stop,) if isinstance(stop, str) else tuple(stop)
    return GenerationOptions(max_tokens, temperature, top_k, top_p, min_p, stop, seed)


def _repeat(prompts: Iterable[str], samples: int) -> Iterator[str]:
    return (prompt for prompt in prompts for _ in range(samples))
