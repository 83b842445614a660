"""Heads with a known role, put into a model: what finds roles must find these."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.data.corpora import Link
from regard.inspection.example import Example, Side
from regard.inspection.heads.patterns import LETTERS, RELATIONS, Counts, Pattern, patterns, probes
from regard.inspection.heads.roles import PROBE_LENGTH, PROBES, keep_of
from regard.inspection.trace import Model, sites
from regard.model.transformer import EncoderDecoder

LENGTH, SENTENCES = 17, 40
COMMAS = (4, 5)
STRENGTH = 0.85
IMPOSSIBLE = {"decoder": ("next", "offset +2", "offset +3"), "encoder": (), "cross": ()}


def planted_examples(size: int, seed: int = 1) -> list[Example]:
    """Sentences of one length with random words, commas, links and alignments, for a vocabulary of this size."""
    rng = np.random.default_rng(seed)
    return [_example(rng, size) for _ in range(SENTENCES)]


def roles_of(kind: str) -> list[str]:
    """Every role that a kind of attention can have."""
    if kind == "cross":
        return ["alignment", "rare", "separator", "diagonal", "vertical"]
    others = {"alignment", "diagonal", "copy", *IMPOSSIBLE[kind]}
    return [role for role in LETTERS if role not in others]


def plant(
    model: Model, name: str, roles: Sequence[str], examples: Sequence[Example]
) -> dict[str, Callable[[Tensor], Tensor]]:
    """Changes that give the heads of one attention these roles, for `alter`: on these sentences, and on probes."""
    site = next(site for site in sites(model) if site.name == name)
    words = min(module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding))
    asked = probes(words, PROBES, PROBE_LENGTH, isinstance(model, EncoderDecoder))
    counts = Counts.of(examples)
    made = {
        len(group): torch.stack([_weights(one, site.kind, roles, counts) for one in group])
        for group in (examples, asked)
    }
    return {f"{name}.weights": lambda weights: made[len(weights)].to(weights)}


def plant_copying(model: Model, head: Head, sign: float = 1.0) -> None:
    """Give a head weights that repeat what it looks at (or suppress it): what values take out is put back as it was."""
    site = next(site for site in sites(model) if site.name == head.attention_name)
    rows = site.heads.index(head) * site.attention.head_dim
    into = slice(rows, rows + site.attention.head_dim)
    with torch.no_grad():
        site.attention.out_proj.weight[:, into] = sign * site.attention.v_proj.weight[into].T


def _weights(example: Example, kind: str, roles: Sequence[str], counts: Counts) -> Tensor:
    """What heads of these roles would look at: (H, Tq, Tk)."""
    every = patterns(example, kind, counts)
    rows, columns = len(example.rows(kind)), len(example.columns(kind))
    keep = keep_of(kind, rows, columns)
    every["vertical"] = np.zeros((rows, columns), dtype=bool)
    every["vertical"][:, example.source.ids[0] % 3] = True
    return torch.stack([_followed(every.get(role, np.zeros_like(keep)) & keep, keep) for role in roles])


def _followed(pattern: Pattern, keep: Pattern) -> Tensor:
    """Most of the weight on the pattern, the rest on all keys alike; rows without a pattern look everywhere."""
    spread = keep / keep.sum(axis=1, keepdims=True)
    marked = pattern.sum(axis=1, keepdims=True)
    on = np.where(marked > 0, STRENGTH * pattern / np.maximum(marked, 1) + (1 - STRENGTH) * spread, spread)
    return torch.from_numpy(on)


def _example(rng: np.random.Generator, size: int) -> Example:
    words = LENGTH - 1
    return Example(
        source=_side(rng, size, end=True),
        read=_side(rng, size, end=False),
        target=_side(rng, size, end=True),
        alignment=tuple(enumerate(rng.permutation(words).tolist())),
        source_links=_links(rng, words),
        target_links=_links(rng, words),
    )


def _side(rng: np.random.Generator, size: int, end: bool) -> Side:
    """Random words, two of them commas; most are frequent, and one may be rare."""
    ids = rng.choice(np.arange(6, size), size=LENGTH - 1, replace=False)
    for at in rng.choice(np.arange(3, LENGTH - 3), size=2, replace=False):
        ids[at] = rng.choice(COMMAS)
    pieces = ["," if i in COMMAS else f"w{i}" for i in ids]
    word = list(range(LENGTH - 1))
    row, names = ids.tolist(), tuple(pieces)
    if end:
        return Side("", (*row, 3), (*pieces, "</s>"), (*word, -1), names, (*(False for _ in row), True))
    return Side("", (2, *row), ("<s>", *pieces), (-1, *word), names, (True, *(False for _ in row)))


def _links(rng: np.random.Generator, words: int) -> tuple[Link, ...]:
    """For each kind of grammatical link some words far apart, in both orders."""
    kinds = sorted({kind for kind, _ in RELATIONS.values()})
    found = []
    for kind in kinds:
        for _ in range(2):
            head, dependent = rng.choice(np.arange(words), size=2, replace=False).tolist()
            found.append(Link(kind, head, dependent))
    return tuple(found)
