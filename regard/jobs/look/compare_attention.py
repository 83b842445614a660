"""The model as it was, or another one, beside the model that is looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import DataError, RunError
from regard.inspection.example import Example
from regard.inspection.heads.faithfulness import choice, divergence
from regard.inspection.trace import Look, Model, sites, weights
from regard.jobs.load import fill
from regard.jobs.look.inspected_run import Subject, open_subject
from regard.run import is_run

START = "start"


@dataclass(frozen=True)
class Other:
    """What a model is compared with."""

    name: str
    """For people: `step 400`, `before training`, or the name of a folder."""
    weights: Mapping[str, Tensor]
    """(H, Tq, Tk) by attention, of the sentence that is shown."""
    heads: Mapping[str, Sequence[int]]
    """The numbers of the heads that each attention has."""

    def of(self, look: Look) -> Tensor:
        """What the same heads looked at, as the look's own weights; NaN where the other model has no such head."""
        found = torch.full_like(look.weights, torch.nan)
        there = list(self.heads.get(look.site.name, ()))
        for h, number in enumerate(look.site.attention.head_ids):
            if number in there:
                found[h] = self.weights[look.site.name][there.index(number)].to(found)
        return found


def against(subject: Subject, example: Example, which: str) -> Other:
    """What `--against` asks for: a step of the same run, `start`, or the folder of another run."""
    name, model = _model(subject, example, which)
    numbers = {site.name: site.attention.head_ids for site in sites(model)}
    return Other(name, weights(model, [example])[0], numbers)


def moved(looks: Sequence[Look], other: Other) -> dict[str, float]:
    """How differently each head looks from then, by its name: Jensen-Shannon, bits, mean over rows with a choice."""
    found: dict[str, float] = {}
    for look in looks:
        far = divergence(look.weights.double(), other.of(look).double())[:, choice(look.keep)].mean(dim=-1)
        found |= {str(head): value for head, value in zip(look.site.heads, far.tolist(), strict=True)}
    return {head: value for head, value in found.items() if value == value}


def _model(subject: Subject, example: Example, which: str) -> tuple[str, Model]:
    run = subject.run
    if which == START:
        if not run.log.exists():
            raise RunError(
                f"--against {START}: {run.folder} was imported or pruned, not trained, so it has no beginning; "
                f"give the folder of the run it came from"
            )
        model = subject.random()
        if run.initial_weights.exists():  # a fine-tuned run began with somebody's weights
            fill(model, run, run.initial_weights)
        return "before training", model
    if which.isdecimal():
        steps = run.saved_steps()
        if int(which) not in steps:
            there = ", ".join(map(str, steps)) or "none"
            raise RunError(f"--against {which}: {run.folder} keeps the weights of steps {there}; or say `{START}`")
        model = subject.random()
        fill(model, run, run.weights(int(which)))
        return f"step {int(which):,}", model
    return Path(which).resolve().name, _another(Path(which), example)


def _another(folder: Path, example: Example) -> Model:
    if not is_run(folder):
        raise RunError(f"--against {folder}: expected a step, `{START}`, or the folder of a run, and this is none")
    other = open_subject(folder)
    target = example.target.text if example.target else None
    if other.translates != (target is not None):
        raise RunError(f"--against {folder}: one of the two has no decoder, so that they have too little in common")
    if _ids(other.example(example.source.text, target)) != _ids(example):
        raise DataError(
            f"--against {folder}: this run cuts the sentence into other pieces, so that their rows and columns are not "
            f"the same. Compare runs of one tokeniser: a fine-tuned or pruned run with the one it came from."
        )
    return other.model


def _ids(example: Example) -> list[tuple[int, ...]]:
    return [side.ids for side in (example.source, example.read, example.target) if side is not None]
