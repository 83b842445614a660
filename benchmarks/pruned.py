"""What pruning saves: time of decoding and of a training step, of a run and of the run that was pruned from it.

    python benchmarks/pruned.py RUN PRUNED dev.en dev.fr [--rounds 9] [--write NAME]

Both are loaded into one process and take turns, first one and then the other leading, so that a machine whose speed
swings is unfair to neither. A ratio is the median of the rounds' own ratios, with the middle half beside it; next to it
stand the ratios of parameters and of operations that the cost model computes.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from environment import described, write

from regard.config import Config
from regard.data.batch import Batch, collate
from regard.decode import GreedySearch
from regard.formats import Pair, read_pairs
from regard.hardware import configure_cpu
from regard.jobs.load import load
from regard.model.modules import count_parameters
from regard.run import open_run
from regard.tasks.translate.loss import TranslationLoss
from regard.tasks.translate.translator import Translator
from regard.training import optim
from regard.training.planning.cost import MeanLengths, training_flops

BATCH = 64  # pairs of a training step
WARM = 2  # turns before anything is counted


@dataclass(frozen=True)
class Contender:
    """A run, ready to decode and to be trained on."""

    config: Config
    translator: Translator
    decode: Callable[[], object]
    step: Callable[[], object]


def contender(folder: Path, pairs: Sequence[Pair]) -> Contender:
    """One model decodes; a second copy is trained on, so that decoding meets the weights that were loaded."""
    config, translator = open_run(folder).load_config(), load(folder, "cpu")
    sources = [pair.source for pair in pairs]
    return Contender(
        config,
        translator,
        lambda: translator.translate(sources, GreedySearch(scored=False)),
        stepper(folder, config, pairs),
    )


def stepper(folder: Path, config: Config, pairs: Sequence[Pair]) -> Callable[[], None]:
    """A training step as `regard train` makes it on a CPU: forward, backward, gradient clipping, optimizer step."""
    translator = load(folder, "cpu")
    learner = TranslationLoss(translator.model, config.train.label_smoothing, padding_free=True).train()
    optimizers = optim.build_optimizers(config.train, translator.model)
    batch = batch_of(translator, pairs[:BATCH])

    def step() -> None:
        sums = learner(batch)
        (sums.objective / batch.num_targets).backward()
        torch.nn.utils.clip_grad_norm_(translator.model.parameters(), 1.0)
        optimizers.step(1e-6)  # of the rate: the weights stay as they are for all that matters

    return step


def batch_of(translator: Translator, pairs: Sequence[Pair]) -> Batch:
    source = translator.tokenizers.source.encode([pair.source for pair in pairs])
    return collate(source, translator.tokenizers.target.encode([pair.target for pair in pairs]))


def work(one: Contender, pairs: Sequence[Pair]) -> float:
    """Operations to train on one of these pairs once, as computed."""
    sides = [
        one.translator.tokenizers.source.encode([pair.source for pair in pairs]),
        one.translator.tokenizers.target.encode([pair.target for pair in pairs]),
    ]
    lengths = MeanLengths(*(sum(map(len, side)) / len(side) + 1 for side in sides))
    return training_flops(one.config.model, one.translator.tokenizers.target.vocab_size, lengths)


def in_turns(whole: Callable[[], object], less: Callable[[], object], rounds: int) -> list[tuple[float, float]]:
    """Seconds of both in each round."""
    found = []
    for number in range(WARM + rounds):
        order = (whole, less) if number % 2 else (less, whole)
        took = {}
        for do in order:
            start = time.perf_counter()
            do()
            took[do] = time.perf_counter() - start
        if number >= WARM:
            found.append((took[whole], took[less]))
    return found


def row(name: str, times: list[tuple[float, float]]) -> str:
    ratios = [less / whole for whole, less in times]
    low, middle, high = statistics.quantiles(ratios, n=4)
    before, after = (statistics.median(column) for column in zip(*times, strict=True))
    return f"| {name} | {1000 * before:,.1f} ms | {1000 * after:,.1f} ms | {middle:.2f} ({low:.2f} to {high:.2f}) |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("pruned", type=Path)
    parser.add_argument("pairs", nargs="+", help="two aligned files, or one .tsv")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    configure_cpu(given.threads)
    pairs = list(read_pairs(given.pairs))[: given.sentences]
    whole, less = (contender(folder, pairs) for folder in (given.run, given.pruned))
    count = [count_parameters(one.translator.model) for one in (whole, less)]
    flops = [work(one, pairs) for one in (whole, less)]
    rows = [
        f"| {given.pruned.name}: {len(less.config.model.pruned)} heads cut | before | after | ratio |",
        "|---|---|---|---|",
        f"| parameters | {count[0]:,} | {count[1]:,} | {count[1] / count[0]:.2f} |",
        f"| FLOPs per pair, computed | {flops[0]:,.0f} | {flops[1]:,.0f} | {flops[1] / flops[0]:.2f} |",
        row(f"training step, {min(BATCH, len(pairs))} pairs", in_turns(whole.step, less.step, given.rounds)),
        row(f"greedy decoding, {len(pairs)} sentences", in_turns(whole.decode, less.decode, given.rounds)),
    ]
    lines = [
        *described(),
        f"- {given.rounds} rounds in turns, {given.threads} thread; medians, and the middle half of the rounds' ratios",
        f"- load of the machine meanwhile: {os.getloadavg()[0]:.1f}",
        "",
        *rows,
    ]
    print("\n".join(lines))
    if given.write:
        write(given.write, lines)


if __name__ == "__main__":
    main()
