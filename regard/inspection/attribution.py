"""Several answers to one question, where a row comes from: and how far they disagree."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.inspection import norms, rollout
from regard.inspection.example import Example
from regard.inspection.importance import losses
from regard.inspection.measures import Numbers, spearman
from regard.inspection.record import Model, Trace, sites
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder

NAMES = ("weights", "norms", "rollout", "flow", "gradient")


@dataclass(frozen=True)
class Flow:
    """How much of each row comes from where, through all layers."""

    encoder: Tensor
    """(S, S) rollout of the encoder."""
    across: rollout.Shares | None
    """Of the decoder, over the border; None for an encoder alone."""
    max_flow: Tensor | None
    """(S, S); None where the sentence is too long for it."""
    max_flow_source: Tensor | None
    """(T, S)"""
    mixing: dict[str, list[Tensor]]
    """By kind, one a layer: how much of each token is not its own."""


def flow(trace: Trace) -> Flow:
    """Rollout by each token's own mixing ratio, maximal flow by halves, and the ratios, of one sentence."""
    encoder, own, cross = (
        [look.weights.mean(dim=0) for look in trace.kind(k)] for k in ("encoder", "decoder", "cross")
    )
    mixing = {kind: [norms.mixing(look) for look in trace.kind(kind)] for kind in ("encoder", "decoder", "cross")}
    rolled = rollout.rollout(encoder, mixing["encoder"])
    ratios = list(zip(mixing["decoder"], mixing["cross"], strict=True))
    return Flow(
        encoder=rolled,
        across=rollout.rollout_across(rolled, own, cross, ratios) if cross else None,
        max_flow=rollout.flow(encoder),
        max_flow_source=rollout.flow_across(encoder, own, cross) if cross else None,
        mixing={kind: found for kind, found in mixing.items() if found},
    )


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
    kind = "encoder" if found.across is None else "cross"
    looks = trace.kind(kind)
    every = {
        "weights": torch.stack([look.weights.mean(dim=0) for look in looks]).mean(dim=0),
        "norms": torch.stack([norms.contributions(look).norm(dim=-1) for look in looks]).mean(dim=0),
        "rollout": found.encoder if found.across is None else found.across.source,
        "flow": found.max_flow if found.across is None else found.max_flow_source,
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
