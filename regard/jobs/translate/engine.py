"""A run translated by CTranslate2 instead of torch."""

import shutil
import sys
from pathlib import Path
from typing import Any

from regard.interchange.ctranslate2 import places_for
from regard.interchange.engine import Engine
from regard.jobs.convert import export_run
from regard.jobs.load import cores, load_tokenizers
from regard.run import Run, open_run

MADE_FROM = "made_from.json"


def engine(folder: Path, quantize: str, workers: int) -> Engine:
    """The engine of a run: written on first use, and again whenever the run has found better weights."""
    run = open_run(folder)
    config, path = run.load_config(), run.ctranslate2_model(quantize)
    if not _current(run, path):
        shutil.rmtree(path, ignore_errors=True)
        export_run(folder, "ctranslate2", path, quantize)
        run.write_json(path / MADE_FROM, _origin(run))
    target = config.model.decoder.positions or config.model.positions
    longest = min(places_for(config), target.max_positions or sys.maxsize)
    return Engine(path, load_tokenizers(run, config), workers or cores(), longest)


def _origin(run: Run) -> dict[str, Any]:
    """Which weights are the best now."""
    name = str(run.read_json(run.best)["weights"])
    return {"weights": name, "checksum": run.read_json(run.checksums).get(name)}


def _current(run: Run, path: Path) -> bool:
    """Whether it was written to its end, from the weights that are the best now."""
    return (path / MADE_FROM).exists() and run.best.exists() and run.read_json(path / MADE_FROM) == _origin(run)
