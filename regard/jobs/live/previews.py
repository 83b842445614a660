"""previews.jsonl: what the model makes of the same few dev examples at every validation, one JSON object each.

Written by the training process, which has predicted them for its scores anyway, so that a page can show them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.data.batch import collate
from regard.errors import RunError
from regard.files import Count, Finite, check_shape
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly, EncoderOnly
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder
from regard.run import Run, write_text
from regard.training.log import read_json_lines
from regard.training.validate import PredictedSample

MAX_TOKENS = 16
"""Of each side of the example whose attention is shown."""
MIN_TOKENS = 4


@dataclass(frozen=True)
class AttentionExample:
    """An example whose attention is shown as it forms; ids without those that mark the end of a sentence."""

    source_ids: Sequence[int]
    target_ids: Sequence[int] | None
    """None where one stack reads one text."""
    rows: Sequence[str]
    """The tokens that attend."""
    columns: Sequence[str]
    """The tokens that are attended to."""


@dataclass(frozen=True)
class AttentionPreview:
    """The attention of one example, the mean of all layers and heads."""

    rows: list[str]
    columns: list[str]
    weights: list[list[Finite]]


@dataclass(frozen=True)
class Preview:
    """What was predicted at one validation."""

    step: Count
    samples: list[PredictedSample]
    attention: AttentionPreview | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def read_previews(path: Path) -> list[Preview]:
    """The previews of a run; none where there is no file."""
    try:
        return [check_shape(line, Preview) for line in (read_json_lines(path) if path.exists() else ())]
    except ValueError as error:
        raise RunError(f"{path}: a line is not a preview ({error})") from None


def truncate_previews(path: Path, step: int, validate_every: int) -> None:
    """Drop what a resumed run will write again, and the validation of a last step that is none any more."""
    previews = read_previews(path)
    valid = [preview for preview in previews if preview.step <= step and preview.step % validate_every == 0]
    if len(valid) < len(previews):
        write_text(path, "".join(preview.to_json() for preview in valid))


class NullPreviews:
    """Records nothing: in a process that is not the main one."""

    def record(self, step: int, samples: Sequence[PredictedSample]) -> None:
        """Nothing is written."""


class PreviewRecorder(NullPreviews):
    """Appends what a validation has predicted, and the attention of one example; training is not changed by it."""

    def __init__(self, run: Run, model: nn.Module, example: AttentionExample | None):
        self.path, self.model, self.example = run.previews, model, example

    def record(self, step: int, samples: Sequence[PredictedSample]) -> None:
        attention = None if self.example is None else trace_attention(self.model, self.example)
        if samples or attention:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(Preview(step, list(samples), attention).to_json())


def trace_attention(model: nn.Module, example: AttentionExample) -> AttentionPreview | None:
    """The attention of an example with the weights as they are; None for a model that has no one to show."""
    with evaluation_mode(model), torch.inference_mode():
        if isinstance(model, EncoderDecoder) and example.target_ids is not None:
            batch = collate([list(example.source_ids)], [list(example.target_ids)]).to(device_of(model))
            with record(model, "decoder.layers.*.cross_attn.weights") as weights:
                model(batch.source, batch.target_in)
        elif isinstance(model, EncoderOnly | DecoderOnly) and example.target_ids is None:
            with record(model, "*.layers.*.self_attn.weights") as weights:
                model(torch.tensor([list(example.source_ids)], device=device_of(model)))
        else:
            return None
        mean = _mean_of_heads(weights)
    values = mean[: len(example.rows), : len(example.columns)].tolist()
    rounded = [[round(value, 3) for value in row] for row in values]
    return AttentionPreview(list(example.rows), list(example.columns), rounded)


def _mean_of_heads(weights: Mapping[str, Tensor]) -> Tensor:
    """(1, H, T, S) of each layer -> (T, S)."""
    return torch.stack([layer[0].float().mean(dim=0) for layer in weights.values()]).mean(dim=0).cpu()
