"""Pruning of heads: in which order, and removal from the weights."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.config import Head
from regard.errors import ModelError
from regard.inspection.example import Example
from regard.inspection.heads.importance import (
    Intervention,
    count_target_tokens,
    gate_heads,
    head_importance,
    loss_by_sentence,
)
from regard.inspection.trace import Model, attention_sites
from regard.model.attention import Attention

PRUNED_FRACTION = 0.1  # of all heads, masked between two estimates of importance.  Michel et al. 2019, section 4.1


@dataclass(frozen=True)
class PruningStage:
    """One stage of pruning: the masked heads, and the loss without them."""

    pruned_heads: tuple[Head, ...]
    num_heads: int
    """The remaining heads."""
    loss: float
    """Nats per target token."""


def mask_heads(model: Model, heads: Sequence[Head]) -> dict[str, Intervention]:
    """Interventions for `alter` that mask heads. The result equals that of `copy_pruned_weights`."""
    masked_heads = set(heads)
    interventions: dict[str, Intervention] = {}
    for site in attention_sites(model):
        if masked_heads & set(site.heads):
            interventions |= gate_heads(site, torch.tensor([float(head not in masked_heads) for head in site.heads]))
    return interventions


def prune_by_importance(model: Model, examples: Sequence[Example], keep: int) -> Iterator[PruningStage]:
    """Mask the least important heads, a tenth at a time, with new estimates of importance, until `keep` remain.

    The last head of an attention is never masked. The first stage is the full model.
    """
    all_heads = [head for site in attention_sites(model) for head in site.heads]
    keep = feasible_head_count(model, keep)
    pruned_heads: list[Head] = []
    yield _pruning_stage(model, examples, pruned_heads, len(all_heads))
    while len(all_heads) - len(pruned_heads) > keep:
        # Not normalized by layer: the loss is comparable between layers.
        importances = head_importance(model, examples, pruned_heads, normalize_by_layer=False)
        count = min(max(1, round(PRUNED_FRACTION * len(all_heads))), len(all_heads) - len(pruned_heads) - keep)
        for _ in range(count):
            candidates = [
                head
                for head in all_heads
                if head not in pruned_heads and not _is_last_head(head, all_heads, pruned_heads)
            ]
            pruned_heads.append(min(candidates, key=importances.__getitem__))
        yield _pruning_stage(model, examples, pruned_heads, len(all_heads) - len(pruned_heads))


def prune_by_gates(
    model: Model, examples: Sequence[Example], order: Sequence[Head], keep: int
) -> Iterator[PruningStage]:
    """Mask heads in the order of learned gates, least important first, until `keep` remain."""
    all_heads = [head for site in attention_sites(model) for head in site.heads]
    keep = feasible_head_count(model, keep)
    pruned_heads: list[Head] = []
    yield _pruning_stage(model, examples, pruned_heads, len(all_heads))
    step = max(1, round(PRUNED_FRACTION * len(all_heads)))
    for head in order:
        if len(all_heads) - len(pruned_heads) <= keep:
            break
        if not _is_last_head(head, all_heads, pruned_heads):
            pruned_heads.append(head)
            if len(pruned_heads) % step == 0 or len(all_heads) - len(pruned_heads) == keep:
                yield _pruning_stage(model, examples, pruned_heads, len(all_heads) - len(pruned_heads))


def feasible_head_count(model: Model, keep: int) -> int:
    """`keep`, or the number of attention modules if that is larger: each keeps at least one head."""
    total = sum(site.attention.heads for site in attention_sites(model))
    if keep > total or keep < 1:
        raise ModelError(f"--keep {keep}: the model has {total} heads; keep 1 to {total} of them, or 1% to 100%")
    return max(keep, len(attention_sites(model)))


def parse_head_count(text: str, total: int) -> int:
    """The number of heads to keep: '50%' of `total`, or a number."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number)
        count = math.ceil(value / 100 * total - 1e-9) if percent else int(number)
    except ValueError:
        raise ModelError(f"--keep {text}: expected a share such as 50%, or a number of heads such as 24") from None
    if not 1 <= count <= total:
        raise ModelError(f"--keep {text}: the model has {total} heads; keep 1 to {total} of them, or 1% to 100%")
    return count


def copy_pruned_weights(full_model: nn.Module, pruned_model: nn.Module) -> None:
    """Copy the weights of a model to one that was built without some of its heads.

    Rows of W_Q, W_K, W_V and columns of W_O of each pruned head are removed; the output bias stays.
    """
    parameters: dict[str, Tensor] = {
        _canonical_name(name): tensor for name, tensor in full_model.named_parameters(remove_duplicate=False)
    }
    full_attentions = _attentions(full_model)
    with torch.no_grad():
        for path, attention in _attentions(pruned_model).items():
            rows = _remaining_rows(full_attentions[path], attention)
            for name in ("q_proj", "k_proj", "v_proj"):
                parameters[f"{path}.{name}.weight"] = parameters[f"{path}.{name}.weight"][rows]
                if f"{path}.{name}.bias" in parameters:
                    parameters[f"{path}.{name}.bias"] = parameters[f"{path}.{name}.bias"][rows]
            parameters[f"{path}.out_proj.weight"] = parameters[f"{path}.out_proj.weight"][:, rows]
        for name, parameter in pruned_model.named_parameters():
            parameter.copy_(parameters[_canonical_name(name)])


def _pruning_stage(
    model: Model, examples: Sequence[Example], pruned_heads: Sequence[Head], num_heads: int
) -> PruningStage:
    interventions = mask_heads(model, pruned_heads)
    loss = loss_by_sentence(model, examples, lambda _: interventions)
    return PruningStage(tuple(pruned_heads), num_heads, float(loss.sum() / count_target_tokens(examples).sum()))


def _is_last_head(head: Head, all_heads: Sequence[Head], pruned_heads: Sequence[Head]) -> bool:
    """Whether a head is the last one of its attention."""
    return sum(other.attention_name == head.attention_name and other not in pruned_heads for other in all_heads) <= 1


def _attentions(model: nn.Module) -> dict[str, Attention]:
    return {path: module for path, module in model.named_modules() if isinstance(module, Attention)}


def _remaining_rows(full_attention: Attention, pruned_attention: Attention) -> Tensor:
    """The rows of the full projections that the pruned attention keeps."""
    slots = [full_attention.head_ids.index(head_id) for head_id in pruned_attention.head_ids]
    return torch.cat(
        [torch.arange(slot * full_attention.head_dim, (slot + 1) * full_attention.head_dim) for slot in slots]
    )


def _canonical_name(name: str) -> str:
    """A parameter's name without the wrapper that selects heads of a position encoding."""
    return name.replace(".positions.scheme.", ".positions.")
