"""What a head is worth: the gradient of a gate on it, and the loss without it.

The gradient is a first guess for all heads at once. Taking a head away and measuring is the answer, one head at a time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.errors import DataError, ModelError
from regard.inspection.example import Example
from regard.inspection.heads.statistics import ENOUGH, Numbers, resamples
from regard.inspection.trace import Model, Site, batches, inputs, pad_rows, sites
from regard.model.taps import alter, record
from regard.model.transformer import EncoderDecoder

WAYS = ("zero", "mean", "resample")
Change = Callable[[Tensor], Tensor]
Changes = Callable[[list[Example]], Mapping[str, Change]]
"""What is changed inside a model for a batch of examples."""


@dataclass(frozen=True)
class Cost:
    """What taking a head away (or all others) costs, in nats per target piece; below 0 the model does better so."""

    head: Head
    way: str
    cost: float
    low: float | None
    """None, as the other end: too few sentences to tell."""
    high: float | None


def losses(model: Model, examples: Sequence[Example]) -> Tensor:
    """-log p of each whole target given its source (B,), with gradients: what all that follows is measured in."""
    if not isinstance(model, EncoderDecoder):
        raise ModelError("an encoder alone predicts nothing here, so there is no loss to say what a head is worth")
    out = pad_rows([target_ids(example) for example in examples], model.pad)
    logp = model.output(model(*inputs(model, examples))).log_softmax(dim=-1)
    out = out.to(logp.device)
    return -(logp.gather(2, out[:, :, None])[:, :, 0] * (out != model.pad)).sum(dim=1)


def tokens(examples: Sequence[Example]) -> Numbers:
    """Target pieces of each example, its end included."""
    return np.array([len(target_ids(example)) for example in examples], dtype=np.float64)


def gated(site: Site, gates: Tensor) -> dict[str, Change]:
    """Att_h <- ξ_h Att_h: gates (H,), or (B, H) where each sentence has its own."""
    wide = gates if gates.dim() == 2 else gates[None]
    return {f"{site.name}.mixed": lambda mixed: mixed * wide[:, :, None, None].to(mixed)}


def importance(
    model: Model, examples: Sequence[Example], without: Sequence[Head] = (), by_layer: bool = True
) -> dict[Head, float]:
    """I_h = E |∂L(x)/∂ξ_h| at ξ = 1, of unit length in each layer unless told not to.  Michel et al. 2019, section 4.

    Each sentence has gates of its own, so that absolute values are taken before the mean, whatever the batches are.
    Heads in `without` are shut, and worth nothing.
    """
    every, model = sites(model), model.eval()
    shut = set(without)
    sums = {site.name: torch.zeros(site.attention.heads, dtype=torch.float64) for site in every}
    for rows in batches(examples):
        chosen = [examples[i] for i in rows]
        open_ = {site.name: _open(site, shut, len(rows)).requires_grad_() for site in every}
        changes: dict[str, Change] = {}
        for site in every:
            changes |= gated(site, open_[site.name])
        with torch.enable_grad(), alter(model, changes):
            each = losses(model, chosen)
            each = each / torch.from_numpy(tokens(chosen)).to(each)
            found = torch.autograd.grad(each.sum(), [open_[site.name] for site in every])
        for site, gradient in zip(every, found, strict=True):
            sums[site.name] += gradient.abs().sum(dim=0).double().cpu()
    worth: dict[Head, float] = {}
    for site in every:
        own = sums[site.name] / len(examples) * _open(site, shut, 1)[0].double().cpu()
        worth |= dict(zip(site.heads, own.tolist(), strict=True))
    if not by_layer:
        return worth
    lengths: dict[tuple[str, int], float] = {}
    for head, value in worth.items():
        lengths[head[:2]] = math.hypot(lengths.get(head[:2], 0.0), value)
    return {head: value / (lengths[head[:2]] or 1.0) for head, value in worth.items()}


def ablated(
    model: Model, examples: Sequence[Example], heads: Sequence[Head] | None = None, way: str = "zero"
) -> list[Cost]:
    """What each head alone costs if it hands over nothing, its mean at each place, or what it found elsewhere."""
    if way not in WAYS:
        raise ModelError(f"heads are taken away by {', '.join(WAYS)}; '{way}' is none of them")
    if way == "resample" and len(examples) < 2:
        raise DataError("resample gives a head what it found in another sentence, and there is only one: give more")
    means = mean_outputs(model, examples) if way == "mean" else {}

    def taken(site: Site, h: int) -> Changes:
        return lambda chosen: {
            f"{site.name}.mixed": _taken(way, h, [len(e.rows(site.kind)) for e in chosen], means.get(site.name))
        }

    return _costs(model, examples, heads, way, taken)


def alone(model: Model, examples: Sequence[Example], heads: Sequence[Head] | None = None) -> list[Cost]:
    """What it costs if each head is the only one of its attention that is left.  Michel et al. 2019, section 3.3.

    Heads do for each other what taking away one at a time never shows; here all the others are silent at once.
    """

    def silent(site: Site, h: int) -> Changes:
        only = torch.eye(site.attention.heads)[h]
        return lambda _: gated(site, only)

    return _costs(model, examples, heads, "alone", silent)


def _costs(
    model: Model,
    examples: Sequence[Example],
    heads: Sequence[Head] | None,
    way: str,
    change: Callable[[Site, int], Changes],
) -> list[Cost]:
    """The loss with a change for each head, against the loss without any."""
    together = 2 if way == "resample" else 1
    every = {head: site for site in sites(model) for head in site.heads}
    whole, count = loss_by_sentence(model, examples, together=together), tokens(examples)
    found = []
    for head in every if heads is None else heads:
        site = every[head]
        changed = loss_by_sentence(model, examples, change(site, site.heads.index(head)), together)
        found.append(Cost(head, way, *paired(changed - whole, count)))
    return found


def loss_by_sentence(
    model: Model,
    examples: Sequence[Example],
    changes: Changes | None = None,
    together: int = 1,
) -> Numbers:
    """The loss of each example, with something changed inside the model for each batch of them.

    `together` is the least that a batch may have, for changes that take from one sentence to give to another.
    """
    found = np.zeros(len(examples))
    model.eval()
    for rows in batches(examples, together):
        chosen = [examples[i] for i in rows]
        with torch.no_grad(), alter(model, changes(chosen) if changes else {}):
            found[rows] = losses(model, chosen).double().cpu().numpy()
    return found


def paired(difference: Numbers, count: Numbers) -> tuple[float, float | None, float | None]:
    """Σ difference / Σ count over sentences, and the middle 95 % of it where the same sentences are drawn for both.

    Of too few sentences no interval is told.
    """
    value = float(difference.sum() / count.sum())
    if len(count) < ENOUGH:
        return value, None, None
    drawn = resamples(len(count))
    low, high = np.percentile((drawn @ difference) / (drawn @ count), (2.5, 97.5)).tolist()
    return value, low, high


def mean_outputs(model: Model, examples: Sequence[Example]) -> dict[str, Tensor]:
    """The mean of what each head hands over at each place, over sentences that reach it: (H, places, K)."""
    sums: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    every = sites(model)
    longest = {site.kind: max(len(e.rows(site.kind)) for e in examples) for site in every}
    for rows in batches(examples):
        chosen = [examples[i] for i in rows]
        with torch.no_grad(), record(model, "*.mixed") as seen:
            model(*inputs(model, chosen))
        for site in every:
            mixed = seen[f"{site.name}.mixed"].double()
            own = sums.setdefault(site.name, mixed.new_zeros(mixed.shape[1], longest[site.kind], mixed.shape[3]))
            number = counts.setdefault(site.name, mixed.new_zeros(longest[site.kind], 1))
            for b, example in enumerate(chosen):
                n = len(example.rows(site.kind))
                own[:, :n] += mixed[b, :, :n]
                number[:n] += 1
    return {name: sums[name] / counts[name] for name in sums}


def _open(site: Site, shut: set[Head], rows: int) -> Tensor:
    """Gates (rows, H): 1, or 0 for heads that are shut."""
    return site.attention.out_proj.weight.new_tensor([[float(head not in shut) for head in site.heads]] * rows)


def _taken(way: str, h: int, lengths: Sequence[int], mean: Tensor | None) -> Change:
    """A change of what all heads hand over (B, H, Tq, K), where head h is taken away."""

    def change(mixed: Tensor) -> Tensor:
        new = mixed.clone()
        if way == "zero":
            new[:, h] = 0
        elif way == "mean":
            assert mean is not None
            new[:, h] = mean[h, : mixed.shape[2]].to(mixed)
        else:
            assert len(lengths) > 1, "a sentence would be given what it has already"
            for b, _ in enumerate(lengths):
                other = (b + 1) % len(lengths)
                at = torch.arange(mixed.shape[2], device=mixed.device) % lengths[other]
                new[b, h] = mixed[other, h, at]
        return new

    return change


def target_ids(example: Example) -> tuple[int, ...]:
    """What a decoder is to write."""
    assert example.target is not None
    return example.target.ids
