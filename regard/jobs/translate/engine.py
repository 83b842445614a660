"""Translation by CTranslate2 instead of torch."""

import sys
from pathlib import Path
from typing import Any

import regard
from regard.atomic import sha256
from regard.exchange import recover, stage_folder
from regard.files import read_json
from regard.hardware import count_cores
from regard.interchange.ctranslate2 import max_positions_for, write_vocabulary_map
from regard.interchange.engine import CTranslate2Translator
from regard.jobs.convert import write_model
from regard.jobs.load import load_tokenizers
from regard.jobs.shortlist.record import load_shortlist
from regard.run import Run, open_run

PROVENANCE_FILE = "made_from.json"


def open_engine(folder: Path, quantize: str, workers: int, uses_shortlist: bool = False) -> CTranslate2Translator:
    """The CTranslate2 model of a run: converted on first use, and again whenever what it was made from has changed."""
    run = open_run(folder)
    config, path = run.load_config(), run.ctranslate2_model(quantize)
    tokenizers = load_tokenizers(run, config)
    recover(path)  # a process may have been killed while it tidied up, after the conversion was in its place
    if not _is_current(run, path):
        with stage_folder(path, replace=True) as staged:
            provenance = _describe_sources(run)  # before the weights are read: training may write better ones
            write_model(folder, "ctranslate2", staged.path, quantize)
            if run.shortlist.exists():
                write_vocabulary_map(load_shortlist(run, tokenizers), tokenizers, staged.path)
            run.write_json(staged.path / PROVENANCE_FILE, provenance | {"files": _checksums(staged.path)})
            staged.commit()
    decoder_positions = config.model.decoder.positions or config.model.positions
    max_length = min(max_positions_for(config), decoder_positions.max_positions or sys.maxsize)
    return CTranslate2Translator(path, tokenizers, workers or count_cores(), max_length, uses_shortlist)


def _describe_sources(run: Run) -> dict[str, Any]:
    """What a conversion is made from: this version of Regard, the settings, the best weights, the shortlist."""
    path = run.best_weights()
    weights = {"weights": path.relative_to(run.folder).as_posix(), "checksum": sha256(run.verify(path))}
    shortlist = sha256(run.shortlist) if run.shortlist.exists() else ""
    return {"regard": regard.__version__, "config": sha256(run.config), **weights, "shortlist": shortlist}


def _checksums(path: Path) -> dict[str, str]:
    """Of every file of a conversion: CTranslate2 itself reads them without a check."""
    return {file.name: sha256(file) for file in sorted(path.iterdir()) if file.name != PROVENANCE_FILE}


def _is_current(run: Run, path: Path) -> bool:
    """Whether the conversion is complete, as it was written, and made from what the run has now."""
    if not (path / PROVENANCE_FILE).exists() or not run.best.exists():
        return False
    try:
        provenance = read_json(path / PROVENANCE_FILE)
        return bool(provenance == _describe_sources(run) | {"files": _checksums(path)})
    except (OSError, ValueError):  # damaged: it is converted again
        return False
