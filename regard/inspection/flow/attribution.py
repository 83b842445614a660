"""Several answers to one question, where a row comes from: and how far they disagree."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.inspection.example import Example
from regard.inspection.flow import norms, rollout
from regard.inspection.heads import statistics
from regard.inspection.heads.importance import losses
from regard.inspection.heads.statistics import Numbers, spearman
from regard.inspection.trace import Look, Model, Trace, sites
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder

NAMES = ("weights", "norms", "rollout", "flow", "gradient")
KINDS = ("encoder", "decoder", "cross")
CHANCES = 7
"""Ways in which weights are dealt out anew, to see what depth alone would show."""
Layers = Mapping[str, Sequence[Tensor]]
"""By kind, one a layer."""


@dataclass(frozen=True)
class Rolled:
    """A rollout: how much of each row comes from where, through all layers."""

    encoder: Tensor
    """(S, S)"""
    across: rollout.Shares | None
    """Of the decoder, over the border; None for an encoder alone."""


@dataclass(frozen=True)
class Flow:
    """Where each row comes from, as rollout and as maximal flow."""

    rolled: Rolled
    chance: list[Rolled]
    """The same where the weights of every row are dealt out anew among its keys, in several ways."""
    max_flow: Tensor | None
    """(S, S); None where the sentence is too long for it."""
    max_flow_source: Tensor | None
    """(T, S)"""
    mixing: dict[str, list[Tensor]]
    """By kind, one a layer: how much of each token is not its own."""


def flow(trace: Trace) -> Flow:
    """Rollout by each token's own mixing ratio, maximal flow by halves, and the ratios, of one sentence."""
    mean = {kind: [look.weights.mean(dim=0) for look in trace.kind(kind)] for kind in KINDS}
    mixing = {kind: [norms.mixing(look) for look in trace.kind(kind)] for kind in KINDS}
    encoder, own, cross = (mean[kind] for kind in KINDS)
    return Flow(
        rolled=_rolled(mean, mixing),
        chance=[_rolled(dealt, mixing) for dealt in _dealt(trace, mean)],
        max_flow=rollout.flow(encoder),
        max_flow_source=rollout.flow_across(encoder, own, cross) if cross else None,
        mixing={kind: found for kind, found in mixing.items() if found},
    )


def _rolled(mean: Layers, mixing: Layers) -> Rolled:
    encoder = rollout.rollout(mean["encoder"], mixing["encoder"])
    if not mean["cross"]:
        return Rolled(encoder, None)
    ratios = list(zip(mixing["decoder"], mixing["cross"], strict=True))
    return Rolled(encoder, rollout.rollout_across(encoder, mean["decoder"], mean["cross"], ratios))


def _dealt(trace: Trace, mean: Layers) -> Iterator[Layers]:
    """The mean weights with every row dealt out anew, each layer and way by a deal of its own.

    What a token pays itself stays its own: a rollout takes that from the measured ratio, and not from the weight.
    """
    ways: dict[str, list[Tensor]] = {}  # by kind (layers, ways, Tq, Tk)
    for kind in KINDS:
        looks = trace.kind(kind)
        deals = statistics.deals(_others(looks[0]), CHANCES * len(looks)).chunk(len(looks)) if looks else ()
        ways[kind] = [
            w.expand(CHANCES, -1, -1).gather(2, dealt.to(w.device)) for w, dealt in zip(mean[kind], deals, strict=True)
        ]
    for way in range(CHANCES):
        yield {kind: [layer[way] for layer in own] for kind, own in ways.items()}


def _others(look: Look) -> Tensor:
    """Which keys a query may look at that are not itself: (Tq, Tk)."""
    keep = look.keep.cpu()
    return keep if look.site.kind == "cross" else keep & ~torch.eye(len(keep), dtype=torch.bool)


def slopes(model: Model, example: Example) -> dict[str, Tensor]:
    """|∂L/∂w| of every weight (H, Tq, Tk), by attention: how strongly the loss would feel it; none for an encoder."""
    if not isinstance(model, EncoderDecoder):
        return {}
    model.eval()
    names = [f"{site.name}.weights" for site in sites(model)]
    with torch.enable_grad(), record(model, *names) as seen:
        loss = losses(model, [example]).sum()
        found = torch.autograd.grad(loss, [seen[name] for name in names])
    return {
        name.removesuffix(".weights"): gradient[0].detach().abs() for name, gradient in zip(names, found, strict=True)
    }


def gradients(trace: Trace, slope: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """|w · ∂L/∂w| of every weight (H, Tq, Tk), by attention: what the loss would notice first.  Hao et al. 2021."""
    return {name: trace.looks[name].weights * own for name, own in slope.items()}


def answers(trace: Trace, found: Flow, gradient: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One matrix for each measure: from source words to what is written, or within an encoder alone."""
    across = found.rolled.across
    kind = "encoder" if across is None else "cross"
    looks = trace.kind(kind)
    every = {
        "weights": torch.stack([look.weights.mean(dim=0) for look in looks]).mean(dim=0),
        "norms": torch.stack([norms.contributions(look).norm(dim=-1) for look in looks]).mean(dim=0),
        "rollout": found.rolled.encoder if across is None else across.source,
        "flow": found.max_flow if across is None else found.max_flow_source,
        "gradient": _mean([gradient[look.site.name].mean(dim=0) for look in looks if look.site.name in gradient]),
    }
    return {name: matrix for name, matrix in every.items() if matrix is not None}


def disagreement(matrices: Mapping[str, Tensor]) -> Numbers:
    """Spearman's correlation of every two measures, row by row, averaged; NaN where one is missing: (5, 5)."""
    table = np.full((len(NAMES), len(NAMES)), math.nan)
    for a, one in enumerate(NAMES):
        for b, two in enumerate(NAMES):
            if one in matrices and two in matrices:
                rows = zip(matrices[one].double().numpy(), matrices[two].double().numpy(), strict=True)
                found = [spearman(x, y) for x, y in rows]
                known = [value for value in found if not math.isnan(value)]
                table[a, b] = sum(known) / len(known) if known else math.nan
    return table


def _mean(matrices: Sequence[Tensor]) -> Tensor | None:
    return torch.stack(list(matrices)).mean(dim=0) if matrices else None
