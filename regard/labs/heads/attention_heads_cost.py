"""More heads cost memory, and nothing else that can be counted."""

import time
from collections.abc import Callable, Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention
from regard.model.modules import count_parameters
from regard.model.positions import Positions
from regard.model.taps import record
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "More heads and more dimensions raise the cost of computation and memory."
SOURCE = "lectures on Transformers"
CLAIMS = (27,)
PREDICT = "Width 64: one head becomes 16. By which factor does the number of parameters of attention grow?"
CHANGE = "TOKENS=512: which line of the picture rises, which ones stay?"
TURN = {"TOKENS": (32, 128, 512)}

TOKENS, DIM, HEADS = 128, 64, (1, 2, 4, 8, 16)
REPEATS = 5

MakeAttention = Callable[[int, int], Attention]


def make_attention(dim: int, heads: int) -> Attention:
    return Attention(dim, heads, Positions())


def cost(make_attention: MakeAttention, dim: int, heads: int) -> dict[str, float]:
    """Numbers that are learned, operations of one pass, numbers in the weights, and seconds."""
    attention, x, position_ids = make_attention(dim, heads), torch.randn(1, TOKENS, dim), torch.arange(TOKENS)[None]
    seconds = []
    with torch.no_grad(), record(attention, "weights") as tensors:
        for _ in range(REPEATS):
            start = time.perf_counter()
            attention(x, attention.project_kv(x, position_ids), None, position_ids)
            seconds.append(time.perf_counter() - start)
        with FlopCounterMode(display=False) as counter:
            attention(x, attention.project_kv(x, position_ids), None, position_ids)
    return {
        "parameters": count_parameters(attention),
        "operations": counter.get_total_flops(),
        "memory of the weights": tensors["weights"].numel(),
        "time (not judged)": min(seconds),
    }


def growth(make_attention: MakeAttention) -> dict[str, list[float]]:
    """Costs by the number of heads, as multiples of those of the first; then those of twice the width."""
    costs = [cost(make_attention, DIM, heads) for heads in HEADS] + [cost(make_attention, 2 * DIM, HEADS[0])]
    return {name: [one[name] / costs[0][name] for one in costs] for name in costs[0]}


def run(seeds: Sequence[int], make_attention: MakeAttention = make_attention) -> Finding:
    measured = over(seeds, lambda: growth(make_attention))
    last, first = HEADS[-1], HEADS[0]

    def factors(name: str, place: int) -> list[float]:
        return [one[name][place] for one in measured]

    return Finding(
        [
            # 1.5: half as much again for 16 times the heads, else it would not be called a price of heads
            Effect(f"the growth of parameters from {first} to {last} heads", factors("parameters", -2), least=1.5),
            Effect(f"the growth of operations from {first} to {last} heads", factors("operations", -2), least=1.5),
            Effect(
                f"the growth of the memory of weights from {first} to {last} heads",
                factors("memory of the weights", -2),
                1.5,
            ),
            Effect("the growth of parameters with twice the width", factors("parameters", -1), least=1.5),
            Effect("the growth of operations with twice the width", factors("operations", -1), least=1.5),
        ],
        Table.from_rows(
            {
                "heads": heads,
                f"cost, times that of heads = {first}": sum(factors(name, n)) / len(seeds),
                "of what": name,
            }
            for name in measured[0]
            for n, heads in enumerate(HEADS)
        ),
    )


def draw(finding: Finding) -> Picture:
    heads, times, what = finding.table.columns
    return CurvePicture(finding.table, heads, times, what, log="xy")


def broken(seeds: Sequence[int]) -> Finding:
    """Heads that do not share the width: each is as wide as the model, and all costs grow with their number."""
    return run(seeds, make_attention=lambda dim, heads: Attention(dim, 1, Positions(), kept_heads=tuple(range(heads))))
