"""With a causal mask, no state knows what follows."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.labs.effects import Exact
from regard.labs.finding import Finding, Need
from regard.labs.seeds import over
from regard.model.build import build_decoder
from regard.model.masks import causal_mask, position_ids_of
from regard.model.modules import evaluation_mode
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table
from regard.runtime.incremental import IncrementalDecoder

CLAIM = "The causal mask hides later tokens from a state, in training as well as in generation."
SOURCE = "Vaswani et al. 2017, section 3.2.3; lectures on Transformers"
CLAIMS = (14, 15)
PREDICT = "All tokens from the 7th on are replaced: by how much does the state of the 6th move at most?"
CHANGE = "LAYERS=6: does anything leak through more layers?"
TURN = {"LAYERS": (1, 2, 4)}

TOKENS, CHANGED, LAYERS, DIM, VOCAB = 11, 6, 2, 32, 50

Mask = Callable[[int], Tensor]


def measure(causal_mask: Mask) -> tuple[list[float], float]:
    """How far each state moves when the tokens from `CHANGED` on are replaced; one pass against step by step."""
    config = ModelConfig(dim=DIM, heads=4, layers=LAYERS, ffn=2 * DIM, positions=PositionsConfig(kind="rotary"))
    model = build_decoder(config, VOCAB, pad=0).double()
    ids = torch.randint(1, VOCAB, (1, TOKENS))
    others = torch.cat((ids[:, :CHANGED], (ids[:, CHANGED:] + 7) % (VOCAB - 1) + 1), dim=1)
    with torch.no_grad(), evaluation_mode(model):
        states, moved = (model.decoder(one, causal_mask(TOKENS), position_ids_of(one)) for one in (ids, others))
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(ids[:, :0])
        steps = torch.stack([batch.step(token) for token in ids.T], dim=1)  # (1, T, V), with a cache
        return (states - moved).abs().amax(-1)[0].tolist(), float((model.output(states) - steps).abs().max())


def run(seeds: Sequence[int], causal_mask: Mask = causal_mask) -> Finding:
    measured = over(seeds, lambda: measure(causal_mask))
    changes = [change for change, _ in measured]
    return Finding(
        [
            Exact("the largest change of a state before the replaced tokens", [max(c[:CHANGED]) for c in changes], 0),
            Exact("the difference between one masked pass and step by step with a cache", [one for _, one in measured]),
        ],
        Table.from_rows(
            {"token": str(n + 1), "change of its state": sum(change[n] for change in changes) / len(changes)}
            for n in range(TOKENS)
        ),
        # else the states would not depend on tokens at all
        [Need("the smallest change of a state from there on", [min(change[CHANGED:]) for change in changes], 0.01)],
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "token", "change of its state")


def broken(seeds: Sequence[int]) -> Finding:
    """A mask that is off by one: each token attends to the next."""
    return run(seeds, causal_mask=lambda length: torch.ones(length, length, dtype=torch.bool).tril(1))
