"""Import a model that was trained elsewhere as a run; export a run for other programs."""

import shutil
from pathlib import Path

from regard import config as settings
from regard import run as runs
from regard.errors import ConfigError
from regard.interchange.folder import open_folder
from regard.interchange.registry import exporter, importer
from regard.interchange.trained import Trained, TrainedEncoder
from regard.jobs.load import load, new_encoder, new_model, save_tokenizers, save_wordpiece
from regard.jobs.versions import versions
from regard.model import weights
from regard.model.transformer import EncoderDecoder, EncoderOnly, count_parameters
from regard.run import Run


def import_folder(path: Path, folder: Path, overwrite: bool = False) -> list[str]:
    """A run out of somebody else's folder, as if it had been trained here; what there is to say about it."""
    runs.require_free(folder, overwrite)
    theirs = open_folder(path)
    trained = importer(theirs)(theirs)
    making = runs.stage(folder, trained.config)
    try:
        notes = _fill(making, trained, str(path))
    except BaseException:
        runs.discard(making)
        raise
    runs.commit(making, folder)
    return notes


def _fill(run: Run, trained: Trained | TrainedEncoder, where: str) -> list[str]:
    model: EncoderDecoder | EncoderOnly
    if isinstance(trained, Trained):
        model, pieces = new_model(trained.config, trained.tokenizers), trained.tokenizers.target.vocab_size
        save_tokenizers(run, trained.tokenizers)
    else:
        model, pieces = new_encoder(trained.config, trained.tokenizer.pad_id), trained.tokenizer.vocab_size
        save_wordpiece(run, trained.tokenizer)
    weights.load_into(model, trained.tensors, where)  # whatever does not fit is named here
    runs.write_text(run.config, settings.dump(trained.config))
    run.write_json(run.versions, versions())
    with runs.atomic_write(run.weights(0)) as aside:
        weights.write(weights.tensors_of(model), aside)
    run.record_checksums(run.weights(0))
    run.write_json(run.best, {"weights": f"weights/{run.weights(0).name}", "step": 0, "cost": None, "metric": "loss"})
    use = "translates" if isinstance(trained, Trained) else "embeds text"
    return [f"{where}: {count_parameters(model):,} parameters, {pieces:,} pieces; it {use}"]


def export_run(folder: Path, to: str, out: Path, quantize: str = "none") -> None:
    """A run as a folder that other programs read; it appears whole or not at all."""
    write = exporter(to, quantize)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out}: already there. Choose another folder with --out, or remove it.")
    translator = load(folder, "cpu")
    trained = Trained(Run(folder).load_config(), weights.tensors_of(translator.model), translator.tokenizers)
    making = out.with_name(out.name + runs.STAGING_SUFFIX)
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        write(trained, making)
        making.replace(out)
    finally:
        shutil.rmtree(making, ignore_errors=True)
