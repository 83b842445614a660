"""A run translated by CTranslate2 instead of torch."""

import shutil
from pathlib import Path
from typing import Any

from regard.interchange import ctranslate2
from regard.interchange.engine import Engine
from regard.jobs.load import cores, load, load_tokenizers
from regard.run import MAKING, Run, open_run
from regard.tasks.translate import longest_output

MADE_FROM = "made_from.json"


def engine(folder: Path, quantize: str, workers: int) -> Engine:
    """The engine of a run: written on first use, and again whenever the run has found better weights."""
    run = open_run(folder)
    config = run.load_config()
    path, longest = run.engine(quantize), _places(run)
    if not _current(run, path):
        translator = load(folder, "cpu")
        longest = min(longest, longest_output(translator.model))
        making = path.with_name(path.name + MAKING)
        shutil.rmtree(making, ignore_errors=True)
        ctranslate2.write(translator.model, translator.tokenizers, making, quantize, _places(run))
        run.write_json(making / MADE_FROM, {**_origin(run), "longest": longest})
        shutil.rmtree(path, ignore_errors=True)
        making.replace(path)
    return Engine(path, load_tokenizers(run, config), workers or cores(), run.read_json(path / MADE_FROM)["longest"])


def export(folder: Path, out: Path, quantize: str) -> None:
    """A run as a CTranslate2 folder of its own."""
    translator = load(folder, "cpu")
    ctranslate2.write(translator.model, translator.tokenizers, out, quantize, _places(open_run(folder)))


def _places(run: Run) -> int:
    """Room for the longest line that is translated in one piece, and for what it may become."""
    return max(ctranslate2.PLACES, 4 * run.load_config().data.max_length)


def _origin(run: Run) -> dict[str, Any]:
    """Which weights are the best now."""
    name = str(run.read_json(run.best)["weights"])
    return {"weights": name, "checksum": run.read_json(run.checksums).get(name)}


def _current(run: Run, path: Path) -> bool:
    if not (path / MADE_FROM).exists() or not run.best.exists():
        return False
    known = run.read_json(path / MADE_FROM)
    return {name: known.get(name) for name in ("weights", "checksum")} == _origin(run)
