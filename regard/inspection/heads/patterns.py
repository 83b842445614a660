"""Attention patterns: for a sentence, the keys that each query attends to if a head follows the pattern.

A pattern is a boolean matrix (Tq, Tk); rows without a key are not evaluated. Rows are queries, so offset -1 is the
previous token. `ROLE_ORDER` is from the most specific role to the least, since one pattern may contain another: a head
that always attends to the previous token is also local.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora import Link
from regard.inspection.example import NO_WORD, Example, TokenizedText, tokens_from_ids

Pattern = NDArray[np.bool_]
IntArray = NDArray[np.int64]

OFFSETS = {-3: "offset -3", -2: "offset -2", -1: "previous", 0: "self", 1: "next", 2: "offset +2", 3: "offset +3"}
LOCAL_WINDOW = 2  # tokens to either side that count as local
NUM_FREQUENT = 500  # most frequent tokens, which never count as rare.  Voita et al. 2019

RELATIONS = {
    "determiner to noun": ("determiner-noun", True),
    "noun to determiner": ("determiner-noun", False),
    "adjective to noun": ("adjective-noun", True),
    "noun to adjective": ("adjective-noun", False),
    "predicate to noun": ("predicate-noun", True),
    "noun to predicate": ("predicate-noun", False),
    "subject to verb": ("subject-verb", True),
    "verb to subject": ("subject-verb", False),
    "object to verb": ("verb-object", True),
    "verb to object": ("verb-object", False),
}
"""From a role to the kind of link, and whether the dependent attends to its head."""

ROLE_ORDER = (
    *(OFFSETS[o] for o in (-1, 1, 0, -2, 2, -3, 3)),
    "duplicate",
    "induction",
    "alignment",
    "rare",
    "separator",
    *RELATIONS,
    "local",
    "diagonal",
    "block",
    "vertical",
    "copy",
)
ROLE_LETTERS = {
    "previous": "P",
    "next": "N",
    "self": "S",
    "duplicate": "D",
    "induction": "I",
    "alignment": "A",
    "rare": "R",
    "separator": "X",
    "local": "L",
    "diagonal": "/",
    "block": "B",
    "vertical": "V",
    "copy": "C",
    **dict.fromkeys(RELATIONS, "G"),
    **{name: "O" for name in OFFSETS.values() if name.startswith("offset")},
}

NO_ROLE_LETTER = "·"

PROBE_ROLES = ("duplicate", "induction")
"""Roles that are measured on repeated random tokens, where no bigram statistics help.  Olsson et al. 2022."""


@dataclass(frozen=True)
class TokenCounts:
    """Token frequencies of a corpus, by id, on each side."""

    source: Mapping[int, int]
    target: Mapping[int, int]
    frequent_ids: dict[str, frozenset[int]] = field(default_factory=dict)
    """The most frequent tokens of each side."""

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            counts: Mapping[int, int] = getattr(self, side)
            self.frequent_ids[side] = frozenset(sorted(counts, key=lambda i: -counts[i])[:NUM_FREQUENT])

    @classmethod
    def from_examples(cls, examples: Iterable[Example]) -> "TokenCounts":
        """The counts in the examples themselves, where no training corpus is available."""
        source: Counter[int] = Counter()
        target: Counter[int] = Counter()
        for example in examples:
            source.update(example.source.ids)
            written = example.target or example.decoder_input
            target.update(written.ids if written else ())
        return cls(source, target)


def build_patterns(example: Example, kind: str, counts: TokenCounts) -> dict[str, Pattern]:
    """All patterns that are defined for a kind of attention, for one sentence.

    The names are the same for all sentences; a pattern is empty where a sentence lacks the annotation it needs.
    """
    queries, keys = example.query_labels(kind), example.key_tokens(kind)
    matrices: dict[str, Pattern] = {
        "separator": _column_pattern(queries, keys, [keys.is_separator(j) for j in range(len(keys))]),
        "rare": _rare_token_pattern(queries, keys, counts, "target" if kind == "decoder" else "source"),
    }
    if kind == "cross":
        matrices["diagonal"] = diagonal_pattern(len(queries), len(keys))
        gold = (*(example.alignment or ()), *example.possible_alignment)
        matrices["alignment"] = alignment_pattern(queries, keys, gold)  # empty without gold
        return matrices
    n = len(queries)
    matrices |= {name: offset_pattern(n, o) for o, name in OFFSETS.items()}
    matrices["local"] = abs(_relative_positions(n)) <= LOCAL_WINDOW
    matrices["block"] = block_pattern(queries)
    matrices["duplicate"], matrices["induction"] = duplicate_pattern(queries.ids), induction_pattern(queries.ids)
    links = example.source_links if kind == "encoder" else example.target_links
    return matrices | {name: relation_pattern(queries, links, *RELATIONS[name]) for name in RELATIONS}


def offset_pattern(n: int, o: int) -> Pattern:
    """j = i + o: -1 is the previous token, +1 the next."""
    return _relative_positions(n) == o


def duplicate_pattern(ids: Sequence[int]) -> Pattern:
    """The same token earlier: token j = token i, j < i."""
    row = np.asarray(ids)
    return (row[:, None] == row[None, :]) & (_relative_positions(len(ids)) < 0)


def induction_pattern(ids: Sequence[int]) -> Pattern:
    """The token after an earlier occurrence of the same token: token j-1 = token i, j <= i.  Olsson et al. 2022."""
    row = np.asarray(ids)
    previous = np.concatenate(([NO_WORD], row[:-1]))
    return (row[:, None] == previous[None, :]) & (_relative_positions(len(ids)) <= 0)


def block_pattern(side: TokenizedText) -> Pattern:
    """The same clause, split at punctuation; empty if there is only one."""
    segment, ids = 0, []
    for i in range(len(side)):
        ids.append(NO_WORD if side.special_tokens_mask[i] else segment)
        segment += side.is_separator(i) and not side.special_tokens_mask[i] and i + 2 < len(side)
    row = np.asarray(ids)
    if len({i for i in ids if i != NO_WORD}) < 2:
        return np.zeros((len(row), len(row)), dtype=bool)
    return (row[:, None] == row[None, :]) & (row[:, None] != NO_WORD)


def diagonal_pattern(num_queries: int, num_keys: int) -> Pattern:
    """The key at the same relative position as the query, and its neighbors."""
    middle = np.rint(np.arange(num_queries) * (num_keys - 1) / max(1, num_queries - 1)).astype(int)
    return abs(np.arange(num_keys)[None, :] - middle[:, None]) <= 1


def alignment_pattern(target: TokenizedText, source: TokenizedText, links: Iterable[tuple[int, int]]) -> Pattern:
    """Tokens of a source word, for the rows that predict a target word aligned with it."""
    return _word_pattern(target, source, ((t, s) for s, t in links))


def relation_pattern(side: TokenizedText, links: Iterable[Link], relation: str, to_head: bool) -> Pattern:
    """Tokens of the syntactically related word: the head of a dependent if `to_head`, else its dependents."""
    relation_links = [link for link in links if link.kind == relation]
    return _word_pattern(side, side, ((d, h) if to_head else (h, d) for _, h, d in relation_links))


def best_offset_accuracy(examples: Sequence[Example], role: str, kind: str) -> float:
    """Accuracy of the best fixed distance in words: the baseline of a grammatical role.  Clark et al. 2019."""
    relation, to_head = RELATIONS[role]
    distance_counts: Counter[int] = Counter()
    for example in examples:
        links = example.source_links if kind == "encoder" else example.target_links
        for link in links:
            if link.kind == relation:
                distance = link.head - link.dependent if to_head else link.dependent - link.head
                distance_counts[distance] += kind == "encoder" or distance < 0  # causal
    return max(distance_counts.values(), default=0) / max(1, distance_counts.total())


def repeated_random_probes(vocab_size: int, count: int, length: int, has_decoder: bool, seed: int = 1) -> list[Example]:
    """Random tokens, repeated: r1 … rT r1 … rT, for a vocabulary of this size."""
    rng = np.random.default_rng(seed)
    first_id = min(300, vocab_size // 2)  # past special tokens and single bytes
    rows = [
        rng.choice(np.arange(first_id, vocab_size), size=min(length, vocab_size - first_id), replace=False)
        for _ in range(count)
    ]
    sides = [tokens_from_ids([*row.tolist(), *row.tolist()]) for row in rows]
    return [Example(side, side, side) if has_decoder else Example(side) for side in sides]


def _relative_positions(n: int) -> IntArray:
    """j - i."""
    positions = np.arange(n)
    return positions[None, :] - positions[:, None]


def _column_pattern(queries: TokenizedText, keys: TokenizedText, selected: Sequence[bool]) -> Pattern:
    """All rows that are text attend to the selected columns."""
    text_rows = ~np.asarray(queries.special_tokens_mask, dtype=bool)
    return text_rows[:, None] & np.asarray(selected, dtype=bool)[None, :]


def _rare_token_pattern(queries: TokenizedText, keys: TokenizedText, counts: TokenCounts, side: str) -> Pattern:
    """The rarest token of the sentence, if it is not one of the frequent ones.  Voita et al. 2019."""
    frequencies: Mapping[int, int] = getattr(counts, side)
    text_positions = [j for j in range(len(keys)) if not keys.special_tokens_mask[j]]
    rarest = min(text_positions, key=lambda j: frequencies.get(keys.ids[j], 0), default=None)
    if rarest is None or (keys.ids[rarest] in counts.frequent_ids[side] and len(frequencies) > NUM_FREQUENT):
        return np.zeros((len(queries), len(keys)), dtype=bool)
    return _column_pattern(queries, keys, [j == rarest for j in range(len(keys))])


def _word_pattern(queries: TokenizedText, keys: TokenizedText, links: Iterable[tuple[int, int]]) -> Pattern:
    """From tokens of one word to tokens of another, for links (query word, key word)."""
    query_words, key_words = np.asarray(queries.word_ids), np.asarray(keys.word_ids)
    pattern = np.zeros((len(queries), len(keys)), dtype=bool)
    for query_word, key_word in links:
        pattern |= (query_words == query_word)[:, None] & (key_words == key_word)[None, :]
    return pattern
