"""Patterns that a head may follow: for a sentence, which key each query would look at if it did.

A pattern is a boolean matrix (Tq, Tk); rows without a key have nothing to say. Rows are queries, so offset -1 is the
token before. Roles stand in `ORDER` from the most specific to the least, since one pattern may contain another: who
always looks at the token before also looks nearby.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora import Link
from regard.inspection.example import NONE, Example, Side, bare_side

Pattern = NDArray[np.bool_]
Places = NDArray[np.int64]

OFFSETS = {-3: "offset -3", -2: "offset -2", -1: "previous", 0: "self", 1: "next", 2: "offset +2", 3: "offset +3"}
NEAR = 2  # tokens to either side that are still local
FREQUENT = 500  # the most frequent pieces, which are nobody's rarest token.  Voita et al. 2019

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
"""From a role to the kind of link, and whether the dependent looks at its head."""

ORDER = (
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
LETTERS = {
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

NO_ROLE = "·"

ON_PROBES = ("duplicate", "induction")
"""Roles that are measured on random tokens said twice, where no bigram can help.  Olsson et al. 2022."""


@dataclass(frozen=True)
class Counts:
    """How often each piece stands in a corpus, on each side."""

    source: Mapping[int, int]
    target: Mapping[int, int]
    common: dict[str, frozenset[int]] = field(default_factory=dict)
    """The most frequent pieces of each side."""

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            counts: Mapping[int, int] = getattr(self, side)
            self.common[side] = frozenset(sorted(counts, key=lambda i: -counts[i])[:FREQUENT])

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Counts":
        """The counts of the sentences themselves, where no training corpus is at hand."""
        source: Counter[int] = Counter()
        target: Counter[int] = Counter()
        for example in examples:
            source.update(example.source.ids)
            target.update(example.target.ids if example.target else ())
        return cls(source, target)


def patterns(example: Example, kind: str, counts: Counts) -> dict[str, Pattern]:
    """Every pattern that means something in a kind of attention, for one sentence.

    The names are the same for all sentences; where one does not know what a pattern asks for, no key is marked.
    """
    rows, columns = example.named(kind), example.columns(kind)
    found: dict[str, Pattern] = {
        "separator": _columns(rows, columns, [columns.mark(j) for j in range(len(columns))]),
        "rare": _rare(rows, columns, counts, "target" if kind == "decoder" else "source"),
    }
    if kind == "cross":
        found["diagonal"] = diagonal(len(rows), len(columns))
        gold = (*(example.alignment or ()), *example.possible)
        found["alignment"] = aligned(rows, columns, gold)  # without gold it says nothing
        return found
    n = len(rows)
    found |= {name: offset(n, o) for o, name in OFFSETS.items()}
    found["local"] = abs(_apart(n)) <= NEAR
    found["block"] = block(rows)
    found["duplicate"], found["induction"] = duplicate(rows.ids), induction(rows.ids)
    links = example.source_links if kind == "encoder" else example.target_links
    return found | {name: related(rows, links, *RELATIONS[name]) for name in RELATIONS}


def offset(n: int, o: int) -> Pattern:
    """j = i + o: -1 is the token before, +1 the one after."""
    return _apart(n) == o


def duplicate(ids: Sequence[int]) -> Pattern:
    """The same token earlier: token j = token i, j < i."""
    row = np.asarray(ids)
    return (row[:, None] == row[None, :]) & (_apart(len(ids)) < 0)


def induction(ids: Sequence[int]) -> Pattern:
    """What came after the same token earlier: token j-1 = token i, j <= i.  Olsson et al. 2022."""
    row = np.asarray(ids)
    before = np.concatenate(([NONE], row[:-1]))
    return (row[:, None] == before[None, :]) & (_apart(len(ids)) <= 0)


def block(side: Side) -> Pattern:
    """The same clause, as punctuation cuts the sentence; nothing where there is only one."""
    segment, ids = 0, []
    for i in range(len(side)):
        ids.append(NONE if side.special[i] else segment)
        segment += side.mark(i) and not side.special[i] and i + 2 < len(side)
    row = np.asarray(ids)
    if len({i for i in ids if i != NONE}) < 2:
        return np.zeros((len(row), len(row)), dtype=bool)
    return (row[:, None] == row[None, :]) & (row[:, None] != NONE)


def diagonal(rows: int, columns: int) -> Pattern:
    """The key as far along its sentence as the query, and its neighbours."""
    middle = np.rint(np.arange(rows) * (columns - 1) / max(1, rows - 1)).astype(int)
    return abs(np.arange(columns)[None, :] - middle[:, None]) <= 1


def aligned(target: Side, source: Side, links: Iterable[tuple[int, int]]) -> Pattern:
    """Pieces of a source word, for the rows that write a target word which it is aligned with."""
    return _between(target, source, ((t, s) for s, t in links))


def related(side: Side, links: Iterable[Link], kind: str, upward: bool) -> Pattern:
    """Pieces of the word that a word is tied to by grammar: its head if upward, else its dependents."""
    own = [link for link in links if link.kind == kind]
    return _between(side, side, ((d, h) if upward else (h, d) for _, h, d in own))


def best_offset(examples: Sequence[Example], role: str, kind: str) -> float:
    """How often one fixed distance in words finds the related word: what a role has to beat.  Clark et al. 2019."""
    relation, upward = RELATIONS[role]
    steps: Counter[int] = Counter()
    for example in examples:
        links = example.source_links if kind == "encoder" else example.target_links
        for link in links:
            if link.kind == relation:
                step = link.head - link.dependent if upward else link.dependent - link.head
                steps[step] += kind == "encoder" or step < 0  # a decoder sees what is before it
    return max(steps.values(), default=0) / max(1, steps.total())


def probes(size: int, count: int, length: int, pair: bool, seed: int = 1) -> list[Example]:
    """Random tokens said twice: r1 … rT r1 … rT, without any text, for a vocabulary of this size."""
    rng = np.random.default_rng(seed)
    first = min(300, size // 2)  # past the marks and single bytes
    rows = [rng.choice(np.arange(first, size), size=min(length, size - first), replace=False) for _ in range(count)]
    sides = [bare_side([*row.tolist(), *row.tolist()]) for row in rows]
    return [Example(side, side, side) if pair else Example(side) for side in sides]


def _apart(n: int) -> Places:
    """j - i."""
    at = np.arange(n)
    return at[None, :] - at[:, None]


def _columns(rows: Side, columns: Side, chosen: Sequence[bool]) -> Pattern:
    """All rows that are text look at the chosen columns."""
    here = ~np.asarray(rows.special, dtype=bool)
    return here[:, None] & np.asarray(chosen, dtype=bool)[None, :]


def _rare(rows: Side, columns: Side, counts: Counts, side: str) -> Pattern:
    """The rarest piece of the sentence, if it is not one of the frequent ones.  Voita et al. 2019."""
    known: Mapping[int, int] = getattr(counts, side)
    text = [j for j in range(len(columns)) if not columns.special[j]]
    rarest = min(text, key=lambda j: known.get(columns.ids[j], 0), default=None)
    if rarest is None or (columns.ids[rarest] in counts.common[side] and len(known) > FREQUENT):
        return np.zeros((len(rows), len(columns)), dtype=bool)
    return _columns(rows, columns, [j == rarest for j in range(len(columns))])


def _between(rows: Side, columns: Side, links: Iterable[tuple[int, int]]) -> Pattern:
    """Pieces of one word to pieces of another, for links (row word, column word)."""
    own, other = np.asarray(rows.word), np.asarray(columns.word)
    found = np.zeros((len(rows), len(columns)), dtype=bool)
    for row, column in links:
        found |= (own == row)[:, None] & (other == column)[None, :]
    return found
