"""The file that the engine in a page reads: a header as JSON, then tensors.

"regardpg", the length of the header (4 bytes, the lowest first), the header, zeros up to a multiple of 16; then every
tensor and file at its offset, each on a multiple of 16. Matrices are int8 with a float32 scale for each row, or
float32. The header has the settings of the model, so that the engine builds the same modules, under the same names.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import BOS, EOS
from regard.errors import ConfigError
from regard.interchange.page.reasons import require_engine_parts
from regard.kernels.int8 import quantize as quantize_rows
from regard.model.projection import Projection
from regard.model.single_stack import DecoderOnly, EncoderOnly, SourceTargetDecoder
from regard.model.transformer import EncoderDecoder

MAGIC = b"regardpg"
ALIGNMENT = 16  # bytes
QUANTIZATIONS = ("none", "int8")
PageModel = EncoderDecoder | SourceTargetDecoder | EncoderOnly | DecoderOnly
KINDS: dict[type[PageModel], str] = {
    EncoderDecoder: "encoder-decoder",
    SourceTargetDecoder: "source-target-decoder",
    EncoderOnly: "encoder",
    DecoderOnly: "decoder",
}


class Aligner(NamedTuple):
    """The cross-attention that says where a word of the output comes from."""

    layer: int
    head: int
    """Its number among the heads that pruning has kept."""


def pack_model(
    model: PageModel,
    config: ModelConfig,
    files: Mapping[str, bytes] | None = None,
    quantize: str = "int8",
    aligner: Aligner | None = None,
    max_source_tokens: int | None = None,
) -> bytes:
    """A model in the format of the engine, with files that belong to it: its tokenizers, `source` and `target`."""
    if quantize not in QUANTIZATIONS:
        raise ConfigError(f"--quantize {quantize}: a page supports {', '.join(QUANTIZATIONS)}")
    require_engine_parts(config)
    body = _Body()
    matrices = _matrix_names(model)
    tensors, aliases = _named_tensors(model)
    entries = {
        name: _add_tensor(body, tensor, name in matrices, quantize == "int8") for name, tensor in tensors.items()
    }
    header = {
        "kind": KINDS[type(model)],
        "model": config.model_dump(mode="json"),
        "pad": model.pad,
        "bos": BOS,
        "eos": EOS,
        "aligner": aligner and aligner._asdict(),
        "max_source_tokens": max_source_tokens,
        "tensors": entries,
        "aliases": aliases,
        "files": {name: body.add(content) for name, content in (files or {}).items()},
    }
    return _join(header, body)


class _Body:
    """Bytes that grow by aligned parts."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, content: bytes) -> dict[str, int]:
        """Where the bytes will be."""
        offset = self.size
        padded = content + bytes(-len(content) % ALIGNMENT)
        self.parts.append(padded)
        self.size += len(padded)
        return {"offset": offset, "length": len(content)}


def _join(header: Mapping[str, Any], body: _Body) -> bytes:
    encoded = json.dumps(header, separators=(",", ":")).encode()
    start = MAGIC + struct.pack("<I", len(encoded)) + encoded
    return b"".join((start, bytes(-len(start) % ALIGNMENT), *body.parts))


def _named_tensors(model: nn.Module) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Every parameter by its first name, and the first name by each other one: those of tied and shared tables."""
    first_names: dict[int, str] = {}
    tensors, aliases = {}, {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first = first_names.setdefault(id(parameter), name)
        if first == name:
            tensors[name] = parameter.detach().float().cpu()
        else:
            aliases[name] = first
    return tensors, aliases


def _matrix_names(model: nn.Module) -> set[str]:
    """The weights that are multiplied with, and the tables that are tied to them."""
    return {
        f"{path}.weight"
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear | nn.Embedding | Projection)
    }


def _add_tensor(body: _Body, tensor: Tensor, is_matrix: bool, is_int8: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"shape": list(tensor.shape), "matrix": is_matrix}
    if not (is_matrix and is_int8):
        return facts | {"offset": _add_numbers(body, tensor)}
    integers, scales = quantize_rows(tensor)
    return facts | {"offset": _add_numbers(body, integers), "scales": _add_numbers(body, scales)}


def _add_numbers(body: _Body, tensor: Tensor) -> int:
    array = tensor.contiguous().numpy()
    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return body.add(little_endian.tobytes())["offset"]
