"""Values have no say in the weights."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import attend
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "Weights come from the similarity of query, key and value, and a query is compared with all other tokens."
SOURCE = "lectures on Transformers; a report"
CLAIMS = (8, 9)
PREDICT = "All values are replaced by others: by how much does the largest of the weights that change, change? (0 to 1)"
CHANGE = "TOKENS=101: how much less does it matter that a query is compared with its own key, too?"
TURN = {"TOKENS": (5, 11, 23, 101)}

TOKENS, HEAD_DIM = 11, 16
AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)

Attend = Callable[..., tuple[Tensor, Tensor]]
Change = dict[str, list[float]]


def measure(attend: Attend) -> Change:
    """The largest change of a weight, for each input that is replaced, and by how much of it."""
    q, k, v, other = torch.randn(4, 1, 1, TOKENS, HEAD_DIM, dtype=torch.float64)
    _, weights = attend(q, k, v)

    def change(amount: float, name: str) -> float:
        inputs = {"query": q, "key": k, "value": v}
        inputs[name] = inputs[name] * (1 - amount) + other * amount
        return float((attend(*inputs.values())[1] - weights).abs().max())

    changes = {name: [change(amount, name) for amount in AMOUNTS] for name in ("query", "key", "value")}
    others = ~torch.eye(TOKENS, dtype=torch.bool)  # without its own key
    changes["itself"] = [float((attend(q, k, v, others)[1] - weights).abs().max())]
    return changes


def run(seeds: Sequence[int], attend: Attend = attend) -> Finding:
    measured = over(seeds, lambda: measure(attend))
    rows = [
        {
            "share that is replaced": amount,
            "largest change of a weight": sum(one[name][n] for one in measured) / len(measured),
            "of each": name,
        }
        for name in ("query", "key", "value")
        for n, amount in enumerate(AMOUNTS)
    ]
    return Finding(
        [
            # 0.05: less than a twentieth of all weight moved would not be called a part in the weights
            Effect(
                "the largest change of a weight when values are replaced", [one["value"][-1] for one in measured], 0.05
            ),
            Exact("the largest change of a weight without a query's own key", [one["itself"][0] for one in measured]),
        ],
        Table.from_rows(rows),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "share that is replaced", "largest change of a weight", "of each")


def control(seeds: Sequence[int]) -> Finding:
    """An attention that is what the claim says: keys and values are compared, of other tokens alone."""

    def with_values(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return attend(q, k + v, v, ~torch.eye(TOKENS, dtype=torch.bool))

    return run(seeds, attend=with_values)
