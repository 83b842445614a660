"""A score with its signature and confidence interval."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import DataError
from regard.metrics.tokenization import Tokenization

LOWER_IS_BETTER = frozenset({"bits per byte", "perplexity per token", "nats per masked token", "TER", "ECE"})
"""Names of scores that count what is wrong, or missing."""
SIGNED = frozenset({"MCC", "Cohen's kappa", "Spearman", "Pearson"})
"""Names of scores from -100 to 100."""
NO_INTERVAL_REASONS = {
    "n<": "too few examples",
    "biased": "above 0 by chance alone",
    "windows": "only the sum over the dev windows is known during training",
    "one-stream": "all texts are compressed together",
}
"""What a signature says where there is no interval, after "ci:none", in words."""


@dataclass(frozen=True)
class Score:
    """A value, its 95% confidence interval, and the signature that says how both were computed."""

    name: str
    value: float
    low: float | None
    """None, as `high`, where there is no interval; the signature has the reason."""
    high: float | None
    signature: str

    @property
    def lower_is_better(self) -> bool:
        return self.name in LOWER_IS_BETTER

    def is_better_than(self, other: "Score") -> bool:
        """Whether the value is the better one of two of the same kind."""
        return self.value < other.value if self.lower_is_better else self.value > other.value

    @property
    def digits(self) -> int:
        """Decimal places that people read."""
        return digits_of(self.name)

    def format_margin(self, digits: int) -> str:
        """The value ± half the width of its interval; the value alone where there is no interval."""
        return format_with_margin(self.as_dict(), digits)

    def format_interval(self, digits: int = 2) -> str:
        """The bounds of the interval in words."""
        if self.low is None or self.high is None:
            return f"none: {self._explain_no_interval()}"
        return f"{self.low:.{digits}f} to {self.high:.{digits}f}"

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.name} {self.format_margin(2)}{interval}  {self.signature}"

    def _repr_html_(self) -> str:
        interval = f"no interval: {self._explain_no_interval()}"
        if self.low is not None and self.high is not None:
            interval = f"[{self.low:.2f}, {self.high:.2f}]"
        score = f"{self.value:.2f} <small>{interval}</small>"
        return f"<b>{html.escape(self.name)}</b> {score}<br><small>{html.escape(self.signature)}</small>"

    def as_dict(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "signature": self.signature}

    def _explain_no_interval(self) -> str:
        reasons = (reason for mark, reason in NO_INTERVAL_REASONS.items() if f"|ci:none,{mark}" in self.signature)
        return next(reasons, "not computed")


Metric = Callable[[Sequence[str], Sequence[str], Tokenization], Score]
"""Translations and references, and how they are split -> their score."""


def digits_of(name: str) -> int:
    """Decimal places of a score by its name: scores in percent have one, those per token or byte are near 1."""
    return 3 if name.startswith(("bits", "nats")) else 1


def limits_of(name: str) -> tuple[float, float] | None:
    """The ends of the scale of a score by its name; None where it has no upper end."""
    if name in LOWER_IS_BETTER - {"ECE"} or name == "loss" or digits_of(name) == 3:
        return None
    return (-100.0, 100.0) if name in SIGNED else (0.0, 100.0)


def format_difference(difference: float, digits: int) -> str:
    """A difference with its sign; none that is 0 in these decimal places has one."""
    text = f"{difference:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def format_p(p: float) -> str:
    """A p-value, which is never 0."""
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def format_with_margin(score: Mapping[str, Any], digits: int) -> str:
    """A value ± half the width of its interval, where it has one: of a score as a dictionary."""
    low, high = score.get("low"), score.get("high")
    margin = "" if low is None or high is None else f" ± {(high - low) / 2:.{digits}f}"
    return f"{score['value']:.{digits}f}{margin}"


def require_aligned(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse lists of different lengths: sacreBLEU would silently truncate the longer one."""
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses)} translations but {len(references)} references; every translation needs one")
    if not references:
        raise DataError("nothing to score: no sentences")
