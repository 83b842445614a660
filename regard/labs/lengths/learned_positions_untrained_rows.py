"""A learned position is one vector, and training reaches only those that texts reach."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.positions import Absolute, Learned, Sinusoidal
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Each learned position has one vector, the same for all tokens, and it is trained as any other weight."
SOURCE = "lectures on Transformers; Gehring et al. 2017"
CLAIMS = (48, 54, 55)
PREDICT = "A table of 17 positions, texts of 11 tokens: how long is the gradient of the other six?"
CHANGE = "TRAINED=5: how much of the table is left as it was drawn?"
TURN = {"TRAINED": (5, 11, 17)}

TRAINED, LENGTH, WIDTH = 11, 17, 7

MakeLearned = Callable[[int, int], Absolute]


def embed(learned: Absolute, x: Tensor) -> Tensor:
    """What is added to embeddings x (B, T, D)."""
    return learned.embed(x, torch.arange(x.shape[1])[None]) - x


def compare(make: MakeLearned) -> tuple[float, list[float]]:
    """How what is added depends on the tokens, and the gradient of each of LENGTH positions."""
    learned = make(WIDTH, LENGTH).double()
    x = torch.randn(2, TRAINED, WIDTH, dtype=torch.float64)
    first, second = embed(learned, x)
    states = learned.embed(x, torch.arange(TRAINED)[None])
    targets = torch.randn_like(states)
    tables = list(learned.parameters())
    if not tables:
        return (first - second).abs().max().item(), [0.0] * LENGTH
    (gradient,) = torch.autograd.grad((states - targets).square().sum(), tables)
    return (first - second).abs().max().item(), gradient.norm(dim=1).tolist()


def run(seeds: Sequence[int], learned: MakeLearned = Learned) -> Finding:
    measured = over(seeds, lambda: compare(learned))
    gradients = [norms for _, norms in measured]
    within = [sum(norm > 0 for norm in norms[:TRAINED]) / TRAINED for norms in gradients]
    beyond = [sum(norms[TRAINED:]) for norms in gradients]
    return Finding(
        [
            Exact("the gradient of the positions that no text reaches", beyond, tolerance=0.0),
            Exact("the difference between the vectors of two texts at the same position", [one for one, _ in measured]),
            # 0.99: every position that a text reaches
            Effect("the share of trained positions among those that texts reach", within, least=0.99),
        ],
        Table({"position": [str(n) for n in range(LENGTH)], "length of gradient": gradients[0]}),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "position", "length of gradient")


def broken(seeds: Sequence[int]) -> Finding:
    """A formula in place of the table: nothing is trained."""
    return run(seeds, learned=lambda dim, length: Sinusoidal(dim))
