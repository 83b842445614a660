"""How far the picture of a head may be trusted: who else looks alike, and what happens if it looks elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from regard.inspection.example import Example
from regard.inspection.flow.decompose import NAMES, Terms, allowed
from regard.inspection.heads.importance import target_ids
from regard.inspection.heads.statistics import Numbers, deals, entropy, spearman
from regard.inspection.trace import Look, inputs
from regard.model.attention import masked_softmax
from regard.model.taps import alter
from regard.model.transformer import EncoderDecoder

TIMES = 7
"""Ways in which weights are shuffled."""
CELLS = 2**24
"""Probabilities held at once; long sentences of large vocabularies are shuffled fewer times."""


@dataclass(frozen=True)
class Shaken:
    """What a head's weights do for the output of one sentence."""

    shuffled: float
    """How far the probabilities of what is written move if each row's weights are dealt out anew: 0 not at all, 1
    wholly. Total variation, mean over rows, median over the ways."""
    even: float
    """Nats per target piece that are lost if it looks evenly."""


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon: H((p + q) / 2) - (H(p) + H(q)) / 2 over the last axis, in bits. 0 the same, 1 nothing shared."""
    return ((entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2) / math.log(2)).clamp(0, 1)


def apart(looks: Sequence[Look]) -> Numbers:
    """How differently every two heads of these attentions look, mean over rows that have a choice: (heads, heads)."""
    heads = torch.cat([look.weights.double() for look in looks])  # (heads, Tq, Tk)
    open_ = heads[:, choice(looks[0].keep)]
    if not open_.shape[1]:
        return np.zeros((len(heads), len(heads)))
    return np.stack([divergence(one, open_).mean(dim=-1).cpu().numpy() for one in open_])


def from_places(look: Look, terms: Terms) -> Numbers:
    """How differently each head looks from what places alone would make it: (H,)."""
    alone = terms.six[:, NAMES.index("position·position")] + terms.six[:, NAMES.index("distance")]
    found = divergence(look.weights.double(), masked_softmax(alone.double(), terms.keep))
    chosen = found[:, choice(look.keep)]
    return np.asarray(chosen.mean(dim=-1).cpu().numpy()) if chosen.shape[1] else np.zeros(len(found))


def ranks_as(weights: Tensor, other: Tensor, keep: Tensor) -> float | None:
    """Rank correlation of a head's weights with another measure (Tq, Tk), mean over rows; None where all are flat.

    Masked keys are left out: both measures are 0 there, and would agree for no reason.
    """
    rows = zip(*(x.double().cpu().numpy() for x in (weights, other)), keep.cpu().numpy(), strict=True)
    found = (spearman(x[seen], y[seen]) for x, y, seen in rows if seen.sum() > 1)
    known = [value for value in found if not math.isnan(value)]
    return sum(known) / len(known) if known else None


@torch.no_grad()
def shaken(model: EncoderDecoder, example: Example, look: Look) -> list[Shaken]:
    """Each head with its weights shuffled, then even.  Jain and Wallace 2019; Wiegreffe and Pinter 2019.

    Nothing is trained again: what the model would have learnt without the head is another question.
    """
    vocabulary, rows = model.output.weight.shape[0], len(target_ids(example))
    times = max(1, min(TIMES, CELLS // (vocabulary * rows)))
    whole = _log_probabilities(model, [example])[0]
    found = []
    for h, keep in enumerate(allowed(look)):
        dealt = deals(keep.cpu(), times).to(keep.device)
        with alter(model, {f"{look.site.name}.weights": partial(_elsewhere, h, dealt, keep)}):
            *moved, even = _log_probabilities(model, [example] * (times + 1))
        variation = [float((other.exp() - whole.exp()).abs().sum(dim=-1).mean()) / 2 for other in moved]
        target = torch.tensor(target_ids(example), device=even.device)[:, None]
        found.append(Shaken(float(np.median(variation)), float((whole - even).gather(1, target).mean())))
    return found


def _elsewhere(h: int, dealt: Tensor, keep: Tensor, weights: Tensor) -> Tensor:
    """Weights (times + 1, H, Tq, Tk) of one sentence, head h's dealt out anew in all but the last, which is even."""
    new = weights.clone()
    new[:-1, h] = weights[0, h].expand(len(dealt), -1, -1).gather(2, dealt)
    new[-1, h] = masked_softmax(torch.zeros_like(weights[0, h]), keep)
    return new


def choice(keep: Tensor) -> Tensor:
    """Rows that have more than one key to look at; the others say nothing."""
    return keep.sum(dim=-1) > 1


def _log_probabilities(model: EncoderDecoder, examples: Sequence[Example]) -> Tensor:
    """Of every piece at every place of the target: (B, T, V)."""
    model.eval()
    return model.output(model(*inputs(model, examples))).log_softmax(dim=-1)
