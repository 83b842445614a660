"""With argmax attention a state sees (k + 1)ⁿ tokens: at most, and of values only."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.attention import AttentionFunction, Normalizer, attend, masked_softmax
from regard.model.build import ATTENDS, build_encoder, use_parts
from regard.model.modules import evaluation_mode
from regard.model.single_stack import EncoderOnly
from regard.model.taps import alter, record
from regard.model.variants import hard_attention
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "With argmax attention of k heads and a residual, a state in layer n sees (k + 1)ⁿ tokens."
SOURCE = "discussion sheet of a course on deep learning"
CLAIMS = (33,)
PREDICT = "4 heads, 3 layers, random weights: by which share does a state see fewer than 5³ = 125 tokens? (0 to 1)"
CHANGE = "HEADS=1: why is the bound nearly attained with one head?"
TURN = {"HEADS": (1, 2, 4)}

TOKENS, HEADS, LAYERS, REPLACED = 243, 4, 3, 23
NO_POSITIONS = PositionsConfig(kind="none")
Change = Callable[[Tensor], Tensor]


def build_random(hard_attention: Normalizer, layers: int) -> EncoderOnly:
    config = ModelConfig(dim=32, heads=HEADS, layers=layers, ffn=32, attention="argmax", positions=NO_POSITIONS)
    attention: AttentionFunction = partial(attend, normalizer=hard_attention)
    with use_parts(ATTENDS, argmax=attention):
        return build_encoder(config, TOKENS + 2, pad=0).double()


def plant(layers: int) -> dict[str, Change]:
    """Head h of layer l looks h · (k + 1)ˡ tokens back: the digits of a distance in base k + 1."""
    changes: dict[str, Change] = {}
    for n in range(layers):
        targets = torch.arange(TOKENS) - torch.arange(1, HEADS + 1)[:, None] * (HEADS + 1) ** n  # (H, T)
        scores = F.one_hot(targets.clamp(min=0), TOKENS).double()[None]  # (1, H, T, T)
        changes[f"encoder.layers.{n}.self_attn.scores"] = scores.expand_as
    return changes


def count_visible(model: EncoderOnly, ids: Tensor, changes: dict[str, Change]) -> int:
    """How many tokens reach the last state by values: those for which it has a gradient."""
    with alter(model, changes), evaluation_mode(model), record(model, "encoder.embed", gradients=True) as tensors:
        model(ids)[0, -1].square().sum().backward()
    gradient = tensors["encoder.embed"].grad
    return 0 if gradient is None else int((gradient[0].abs().sum(-1) > 0).sum())


def measure(hard_attention: Normalizer) -> tuple[list[int], list[int], float]:
    """Tokens seen with 1 … LAYERS layers, by random heads and by planted ones; the share that moves the last state."""
    ids = torch.arange(1, TOKENS + 1)[None]
    models = [build_random(hard_attention, layers) for layers in range(1, LAYERS + 1)]
    random = [count_visible(model, ids, {}) for model in models]
    planted = [count_visible(model, ids, plant(n + 1)) for n, model in enumerate(models)]
    places = torch.randperm(TOKENS - 1)[:REPLACED, None]  # another word in one of them each
    others = ids.repeat(REPLACED, 1).scatter(1, places, TOKENS + 1)
    with torch.no_grad(), evaluation_mode(models[-1]):
        moved = (models[-1](others)[:, -1] - models[-1](ids)[:, -1]).abs().amax(-1) > 0
    return random, planted, float(moved.double().mean())


def run(seeds: Sequence[int], hard_attention: Normalizer = hard_attention) -> Finding:
    random, planted, moved = zip(*over(seeds, lambda: measure(hard_attention)), strict=True)
    *_, full = bounds = [(HEADS + 1) ** (n + 1) for n in range(LAYERS)]
    return Finding(
        [
            # 0.05: what is said to be seen is seen but for a twentieth
            Effect(
                "the share by which random heads miss (k + 1)ⁿ", [abs(one[-1] / full - 1) for one in random], most=0.05
            ),
            Exact("the tokens by which planted heads miss (k + 1)ⁿ", [abs(one[-1] - full) for one in planted], 0),
            # a state that sees (k + 1)ⁿ tokens is moved by no others
            Effect("the share of tokens that move a state", moved, most=full / TOKENS, grain=1 / REPLACED, limit=1),
        ],
        Table.from_rows(
            {"layers": n + 1, "tokens seen": sum(one[n] for one in counts) / len(counts), "by": name}
            for name, counts in (("(k + 1)ⁿ", [bounds]), ("random heads", random), ("planted heads", planted))
            for n in range(LAYERS)
        ),
    )


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "layers", "tokens seen", "by", log="y", rules={"all tokens": TOKENS})


def broken(seeds: Sequence[int]) -> Finding:
    """Softmax in place of argmax: a state sees all tokens from the first layer on."""
    return run(seeds, hard_attention=masked_softmax)
