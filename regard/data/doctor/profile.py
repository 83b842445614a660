"""A first look at the head of a corpus: what is usual there, so that the unusual can be told."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from regard.data.doctor.checks import CUSHION, blank, identical
from regard.data.doctor.language_id import guess
from regard.formats import Pair

ENOUGH = 10_000
"""Pairs after which lengths are known well."""
SENTENCES = 1_000
"""Sentences of each side, long enough to be judged, after which its language is known well."""
LAST = 200_000
"""Pairs after which the survey ends, whatever it has seen."""
FEWEST = 20
"""Below so many nothing is called usual."""


@dataclass(frozen=True)
class Survey:
    """What is usual in a corpus."""

    source: str
    """Label of the language of most source sentences; "" if it cannot be told."""
    target: str
    ratio: float
    """Target characters for one of the source."""
    copied: float
    """Share of pairs whose sides are the same sentence."""


@dataclass
class _Votes:
    """What the sentences of one side look like."""

    asked: int = 0
    heard: Counter[str] = field(default_factory=Counter)

    def ask(self, text: str) -> None:
        if self.asked >= SENTENCES:
            return
        name = guess(text)
        if name is not None:
            self.asked += 1
            self.heard[name] += bool(name)

    def majority(self) -> str:
        """Four fifths of those that answered, who are a third of those that were asked."""
        answered = self.heard.total()
        if self.asked < FEWEST or answered * 3 < self.asked:
            return ""
        name, count = self.heard.most_common(1)[0]
        return name if count * 5 >= answered * 4 else ""


def survey(pairs: Iterable[Pair]) -> Survey:
    """Read as many pairs as are needed."""
    source, target = _Votes(), _Votes()
    ratios: list[float] = []
    copied = read = 0
    for read, pair in enumerate(pairs, start=1):
        source.ask(pair.source)
        target.ask(pair.target)
        if len(ratios) < ENOUGH and not blank(pair.source, pair.target):
            ratios.append(math.log((len(pair.target) + CUSHION) / (len(pair.source) + CUSHION)))
        copied += identical(pair.source, pair.target)
        known = min(source.asked, target.asked) >= SENTENCES and len(ratios) >= ENOUGH
        if known or read == LAST:
            break
    usual = math.exp(median(ratios)) if len(ratios) >= FEWEST else 1.0
    return Survey(source.majority(), target.majority(), usual, copied / max(1, read))
