"""A sentence costs linearly, a book by the square of its length."""

import math
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Counted
from regard.labs.finding import Finding
from regard.labs.operations import count_operations
from regard.model.attention import AttentionFunction, attend
from regard.model.build import ATTENDS, build_encoder, use_parts
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "The cost of an encoder grows with the square of the length of its text."
SOURCE = "a university discussion sheet; Vaswani et al. 2017, table 1, which counts attention alone"
CLAIMS = (97,)
PREDICT = "One layer, width 256: with which power of the length does its cost grow from 32 to 64 tokens? (1 to 2)"
CHANGE = "WIDTH=64, then WIDTH=1024: at which length does the square take over?"
TURN = {"WIDTH": (64, 256, 1024)}

WIDTH, LENGTHS = 256, (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
SENTENCE = 32
CLOCKED = 1024
"""The longest text that is computed for its seconds as well; the others are only counted."""


def count(length: int, attention: AttentionFunction, device: str) -> tuple[int, float]:
    """The multiplications of one encoder layer, and CPU seconds; on torch's meta device nothing is computed."""
    with torch.device(device), torch.no_grad(), use_parts(ATTENDS, softmax=attention):
        none = PositionsConfig(kind="none")
        c = ModelConfig(dim=WIDTH, layers=1, heads=4, ffn=4 * WIDTH, dropout=0.0, positions=none)
        model, ids = build_encoder(c, vocab_size=11, pad=0).eval(), torch.ones(1, length, dtype=torch.long)
        start = time.process_time()
        with count_operations() as operations:
            model(ids)
    return operations.multiplications, time.process_time() - start


def run(seeds: Sequence[int], attend: AttentionFunction = attend) -> Finding:
    lengths = sorted({*LENGTHS, SENTENCE, 2 * SENTENCE})
    counts = {length: count(length, attend, "meta")[0] for length in lengths}
    longest = max(lengths)

    def power(short: int, long: int) -> float:
        return math.log(counts[long] / counts[short], long / short)

    sentence, before = power(SENTENCE, 2 * SENTENCE), max(length for length in lengths if length < longest)
    return Finding(
        [
            # 1.5: halfway between a line and a square
            Counted(f"the power of the length from {SENTENCE} to {2 * SENTENCE} tokens", sentence, least=1.5),
            Counted(f"the power of the length from {before} to {longest} tokens", power(before, longest), least=1.5),
        ],
        Table.from_rows(
            {
                "tokens": length,
                "of": of,
                "multiplications": number,
                "CPU seconds": count(length, attend, "cpu")[1] if of == "the layer" and length <= CLOCKED else None,
            }
            for of, numbers in (
                ("the layer", counts),
                ("a line through the first", {length: length * counts[lengths[0]] // lengths[0] for length in lengths}),
            )
            for length, number in numbers.items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "tokens", "multiplications", "of", log="xy")


def mean_of_values(q: Tensor, k: Tensor, v: Tensor, *rest: object) -> tuple[Tensor, None]:
    """Every query takes the same: the mean."""
    return v.mean(dim=-2, keepdim=True).expand_as(q), None


def broken(seeds: Sequence[int]) -> Finding:
    """A layer whose queries meet no keys: no pairs are left to be counted."""
    return run(seeds, attend=mean_of_values)
