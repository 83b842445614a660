"""A run folder -> a translator, or an embedder."""

import os
from pathlib import Path

import torch
from torch import nn

from regard.config import Config
from regard.data.remapped_sentencepiece import RemappedSentencePiece
from regard.data.store import SIDES
from regard.data.tokenizer import PAD, Tokenizer, Tokenizers
from regard.data.wordpiece import WordPiece
from regard.errors import ConfigError, RunError
from regard.hardware import retain_freed_memory, use_single_malloc_arena
from regard.kernels import int8_linear
from regard.model import weights
from regard.model.build import build, build_encoder
from regard.model.transformer import EncoderDecoder, EncoderOnly
from regard.run import Run, atomic_write, open_run
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.linears import LinearFactory, dense
from regard.tasks.embed import Embedder
from regard.tasks.translate import Translator

LINEAR_FACTORIES: dict[str, LinearFactory] = {"none": dense, "int8": int8_linear}
"""How weights may be held for decoding, as `--quantize` calls it."""


def load(folder: str | Path, device: str = "auto", quantize: str = "none") -> Translator:
    """The translator that a run has trained: its best weights so far, in whole numbers of eight bits if wished."""
    torch_device, linear_factory = pick_device(device), _select_linear_factory(quantize)
    if linear_factory is int8_linear and torch_device.type != "cpu":
        raise ConfigError(f"--quantize int8 is for CPUs; on {torch_device} leave it out, or say --device cpu")
    run = open_run(Path(folder))
    config = run.load_config()
    if not run.best.exists():
        raise RunError(
            f"{run.folder}: has no checked weights yet, so it cannot translate. "
            f"Train on with `regard train --resume {run.folder}`."
        )
    if config.model.architecture != "encoder-decoder":
        raise RunError(
            f"{run.folder}: holds an encoder alone, which cannot translate. Embed text with it: "
            f"regard.jobs.load.load_encoder({str(folder)!r}).embed([…])"
        )
    tokenizers = load_tokenizers(run, config)
    model = new_model(config, tokenizers)
    load_weights(model, run, best_weights_path(run))
    model = model.to(torch_device).eval()
    return Translator(model, tokenizers, IncrementalDecoder(model, linear_factory))


def load_encoder(folder: str | Path, device: str = "auto") -> Embedder:
    """The embedder that a run holds."""
    run = open_run(Path(folder))
    config = run.load_config()
    if config.model.architecture != "encoder" or not run.best.exists():
        raise RunError(f"{run.folder}: holds no encoder alone; `regard import` makes one out of a BERT folder.")
    tokenizer = WordPiece(run.verify(run.wordpiece).read_bytes())
    model = new_encoder(config, tokenizer.pad_id)
    load_weights(model, run, best_weights_path(run))
    return Embedder(model.to(pick_device(device)).eval(), tokenizer, config.data.max_length)


def best_weights_path(run: Run) -> Path:
    """The file of the weights to use."""
    return run.folder / str(run.read_json(run.best)["weights"])


def load_weights(model: nn.Module, run: Run, path: Path) -> None:
    """Give a model weights of a run."""
    weights.load_into(model, weights.read(run.verify(path)), str(path))


def _select_linear_factory(quantize: str) -> LinearFactory:
    if quantize not in LINEAR_FACTORIES:
        raise ConfigError(f"--quantize {quantize}: expected one of {', '.join(LINEAR_FACTORIES)}")
    return LINEAR_FACTORIES[quantize]


def new_model(config: Config, tokenizers: Tokenizers) -> EncoderDecoder:
    """A fresh model for these settings and vocabularies; the same for the same seed."""
    torch.manual_seed(config.train.seed)
    return build(
        config.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, joint=tokenizers.joint, pad=PAD
    )


def new_encoder(config: Config, pad: int) -> EncoderOnly:
    """A fresh encoder for these settings; its table may have more rows than its tokeniser has pieces."""
    torch.manual_seed(config.train.seed)
    return build_encoder(config.model, config.data.vocab_size, pad)


def load_tokenizers(run: Run, config: Config) -> Tokenizers:
    """One tokeniser for both sides, or one for each; imported ones bring tables of their pieces."""
    if config.data.joint_vocab and not run.vocab().exists():
        joint = _load_tokenizer(run, "")
        return Tokenizers(joint, joint)
    shared = _load_token_table(run, "") if config.data.joint_vocab else None
    source, target = (_load_tokenizer(run, side, shared or _load_token_table(run, side)) for side in SIDES)
    return Tokenizers(source, target)


def save_tokenizers(run: Run, tokenizers: Tokenizers) -> None:
    """Keep imported tokenisers in a run."""
    sides = dict(zip(SIDES, (tokenizers.source, tokenizers.target), strict=True))
    for side, tokenizer in sides.items():
        with atomic_write(run.tokenizer(side)) as path:
            path.write_bytes(tokenizer.model)
    for side, tokenizer in {"": tokenizers.source}.items() if tokenizers.joint else sides.items():
        if isinstance(tokenizer, RemappedSentencePiece):
            run.write_json(run.vocab(side), tokenizer.id_to_token)
    run.record_checksums(*run.tokenizer_files())


def save_wordpiece(run: Run, tokenizer: WordPiece) -> None:
    """Keep an encoder's tokeniser in a run."""
    with atomic_write(run.wordpiece) as path:
        path.write_bytes(tokenizer.tokenizer_json)
    run.record_checksums(run.wordpiece)


def pick_device(name: str, index: int = 0) -> torch.device:
    """auto: a GPU if there is one; of several, the one with this number."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and index:
        name = f"cuda:{index}"
    try:
        device = torch.device(name)
        float(torch.ones(1, device=device).sum())
    except (RuntimeError, AssertionError, ImportError) as error:
        raise ConfigError(f"train.device={name!r} cannot be used here ({str(error).split(chr(10))[0]})") from None
    return device


def configure_cpu(count: int, num_processes: int = 1) -> int:
    """As set_threads, and keep the memory of tensors from now on."""
    threads = set_threads(count, num_processes)
    retain_freed_memory()
    return threads


def set_threads(count: int, num_processes: int = 1) -> int:
    """Set the number of CPU threads; 0: one for each core that this process may use, shared by so many processes."""
    torch.set_num_threads(count or max(1, count_cores() // num_processes))
    # Numbers too small to matter cost a CPU a hundred times the work. A thread takes this over when it begins, so it
    # must be said before the first product.
    torch.set_flush_denormal(True)
    use_single_malloc_arena()
    return torch.get_num_threads()


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _load_tokenizer(run: Run, side: str, table: tuple[str, ...] | None = None) -> Tokenizer:
    model = run.verify(run.tokenizer(side)).read_bytes()
    return Tokenizer(model) if table is None else RemappedSentencePiece(model, table)


def _load_token_table(run: Run, side: str) -> tuple[str, ...] | None:
    path = run.vocab(side)
    return tuple(run.read_json(run.verify(path))) if path.exists() else None
