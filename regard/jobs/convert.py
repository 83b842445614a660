"""Import a model that was trained elsewhere as a run; export a run to other programs."""

from pathlib import Path

from torch import nn

from regard import config as settings
from regard import run as runs
from regard.data.tokenizers.byte_level_bpe import NO_PAD
from regard.errors import ConfigError
from regard.exchange import contains_current, is_occupied, recover, stage_folder
from regard.interchange.folder import open_model_folder
from regard.interchange.registry import get_exporter, get_importer
from regard.interchange.trained import TrainedEncoder, TrainedLanguageModel, TrainedTranslator
from regard.jobs.load import load, new_decoder, new_encoder, new_model, save_tokenizer_json, save_tokenizers
from regard.jobs.run_kind import has_cross_attention, refuse
from regard.model import weights
from regard.model.modules import count_parameters
from regard.progress import stage
from regard.run import BestWeights, Run
from regard.staged_run import stage_run

CAPABILITIES = {"encoder-decoder": "translates", "encoder": "embeds text", "decoder": "generates text"}
"""What a model of each architecture does."""


def import_folder(path: Path, folder: Path, overwrite: bool = False) -> list[str]:
    """Import a model folder as a run; returns notes for the user."""
    model_folder = open_model_folder(path)
    with stage_run(folder, overwrite) as staged:
        with stage(f"reading {path.name}"):
            imported_model = get_importer(model_folder)(model_folder)
        staged.write_settings(imported_model.config)
        with stage(f"writing {folder.name}"):
            notes = _write_run(staged.run, imported_model, str(path))
        staged.commit()
    return notes


def _write_run(
    run: Run, imported_model: TrainedTranslator | TrainedEncoder | TrainedLanguageModel, location: str
) -> list[str]:
    model, vocab_size = _build_model(run, imported_model)
    weights.load_into(model, imported_model.tensors, location)  # reports tensors that do not fit
    runs.write_text(run.config, settings.dump(imported_model.config))
    with runs.atomic_write(run.weights(0)) as temporary:
        weights.write(weights.tensors_of(model), temporary)
    run.record_checksums(run.weights(0))
    run.write_best(BestWeights(f"weights/{run.weights(0).name}", step=0, cost=None, metric="loss"))
    capability = CAPABILITIES[imported_model.config.model.architecture]
    return [f"{location}: {count_parameters(model):,} parameters, {vocab_size:,} tokens; it {capability}"]


def _build_model(
    run: Run, imported_model: TrainedTranslator | TrainedEncoder | TrainedLanguageModel
) -> tuple[nn.Module, int]:
    """A model for the imported weights and the size of its vocabulary; its tokenizers are written into the run."""
    config = imported_model.config
    if isinstance(imported_model, TrainedTranslator):
        save_tokenizers(run, imported_model.tokenizers)
        return new_model(config, imported_model.tokenizers), imported_model.tokenizers.target.vocab_size
    save_tokenizer_json(run, imported_model.tokenizer.tokenizer_json)
    vocab_size = imported_model.tokenizer.vocab_size
    if isinstance(imported_model, TrainedEncoder):
        return new_encoder(config, imported_model.tokenizer.pad_id), vocab_size
    return new_decoder(config, NO_PAD), vocab_size


def export_run(folder: Path, target_format: str, out: Path, quantize: str = "none") -> None:
    """Write a run as a folder for other programs; it is created completely or not at all."""
    get_exporter(target_format, quantize)  # or there is none, and nothing is written
    run = runs.open_run(folder)
    if not has_cross_attention(config := run.load_config()):
        raise refuse(run, config, "be exported")
    recover(out)
    if is_occupied(out) or contains_current(out):
        raise ConfigError(f"{out}: already exists. Choose another folder with --out, or remove it.")
    with stage_folder(out, replace=False) as staged:
        write_model(folder, target_format, staged.path, quantize)
        staged.commit()


def write_model(folder: Path, target_format: str, out: Path, quantize: str) -> None:
    """Write the model of a run for other programs into an empty folder."""
    config, translator = Run(folder).load_config(), load(folder, "cpu")
    if not has_cross_attention(config):
        raise refuse(Run(folder), config, "be converted")
    exported_model = TrainedTranslator(config, weights.tensors_of(translator.model), translator.tokenizers)
    with stage(f"writing {target_format}"):
        get_exporter(target_format, quantize)(exported_model, out)
