"""The importer and the exporter of each format. A new format is a module of this package and a line here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from regard.errors import ConfigError, FormatError
from regard.interchange import bert, ctranslate2, gpt2, marian
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.trained import TrainedEncoder, TrainedLanguageModel, TrainedTranslator

Importer = Callable[[ModelFolder], TrainedTranslator | TrainedEncoder | TrainedLanguageModel]
Exporter = Callable[[TrainedTranslator, Path], None]
"""Fills an empty folder, or raises with the reasons why the format cannot express the model."""

IMPORTERS: dict[str, Importer] = {
    marian.MODEL_TYPE: marian.read,
    bert.MODEL_TYPE: bert.read,
    gpt2.MODEL_TYPE: gpt2.read,
}
"""By the model_type in config.json."""
EXPORTERS: dict[str, dict[str, Exporter]] = {
    "marian": {"none": marian.write},
    "ctranslate2": {"none": ctranslate2.write, "int8": partial(ctranslate2.write, quantize="int8")},
}
"""By the name that `regard export --to` takes, and by the quantization of the weights."""


def get_importer(folder: ModelFolder) -> Importer:
    """The importer of this folder's format."""
    model_type = str(folder.get("model_type"))
    if model_type not in IMPORTERS:
        raise FormatError(f"{folder.path / CONFIG}: model_type is {model_type}; supported: {', '.join(IMPORTERS)}")
    return IMPORTERS[model_type]


def get_exporter(name: str, quantize: str = "none") -> Exporter:
    """The exporter of this format and quantization."""
    if name not in EXPORTERS:
        raise ConfigError(f"--to {name}: no such format; available: {', '.join(EXPORTERS)}, html")
    if quantize not in EXPORTERS[name]:
        raise ConfigError(f"--quantize {quantize}: {name} supports {', '.join(EXPORTERS[name])}")
    return EXPORTERS[name][quantize]
