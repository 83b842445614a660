"""Head importance: the gradient of a gate on each head, and the loss without it.

The gradient is a first-order estimate for all heads at once. Ablation measures the exact effect, one head at a time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.errors import DataError, ModelError
from regard.inspection.example import Example
from regard.inspection.heads.statistics import FloatArray
from regard.inspection.trace import AttentionSite, Model, attention_sites, batch_by_length, model_inputs, pad_sequences
from regard.metrics.intervals import UNBOUNDED, ratio_interval
from regard.model.modules import evaluation_mode
from regard.model.taps import alter, record
from regard.model.transformer import EncoderDecoder
from regard.progress import track

ABLATIONS = ("zero", "mean", "resample")
Intervention = Callable[[Tensor], Tensor]
InterventionFactory = Callable[[list[Example]], Mapping[str, Intervention]]
"""Interventions on taps, by the name of the tap, for a batch of examples."""


@dataclass(frozen=True)
class AblationCost:
    """Increase of the loss if a head (or all others) is ablated, in nats per target token; below 0 it helps."""

    head: Head
    ablation: str
    """One of ABLATIONS, or keep_only if all other heads of the attention are ablated."""
    cost: float
    low: float | None
    """95% confidence interval; None, as `high`, with too few sentences."""
    high: float | None


def sentence_losses(model: Model, examples: Sequence[Example]) -> Tensor:
    """-log p of each target sentence given its source (B,), with gradients."""
    if not isinstance(model, EncoderDecoder):
        raise ModelError(
            "an encoder-only model has no loss here, so heads cannot be ablated or ranked; use an encoder-decoder"
        )
    labels = pad_sequences([target_ids(example) for example in examples], model.pad)
    logp = model.output(model(*model_inputs(model, examples))).log_softmax(dim=-1)
    labels = labels.to(logp.device)
    return -(logp.gather(2, labels[:, :, None])[:, :, 0] * (labels != model.pad)).sum(dim=1)


def count_target_tokens(examples: Sequence[Example]) -> FloatArray:
    """Target tokens of each example, with eos."""
    return np.array([len(target_ids(example)) for example in examples], dtype=np.float64)


def gate_heads(site: AttentionSite, gates: Tensor) -> dict[str, Intervention]:
    """Att_h <- ξ_h Att_h: gates (H,), or (B, H) where each sentence has its own."""
    batched_gates = gates if gates.dim() == 2 else gates[None]
    return {
        f"{site.path}.head_outputs": lambda head_outputs: (
            head_outputs * batched_gates[:, :, None, None].to(head_outputs)
        )
    }


def head_importance(
    model: Model, examples: Sequence[Example], masked_heads: Sequence[Head] = (), normalize_by_layer: bool = True
) -> dict[Head, float]:
    """I_h = E |∂L(x)/∂ξ_h| at ξ = 1, by default with unit L2 norm in each layer.  Michel et al. 2019, section 4.

    Each sentence has its own gates, so that absolute values are taken before the mean, independently of batching.
    Heads in `masked_heads` are gated to 0 and have importance 0.
    """
    attn_sites = attention_sites(model)
    masked = set(masked_heads)
    sums = {site.name: torch.zeros(site.attention.heads, dtype=torch.float64) for site in attn_sites}
    for indices in track(list(batch_by_length(examples)), "measuring importance"):
        batch = [examples[i] for i in indices]
        gates = {site.name: _initial_gates(site, masked, len(indices)).requires_grad_() for site in attn_sites}
        interventions: dict[str, Intervention] = {}
        for site in attn_sites:
            interventions |= gate_heads(site, gates[site.name])
        with evaluation_mode(model), torch.enable_grad(), alter(model, interventions):
            batch_losses = sentence_losses(model, batch)
            batch_losses = batch_losses / torch.from_numpy(count_target_tokens(batch)).to(batch_losses)
            gradients = torch.autograd.grad(batch_losses.sum(), [gates[site.name] for site in attn_sites])
        for site, gradient in zip(attn_sites, gradients, strict=True):
            sums[site.name] += gradient.abs().sum(dim=0).double().cpu()
    importances: dict[Head, float] = {}
    for site in attn_sites:
        site_importances = sums[site.name] / len(examples) * _initial_gates(site, masked, 1)[0].double().cpu()
        importances |= dict(zip(site.heads, site_importances.tolist(), strict=True))
    if not normalize_by_layer:
        return importances
    l2_norms: dict[tuple[str, int], float] = {}
    for head, value in importances.items():
        l2_norms[head[:2]] = math.hypot(l2_norms.get(head[:2], 0.0), value)
    return {head: value / (l2_norms[head[:2]] or 1.0) for head, value in importances.items()}


def ablate_heads(
    model: Model, examples: Sequence[Example], heads: Sequence[Head] | None = None, ablation: str = "zero"
) -> list[AblationCost]:
    """Ablate each head alone: its output becomes zero, its mean at each position, or that of another sentence."""
    if ablation not in ABLATIONS:
        raise ModelError(f"unknown ablation '{ablation}'; choose one of {', '.join(ABLATIONS)}")
    if ablation == "resample" and len(examples) < 2:
        raise DataError(
            "resample ablation replaces a head's output by that of another sentence; give at least two sentences"
        )
    means = mean_head_outputs(model, examples) if ablation == "mean" else {}

    def make_intervention(site: AttentionSite, h: int) -> InterventionFactory:
        return lambda batch: {
            f"{site.path}.head_outputs": _head_ablation(
                ablation, h, [len(e.query_tokens(site.kind)) for e in batch], means.get(site.name)
            )
        }

    return _ablation_costs(model, examples, heads, ablation, make_intervention)


def ablate_all_but_one(
    model: Model, examples: Sequence[Example], heads: Sequence[Head] | None = None
) -> list[AblationCost]:
    """Ablate all heads of an attention but one, for each head.  Michel et al. 2019, section 3.3.

    Heads are redundant, which ablating one at a time does not show; here all others are ablated at once.
    """

    def make_intervention(site: AttentionSite, h: int) -> InterventionFactory:
        gates = torch.eye(site.attention.heads)[h]
        return lambda _: gate_heads(site, gates)

    return _ablation_costs(model, examples, heads, "keep_only", make_intervention)


def _ablation_costs(
    model: Model,
    examples: Sequence[Example],
    heads: Sequence[Head] | None,
    ablation: str,
    make_intervention: Callable[[AttentionSite, int], InterventionFactory],
) -> list[AblationCost]:
    """The loss with an intervention for each head, less the loss without any."""
    min_batch_size = 2 if ablation == "resample" else 1
    site_by_head = {head: site for site in attention_sites(model) for head in site.heads}
    full_losses, token_counts = (
        loss_by_sentence(model, examples, min_batch_size=min_batch_size),
        count_target_tokens(examples),
    )
    costs = []
    for head in track(list(site_by_head) if heads is None else heads, "ablating heads"):
        site = site_by_head[head]
        ablated_losses = loss_by_sentence(
            model, examples, make_intervention(site, site.heads.index(head)), min_batch_size
        )
        costs.append(AblationCost(head, ablation, *estimate_cost(ablated_losses - full_losses, token_counts)))
    return costs


def loss_by_sentence(
    model: Model,
    examples: Sequence[Example],
    interventions: InterventionFactory | None = None,
    min_batch_size: int = 1,
) -> FloatArray:
    """The loss of each example, with interventions for each batch.

    `min_batch_size` is for interventions that exchange activations between sentences.
    """
    loss_values = np.zeros(len(examples))
    with evaluation_mode(model), torch.no_grad():
        for indices in batch_by_length(examples, min_batch_size):
            batch = [examples[i] for i in indices]
            with alter(model, interventions(batch) if interventions else {}):
                loss_values[indices] = sentence_losses(model, batch).double().cpu().numpy()
    return loss_values


class CostEstimate(NamedTuple):
    """An estimate with its 95% interval over sentences; None with too few of them."""

    value: float
    low: float | None
    high: float | None


def estimate_cost(differences: FloatArray, token_counts: FloatArray) -> CostEstimate:
    """Σ difference / Σ count over sentences, with its 95% interval."""
    value = float(differences.sum() / token_counts.sum())
    interval = ratio_interval(differences, token_counts, UNBOUNDED)
    if interval is None:
        return CostEstimate(value, None, None)
    return CostEstimate(value, float(interval.low), float(interval.high))


def mean_head_outputs(model: Model, examples: Sequence[Example]) -> dict[str, Tensor]:
    """The mean output of each head at each position, over the sentences that are long enough: (H, positions, K)."""
    sums: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    attn_sites = attention_sites(model)
    max_lengths = {site.kind: max(len(e.query_tokens(site.kind)) for e in examples) for site in attn_sites}
    for indices in batch_by_length(examples):
        batch = [examples[i] for i in indices]
        with evaluation_mode(model), torch.no_grad(), record(model, "*.head_outputs") as activations:
            model(*model_inputs(model, batch))
        for site in attn_sites:
            head_outputs = activations[f"{site.path}.head_outputs"].double()
            output_sum = sums.setdefault(
                site.name, head_outputs.new_zeros(head_outputs.shape[1], max_lengths[site.kind], head_outputs.shape[3])
            )
            position_count = counts.setdefault(site.name, head_outputs.new_zeros(max_lengths[site.kind], 1))
            for b, example in enumerate(batch):
                n = len(example.query_tokens(site.kind))
                output_sum[:, :n] += head_outputs[b, :, :n]
                position_count[:n] += 1
    return {name: sums[name] / counts[name] for name in sums}


def _initial_gates(site: AttentionSite, masked: set[Head], batch_size: int) -> Tensor:
    """Gates (B, H): 1, or 0 for masked heads."""
    return site.attention.out_proj.weight.new_tensor([[float(head not in masked) for head in site.heads]] * batch_size)


def _head_ablation(ablation: str, h: int, lengths: Sequence[int], mean: Tensor | None) -> Intervention:
    """An intervention on the outputs of all heads (B, H, Tq, K) that ablates head h."""

    def intervene(head_outputs: Tensor) -> Tensor:
        ablated_outputs = head_outputs.clone()
        if ablation == "zero":
            ablated_outputs[:, h] = 0
        elif ablation == "mean":
            assert mean is not None
            ablated_outputs[:, h] = mean[h, : head_outputs.shape[2]].to(head_outputs)
        else:
            assert len(lengths) > 1, "resample needs another sentence in the batch"
            for b, _ in enumerate(lengths):
                donor = (b + 1) % len(lengths)
                position_ids = torch.arange(head_outputs.shape[2], device=head_outputs.device) % lengths[donor]
                ablated_outputs[b, h] = head_outputs[donor, h, position_ids]
        return ablated_outputs

    return intervene


def target_ids(example: Example) -> tuple[int, ...]:
    """The ids of the target, with eos."""
    assert example.target is not None
    return example.target.ids
