"""Faithfulness of attention weights: similar heads, and what changes if the weights are perturbed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from regard.inspection.example import Example
from regard.inspection.flow.decompose import TERM_NAMES, ScoreTerms, head_attn_mask
from regard.inspection.heads.importance import target_ids
from regard.inspection.heads.statistics import FloatArray, entropy, random_permutations, spearman
from regard.inspection.trace import AttentionTrace, model_inputs
from regard.model.attention import masked_softmax
from regard.model.modules import evaluation_mode
from regard.model.taps import alter
from regard.model.transformer import EncoderDecoder

NUM_PERMUTATIONS = 7
"""Random permutations of the weights of a head."""
MAX_PROBABILITIES = 2**24
"""Probabilities in memory at once; long sentences and large vocabularies get fewer permutations."""


@dataclass(frozen=True)
class Perturbation:
    """The effect of perturbing a head's weights on the output for one sentence."""

    permutation_tvd: float
    """Total variation distance of the output probabilities if each row's weights are permuted: 0 no change, 1 disjoint.
    Mean over rows, median over permutations."""
    uniform_loss_increase: float
    """Increase of the loss with uniform weights, in nats per target token."""


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon divergence H((p + q) / 2) - (H(p) + H(q)) / 2 over the last axis, in bits: 0 equal, 1 disjoint."""
    return ((entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2) / math.log(2)).clamp(0, 1)


def head_divergences(attns: Sequence[AttentionTrace]) -> FloatArray:
    """Pairwise Jensen-Shannon divergences of heads, mean over rows with more than one key: (heads, heads).

    NaN if no row has more than one key: the weights of all heads are then 1, and tell nothing of the heads.
    """
    heads = torch.cat([attn.weights.double() for attn in attns])  # (heads, Tq, Tk)
    rows = heads[:, has_choice(attns[0].attn_mask)]
    if not rows.shape[1]:
        return np.full((len(heads), len(heads)), math.nan)
    return np.stack([jensen_shannon(head_rows, rows).mean(dim=-1).cpu().numpy() for head_rows in rows])


def position_divergence(attn: AttentionTrace, terms: ScoreTerms) -> FloatArray:
    """Divergence of each head's weights from those that the positional score terms alone would give: (H,).

    Over the keys whose terms are known, mean over the rows with more than one of them; NaN if there is no such row.
    """
    position_scores = (
        terms.grouped_terms[:, TERM_NAMES.index("position·position")]
        + terms.grouped_terms[:, TERM_NAMES.index("distance")]
    )
    known_mask = terms.known_mask
    known_weights = attn.weights.double() * known_mask
    weights = known_weights / known_weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)
    divergences = jensen_shannon(weights, masked_softmax(position_scores.double(), known_mask))
    return np.asarray(divergences.masked_fill(~has_choice(known_mask), math.nan).nanmean(dim=-1).cpu().numpy())


def rank_correlation(weights: Tensor, measure: Tensor, attn_mask: Tensor) -> float | None:
    """Spearman correlation of a head's weights with another measure (Tq, Tk), mean over rows; None if all are constant.

    Masked keys are left out: both measures are 0 there, and would agree spuriously.
    """
    rows = zip(*(x.double().cpu().numpy() for x in (weights, measure)), attn_mask.cpu().numpy(), strict=True)
    correlations = (spearman(x[allowed_keys], y[allowed_keys]) for x, y, allowed_keys in rows if allowed_keys.sum() > 1)
    valid = [value for value in correlations if not math.isnan(value)]
    return sum(valid) / len(valid) if valid else None


@torch.no_grad()
def perturb_heads(model: EncoderDecoder, example: Example, attn: AttentionTrace) -> list[Perturbation]:
    """Permute the weights of each head, then make them uniform.  Jain and Wallace 2019; Wiegreffe and Pinter 2019.

    The model is not retrained: what it would have learned without the head is another question.
    """
    vocab_size, target_length = model.output.weight.shape[0], len(target_ids(example))
    num_permutations = max(1, min(NUM_PERMUTATIONS, MAX_PROBABILITIES // (vocab_size * target_length)))
    log_probs = _log_probs(model, [example])[0]
    perturbations = []
    for h, attn_mask in enumerate(head_attn_mask(attn)):
        permutations = random_permutations(attn_mask.cpu(), num_permutations).to(attn_mask.device)
        with alter(model, {f"{attn.site.path}.weights": partial(_perturb_weights, h, permutations, attn_mask)}):
            *permuted_log_probs, uniform_log_probs = _log_probs(model, [example] * (num_permutations + 1))
        tvds = [
            float((permuted.exp() - log_probs.exp()).abs().sum(dim=-1).mean()) / 2 for permuted in permuted_log_probs
        ]
        target_column = torch.tensor(target_ids(example), device=uniform_log_probs.device)[:, None]
        perturbations.append(
            Perturbation(float(np.median(tvds)), float((log_probs - uniform_log_probs).gather(1, target_column).mean()))
        )
    return perturbations


def _perturb_weights(h: int, permutations: Tensor, attn_mask: Tensor, weights: Tensor) -> Tensor:
    """Weights (permutations + 1, H, Tq, Tk) of one sentence: head h is permuted, and uniform in the last copy."""
    perturbed = weights.clone()
    perturbed[:-1, h] = weights[0, h].expand(len(permutations), -1, -1).gather(2, permutations)
    perturbed[-1, h] = masked_softmax(torch.zeros_like(weights[0, h]), attn_mask)
    return perturbed


def has_choice(attn_mask: Tensor) -> Tensor:
    """True for rows that may attend to more than one key; the weights of the others are constant."""
    return attn_mask.sum(dim=-1) > 1


def _log_probs(model: EncoderDecoder, examples: Sequence[Example]) -> Tensor:
    """Log-probabilities of the vocabulary at every target position: (B, T, V)."""
    with evaluation_mode(model):
        return model.output(model(*model_inputs(model, examples))).log_softmax(dim=-1)
