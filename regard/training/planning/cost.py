"""What a model costs: its parameters part by part, operations a pair, bytes of memory. Formulas, no measuring."""

from dataclasses import dataclass

from regard.config import Head, ModelConfig, PositionsConfig

BYTES = 4
COPIES = 4  # weights, gradients and Adam's two moments


@dataclass(frozen=True)
class Lengths:
    """Mean pieces of a source and of a target, end marks included."""

    source: float
    target: float


@dataclass(frozen=True)
class Parts:
    """Parameters of each part; a table that is shared counts where it stands first."""

    embeddings: int
    positions: int
    encoder: int
    decoder: int
    output: int

    @property
    def total(self) -> int:
        return self.embeddings + self.positions + self.encoder + self.decoder + self.output


def parameters(c: ModelConfig, source_size: int, target_size: int, joint: bool) -> Parts:
    """How many numbers a model learns."""
    bias, norm = int(c.bias), c.dim * (2 if c.norm_kind == "layer" else 1)
    attention = 4 * (c.dim * c.dim + bias * c.dim)
    gone = (4 * c.dim + 3 * bias) * (c.dim // c.heads)  # of each head that was pruned
    cut = {stack: gone * sum(name.startswith(stack) for name in c.pruned) for stack in ("encoder", "decoder")}
    into = 2 if c.activation == "swiglu" else 1
    feed = (into + 1) * c.dim * c.ffn + bias * (into * c.ffn + c.dim)
    last = norm if c.norm == "pre" else 0
    encoder = c.depth("encoder") * (attention + feed + 2 * norm) + last - cut["encoder"]
    decoder = c.depth("decoder") * (2 * attention + feed + 3 * norm) + last - cut["decoder"]
    at = (c.encoder.positions or c.positions, c.decoder.positions or c.positions)
    beside = [side.width if side.kind == "concatenated" else 0 for side in at]
    shared = c.tie_embeddings and joint and beside[0] == beside[1]
    words = target_size * (c.dim - beside[1]) + (0 if shared else source_size * (c.dim - beside[0]))
    words += 2 * norm if c.embedding_norm else 0
    depths = (c.depth("encoder"), c.depth("decoder"))
    places = sum(_places(c, side) + _distances(c, side, n) for side, n in zip(at, depths, strict=True))
    output = 0 if c.tie_embeddings and not beside[1] else target_size * c.dim
    return Parts(words, places, encoder, decoder, output + (target_size if c.output_bias else 0))


def _places(c: ModelConfig, side: PositionsConfig) -> int:
    """What a stack learns of places at its embeddings."""
    if side.kind == "learned":
        return side.length * c.dim
    return side.length * side.width if side.kind == "concatenated" and side.table == "learned" else 0


def _distances(c: ModelConfig, side: PositionsConfig, layers: int) -> int:
    """What a stack learns of distances in its attention."""
    if side.kind == "relative":
        return layers * (2 * side.max_relative + 1) * (c.dim // c.heads) * (2 if side.values else 1)
    if side.kind == "bias":
        return layers * c.heads * (2 * side.length - 1)
    return side.buckets * c.heads if side.kind == "t5" else 0


def operations(c: ModelConfig, target_size: int, lengths: Lengths) -> float:
    """Floating-point operations to train on one pair once: forward, and twice that backward."""
    s, t, d, k = lengths.source, lengths.target, c.dim, c.dim // c.heads
    feed = (3 if c.activation == "swiglu" else 2) * d * c.ffn
    encoder = s * (4 * d * d + feed) + 2 * s * s * d
    decoder = t * (6 * d * d + feed) + s * 2 * d * d + 2 * t * t * d + 2 * s * t * d
    forward = c.depth("encoder") * encoder + c.depth("decoder") * decoder + t * d * target_size
    # What a pruned head no longer does: four products with its weights, and two with the keys and values.
    gone = {
        "encoder.self": 4 * s * d * k + 2 * s * s * k,
        "decoder.self": 4 * t * d * k + 2 * t * t * k,
        "decoder.cross": 2 * (s + t) * d * k + 2 * s * t * k,
    }
    heads = map(Head.parse, c.pruned)
    return 6 * (forward - sum(gone[f"{head.stack}.{head.kind}"] for head in heads))


def training_bytes(c: ModelConfig, parts: Parts, target_size: int, batch_tokens: int) -> int:
    """Roughly how much memory an update takes: weights with their copies, and what backward needs of every token."""
    layers = c.depth("encoder") + 2 * c.depth("decoder")
    kept = batch_tokens * (layers * (12 * c.dim + 3 * c.ffn) + 3 * target_size)
    return BYTES * (COPIES * parts.total + kept)
