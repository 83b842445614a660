"""What training will take, said before it starts: updates, epochs, minutes and memory on this machine."""

import math
from dataclasses import dataclass

from regard.config import Config
from regard.training.planning.cost import Lengths, Parts, operations, parameters, training_bytes

EFFICIENCY, MORE_WHERE_TWICE_AS_WIDE, BEST = 0.61, 0.115, 0.9  # see `efficiency`
OVERHEAD = 0.012  # seconds of an update that are not products
OVERHEAD_A_LAYER = 0.005
FILLED = 0.93  # share of a batch that is no padding


@dataclass(frozen=True)
class Estimate:
    """What a training is expected to cost."""

    parts: Parts
    operations_a_pair: float
    bytes: int
    pieces_a_second: float
    updates_an_epoch: float
    seconds_an_update: float
    updates: float

    @property
    def minutes(self) -> float:
        return self.updates * self.seconds_an_update / 60

    @property
    def epochs(self) -> float:
        return self.updates / self.updates_an_epoch

    def lines(self) -> list[str]:
        """For people."""
        p = self.parts
        shares = f"embeddings {p.embeddings:,}, positions {p.positions:,}, encoder {p.encoder:,}, decoder {p.decoder:,}"
        shares += f", output {p.output:,}" if p.output else ", output shared with the embeddings"
        return [
            f"parameters: {p.total:,} ({shares})",
            f"work: {self.operations_a_pair / 1e9:.2f} GFLOP to train on a pair once",
            f"memory: about {self.bytes / 2**20:,.0f} MB",
            f"speed: about {self.pieces_a_second:,.0f} target pieces a second, {self.seconds_an_update:.2f} s a step",
            f"time: about {self.minutes:,.0f} minutes for {self.updates:,.0f} steps, {self.epochs:.1f} epochs",
        ]


def efficiency(width: int) -> float:
    """What the products of training reach of the machine's rate of products, measured: wider ones come nearer to it."""
    return min(BEST, EFFICIENCY + MORE_WHERE_TWICE_AS_WIDE * max(0.0, math.log2(width / 128)))


def estimate(config: Config, pairs: int, lengths: Lengths, vocabulary: int, rate: float, ranks: int = 1) -> Estimate:
    """The cost of a config on a corpus of so many pairs, at `rate` floating-point operations a second of each rank."""
    m, c = config.model, config.train
    parts = parameters(m, vocabulary, vocabulary, config.data.joint)
    pair = operations(m, vocabulary, lengths) * (2 if c.rdrop else 1)
    pairs_a_batch = FILLED * c.batch_tokens / max(lengths.source, lengths.target)
    layers = (m.encoder_layers or m.layers) + (m.decoder_layers or m.layers)
    seconds = c.accumulate * (pairs_a_batch * pair / (efficiency(m.dim) * rate) + OVERHEAD + OVERHEAD_A_LAYER * layers)
    per_update = ranks * c.accumulate * pairs_a_batch
    an_epoch = max(1.0, pairs / per_update)
    ends = [
        c.last_step,
        c.minutes and 60 * c.minutes / seconds,
        c.epochs and c.epochs * an_epoch,
        c.tokens and c.tokens / (per_update * lengths.target),
    ]
    return Estimate(
        parts=parts,
        operations_a_pair=pair,
        bytes=training_bytes(m, parts, vocabulary, c.batch_tokens),
        pieces_a_second=per_update * lengths.target / seconds,
        updates_an_epoch=an_epoch,
        seconds_an_update=seconds,
        updates=min(end for end in ends if end),
    )
