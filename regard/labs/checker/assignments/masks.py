"""The two masks: what a token may not know yet, and what is padding."""

import torch
from torch import Tensor

from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.truths import equals_reference, leaves_inputs_alone, returns
from regard.model.masks import causal_mask, padding_mask

ORDINARY, LEFT, OTHER_PAD = "with padding on the right", "with padding on the left", "with another padding id"
INSIDE, LENGTHS = "with the padding id inside of a sentence", "for ordinary lengths"
Many = list[Observation]


def plain_causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Written out, which known mistakes are edits of."""
    query = torch.arange(length, device=device)[:, None]
    key = torch.arange(length, device=device)[None, :]
    return key <= query


def plain_padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Written out, which known mistakes are edits of."""
    mask = torch.stack([token_ids != pad for token_ids in ids])
    return mask.unsqueeze(1).unsqueeze(1)


def _diagonal(mask: CheckedFunction, x: Inputs) -> Many:
    diagonal = mask(**x).diagonal()
    return [Observation(diagonal, torch.ones_like(diagonal), "diagonal")]


def _future(mask: CheckedFunction, x: Inputs) -> Many:
    future = mask(**x).triu(1)
    return [Observation(future, torch.zeros_like(future), "keys in the future")]


def _past(mask: CheckedFunction, x: Inputs) -> Many:
    past = mask(**x).tril(-1)
    return [Observation(past, torch.ones_like(past).tril(-1), "keys in the past")]


def _device(mask: CheckedFunction, x: Inputs) -> Many:
    device = mask(**x, device=torch.device("meta")).device.type
    return [Observation(device, "meta", "device")]


CAUSAL_MASK = Assignment(
    causal_mask,
    outputs=("mask (T, T)",),
    steps=("query i may attend to key j if j ≤ i: True there, False elsewhere",),
    make_inputs=lambda draw: {LENGTHS: [{"length": length} for length in (2, 3, 7)]},
    truths=(
        returns("a boolean mask (T, T)", LENGTHS),
        Truth("each token may attend to itself", (LENGTHS,), _diagonal),
        Truth("no token may attend to a later one", (LENGTHS,), _future),
        Truth("each token may attend to all earlier ones", (LENGTHS,), _past),
        equals_reference("the masks", LENGTHS),
    ),
    mistakes=edits(
        plain_causal_mask,
        ("hides the token itself, too", "key <= query", "key < query"),
        ("shows one token of the future", "key <= query", "key <= query + 1"),
        ("exchanges queries and keys", "key <= query", "key >= query"),
        ("has True where attention is forbidden", "key <= query", "key > query"),
        ("hides the past and the future", "key <= query", "key == query"),
        ("hides nothing", "key <= query", "key <= length + 0 * query"),
        ("hides what is more than two tokens back", "key <= query", "(key <= query) & (key >= query - 2)"),
        ("returns float32 numbers instead of booleans", "key <= query", "(key <= query).float()"),
    ),
    differentiable=False,
)


def make_padding(draw: Draws) -> dict[str, list[Inputs]]:
    kinds: dict[str, list[Inputs]] = {kind: [] for kind in (ORDINARY, LEFT, OTHER_PAD, INSIDE)}
    for rows, length in ((1, 2), (2, 3), (3, 7)):
        ids = draw.integers(4, 12, rows, length)
        right, left, inside = ids.clone(), ids.clone(), ids.clone()
        right[0, -1:], left[0, :1], inside[0, 0], inside[-1, -1] = 0, 0, 0, 0
        kinds[ORDINARY].append({"ids": right, "pad": 0})
        kinds[LEFT].append({"ids": left, "pad": 0})
        kinds[OTHER_PAD].append({"ids": right.masked_fill(right == 0, 3).clamp(min=1), "pad": 3})
        kinds[OTHER_PAD].append({"ids": (right - 5).masked_fill(right == 0, 6), "pad": 6})
        kinds[INSIDE].append({"ids": inside.masked_fill(ids == ids[0, 0], 0), "pad": 0})
    return kinds


def _no_padding(mask: CheckedFunction, x: Inputs) -> Many:
    full = mask(**{**x, "ids": x["ids"].masked_fill(x["ids"] == x["pad"], x["pad"] + 1)})
    return [Observation(full, torch.ones_like(full), "mask")]


def _count(mask: CheckedFunction, x: Inputs) -> Many:
    return [
        Observation(mask(**x).sum(dim=-1)[:, 0, 0], (x["ids"] != x["pad"]).sum(dim=-1), "keys that may be attended to")
    ]


PADDING_MASK = Assignment(
    padding_mask,
    outputs=("mask (B, 1, 1, Tk)",),
    steps=("True where an id is not the padding id", "two dimensions of 1 for heads and queries"),
    make_inputs=make_padding,
    truths=(
        returns("a boolean mask (B, 1, 1, Tk)", ORDINARY),
        Truth("without padding, all keys may be attended to", (ORDINARY,), _no_padding),
        Truth("as many keys may be attended to as there are tokens", (ORDINARY, LEFT), _count),
        leaves_inputs_alone(ORDINARY, OTHER_PAD),
        equals_reference("the masks with padding on the right", ORDINARY),
        equals_reference("the masks with padding on the left", LEFT),
        equals_reference("the masks with another padding id", OTHER_PAD),
        equals_reference("the masks with padding inside", INSIDE),
    ),
    mistakes=edits(
        plain_padding_mask,
        ("has True where there is padding", "token_ids != pad", "token_ids == pad"),
        ("hides queries instead of keys", "mask.unsqueeze(1).unsqueeze(1)", "mask.unsqueeze(1).unsqueeze(-1)"),
        ("lacks the dimensions for heads and queries", "mask.unsqueeze(1).unsqueeze(1)", "mask"),
        ("lacks the dimension for queries", "mask.unsqueeze(1).unsqueeze(1)", "mask.unsqueeze(1)"),
        ("takes 0 for the padding id", "token_ids != pad", "token_ids != 0"),
        ("hides all ids up to the padding id", "token_ids != pad", "token_ids > pad"),
        (
            "counts the tokens and takes them to stand first, which padding on the left does not do",
            "token_ids != pad",
            "torch.arange(len(token_ids)) < (token_ids != pad).sum()",
        ),
        (
            "takes the mask of the first sentence for all",
            "for token_ids in ids",
            "for token_ids in ids[:1].expand_as(ids)",
        ),
        ("hides all that follows the first padding", "token_ids != pad", "(token_ids == pad).cumsum(0) == 0"),
        ("hides the end of a sentence alone", "token_ids != pad", "(token_ids != pad).flip(0).cumsum(0).flip(0) > 0"),
        ("changes the ids in place", "token_ids != pad", "token_ids.sub_(pad) != 0"),
        ("returns integers instead of booleans", "token_ids != pad", "(token_ids != pad).long()"),
        ("hides one token too many", "token_ids != pad", "(token_ids != pad) & (token_ids.roll(-1) != pad)"),
    ),
    differentiable=False,
    shapes=(padding_mask,),
)
