"""A model folder as the transformers library writes it: config.json, weights, and files of the tokenizer."""

import json
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import files
from regard.errors import FormatError
from regard.model import weights

CONFIG, SAFETENSORS, PYTORCH_BIN = "config.json", "model.safetensors", "pytorch_model.bin"
MAX_COUNT = 10_000_000  # of any count in a config: more is a mistake, and would be allocated all the same


@dataclass(frozen=True)
class ModelFolder:
    """A folder on disk and its config.json."""

    path: Path
    config: dict[str, Any]

    def get(self, name: str) -> Any:
        """A required setting."""
        if name not in self.config:
            raise FormatError(
                f"{self.path / CONFIG}: has no '{name}', so the model cannot be rebuilt; is the file complete?"
            )
        return self.config[name]

    def get_count(self, name: str, maximum: int = MAX_COUNT) -> int:
        """A required setting that is an integer from 1 on."""
        value = self.get(name)
        if type(value) is not int or not 1 <= value <= maximum:
            raise FormatError(f"{self.path / CONFIG}: {name} is {value!r}, expected an integer from 1 to {maximum:,}")
        return value

    def load_json(self, name: str, default: list[Any] | dict[str, Any]) -> Any:
        """The content of a JSON file, which must have the type of the default; the default where there is no file."""
        path = self.path / name
        if not path.exists():
            return default
        value = read_json(path)
        if type(value) is not type(default):
            raise FormatError(f"{path}: expected {'an object' if isinstance(default, dict) else 'a list'}")
        return value

    def read_bytes(self, name: str) -> bytes:
        path = self.path / name
        if not path.is_file():
            raise FormatError(f"{path}: missing. A {self.get('model_type')} model needs it; copy the complete folder.")
        try:
            return files.read_bytes(path)
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None

    def read_text(self, name: str) -> str:
        try:
            return self.read_bytes(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.path / name}: not UTF-8 ({error})") from None

    def load_tensors(self) -> dict[str, Tensor]:
        """Every weight in float32, from safetensors or else from the older pickle file."""
        if (self.path / SAFETENSORS).exists():
            state_dict = weights.read(self.path / SAFETENSORS)
        elif (self.path / PYTORCH_BIN).exists():
            state_dict = load_weights_only(self.path / PYTORCH_BIN)
        else:
            raise FormatError(f"{self.path}: has no weights; expected {SAFETENSORS} or {PYTORCH_BIN}")
        return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state_dict.items()}

    def require_supported(self, reasons: list[str]) -> None:
        """Raise with the reasons why Regard cannot express this model, if there are any."""
        if reasons:
            raise FormatError(f"{self.path}: cannot be imported: {'; '.join(reasons)}")

    def require_weights(self, expected_names: Collection[str], tensors: Collection[str]) -> None:
        """Raise if a weight is missing."""
        if missing := [name for name in expected_names if name not in tensors]:
            raise FormatError(
                f"{self.path}: its weights lack {missing[0]} and {len(missing) - 1} more; is the folder complete?"
            )


def open_model_folder(path: Path) -> ModelFolder:
    """Open a folder that holds a model."""
    if not path.is_dir():
        raise FormatError(f"{path}: no such folder. Expected the folder that holds the model's {CONFIG}.")
    config = read_json(path / CONFIG)
    if not isinstance(config, dict):
        raise FormatError(f"{path / CONFIG}: expected an object with the model's settings")
    return ModelFolder(path, config)


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return files.read_json(path)
    except FileNotFoundError:
        raise FormatError(f"{path}: missing. Expected a folder as the transformers library writes it.") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: not readable JSON ({getattr(error, 'strerror', None) or error})") from None


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, indented, in UTF-8."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


def _require_no_bomb(path: Path) -> None:
    """Refuse a zip file that is larger than it looks: PyTorch compresses nothing."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > 2 * path.stat().st_size:
            raise ValueError("compressed")


def load_weights_only(path: Path) -> dict[str, Tensor]:
    """An older weight file by PyTorch's restricted unpickler: tensors and plain containers, no code."""
    try:
        files.open_regular(path).close()
        _require_no_bomb(path)
        state_dict = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of many types: there are many ways to be damaged or to hold something else
        kind = type(error).__name__  # not its message, which suggests to load the file without restrictions
        raise FormatError(f"{path}: damaged, or holds more than weights; code is never run ({kind})") from None
    if not isinstance(state_dict, dict) or not all(
        isinstance(n, str) and isinstance(t, Tensor) for n, t in state_dict.items()
    ):
        raise FormatError(f"{path}: expected a dictionary from names to tensors")
    return state_dict
