"""A run folder -> a translator."""

import os
from pathlib import Path

import torch

from regard.config import Config
from regard.data.tokenizer import PAD, Tokenizer, Tokenizers
from regard.errors import ConfigError, RunError
from regard.kernels import int8
from regard.model import weights
from regard.model.build import build
from regard.model.products import Maker, dense
from regard.model.stepwise import Stepwise
from regard.model.transformer import EncoderDecoder
from regard.run import Run, open_run
from regard.tasks.translate import Translator
from regard.train.machine import keep_memory

KINDS: dict[str, Maker] = {"none": dense, "int8": int8}
"""How weights may be held for decoding, as `--quantize` calls it."""


def load(folder: str | Path, device: str = "auto", quantize: str = "none") -> Translator:
    """The translator that a run has trained: its best weights so far, in whole numbers of eight bits if wished."""
    where, kind = pick_device(device), _kind(quantize)
    if kind is int8 and where.type != "cpu":
        raise ConfigError(f"--quantize int8 is for CPUs; on {where} leave it out, or say --device cpu")
    run = open_run(Path(folder))
    config = run.load_config()
    if not run.best.exists():
        raise RunError(
            f"{run.folder}: has no checked weights yet, so it cannot translate. "
            f"Train on with `regard train --resume {run.folder}`."
        )
    tokenizers = load_tokenizers(run, config)
    model = new_model(config, tokenizers)
    path = run.folder / str(run.read_json(run.best)["weights"])
    weights.load_into(model, weights.read(run.verify(path)), str(path))
    model = model.to(where).eval()
    return Translator(model, tokenizers, Stepwise(model, kind))


def _kind(quantize: str) -> Maker:
    if quantize not in KINDS:
        raise ConfigError(f"--quantize {quantize}: expected one of {', '.join(KINDS)}")
    return KINDS[quantize]


def new_model(config: Config, tokenizers: Tokenizers) -> EncoderDecoder:
    """A fresh model for these settings and vocabularies; the same for the same seed."""
    torch.manual_seed(config.train.seed)
    return build(config.model, tokenizers.source.size, tokenizers.target.size, joint=tokenizers.joint, pad=PAD)


def load_tokenizers(run: Run, config: Config) -> Tokenizers:
    if config.data.joint:
        joint = _tokenizer(run, run.tokenizer())
        return Tokenizers(joint, joint)
    return Tokenizers(_tokenizer(run, run.tokenizer("source")), _tokenizer(run, run.tokenizer("target")))


def pick_device(name: str, number: int = 0) -> torch.device:
    """auto: a GPU if there is one; of several, the one with this number."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and number:
        name = f"cuda:{number}"
    try:
        device = torch.device(name)
        float(torch.ones(1, device=device).sum())
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"train.device={name!r} cannot be used here ({str(error).split(chr(10))[0]})") from None
    return device


def use_threads(count: int, sharing: int = 1) -> int:
    """Set the number of CPU threads; 0: one for each core that this process may use, shared by so many processes."""
    torch.set_num_threads(count or max(1, cores() // sharing))
    keep_memory()
    return torch.get_num_threads()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tokenizer(run: Run, path: Path) -> Tokenizer:
    return Tokenizer(run.verify(path).read_bytes())
