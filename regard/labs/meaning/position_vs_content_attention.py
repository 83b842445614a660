"""Attention to a place and attention to a word."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.data import toy_tasks
from regard.data.toy_tasks import ToyBatch, marked_symbols, n_back
from regard.inspection.example import build_single_stack_example, tokens_from_ids
from regard.inspection.flow import decompose
from regard.inspection.flow.decompose import ScoreTerms, decompose_scores
from regard.inspection.trace import trace_forward
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.training.toy import train_toy

CLAIM = "Attention by position and attention by content are different things, and can be distinguished in one head."
SOURCE = "lectures on attention; the terms are those of Dai et al. 2019, section 3.3"
CLAIMS = (107,)
PREDICT = "By how much is the share of positions larger where the symbol before is asked than the marked one? (0 to 1)"
CHANGE = "SCHEME='learned': does a table of positions share the work in another way?"
TURN = {"SCHEME": ("sinusoidal", "learned", "alibi")}

WIDTH, LENGTH, SYMBOLS, STEPS, SCHEME, TEXTS = 32, 12, 8, 120, "sinusoidal", 16
Decompose = Callable[..., ScoreTerms]
POSITION_TERMS = [decompose.TERM_NAMES.index(name) for name in ("position·position", "distance")]


def marked_symbol() -> ToyBatch:
    """One symbol is marked, and asked for at the last place: where to look is a matter of content."""
    ids, targets = marked_symbols(32, LENGTH, SYMBOLS)
    return ToyBatch(ids, F.pad(targets, (LENGTH - 1, 0), value=toy_tasks.IGNORED))


TASKS = {"the symbol before": lambda: n_back(32, LENGTH, SYMBOLS, 1), "the marked symbol": marked_symbol}


def measure(task: Callable[[], ToyBatch], terms_of: Decompose) -> tuple[float, float, float]:
    """The share of positions alone in the scores; by how much the terms miss the scores; accuracy."""
    size: dict[str, Any] = {"dim": WIDTH, "ffn": WIDTH, "layers": 1, "heads": 1, "dropout": 0.0}
    config = ModelConfig(architecture="decoder", positions=PositionsConfig(kind=SCHEME), **size)
    model = build_decoder(config, 2 * SYMBOLS + 1, 0)

    def loss() -> Tensor:
        ids, targets = task()
        return F.cross_entropy(model.output(model(ids)).transpose(1, 2), targets)

    train_toy(model, loss, STEPS, learning_rate=1e-2)
    ids, targets = task()
    right = (model.output(model(ids)).argmax(dim=-1) == targets)[targets != toy_tasks.IGNORED]
    shares, misses, model = list[float](), list[float](), model.double()
    for row in ids[:TEXTS].tolist():
        trace = trace_forward(model, build_single_stack_example(tokens_from_ids(row), causal=True))
        attn = trace.of_kind("decoder")[0]
        terms = terms_of(model, trace, attn)
        shares.append(float(terms.shares[0, POSITION_TERMS].sum()))
        misses.append(float((terms.grouped_terms.sum(dim=1) - attn.scores).abs().max()))
    return fmean(shares), max(misses), float(right.float().mean())


def run(seeds: Sequence[int], decompose_scores: Decompose = decompose_scores) -> Finding:
    measured = {name: over(seeds, partial(measure, task, decompose_scores)) for name, task in TASKS.items()}
    shares = {name: [one[0] for one in rows] for name, rows in measured.items()}
    more = [place - word for place, word in zip(*shares.values(), strict=True)]
    both = [one for rows in measured.values() for one in rows]
    return Finding(
        [
            # 0.3: a third of the scores: more than one term among six has by chance
            Effect("the share of positions alone, the symbol before minus the marked one", more, least=0.3),
            Exact("the difference of the scores from the sum of their six terms", [one[1] for one in both]),
        ],
        Table({"task": list(shares), "share of positions alone": [fmean(values) for values in shares.values()]}),
        [Need("accuracy", [one[2] for one in both], least=0.9)],
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "task", "share of positions alone")


def broken(seeds: Sequence[int]) -> Finding:
    """Terms that do not know their names: all are called content."""

    def call_all_content(*arguments: Any) -> ScoreTerms:
        terms = decompose_scores(*arguments)
        content = terms.grouped_terms.sum(dim=1, keepdim=True)
        return replace(terms, grouped_terms=torch.cat((content, 0 * terms.grouped_terms[:, 1:]), dim=1))

    return run(seeds, decompose_scores=call_all_content)
