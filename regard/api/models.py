"""Trained models: translate, score, embed, and see what they attend to."""

import contextlib
import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from regard.api.arguments import AnyPath, require_text, require_texts
from regard.api.runs import TrainedRun, open_run
from regard.api.tasks.loaders import find_loader
from regard.decode import BeamSearch, GreedySearch, Search
from regard.errors import ConfigError
from regard.formats import Pair
from regard.interchange.engine import CTranslate2Translator
from regard.jobs import load as loading
from regard.jobs.translate.engine_choice import OpenedEngine, open_chosen
from regard.jobs.translate.pipeline import build_pipeline
from regard.jobs.translate.text import translate_texts
from regard.jobs.translate.worker_pool import RuntimeOptions, TranslationBackend
from regard.model import weights
from regard.model.modules import count_parameters
from regard.run import Run
from regard.tasks.translate.native import NativeTranslator
from regard.tasks.translate.translator import Translation, Translator

# What inspects and converts models is imported when that is asked for: loading one should take no longer than it must.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from regard.api.attention import SentenceAttention
    from regard.api.tasks.classification import ClassificationModel
    from regard.api.tasks.models import MaskFillingModel, TaggingModel, TextGenerationModel
    from regard.api.tasks.summarization import SummaryModel
    from regard.tasks.embed.embedder import Embedder

Texts = list[str] | tuple[str, ...]


class TranslationModel:
    """A trained translator; `regard.load` opens one."""

    def __init__(self, run: TrainedRun, opened: OpenedEngine, device: str = "auto"):
        self.run = run
        self.engine = opened.choice.describe()
        """What translates, such as CTranslate2 in int8, and why no other engine does."""
        self._backend, self._device = opened.backend, device
        self._pipeline = build_pipeline(Run(run.folder), opened.backend.tokenizers)

    @functools.cached_property
    def translator(self) -> Translator:
        """The model in PyTorch with its tokenizers, loaded when it is asked for: `translator.model` is the module."""
        backend = self._backend
        if isinstance(backend, Translator) and not isinstance(backend, NativeTranslator):
            return backend
        return loading.load(self.run.folder, self._device)

    @overload
    def translate(
        self,
        texts: str,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        search: Search | None = None,
        split_sentences: str = "auto",
    ) -> str: ...

    @overload
    def translate(
        self,
        texts: Texts,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        search: Search | None = None,
        split_sentences: str = "auto",
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: str,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        scores: Literal[True],
        search: Search | None = None,
        split_sentences: str = "auto",
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Texts,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        scores: Literal[True],
        search: Search | None = None,
        split_sentences: str = "auto",
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        texts: str,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        nbest: int,
        scores: bool = False,
        split_sentences: str = "auto",
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        texts: Texts,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        nbest: int,
        scores: bool = False,
        split_sentences: str = "auto",
    ) -> list[list[Translation]]: ...

    def translate(
        self,
        texts: str | Texts,
        *,
        beam: int = 5,
        alpha: float = 1.0,
        nbest: int | None = None,
        scores: bool = False,
        search: Search | None = None,
        split_sentences: str = "auto",
    ) -> str | Translation | list[str] | list[Translation] | list[list[Translation]]:
        """Translate a text, or every text of a list; the result has the form of the input.

            model.translate("I love dogs.")  # "J'adore les chiens."

        >>> len(model.translate(["I love dogs.", "The girls were singing."]))
        2
        >>> len(model.translate("I love dogs.", nbest=3))
        3

        `beam` is the beam width (1: greedy search), `alpha` the length penalty. With `scores`, a result is a
        `Translation` with `text`, `score` and `issues`, what it has probably lost; with `nbest`, a list of at most that
        many of them with different texts, best first. Both are over all tokens, not over a shortlist. `search` replaces
        the beam search, as in `search=regard.SamplingSearch(temperature=0.8)`, which is always PyTorch's.
        `split_sentences` is that of `translate_file`. Blank texts stay as they are, line ends are kept, and lines
        longer than in training are split at sentence ends.
        """
        one = isinstance(texts, str)
        items = [texts] if isinstance(texts, str) else require_texts(texts, "translate()")
        if search is not None and nbest is not None:
            raise ValueError("nbest is part of a search: translate(…, search=regard.BeamSearch(5, nbest=3))")
        if nbest is not None and nbest < 1:
            raise ValueError(f"nbest={nbest}: expected 1 or more")
        search = search or _build_search(beam, alpha, nbest, scores)
        pipeline = self._pipeline
        if split_sentences != "auto":
            pipeline = build_pipeline(Run(self.run.folder), self._backend.tokenizers, "split", split_sentences)
        candidates = translate_texts(self._backend_for(search, scores or nbest is not None), items, search, pipeline)
        if nbest is not None:
            return candidates[0] if one else candidates
        best = [row[0] for row in candidates]
        if scores:
            return best[0] if one else best
        return best[0].text if one else [translation.text for translation in best]

    def _backend_for(self, search: Search, scored: bool) -> TranslationBackend:
        """What does a search. Scores that are shown are log-probabilities over all tokens."""
        backend = self._backend
        if isinstance(backend, CTranslate2Translator):
            if not backend.can_search(search):
                return self.translator
            return backend.without_shortlist() if scored else backend
        return backend.without_shortlist() if scored and isinstance(backend, Translator) else backend

    @overload
    def score(self, sources: str, targets: str) -> float: ...

    @overload
    def score(self, sources: Texts, targets: Texts) -> list[float]: ...

    def score(self, sources: str | Texts, targets: str | Texts) -> float | list[float]:
        """The log-probability of each target as the translation of its source, in nats, its end included.

        >>> model.score("I love dogs.", "J'adore les chiens.") < 0
        True
        """
        one = isinstance(sources, str) and isinstance(targets, str)
        source_texts = [sources] if isinstance(sources, str) else require_texts(sources, "score()")
        target_texts = [targets] if isinstance(targets, str) else require_texts(targets, "score()")
        if len(source_texts) != len(target_texts):
            raise ValueError(f"{len(source_texts)} sources and {len(target_texts)} targets; every source needs one")
        pairs = [Pair(source, target) for source, target in zip(source_texts, target_texts, strict=True)]
        log_probs = [-result.loss for result in self.translator.teacher_force(pairs)]
        return log_probs[0] if one else log_probs

    def attention(self, source: str, target: str | None = None) -> "SentenceAttention":
        """The attention weights of every head for one sentence; without a target, for the model's own translation.

        >>> attention = model.attention("I love dogs.")
        >>> attention["decoder.0.cross.0"].shape == (len(attention.target_tokens), len(attention.source_tokens))
        True
        """
        from regard.api.attention import trace_attention
        from regard.jobs.look.inspected_run import InspectedRun

        require_text(source, "attention()")
        if target is None and self._backend is not self.translator:
            target = self.translate(source)  # which PyTorch, in float32, might translate otherwise
        run = Run(self.run.folder)
        return trace_attention(InspectedRun(run, self.run.config, self.translator), source, target)

    def __repr__(self) -> str:
        shapes = weights.read_shapes(Run(self.run.folder).best_weights())
        parameters = sum(map(math.prod, shapes.values()))
        return f"<TranslationModel {self.run.describe()}, {parameters:,} parameters, by {self.engine}>"


class EncoderModel:
    """A trained encoder; `regard.load` and `regard.load_encoder` open one."""

    def __init__(self, run: TrainedRun, embedder: "Embedder"):
        self.run = run
        self.embedder = embedder

    @overload
    def embed(self, texts: str) -> "npt.NDArray[np.float32]": ...

    @overload
    def embed(self, texts: Texts) -> "npt.NDArray[np.float32]": ...

    def embed(self, texts: str | Texts) -> "npt.NDArray[np.float32]":
        """The vector (D,) of a text, or the vectors (N, D) of a list. Their dot products are cosine similarities."""
        items = [texts] if isinstance(texts, str) else require_texts(texts, "embed()")
        vectors = self.embedder.embed(items).numpy()
        return vectors[0] if isinstance(texts, str) else vectors

    @overload
    def similar(self, texts: str, others: str) -> float: ...

    @overload
    def similar(self, texts: str | Texts, others: Texts) -> list[float]: ...

    @overload
    def similar(self, texts: str | Texts, others: str | Texts) -> float | list[float]: ...

    def similar(self, texts: str | Texts, others: str | Texts) -> float | list[float]:
        """The cosine similarity of two texts, of a text and each of a list, or of the pairs of two lists."""
        other_texts = [others] if isinstance(others, str) else require_texts(others, "similar()")
        items = [texts] * len(other_texts) if isinstance(texts, str) else require_texts(texts, "similar()")
        if len(items) != len(other_texts):
            raise TypeError(f"similar() takes lists of the same length, got {len(items)} and {len(other_texts)} texts")
        similarities = self.embedder.similarities(list(zip(items, other_texts, strict=True)))
        return similarities[0] if isinstance(texts, str) and isinstance(others, str) else similarities

    def attention(self, text: str) -> "SentenceAttention":
        """The attention weights of every head for one text."""
        from regard.api.attention import trace_attention
        from regard.inspection.text_readers import WholeText
        from regard.jobs.look.inspected_run import InspectedRun

        require_text(text, "attention()")
        run = Run(self.run.folder)
        return trace_attention(
            InspectedRun(run, self.run.config, self.embedder, WholeText(self.embedder.tokenizer)), text
        )

    def __repr__(self) -> str:
        return f"<EncoderModel {self.run.folder}, {count_parameters(self.embedder.model):,} parameters>"


@overload
def load(
    run: AnyPath,
    device: str = "auto",
    quantize: str = "auto",
    *,
    task: Literal["translate"] = ...,
    engine: str = "auto",
    shortlist: str = "auto",
) -> TranslationModel: ...


@overload
def load(
    run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["classify"]
) -> "ClassificationModel": ...


@overload
def load(run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["tag"]) -> "TaggingModel": ...


@overload
def load(
    run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["causal-lm"]
) -> "TextGenerationModel": ...


@overload
def load(
    run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["masked-lm"]
) -> "MaskFillingModel": ...


@overload
def load(run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["embed"]) -> EncoderModel: ...


@overload
def load(
    run: AnyPath, device: str = "auto", quantize: str = "auto", *, task: Literal["summarize", "extract"]
) -> "SummaryModel": ...


def load(
    run: AnyPath,
    device: str = "auto",
    quantize: str = "auto",
    *,
    task: str | None = None,
    engine: str = "auto",
    shortlist: str = "auto",
) -> Any:
    """The model of a run, with its best weights so far: what it can do depends on the task that it was trained for.

    >>> model = regard.load("runs/mine")
    >>> isinstance(model.translate("I love dogs."), str)
    True

    A translator has `translate`, a classifier `classify`, a tagger `tag`, a causal language model `generate`, a
    masked one `fill`, an encoder `embed` and `similar`, a summarizer `summarize`. `task` is that of the run; give it
    where a type checker should know which of them is opened, and where a run of another task should be refused.
    `device` is auto, cpu, cuda …; `quantize="int8"` is faster on a CPU and nearly as good (translators and causal
    language models). A translator runs on the fastest engine that is installed and can do what is asked, on a CPU in
    int8; `engine="torch"` computes in float32, as scores are computed, and `model.engine` says what was chosen. For
    what an engine cannot do (attention, scores of given translations, samples) the model is loaded into PyTorch, too.
    `shortlist` is on, off, or auto: where the run has one that changes next to nothing.
    """
    loader = find_loader(Run(Path(run)), task)
    if loader is load_translator:
        return load_translator(run, device, quantize, engine, shortlist)
    if (engine, shortlist) != ("auto", "auto"):
        raise ConfigError(f"{run}: engine={engine} and shortlist={shortlist} are for translators; leave them out")
    return loader(run, device, "none" if quantize == "auto" else quantize)


def load_translator(
    run: AnyPath, device: str = "auto", quantize: str = "auto", engine: str = "auto", shortlist: str = "auto"
) -> TranslationModel:
    """The translator of a run."""
    options = RuntimeOptions(device, quantize=quantize, engine=engine, shortlist=shortlist)
    opened = contextlib.ExitStack().enter_context(open_chosen(Path(run), options))
    return TranslationModel(open_run(run), opened, device)


def load_encoder(run: AnyPath, device: str = "auto") -> EncoderModel:
    """The encoder of a run of `--task embed`, or of one that `regard.import_model` made from a BERT folder."""
    return EncoderModel(open_run(run), loading.load_encoder(Path(run), device))


def _build_search(beam: int, alpha: float, nbest: int | None, scores: bool) -> Search:
    if beam == 1 and nbest is None:
        return GreedySearch(scored=scores)
    return BeamSearch(beam, alpha, nbest or 1)
