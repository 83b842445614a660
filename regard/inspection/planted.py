"""Heads with a known role, planted into a model as ground truth for the role analysis."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.config import Head
from regard.data.corpora import Link
from regard.inspection.example import Example, TokenizedText
from regard.inspection.heads.patterns import (
    RELATIONS,
    ROLE_LETTERS,
    Pattern,
    TokenCounts,
    build_patterns,
    repeated_random_probes,
)
from regard.inspection.heads.roles import NUM_PROBES, PROBE_LENGTH, make_attn_mask
from regard.inspection.trace import Model, attention_sites
from regard.model.transformer import EncoderDecoder

SENTENCE_LENGTH, NUM_SENTENCES = 17, 40
COMMA_IDS = (4, 5)
PATTERN_WEIGHT = 0.85
IMPOSSIBLE_ROLES = {"decoder": ("next", "offset +2", "offset +3"), "encoder": (), "cross": ()}


def planted_examples(vocab_size: int, seed: int = 1) -> list[Example]:
    """Sentences of one length with random tokens, commas, links and alignments, for a vocabulary of this size."""
    rng = np.random.default_rng(seed)
    return [_example(rng, vocab_size) for _ in range(NUM_SENTENCES)]


def possible_roles(kind: str) -> list[str]:
    """All roles that a kind of attention can have."""
    if kind == "cross":
        return ["alignment", "rare", "separator", "diagonal", "vertical"]
    excluded = {"alignment", "diagonal", "copy", *IMPOSSIBLE_ROLES[kind]}
    return [role for role in ROLE_LETTERS if role not in excluded]


def plant_roles(
    model: Model, name: str, roles: Sequence[str], examples: Sequence[Example]
) -> dict[str, Callable[[Tensor], Tensor]]:
    """Interventions for `alter` that give the heads of one attention these roles, on these sentences and on probes."""
    site = next(site for site in attention_sites(model) if site.name == name)
    vocab_size = min(module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding))
    probe_examples = repeated_random_probes(vocab_size, NUM_PROBES, PROBE_LENGTH, isinstance(model, EncoderDecoder))
    counts = TokenCounts.from_examples(examples)
    weights_by_count = {
        len(group): torch.stack([_role_weights(example, site.kind, roles, counts) for example in group])
        for group in (examples, probe_examples)
    }
    return {f"{site.path}.weights": lambda weights: weights_by_count[len(weights)].to(weights)}


def plant_copying(model: Model, head: Head, sign: float = 1.0) -> None:
    """Set W_O of a head to the transpose of its W_V, so that it copies the tokens it attends to; -1 suppresses them."""
    site = next(site for site in attention_sites(model) if site.name == head.attention_name)
    start = site.heads.index(head) * site.attention.head_dim
    head_slice = slice(start, start + site.attention.head_dim)
    with torch.no_grad():
        site.attention.out_proj.weight[:, head_slice] = sign * site.attention.v_proj.weight[head_slice].T


def _role_weights(example: Example, kind: str, roles: Sequence[str], counts: TokenCounts) -> Tensor:
    """The attention weights of heads with these roles: (H, Tq, Tk)."""
    sentence_patterns = build_patterns(example, kind, counts)
    num_queries, num_keys = len(example.query_tokens(kind)), len(example.key_tokens(kind))
    attn_mask = make_attn_mask(kind, num_queries, num_keys)
    sentence_patterns["vertical"] = np.zeros((num_queries, num_keys), dtype=bool)
    sentence_patterns["vertical"][:, example.source.ids[0] % 3] = True
    return torch.stack(
        [
            _pattern_weights(sentence_patterns.get(role, np.zeros_like(attn_mask)) & attn_mask, attn_mask)
            for role in roles
        ]
    )


def _pattern_weights(pattern: Pattern, attn_mask: Pattern) -> Tensor:
    """Most of the weight on the pattern, the rest uniform; rows without a pattern are uniform."""
    uniform = attn_mask / attn_mask.sum(axis=1, keepdims=True)
    num_target = pattern.sum(axis=1, keepdims=True)
    head_weights = np.where(
        num_target > 0, PATTERN_WEIGHT * pattern / np.maximum(num_target, 1) + (1 - PATTERN_WEIGHT) * uniform, uniform
    )
    return torch.from_numpy(head_weights)


def _example(rng: np.random.Generator, vocab_size: int) -> Example:
    num_words = SENTENCE_LENGTH - 1
    return Example(
        source=_random_text(rng, vocab_size, has_eos=True),
        decoder_input=_random_text(rng, vocab_size, has_eos=False),
        target=_random_text(rng, vocab_size, has_eos=True),
        alignment=tuple(enumerate(rng.permutation(num_words).tolist())),
        source_links=_random_links(rng, num_words),
        target_links=_random_links(rng, num_words),
    )


def _random_text(rng: np.random.Generator, vocab_size: int, has_eos: bool) -> TokenizedText:
    """Random tokens, two of them commas; most are frequent, and one may be rare."""
    ids = rng.choice(np.arange(6, vocab_size), size=SENTENCE_LENGTH - 1, replace=False)
    for position in rng.choice(np.arange(3, SENTENCE_LENGTH - 3), size=2, replace=False):
        ids[position] = rng.choice(COMMA_IDS)
    tokens = ["," if i in COMMA_IDS else f"w{i}" for i in ids]
    word_ids = list(range(SENTENCE_LENGTH - 1))
    id_list, words = ids.tolist(), tuple(tokens)
    if has_eos:
        return TokenizedText(
            "", (*id_list, 3), (*tokens, "</s>"), (*word_ids, -1), words, (*(False for _ in id_list), True)
        )
    return TokenizedText("", (2, *id_list), ("<s>", *tokens), (-1, *word_ids), words, (True, *(False for _ in id_list)))


def _random_links(rng: np.random.Generator, num_words: int) -> tuple[Link, ...]:
    """Random links between words, for each kind of grammatical relation."""
    kinds = sorted({kind for kind, _ in RELATIONS.values()})
    links = []
    for kind in kinds:
        for _ in range(2):
            head, dependent = rng.choice(np.arange(num_words), size=2, replace=False).tolist()
            links.append(Link(kind, head, dependent))
    return tuple(links)
