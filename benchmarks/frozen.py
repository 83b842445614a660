"""Numbers that must not move when code is rearranged: losses, gradients, searches, the demo's first steps, state dicts.

    python benchmarks/frozen.py --write FILE      # on the code before
    python benchmarks/frozen.py --compare FILE    # on the code after: prints what differs, and by how much

Every position scheme, norm, activation and way of computing is one cell, in float64 with one thread. Parameters are
filled by their names, as they are called today, so that renamed weights keep their numbers.
"""

import argparse
import json
import math
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.decode import BeamSearch, GreedySearch, SamplingSearch
from regard.jobs.demo import FULL_PRESET, run_demo
from regard.model.build import build
from regard.model.transformer import EncoderDecoder
from regard.run import Run
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.padding_free import PaddingFreeForward
from regard.tasks.translate.translator import ModelStepper
from regard.training import log

V = 23
SIZES = {"dim": 22, "heads": 2, "ffn": 13, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
DEMO_STEPS = 200
TOLERANCE = 1e-9  # relative; sums in another order differ by some 1e-15

POSITIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "sinusoidal": {},
    "learned": {"length": 29},
    "concatenated": {"width": 5},
    "concatenated learned": {"width": 5, "table": "learned", "length": 29},
    "relative": {"max_relative": 3},
    "relative values": {"max_relative": 3, "values": True},
    "bias": {"length": 29},
    "t5": {"buckets": 8, "max_distance": 11},
    "alibi": {},
    "alibi two-sided": {"sides": "two-sided"},
    "rotary": {},
    "rotary interleaved": {"rotary_layout": "interleaved", "partial_rotary_factor": 0.5, "base": 100.0},
}
OTHERS: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "rms": {"norm_kind": "rms"},
    "post rms": {"norm": "post", "norm_kind": "rms"},
    **{name: {"activation": name} for name in ("gelu", "gelu-tanh", "silu", "swiglu")},
    "no bias": {"bias": False},
    "untied": {"tie_embeddings": False},
    "argmax": {"attention": "argmax", "positions": {"kind": "bias", "length": 29}},
    "pruned": {"pruned": ("encoder.1.self.0", "decoder.2.cross.1"), "positions": {"kind": "t5"}},
    "embedding norm": {"embedding_norm": True, "scale_embeddings": False, "output_bias": True},
}
CELLS = {f"positions {name}": {"positions": {"kind": name.split()[0], **p}} for name, p in POSITIONS.items()} | OTHERS

RENAMED = (
    (r"\.self\.", ".self_attn."),
    (r"\.cross\.", ".cross_attn."),
    (r"_attn\.([qkv]|out)\.(weight|bias)$", r"_attn.\1_proj.\2"),
    (r"\.feed\.into\.", ".feed_forward.up."),
    (r"\.feed\.out\.", ".feed_forward.down."),
    (r"\.feed\.", ".feed_forward."),
    (r"\.around_(self|cross)\.", r".\1_attn_residual."),
    (r"\.around_feed\.", ".feed_forward_residual."),
    (r"norm\.gain$", "norm.weight"),
    (r"norm\.shift$", "norm.bias"),
    (r"\.embedding\.words\.", ".embedding.tokens."),
    (r"\.positions\.beside\.", ".positions.encoding."),
    (r"\.positions\.of\.", ".positions.scheme."),
)
"""Names of weights as they once were, and as they are."""


def name_today(name: str) -> str:
    for old, new in RENAMED:
        name = re.sub(old, new, name)
    return name


def model_of(settings: dict[str, Any]) -> EncoderDecoder:
    """A model whose weights depend on their names alone."""
    model = build(ModelConfig(**{**SIZES, **settings}), V, V, joint=True, pad=PAD).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            torch.manual_seed(zlib.crc32(name_today(name).encode()))
            parameter.copy_(0.3 * torch.randn(parameter.shape, dtype=torch.float64) + (parameter.ndim == 1))
    return model


def rows(lengths: list[int], seed: int) -> Tensor:
    torch.manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(4, V, (length,))
    return ids


def digest(x: Tensor) -> float:
    """One number that no element is without a part in."""
    flat = x.detach().flatten()
    return float((flat * torch.arange(1, len(flat) + 1, dtype=flat.dtype).cos()).sum())


def gradients(model: nn.Module) -> Iterator[tuple[str, float]]:
    for name, p in model.named_parameters():
        yield f"gradient {name_today(name)}", 0.0 if p.grad is None else digest(p.grad)


def forward_and_backward(model: EncoderDecoder) -> dict[str, float]:
    """Loss, states and gradients by the plain path and by the one without padding, in and out of training."""
    source, target, gold = rows([3, 11, 7, 1], 1), rows([5, 2, 13, 1], 2), rows([5, 2, 13, 1], 3)
    paths = {"plain": lambda s, t: model(s, t)[t != PAD], "packed": PaddingFreeForward(model)}
    numbers: dict[str, float] = {}
    for mode in ("eval", "train"):
        model.train(mode == "train")
        for name, path in paths.items():
            model.zero_grad()
            states = path(source, target)
            loss = nn.functional.cross_entropy(model.output(states), gold[gold != PAD])
            loss.backward()
            cell = {"loss": loss.item(), "states": digest(states), **dict(gradients(model))}
            numbers |= {f"{mode} {name} {key}": value for key, value in cell.items()}
    return numbers


def searches(model: EncoderDecoder) -> dict[str, Any]:
    """What greedy search, beam search and sampling find, and their scores."""
    sources = [[int(i) for i in row if i != PAD] for row in rows([3, 11, 7, 1, 5, 2, 13, 17, 9], 4)]
    numbers: dict[str, Any] = {}
    ways = {"greedy": GreedySearch(), "beam": BeamSearch(size=4, nbest=2), "sample": SamplingSearch(seed=5)}
    for name, search in ways.items():
        with torch.inference_mode():
            steps = ModelStepper(IncrementalDecoder(model.eval()), sources, range(len(sources)))
            found = search.search(steps)
        numbers[f"{name} ids"] = [[list(h.ids) for h in hypotheses] for hypotheses in found]
        numbers[f"{name} scores"] = [h.score for hypotheses in found for h in hypotheses]
    return numbers


def demo_steps() -> dict[str, Any]:
    """The first steps of the demo, as its log has them."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, made = Path(scratch) / "demo", iter(range(10**9))
        for _ in run_demo(
            folder, FULL_PRESET, seed=1, overwrite=False, should_stop=lambda: next(made) >= DEMO_STEPS - 1
        ):
            pass
        steps = log.read_steps(Run(folder).log)
    return {key: [getattr(step, key) for step in steps] for key in ("loss", "accuracy", "tokens")}


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    numbers: dict[str, Any] = {}
    for name, settings in CELLS.items():
        model = model_of(settings)
        cell = {"weights": sorted(name_today(n) for n, _ in model.named_parameters())}
        cell |= forward_and_backward(model) | searches(model)
        numbers |= {f"{name}: {key}": value for key, value in cell.items()}
    return numbers | {f"demo: {key}": value for key, value in demo_steps().items()}


def distance(old: Any, new: Any) -> float:
    """The largest relative difference of two numbers or lists of them; infinite where they are of other kinds."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return max(map(distance, old, new), default=0.0)
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) / max(1.0, abs(old)) if old != new else 0.0
    return 0.0 if old == new else math.inf


def compare(old: dict[str, Any], new: dict[str, Any]) -> bool:
    apart = {key: distance(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())}
    for key, value in apart.items():
        if value > TOLERANCE:
            print(f"{key}: differs by {value:.3g}")
    exact = sum(value == 0 for value in apart.values())
    print(f"{len(apart)} entries, {exact} equal to the last bit, largest relative difference {max(apart.values()):.3g}")
    return max(apart.values()) <= TOLERANCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    numbers = measure()
    if options.write:
        options.write.write_text(json.dumps(numbers, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{len(numbers)} entries written to {options.write}")
    if options.compare:
        return 0 if compare(json.loads(options.compare.read_text(encoding="utf-8")), numbers) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
