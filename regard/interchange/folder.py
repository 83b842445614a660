"""A model folder as the transformers library writes it: config.json, weights, and files of the tokeniser."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import FormatError
from regard.model import weights

CONFIG, SAFE, UNSAFE = "config.json", "model.safetensors", "pytorch_model.bin"


@dataclass(frozen=True)
class Folder:
    """A folder on disk and what its config.json says."""

    path: Path
    config: dict[str, Any]

    def get(self, name: str) -> Any:
        """A setting that must be there."""
        if name not in self.config:
            raise FormatError(f"{self.path / CONFIG}: has no '{name}', so the model cannot be rebuilt; is it whole?")
        return self.config[name]

    def json(self, name: str, otherwise: Any = None) -> Any:
        """What a JSON file says; where there may be none, what is meant then."""
        path = self.path / name
        if otherwise is not None and not path.exists():
            return otherwise
        return read_json(path)

    def bytes(self, name: str) -> bytes:
        path = self.path / name
        if not path.is_file():
            raise FormatError(f"{path}: missing. A {self.get('model_type')} folder has it; copy the whole folder.")
        return path.read_bytes()

    def tensors(self) -> dict[str, Tensor]:
        """Every weight in float32, from safetensors or else from the older file."""
        if (self.path / SAFE).exists():
            found = weights.read(self.path / SAFE)
        elif (self.path / UNSAFE).exists():
            found = read_restricted(self.path / UNSAFE)
        else:
            raise FormatError(f"{self.path}: has no weights; expected {SAFE} or {UNSAFE}")
        return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in found.items()}

    def refuse(self, reasons: list[str]) -> None:
        """Stop if there is a reason to."""
        if reasons:
            raise FormatError(f"{self.path}: cannot be expressed here: {'; '.join(reasons)}")


def open_folder(path: Path) -> Folder:
    """A folder that holds a model."""
    if not path.is_dir():
        raise FormatError(f"{path}: no such folder. Give the folder that holds the model's {CONFIG}.")
    config = read_json(path / CONFIG)
    if not isinstance(config, dict):
        raise FormatError(f"{path / CONFIG}: expected an object with the model's settings")
    return Folder(path, config)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FormatError(f"{path}: missing. Give a folder as the transformers library writes it.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"{path}: not readable JSON ({error})") from None


def read_restricted(path: Path) -> dict[str, Tensor]:
    """An older weight file by PyTorch's restricted reader, which takes tensors and plain containers and no code."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, as many as there are ways to be damaged or to hold something else
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{path}: damaged, or more than weights alone, which is never run ({reason})") from None
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise FormatError(f"{path}: expected weights by their names")
    return found
