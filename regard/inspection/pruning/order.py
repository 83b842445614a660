"""Taking heads away: in which order, and out of the weights for good."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.config import Head
from regard.errors import ModelError
from regard.inspection.example import Example
from regard.inspection.heads.importance import Change, gated, importance, loss_by_sentence, tokens
from regard.inspection.trace import Model, sites
from regard.model.attention import Attention

STEP = 0.1  # of all heads are shut before importance is asked again.  Michel et al. 2019, section 4.1


@dataclass(frozen=True)
class Stage:
    """A point on the way: the heads that are shut, and the loss without them."""

    shut: tuple[Head, ...]
    left: int
    loss: float
    """Nats per target piece."""


def masked(model: Model, shut: Sequence[Head]) -> dict[str, Change]:
    """The changes that shut heads: for `alter`. What is left equals what `narrow` makes."""
    gone = set(shut)
    changes: dict[str, Change] = {}
    for site in sites(model):
        if gone & set(site.heads):
            changes |= gated(site, torch.tensor([float(head not in gone) for head in site.heads]))
    return changes


def by_importance(model: Model, examples: Sequence[Example], keep: int) -> Iterator[Stage]:
    """Shut the least important heads, a tenth at a time, asking anew each time, until so many are left.

    The last head of an attention is never shut. The first stage is the whole model.
    """
    every = [head for site in sites(model) for head in site.heads]
    keep = at_least(model, keep)
    shut: list[Head] = []
    yield _stage(model, examples, shut, len(every))
    while len(every) - len(shut) > keep:
        worth = importance(model, examples, shut, by_layer=False)  # what is lost is lost, in whichever layer
        count = min(max(1, round(STEP * len(every))), len(every) - len(shut) - keep)
        for _ in range(count):
            open_ = [head for head in every if head not in shut and not _last(head, every, shut)]
            shut.append(min(open_, key=worth.__getitem__))
        yield _stage(model, examples, shut, len(every) - len(shut))


def by_gates(model: Model, examples: Sequence[Example], order: Sequence[Head], keep: int) -> Iterator[Stage]:
    """Shut heads in an order that gates have learnt, the least wanted first, until so many are left."""
    every = [head for site in sites(model) for head in site.heads]
    keep = at_least(model, keep)
    shut: list[Head] = []
    yield _stage(model, examples, shut, len(every))
    step = max(1, round(STEP * len(every)))
    for head in order:
        if len(every) - len(shut) <= keep:
            break
        if not _last(head, every, shut):
            shut.append(head)
            if len(shut) % step == 0 or len(every) - len(shut) == keep:
                yield _stage(model, examples, shut, len(every) - len(shut))


def at_least(model: Model, keep: int) -> int:
    """So many heads, or one for each attention where that is more."""
    total = sum(site.attention.heads for site in sites(model))
    if keep > total or keep < 1:
        raise ModelError(f"--keep asks for {keep} heads; the model has {total}, so ask for 1 to {total}, or 1% to 100%")
    return max(keep, len(sites(model)))


def heads_to_keep(text: str, total: int) -> int:
    """'50%' of so many heads, or a number of them."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number)
        found = math.ceil(value / 100 * total - 1e-9) if percent else int(number)
    except ValueError:
        raise ModelError(f"--keep {text}: expected a share such as 50%, or a number of heads such as 24") from None
    if not 1 <= found <= total:
        raise ModelError(f"--keep {text}: the model has {total} heads; keep 1 to {total} of them, or 1% to 100%")
    return found


def narrow(whole: nn.Module, small: nn.Module) -> None:
    """Give a model that was built without some heads the weights of the one that has them.

    Of each head that is gone, rows of W_Q, W_K, W_V and columns of W_O are left out; the output's bias stays.
    """
    theirs: dict[str, Tensor] = {
        _plain(name): tensor for name, tensor in whole.named_parameters(remove_duplicate=False)
    }
    apart = _attentions(whole)
    with torch.no_grad():
        for path, attention in _attentions(small).items():
            rows = _rows(apart[path], attention)
            for name in ("q", "k", "v"):
                theirs[f"{path}.{name}.weight"] = theirs[f"{path}.{name}.weight"][rows]
                if f"{path}.{name}.bias" in theirs:
                    theirs[f"{path}.{name}.bias"] = theirs[f"{path}.{name}.bias"][rows]
            theirs[f"{path}.out.weight"] = theirs[f"{path}.out.weight"][:, rows]
        for name, parameter in small.named_parameters():
            parameter.copy_(theirs[_plain(name)])


def _stage(model: Model, examples: Sequence[Example], shut: Sequence[Head], left: int) -> Stage:
    changes = masked(model, shut)
    loss = loss_by_sentence(model, examples, lambda _: changes)
    return Stage(tuple(shut), left, float(loss.sum() / tokens(examples).sum()))


def _last(head: Head, every: Sequence[Head], shut: Sequence[Head]) -> bool:
    """Whether an attention would be left with nothing."""
    return sum(other.attention_name == head.attention_name and other not in shut for other in every) <= 1


def _attentions(model: nn.Module) -> dict[str, Attention]:
    return {path: module for path, module in model.named_modules() if isinstance(module, Attention)}


def _rows(whole: Attention, small: Attention) -> Tensor:
    """Which rows of the whole attention's maps the small one keeps."""
    places = [whole.head_ids.index(number) for number in small.head_ids]
    return torch.cat([torch.arange(at * whole.head_dim, (at + 1) * whole.head_dim) for at in places])


def _plain(name: str) -> str:
    """A parameter's name, whether or not its scheme of positions chooses among heads."""
    return name.replace(".positions.of.", ".positions.")
