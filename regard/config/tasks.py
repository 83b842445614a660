"""Settings that only one task has, each in a section of its own."""

from typing import Literal

from pydantic import Field

from regard.config.base import Settings

TaskName = Literal["translate", "classify", "tag", "causal-lm", "masked-lm", "embed", "denoise", "summarize", "extract"]
TASK_METRICS: dict[TaskName, tuple[str, ...]] = {
    "translate": ("loss", "bleu"),
    "classify": ("loss", "accuracy", "macro_f1"),
    "tag": ("loss", "f1"),
    "causal-lm": ("loss",),
    "masked-lm": ("loss",),
    "embed": ("loss", "mrr", "spearman"),
    "denoise": ("loss",),
    "summarize": ("loss", "rouge1", "rouge2", "rougeL"),
    "extract": ("loss", "rouge1", "rouge2", "rougeL"),
}
"""What `train.metric` may name: the loss, and what predictions for dev are scored by."""
TASK_ARCHITECTURES: dict[TaskName, tuple[str, ...]] = {
    "translate": ("encoder-decoder", "decoder"),
    "classify": ("encoder", "decoder", "encoder-decoder"),
    "tag": ("encoder", "decoder", "encoder-decoder"),
    "causal-lm": ("decoder",),
    "masked-lm": ("encoder",),
    "embed": ("encoder", "decoder"),
    "denoise": ("encoder-decoder",),
    "summarize": ("encoder-decoder", "decoder"),
    "extract": ("encoder",),
}
"""The first is the default."""
ARCHITECTURE_REASONS: dict[tuple[TaskName, str], str] = {
    ("translate", "encoder"): "an encoder writes no text",
    ("causal-lm", "encoder"): "its tokens attend to those that are to be predicted",
    ("causal-lm", "encoder-decoder"): "a text that is continued has no source",
    ("masked-lm", "decoder"): "its tokens attend to nothing after a mask",
    ("masked-lm", "encoder-decoder"): "masks are filled where they stand, and a decoder has no part in it",
    ("embed", "encoder-decoder"): "vectors are the mean states of its encoder, and its decoder has no part in them",
    ("denoise", "encoder"): "an encoder writes no text",
    ("denoise", "decoder"): "it teaches an encoder to read and a decoder to write, for runs that have both",
    ("summarize", "encoder"): "an encoder writes no text; --task extract chooses sentences with one",
    ("extract", "decoder"): "a sentence is chosen by what follows it, too",
    ("extract", "encoder-decoder"): "sentences are chosen where they stand, and a decoder has no part in it",
}
"""Why a task has no models of an architecture."""
ARCHITECTURE_NOTES: dict[tuple[TaskName, str], str] = {
    ("tag", "decoder"): "The decoder sees only what is to the left of a word.",
    ("tag", "encoder-decoder"): "In the encoder-decoder both stacks read the sentence, and the decoder's states are "
    "tagged.",
    ("classify", "decoder"): "The decoder's class comes from the state of the last token.",
    ("classify", "encoder-decoder"): "In the encoder-decoder both stacks read the text, and the class comes from the "
    "decoder's last state.",
    ("embed", "encoder-decoder"): "Of the encoder-decoder only its encoder is trained and compared, as its decoder has "
    "no part in a vector: it has fewer weights at work.",
    ("translate", "decoder"): "The decoder reads the source, a mark and the target as one sequence; its loss is that "
    "of the target alone. No architecture has guided alignment, which needs cross-attention.",
    (
        "summarize",
        "decoder",
    ): "The decoder reads the document, a mark and the summary as one sequence; its loss is that of the summary alone.",
}
"""How a task is done by an architecture, where that is not plain."""
READING_TASKS: tuple[TaskName, ...] = ("embed",)
"""Of an encoder-decoder they would use the encoder alone."""
SOURCE_TARGET_TASKS: tuple[TaskName, ...] = ("translate", "summarize")
"""A text -> another text."""
SETTING_TASKS: dict[str, tuple[TaskName, ...]] = {
    "data.both_directions": ("translate",),
    "data.denoise_targets": ("translate",),
    "data.subword_regularization": ("translate", "classify", "summarize"),
    "data.subword_regularization_start": ("translate", "summarize"),
    "data.concat_augment": ("translate",),
    "data.curriculum_epochs": ("translate", "summarize"),
    "train.guided_alignment": ("translate",),
}
"""Settings outside of the tasks' own sections that only some tasks heed; others refuse them."""
MASK_RATES = {"bart": 0.3, "t5": 0.15}
"""What is hidden unless another rate is set."""
Documents = Literal["file", "blank-line", "line"]


class ClassifyConfig(Settings):
    text: str = ""
    """Column of the texts: a name, or a number from 1 on; unset: recognized by its name."""
    text_pair: str = ""
    """Column of the second text, where pairs of texts are classified."""
    label: str = ""
    """Column of the labels."""
    pooling: Literal["auto", "mean", "first", "last", "pooler"] = "auto"
    """How the states of a text become one; auto: the last token of a decoder, otherwise the mean."""
    class_weights: bool = False
    """Weigh the loss of each class by N / (K · n), at most 10, so that rare classes count; probabilities suffer."""


class CausalLMConfig(Settings):
    documents: Documents = "file"
    """What separates documents, over whose borders no token attends: files, blank lines, or lines."""


class MaskedLMConfig(Settings):
    documents: Documents = "file"
    """What separates documents, over whose borders no token attends: files, blank lines, or lines."""
    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Fraction of the tokens of a text that are masked."""
    mask_scheme: Literal["mask", "80/10/10"] = "mask"
    """Every chosen token becomes [MASK]; or 80 % of them, 10 % a random token, and 10 % stay (Devlin et al. 2019)."""
    whole_words: bool = False
    """Mask all tokens of a word together."""


class EmbedConfig(Settings):
    text: str = ""
    """Column of the texts: a name, or a number from 1 on; unset: recognized by its name or its place."""
    text_pair: str = ""
    """Column of the positives, or of the second texts."""
    similarity: str = ""
    """Column of the similarities, where pairs have one."""
    max_similarity: float | None = Field(default=None, gt=0, le=100)
    """Largest possible similarity, the smallest is 0; unset: 1, 5, 10 or 100, the first that none exceeds."""
    batch_rows: int = Field(default=64, ge=2, le=1_000_000)
    """Rows of a batch, which are each other's negatives; with several processes, those of all of them together are."""
    temperature: float = Field(default=0.05, gt=0, le=100)
    """What cosines are divided by before the softmax."""
    both_directions: bool = False
    """Each positive must find its text, too, not only each text its positive."""


class DenoiseConfig(Settings):
    documents: Documents = "line"
    """What separates examples: files, blank lines, or lines."""
    scheme: Literal["bart", "t5"] = "bart"
    """How spans are drawn: words, in Poisson lengths (text infilling); or tokens, in random divisions (T5)."""
    mask_rate: float | None = Field(default=None, ge=0, lt=1)
    """Fraction of the words (bart) or tokens (t5) of a text that are hidden; unset: 0.3 and 0.15."""
    mean_span: float = Field(default=3.0, ge=1, le=1000)
    """Mean length of a span, in words (bart) or tokens (t5)."""
    target: Literal["text", "spans"] = "text"
    """What the decoder writes: the whole text, or the hidden spans alone, which takes a fraction of the time."""

    @property
    def rate(self) -> float:
        """The fraction that is hidden."""
        return MASK_RATES[self.scheme] if self.mask_rate is None else self.mask_rate


class SummarizeConfig(Settings):
    text: str = ""
    """Column of the documents: a name, or a number from 1 on; unset: recognized by its name or its place."""
    summary: str = ""
    """Column of the summaries."""
    beam: int = Field(default=4, ge=1, le=100)
    """Beam width."""
    length_penalty: float = Field(default=0.6, ge=0, le=10)
    """Alpha of the beam search: log-probabilities are divided by length^alpha."""


class ExtractConfig(Settings):
    text: str = ""
    """Column of the documents: a name, or a number from 1 on; unset: recognized by its name or its place."""
    summary: str = ""
    """Column of the summaries."""
    labels: str = ""
    """Column of the labels of sentences; unset: the sentences with the best ROUGE against the summary, as computed."""
    sentences: int | None = Field(default=None, ge=1, le=1000)
    """Sentences of an extract; unset: as many as the best extracts of the training documents have, on average."""
