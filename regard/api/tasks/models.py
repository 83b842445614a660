"""Taggers, language models and denoisers as objects of Python; `regard.load` opens them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from regard.api.arguments import AnyPath
from regard.api.runs import TrainedRun, open_run
from regard.api.tasks.language import load_mask_filler
from regard.errors import ConfigError
from regard.jobs.load import load_language_model
from regard.jobs.tasks.registry import open_predictor
from regard.model.modules import count_parameters
from regard.tasks.denoise.denoiser import Denoiser
from regard.tasks.generate import Generation, GenerationOptions, LanguageModel
from regard.tasks.likelihood import TextLikelihood
from regard.tasks.masked_lm.filler import FillCandidate, MaskFiller
from regard.tasks.tag.tagger import TaggedText, Tagger


class TaskModel:
    """The model of a run, for one of the tasks that do not translate."""

    def __init__(self, run: TrainedRun, predictor: Any):
        self.run = run
        self.predictor = predictor
        """The model with its tokenizer: `predictor.model` is the PyTorch module."""

    def __repr__(self) -> str:
        size = f"{count_parameters(self.predictor.model):,} parameters"
        return f"<{type(self).__name__} {self.run.describe()}, {size}>"


class TaggingModel(TaskModel):
    """A trained tagger of words."""

    predictor: Tagger

    @overload
    def tag(self, texts: str) -> TaggedText: ...

    @overload
    def tag(self, texts: list[str]) -> list[TaggedText]: ...

    def tag(self, texts: str | list[str]) -> TaggedText | list[TaggedText]:
        """Tag a text, or every text of a list; the result has the form of the input.

        for entity in model.tag("Alex Smith lives in Paris.").entities:
            print(entity.type, entity.text, entity.start, entity.end)
        """
        results = self.predictor.tag_texts(_list_texts(texts, "tag"))
        return results[0] if isinstance(texts, str) else results


class TextGenerationModel(TaskModel):
    """A trained or imported causal language model."""

    predictor: LanguageModel

    @overload
    def generate(self, prompts: str = "", **options: Any) -> Generation: ...

    @overload
    def generate(self, prompts: list[str], **options: Any) -> list[Generation]: ...

    def generate(self, prompts: str | list[str] = "", **options: Any) -> Generation | list[Generation]:
        """Continue a prompt, or every prompt of a list; the options are the fields of `GenerationOptions`.

        model.generate("ROMEO:", temperature=0.8, max_new_tokens=40).text
        """
        chosen = GenerationOptions(**{**options, "stop": _as_tuple(options.get("stop", ()))})
        results = self.predictor.generate(_list_texts(prompts, "generate"), chosen)
        return results[0] if isinstance(prompts, str) else results

    def likelihood(self, texts: str | list[str]) -> TextLikelihood:
        """How probable texts are together: bits per byte, and the perplexity per token and per word."""
        return self.predictor.likelihood(_list_texts(texts, "likelihood"))


class MaskFillingModel(TaskModel):
    """A trained masked language model."""

    predictor: MaskFiller

    def fill(self, text: str, top: int = 5) -> list[list[FillCandidate]]:
        """The most probable tokens for every [MASK] of a text.

        model.fill("The film was [MASK].")[0][0].text
        """
        return self.predictor.fill(text, top)


class DenoisingModel(TaskModel):
    """A trained denoiser."""

    predictor: Denoiser

    @overload
    def restore(self, texts: str, language: str = "") -> str: ...

    @overload
    def restore(self, texts: list[str], language: str = "") -> list[str]: ...

    def restore(self, texts: str | list[str], language: str = "") -> str | list[str]:
        """The whole text, or every text of a list, with words in the place of each [MASK]; as many as fit.

        A model of several languages takes the code of theirs.

        model.restore("The [MASK] sleeps in the house.")
        """
        results = self.predictor.restore(_list_texts(texts, "restore"), language)
        return results[0] if isinstance(texts, str) else results


def load_tagger(run: AnyPath, device: str = "auto", quantize: str = "none") -> TaggingModel:
    """The tagger of a run, with its best weights so far."""
    require_float(quantize)
    return TaggingModel(open_run(run), open_predictor(Path(run), "tag", device))


def load_generator(run: AnyPath, device: str = "auto", quantize: str = "none") -> TextGenerationModel:
    """The language model of a run, in float or in 8-bit integers."""
    return TextGenerationModel(open_run(run), load_language_model(Path(run), device, quantize))


def load_filler(run: AnyPath, device: str = "auto", quantize: str = "none") -> MaskFillingModel:
    """The masked language model of a run."""
    require_float(quantize)
    return MaskFillingModel(open_run(run), load_mask_filler(run, device))


def load_denoiser(run: AnyPath, device: str = "auto", quantize: str = "none") -> DenoisingModel:
    """The denoiser of a run, with its best weights so far."""
    require_float(quantize)
    return DenoisingModel(open_run(run), open_predictor(Path(run), "denoise", device))


def _list_texts(texts: str | list[str], method: str) -> list[str]:
    listed = [texts] if isinstance(texts, str) else list(texts)
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"{method}() takes str, or a list of them; item {number} is {type(text).__name__}")
    return listed


def _as_tuple(strings: str | Sequence[str]) -> tuple[str, ...]:
    return (strings,) if isinstance(strings, str) else tuple(strings)


def require_float(quantize: str) -> None:
    """Refuse 8-bit integers."""
    if quantize != "none":
        raise ConfigError(f"quantize={quantize}: is for translators and causal language models; leave it out")
