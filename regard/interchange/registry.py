"""Who reads and who writes which kind of folder. A new format is a file in this room and a line here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from regard.errors import ConfigError, FormatError
from regard.interchange import bert, ctranslate2, marian, marian_export
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.trained import TrainedEncoder, TrainedTranslator

Importer = Callable[[ModelFolder], TrainedTranslator | TrainedEncoder]
Exporter = Callable[[TrainedTranslator, Path], None]
"""Fills an empty folder, or raises with the reasons why the format cannot express the model."""

IMPORTERS: dict[str, Importer] = {marian.MODEL_TYPE: marian.read, bert.MODEL_TYPE: bert.read}
"""By the model_type that config.json names."""
EXPORTERS: dict[str, dict[str, Exporter]] = {
    "marian": {"none": marian_export.write},
    "ctranslate2": {"none": ctranslate2.write, "int8": partial(ctranslate2.write, quantize="int8")},
}
"""By the name that `regard export --to` takes, and by how weights are held."""


def get_importer(folder: ModelFolder) -> Importer:
    """Who reads this folder."""
    model_type = str(folder.get("model_type"))
    if model_type not in IMPORTERS:
        raise FormatError(
            f"{folder.path / CONFIG}: model_type is {model_type}; what can be read: {', '.join(IMPORTERS)}"
        )
    return IMPORTERS[model_type]


def get_exporter(name: str, quantize: str = "none") -> Exporter:
    """Who writes this format, with weights held so."""
    if name not in EXPORTERS:
        raise ConfigError(f"--to {name}: no such format; there are: {', '.join(EXPORTERS)}")
    if quantize not in EXPORTERS[name]:
        raise ConfigError(f"--quantize {quantize}: {name} can be written with {', '.join(EXPORTERS[name])}")
    return EXPORTERS[name][quantize]
