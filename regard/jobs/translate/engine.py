"""Translation by CTranslate2 instead of torch."""

import shutil
import sys
from pathlib import Path
from typing import Any

from regard.hardware import count_cores
from regard.interchange.ctranslate2 import max_positions_for
from regard.interchange.engine import CTranslate2Translator
from regard.jobs.convert import export_run
from regard.jobs.load import load_tokenizers
from regard.run import Run, open_run

PROVENANCE_FILE = "made_from.json"


def open_engine(folder: Path, quantize: str, workers: int) -> CTranslate2Translator:
    """The CTranslate2 model of a run: converted on first use, and again whenever the best weights have changed."""
    run = open_run(folder)
    config, path = run.load_config(), run.ctranslate2_model(quantize)
    if not _is_current(run, path):
        shutil.rmtree(path, ignore_errors=True)
        export_run(folder, "ctranslate2", path, quantize)
        run.write_json(path / PROVENANCE_FILE, _describe_best_weights(run))
    decoder_positions = config.model.decoder.positions or config.model.positions
    max_length = min(max_positions_for(config), decoder_positions.max_positions or sys.maxsize)
    return CTranslate2Translator(path, load_tokenizers(run, config), workers or count_cores(), max_length)


def _describe_best_weights(run: Run) -> dict[str, Any]:
    """The name and checksum of the best weights."""
    name = run.read_best().weights
    return {"weights": name, "checksum": run.read_json(run.checksums).get(name)}


def _is_current(run: Run, path: Path) -> bool:
    """Whether the conversion is complete and made from the best weights."""
    return (
        (path / PROVENANCE_FILE).exists()
        and run.best.exists()
        and run.read_json(path / PROVENANCE_FILE) == _describe_best_weights(run)
    )
