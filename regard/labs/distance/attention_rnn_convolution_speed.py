"""Attention waits for nothing, and is not the only one."""

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from regard.labs.effects import Counted
from regard.labs.finding import Finding
from regard.labs.operations import OperationCount, count_operations
from regard.model.attention import Attention, AttentionFunction, attend
from regard.model.masks import position_ids_of
from regard.model.positions import Positions
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = (
    "Self-attention is computed in parallel, and is therefore more efficient than a recurrent or convolutional network."
)
SOURCE = "lectures on Transformers; Vaswani et al. 2017, table 1"
CLAIMS = (95, 96)
PREDICT = "512 tokens, width 64: how many times as many matrix products in a row as attention does a GRU need?"
CHANGE = "LENGTHS=16,32,64: which one has the fewest multiplications for a sentence? KERNEL=9: and then?"
TURN = {"WIDTH": (16, 64, 256)}

LENGTHS, WIDTH, KERNEL, HEADS = (32, 128, 512), 64, 3, 2

Layer = Callable[[Tensor], object]


def make_layers(attention_function: AttentionFunction) -> dict[str, Layer]:
    """Three layers that take in what is around a token: (1, T, D) -> (1, T, D)."""
    attention = Attention(WIDTH, HEADS, Positions(), attend=attention_function)
    gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
    convolution = nn.Conv1d(WIDTH, WIDTH, KERNEL, padding=KERNEL // 2)

    def attend_to_self(x: Tensor) -> Tensor:
        position_ids = position_ids_of(x[..., 0])
        output: Tensor = attention(x, attention.project_kv(x, position_ids), None, position_ids)
        return output

    return {"attention": attend_to_self, "GRU": gru, "convolution": lambda x: convolution(x.mT)}


def count(layer: Layer, length: int) -> tuple[OperationCount, float]:
    x = torch.zeros(1, length, WIDTH)
    start = time.process_time()
    with torch.no_grad(), count_operations() as operations:
        layer(x)
    return operations, time.process_time() - start


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    layers = make_layers(attend)
    counts = {(name, length): count(layer, length) for name, layer in layers.items() for length in LENGTHS}
    longest = LENGTHS[-1]
    attention = counts["attention", longest][0]

    def ratio(name: str) -> tuple[float, float]:
        other = counts[name, longest][0]
        return other.products / attention.products, other.multiplications / attention.multiplications

    # 3: what is called more efficient should be so on every machine, not by a few percent on one
    return Finding(
        [
            Counted(f"the {what} of a {name}, in those of attention, at {longest} tokens", ratio(name)[n], least=3)
            for n, what in enumerate(("products in a row", "multiplications"))
            for name in ("GRU", "convolution")
        ],
        Table.from_rows(
            {
                "tokens": length,
                "layer": name,
                "products in a row": operations.products,
                "multiplications": operations.multiplications,
                "CPU seconds": seconds,
            }
            for (name, length), (operations, seconds) in counts.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "tokens", "products in a row", "layer", log="xy")


def attend_one_by_one(q: Tensor, k: Tensor, v: Tensor, *rest: object) -> tuple[Tensor, None]:
    """The same result, one query after the other."""
    return torch.cat([attend(q[..., [t], :], k, v)[0] for t in range(q.shape[-2])], dim=-2), None


def broken(seeds: Sequence[int]) -> Finding:
    """Attention that lets one query wait for the other."""
    return run(seeds, attend=attend_one_by_one)
