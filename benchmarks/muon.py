"""What a step of Muon costs beside one of AdamW: whole steps and the optimizer's part, taken in turns in one process.

    python benchmarks/muon.py [--rounds 60] [--threads 2] [--size 128,4,4,256] [--batch-tokens 1024] [--write NAME]

Every contender trains a model of its own on the same batch. In each round each of them takes a step, in an order that
rotates, so that whatever else runs on the machine hits all of them alike. "Matrix by matrix" is the published loop,
written out here. The direction's error is the angle between the orthogonalized momentum and the exact U Vᵀ, over all
matrices after the last round, which the speed of fewer iterations must be weighed against. On a machine that is busy
with other work, `--clock cpu` counts the time of this process alone, all its threads added.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from environment import described, write
from torch import Tensor, nn

from regard.config import ModelConfig, TrainConfig
from regard.data.batch import Batch
from regard.hardware import configure_cpu
from regard.model.build import build
from regard.tasks.loss import LossModule
from regard.tasks.translate.loss import TranslationLoss
from regard.training import optim
from regard.training.muon import JORDAN, Muon

VOCAB_SIZE, PAD, BOS, FIRST = 8000, 0, 1, 4
SENTENCE = 22  # tokens of each sentence of the batch
WARM = 3  # rounds before anything is counted
SETTINGS: dict[str, dict[str, object]] = {
    "AdamW": {"optimizer": "adamw"},
    "Muon, matrix by matrix": {},
    "Muon": {},
    "… head by head": {"muon_split_heads": True},
    "… polar express, 4 iterations": {"muon_polynomials": "polar-express", "muon_iterations": 4},
    "… polar express, 3 iterations": {"muon_polynomials": "polar-express", "muon_iterations": 3},
    "… polar express, 4, head by head": {
        "muon_polynomials": "polar-express",
        "muon_iterations": 4,
        "muon_split_heads": True,
    },
    "… bfloat16": {"muon_bfloat16": True},
    "… polar express, 4, bfloat16": {"muon_polynomials": "polar-express", "muon_iterations": 4, "muon_bfloat16": True},
}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
MATRIX_BY_MATRIX = "Muon, matrix by matrix"


class PlainMuon(torch.optim.Optimizer):
    """Muon as it was published: one matrix after the other."""

    def __init__(self, params: list[nn.Parameter], lr: float, weight_decay: float):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                momentum.lerp_(p.grad, 0.05)
                direction = newton_schulz(torch.lerp(p.grad, momentum, 0.95))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(direction, alpha=-group["lr"] * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)


def newton_schulz(g: Tensor) -> Tensor:
    a, b, c = JORDAN
    tall = g.shape[0] > g.shape[1]
    x = g.mT if tall else g
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


@dataclass
class Contender:
    """A model, its optimizers, and the seconds of its steps."""

    name: str
    loss_module: LossModule
    optimizers: optim.Optimizers
    whole: list[float] = field(default_factory=list)
    part: list[float] = field(default_factory=list)
    """Of the optimizer alone."""

    def step(self, batch: Batch, counts: bool, clock: Callable[[], float]) -> None:
        start = clock()
        (self.loss_module(batch).objective / batch.num_targets).backward()
        between = clock()
        self.optimizers.step(0.5)
        end = clock()
        if counts:
            self.whole.append(end - start)
            self.part.append(end - between)

    def angle(self) -> float | None:
        """Degrees between the directions of Muon and the exact ones, over all of its blocks."""
        *_, (muon, _) = self.optimizers.optimizers_with_peak_lr
        if not isinstance(muon, Muon):
            return None
        inner = mine = exact = 0.0
        for group in muon.param_groups:
            for p in group["params"]:
                blocks = group["blocks"](muon.state[p]["momentum_buffer"])
                direction = muon.orthogonalize(blocks)
                u, _, v = torch.linalg.svd(blocks, full_matrices=False)
                inner += float((direction * (u @ v)).sum())
                mine += float(direction.square().sum())
                exact += float((u @ v).square().sum())
        return math.degrees(math.acos(min(1.0, inner / math.sqrt(mine * exact))))


def contenders(c: ModelConfig) -> Iterator[Contender]:
    for name, settings in SETTINGS.items():
        torch.manual_seed(1)
        model = build(c, VOCAB_SIZE, VOCAB_SIZE, joint=True, pad=PAD)
        train = TrainConfig(**{"optimizer": "muon", **settings})  # type: ignore[arg-type]
        optimizers = optim.build_optimizers(train, model)
        if name == MATRIX_BY_MATRIX:
            first, (muon, peak) = optimizers.optimizers_with_peak_lr
            matrices = [p for group in muon.param_groups for p in group["params"]]
            plain = PlainMuon(matrices, train.muon_learning_rate, train.weight_decay)
            optimizers = optim.Optimizers((first, (plain, peak)), optimizers.parameter_names)
        yield Contender(name, TranslationLoss(model, 0.1, padding_free=True).train(), optimizers)


def make_batch(tokens: int) -> Batch:
    generator = torch.Generator().manual_seed(2)
    rows = max(1, tokens // SENTENCE)
    source, target = (torch.randint(FIRST, VOCAB_SIZE, (rows, SENTENCE), generator=generator) for _ in range(2))
    target_in = torch.cat((torch.full((rows, 1), BOS), target[:, :-1]), dim=1)
    return Batch(source, target_in, target, target.numel())


def lines(rows: list[Contender]) -> Iterator[str]:
    adamw = rows[0]
    yield "| optimizer | ms of its step | ms of a whole step | a whole step against AdamW's | angle to U Vᵀ |"
    yield "|---|---|---|---|---|"
    for row in rows:
        ratio = statistics.median(mine / other for mine, other in zip(row.whole, adamw.whole, strict=True))
        angle = row.angle()
        degrees = "" if angle is None else f"{angle:.0f}°"
        part, whole = (1000 * statistics.median(seconds) for seconds in (row.part, row.whole))
        yield f"| {row.name} | {part:.1f} | {whole:.1f} | {ratio:.2f}x | {degrees} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=0, help="0: as training chooses")
    parser.add_argument("--size", default="128,4,4,256", help="dim,layers,heads,ffn")
    parser.add_argument("--batch-tokens", type=int, default=1024)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    threads = configure_cpu(given.threads)
    dim, layers, heads, ffn = map(int, given.size.split(","))
    rows = list(contenders(ModelConfig(dim=dim, layers=layers, heads=heads, ffn=ffn)))
    batch = make_batch(given.batch_tokens)
    for number in range(WARM + given.rounds):
        start = number % len(rows)
        for row in (*rows[start:], *rows[:start]):
            row.step(batch, counts=number >= WARM, clock=CLOCKS[given.clock])
    table = list(lines(rows))
    head = [
        *described(),
        f"- {layers}+{layers} layers, width {dim}, feed-forward {ffn}; batches of {given.batch_tokens:,} tokens; "
        f"{threads} threads; {given.clock} time, medians of {given.rounds} rounds",
    ]
    print("\n".join([*head, "", *table]))
    if given.write:
        write(given.write, [*head, "", *table])


if __name__ == "__main__":
    main()
