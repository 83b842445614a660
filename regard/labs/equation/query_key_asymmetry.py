"""Asking is not resembling."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import Attention, score
from regard.model.build import build_encoder
from regard.report.pictures import MatrixPicture, Picture
from regard.report.table import Table

CLAIM = "The dot product of query and key measures how similar two tokens are."
SOURCE = "lectures on Transformers"
CLAIMS = (7,)
PREDICT = "A similarity is the same in both directions. How are score(i, j) and score(j, i) correlated? (-1 to 1)"
CHANGE = "DIM=256: does a token attend to itself more often in a wider model?"
TURN = {"DIM": (16, 64, 256)}

TOKENS, DIM = 23, 64

Score = Callable[[Tensor, Tensor], Tensor]


def as_built(attention: Attention) -> None:
    """Queries and keys have projections of their own."""


def one_projection(attention: Attention) -> None:
    attention.k_proj = attention.q_proj


def measure(score: Score, prepare: Callable[[Attention], None]) -> Tensor:
    """Scores (TOKENS, TOKENS) of an untrained model with one head, for tokens that are all different."""
    config = ModelConfig(dim=DIM, heads=1, layers=1, ffn=DIM, positions=PositionsConfig(kind="none"))
    model = build_encoder(config, TOKENS + 1, pad=0).double()
    layer = model.encoder.layers[0]
    attention: Attention = layer.self_attn  # type: ignore[assignment]
    prepare(attention)
    with torch.no_grad():
        x = model.encoder.embedding.embed_tokens(torch.arange(1, TOKENS + 1)[None])  # (1, T, D)
        return score(attention.q_proj(x)[:, None], attention.k_proj(x)[:, None])[0, 0]


def symmetry(scores: Tensor) -> float:
    """The correlation of score(i, j) with score(j, i), over all pairs of different tokens."""
    pairs = ~torch.eye(TOKENS, dtype=torch.bool)
    return float(torch.corrcoef(torch.stack((scores[pairs], scores.T[pairs])))[0, 1])


def own_share(scores: Tensor) -> float:
    """The share of tokens whose highest score is with themselves."""
    return float((scores.argmax(-1) == torch.arange(TOKENS)).double().mean())


def run(seeds: Sequence[int], score: Score = score, prepare: Callable[[Attention], None] = as_built) -> Finding:
    scores = over(seeds, lambda: measure(score, prepare))
    return Finding(
        [
            # 0.5 for both: of a similarity it would be 1; half of that might still be called one
            Effect("the correlation of score(i, j) and score(j, i)", list(map(symmetry, scores)), least=0.5),
            Effect(
                "the share of tokens that match themselves best",
                list(map(own_share, scores)),
                least=0.5,
                grain=1 / TOKENS,
                limit=1,
            ),
        ],
        # as many as a picture has room for with numbers
        Table({str(n + 1): column[:13].tolist() for n, column in enumerate(scores[0].T[:13])}),
    )


def draw(finding: Finding) -> Picture:
    scores = [value or 0.0 for name in finding.table.columns for value in finding.table.numbers(name)]
    picture = MatrixPicture.from_table(finding.table, value_title="score")
    return replace(picture, domain=(min(scores), max(scores)))


def control(seeds: Sequence[int]) -> Finding:
    """One projection for queries and keys: now a score is a similarity."""
    return run(seeds, prepare=one_projection)
