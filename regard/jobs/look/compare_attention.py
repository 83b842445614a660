"""The model as it was, or another one, beside the model that is looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import DataError, RunError
from regard.inspection.example import Example
from regard.inspection.heads.faithfulness import has_choice, jensen_shannon
from regard.inspection.trace import AttentionTrace, Model, attention_sites, attention_weights
from regard.jobs.load import load_weights
from regard.jobs.look.inspected_run import InspectedRun, open_inspected_run
from regard.run import is_run

START = "start"


@dataclass(frozen=True)
class ReferenceAttention:
    """What a model is compared with."""

    name: str
    """For people: `step 400`, `before training`, or the name of a folder."""
    weights: Mapping[str, Tensor]
    """(H, Tq, Tk) by attention, of the sentence that is shown."""
    head_ids: Mapping[str, Sequence[int]]
    """The numbers of the heads that each attention has."""

    def weights_for(self, attention_trace: AttentionTrace) -> Tensor:
        """What the same heads looked at, as the look's own weights; NaN where the other model has no such head."""
        reference_weights = torch.full_like(attention_trace.weights, torch.nan)
        reference_ids = list(self.head_ids.get(attention_trace.site.name, ()))
        for h, head_id in enumerate(attention_trace.site.attention.head_ids):
            if head_id in reference_ids:
                reference_weights[h] = self.weights[attention_trace.site.name][reference_ids.index(head_id)].to(
                    reference_weights
                )
        return reference_weights


def load_reference(inspected_run: InspectedRun, example: Example, compare_with: str) -> ReferenceAttention:
    """What `--compare-with` asks for: a step of the same run, `start`, or the folder of another run."""
    name, model = _load_reference_model(inspected_run, example, compare_with)
    head_ids = {site.name: site.attention.head_ids for site in attention_sites(model)}
    return ReferenceAttention(name, attention_weights(model, [example])[0], head_ids)


def compute_divergences(attention_traces: Sequence[AttentionTrace], reference: ReferenceAttention) -> dict[str, float]:
    """How differently each head looks from then, by its name: Jensen-Shannon, bits, mean over rows with a choice."""
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
                f"--compare-with {START}: {run.folder} was imported or pruned, not trained, so it has no beginning; "
                f"give the folder of the run it came from"
            )
        model = inspected_run.build_random_model()
        if run.initial_weights.exists():  # a fine-tuned run began with somebody's weights
            load_weights(model, run, run.initial_weights)
        return "before training", model
    if compare_with.isdecimal():
        steps = run.saved_steps()
        if int(compare_with) not in steps:
            steps_text = ", ".join(map(str, steps)) or "none"
            raise RunError(
                f"--compare-with {compare_with}: {run.folder} keeps the weights of steps {steps_text}; or say `{START}`"
            )
        model = inspected_run.build_random_model()
        load_weights(model, run, run.weights(int(compare_with)))
        return f"step {int(compare_with):,}", model
    return Path(compare_with).resolve().name, _load_other_run(Path(compare_with), example)


def _load_other_run(folder: Path, example: Example) -> Model:
    if not is_run(folder):
        raise RunError(f"--compare-with {folder}: expected a step, `{START}`, or the folder of a run, and this is none")
    reference_run = open_inspected_run(folder)
    target = example.target.text if example.target else None
    if reference_run.translates != (target is not None):
        raise RunError(
            f"--compare-with {folder}: one of the two has no decoder, so that they have too little in common"
        )
    if _token_ids(reference_run.make_example(example.source.text, target)) != _token_ids(example):
        raise DataError(
            f"--compare-with {folder}: this run cuts the sentence into other pieces, so that their rows and columns are not "
            f"the same. Compare runs of one tokeniser: a fine-tuned or pruned run with the one it came from."
        )
    return reference_run.model


def _token_ids(example: Example) -> list[tuple[int, ...]]:
    return [side.ids for side in (example.source, example.decoder_input, example.target) if side is not None]
