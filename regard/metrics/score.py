"""A score with its signature and confidence interval, and the conversion of sacreBLEU's."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError

RESAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """A value, its 95% confidence interval, and the signature that says how it was computed."""

    name: str
    value: float
    low: float
    high: float
    signature: str

    def __str__(self) -> str:
        half_width = (self.high - self.low) / 2
        return f"{self.name} {self.value:.2f} ± {half_width:.2f} [{self.low:.2f}, {self.high:.2f}]  {self.signature}"

    def _repr_html_(self) -> str:
        interval = f"{self.value:.2f} <small>[{self.low:.2f}, {self.high:.2f}]</small>"
        return f"<b>{html.escape(self.name)}</b> {interval}<br><small>{html.escape(self.signature)}</small>"

    def as_dict(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "signature": self.signature}


Metric = Callable[[Sequence[str], Sequence[str]], Score]
"""Translations and references -> their score."""


def corpus_score(name: str, metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """A sacreBLEU metric over a corpus, with its bootstrap interval (mean ± half-width, as sacreBLEU reports it)."""
    require_aligned(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=RESAMPLES)
    return Score(
        name=name,
        value=float(result.score),
        low=float(result._mean - result._ci),
        high=float(result._mean + result._ci),
        signature=str(metric.get_signature()),
    )


def require_aligned(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse lists of different lengths: sacreBLEU would silently truncate the longer one."""
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses)} translations but {len(references)} references; every translation needs one")
    if not references:
        raise DataError("nothing to score: no sentences")
