"""Compares attention weights with those of a reference: an earlier step, the initial weights, or another run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import DataError, RunError
from regard.files import resolve
from regard.inspection.example import Example
from regard.inspection.heads.faithfulness import has_choice, jensen_shannon
from regard.inspection.trace import AttentionTrace, Model, attention_sites, attention_weights
from regard.jobs.load import load_weights
from regard.jobs.look.inspected_run import InspectedRun, open_inspected_run
from regard.run import is_run

START = "start"


@dataclass(frozen=True)
class ReferenceAttention:
    """The attention weights of a reference model."""

    name: str
    """For display: `step 400`, `before training`, or the name of a folder."""
    weights: Mapping[str, Tensor]
    """(H, Tq, Tk) by attention, for the inspected sentence."""
    head_ids: Mapping[str, Sequence[int]]
    """The head ids of each attention."""

    def weights_for(self, attention_trace: AttentionTrace) -> Tensor:
        """The weights of the same heads, shaped as the trace's; NaN where the reference has no such head."""
        reference_weights = torch.full_like(attention_trace.weights, torch.nan)
        reference_ids = list(self.head_ids.get(attention_trace.site.name, ()))
        for h, head_id in enumerate(attention_trace.site.attention.head_ids):
            if head_id in reference_ids:
                reference_weights[h] = self.weights[attention_trace.site.name][reference_ids.index(head_id)].to(
                    reference_weights
                )
        return reference_weights


def load_reference(inspected_run: InspectedRun, example: Example, compare_with: str) -> ReferenceAttention:
    """The reference of `--compare-with`: a step of the same run, `start`, or the folder of another run."""
    name, model = _load_reference_model(inspected_run, example, compare_with)
    head_ids = {site.name: site.attention.head_ids for site in attention_sites(model)}
    return ReferenceAttention(name, attention_weights(model, [example])[0], head_ids)


def compute_divergences(attention_traces: Sequence[AttentionTrace], reference: ReferenceAttention) -> dict[str, float]:
    """Jensen-Shannon divergence of each head from the reference, in bits, mean over rows with a choice."""
    divergences: dict[str, float] = {}
    for attention_trace in attention_traces:
        head_divergences = jensen_shannon(
            attention_trace.weights.double(), reference.weights_for(attention_trace).double()
        )[:, has_choice(attention_trace.attn_mask)].mean(dim=-1)
        divergences |= {
            str(head): value for head, value in zip(attention_trace.site.heads, head_divergences.tolist(), strict=True)
        }
    return {head: value for head, value in divergences.items() if value == value}


def _load_reference_model(inspected_run: InspectedRun, example: Example, compare_with: str) -> tuple[str, Model]:
    run = inspected_run.run
    if compare_with == START:
        if not run.log.exists():
            raise RunError(
                f"--compare-with {START}: {run.folder} was imported or pruned, not trained: it has no initial weights; "
                f"give the folder of the run that it was made from"
            )
        model = inspected_run.build_random_model()
        if run.initial_weights.exists():  # a fine-tuned run starts from the weights of another run
            load_weights(model, run, run.initial_weights)
        return "before training", model
    if compare_with.isdecimal():
        steps = run.saved_steps()
        if int(compare_with) not in steps:
            steps_text = ", ".join(map(str, steps)) or "none"
            raise RunError(
                f"--compare-with {compare_with}: {run.folder} has the weights of steps {steps_text}; or use `{START}`"
            )
        model = inspected_run.build_random_model()
        load_weights(model, run, run.weights(int(compare_with)))
        return f"step {int(compare_with):,}", model
    return resolve(compare_with).name, _load_other_run(Path(compare_with), example)


def _load_other_run(folder: Path, example: Example) -> Model:
    if not is_run(folder):
        raise RunError(f"--compare-with {folder}: expected a step, `{START}`, or the folder of a run")
    reference_run = open_inspected_run(folder)
    target = example.target.text if example.target else None
    if reference_run.translates != (target is not None):
        raise RunError(f"--compare-with {folder}: one of the two models has no decoder, so they cannot be compared")
    if _token_ids(reference_run.make_example(example.source.text, target)) != _token_ids(example):
        raise DataError(
            f"--compare-with {folder}: this run tokenizes the sentence differently, so rows and columns do not match. "
            f"Compare runs with the same tokenizer: a fine-tuned or pruned run with the one it was made from."
        )
    return reference_run.model


def _token_ids(example: Example) -> list[tuple[int, ...]]:
    return [side.ids for side in (example.source, example.decoder_input, example.target) if side is not None]
