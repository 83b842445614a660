"""Architectures of the same width and depth with equally many weights outside the token embeddings.

Cross-attention is what an encoder-decoder has more in each layer of its decoder: its feed-forward layers are narrower.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.config import ModelConfig
from regard.errors import ConfigError
from regard.model.weights import read_shapes
from regard.run import Run
from regard.training.planning.cost import compute_parameter_counts
from regard.tuning.space import Params

TOLERANCE = 0.02
"""Of the weights, by which architectures may differ."""
FFN_MULTIPLE = 4
MIN_DEPTH = 2
"""Layers in all: one for each stack of an encoder-decoder."""
TOKEN_TABLES = (".embedding.tokens.weight", "output.weight", "output.bias")
"""Ends of the names of tensors that have a row for each token, or for each label."""


@dataclass(frozen=True)
class SizedArchitecture:
    """The model of one architecture, as settings of a trial."""

    name: str
    params: Params
    weights: int
    """Outside the token embeddings, by formula."""


def match_sizes(model: ModelConfig, architectures: Sequence[str]) -> dict[str, SizedArchitecture]:
    """Models of these architectures with as many weights as the first one has, by the width of feed-forward layers."""
    reference = _shape(model, architectures[0], max(MIN_DEPTH, _depth(model, architectures[0])))
    reference |= {"model.ffn": model.ffn}
    target = count_outside_tables(_with_params(model, reference))
    depth = _depth(_with_params(model, reference), architectures[0])
    sized = {}
    for name in architectures:
        shape = _shape(model, name, depth)
        params = shape | {"model.ffn": _solve_ffn(model, shape, target)}
        sized[name] = SizedArchitecture(name, params, count_outside_tables(_with_params(model, params)))
    _require_equal(sized)
    return sized


def count_outside_tables(model: ModelConfig) -> int:
    """The weights of the layers, and of positions."""
    counts = compute_parameter_counts(model, 1, 1, joint_vocab=True)
    return counts.encoder + counts.decoder + counts.positions


def count_run_weights(run: Run) -> tuple[int, int]:
    """The weights of a run as they are stored: outside the token embeddings, and in all."""
    sizes = {}
    for name, shape in read_shapes(run.best_weights()).items():
        sizes[name] = 1
        for length in shape:
            sizes[name] *= length
    outside = sum(size for name, size in sizes.items() if not name.endswith(TOKEN_TABLES))
    return outside, sum(sizes.values())


def spread(weights: Sequence[int]) -> float:
    """The largest number of weights over the smallest, minus one."""
    return max(weights) / min(weights) - 1


def _depth(model: ModelConfig, architecture: str) -> int:
    return sum(model.depth(stack) for stack in architecture.split("-"))


def _shape(model: ModelConfig, architecture: str, depth: int) -> Params:
    """The layers of an architecture: as many in all, those of an encoder-decoder divided between its stacks."""
    params: Params = {"model.architecture": architecture}
    if architecture != "encoder-decoder":
        return params | {"model.layers": depth}
    return params | {"model.encoder_layers": depth - depth // 2, "model.decoder_layers": depth // 2}


def _with_params(model: ModelConfig, params: Params) -> ModelConfig:
    values = {name.removeprefix("model."): value for name, value in params.items()}
    unset = {"encoder_layers": None, "decoder_layers": None}
    return ModelConfig.model_validate(model.model_dump(exclude_unset=True) | unset | values)


def _solve_ffn(model: ModelConfig, shape: Params, target: int) -> int:
    """The width of feed-forward layers with which a model has this many weights: they are a linear function of it."""
    narrow, wider = (count_outside_tables(_with_params(model, shape | {"model.ffn": n})) for n in (1, 2))
    width = 1 + (target - narrow) / (wider - narrow)
    rounded = FFN_MULTIPLE * round(width / FFN_MULTIPLE)
    error = abs(rounded - width) * (wider - narrow) / target
    ffn = rounded if error < TOLERANCE / 2 else round(width)
    if ffn < 1:
        raise ConfigError(
            f"model.ffn={model.ffn}: too narrow to be divided: the cross-attention of an encoder-decoder has more "
            f"weights than all feed-forward layers of the others; set a larger model.ffn"
        )
    return ffn


def _require_equal(sized: dict[str, SizedArchitecture]) -> None:
    weights = [one.weights for one in sized.values()]
    if spread(weights) > TOLERANCE:
        listed = ", ".join(f"{one.name} {one.weights:,}" for one in sized.values())
        raise ConfigError(
            f"weights outside the token embeddings differ by {spread(weights):.1%} ({listed}); set a larger model.dim "
            f"or model.ffn, so that widths can be equal"
        )
