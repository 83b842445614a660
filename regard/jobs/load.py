"""A run folder -> a translator, an embedder or a language model."""

import math
from pathlib import Path

import torch
from torch import nn

from regard.config import Config
from regard.data.documents.tokenizer import DocumentTokenizer
from regard.data.store import SIDES
from regard.data.tokenizers.byte_level_bpe import ByteLevelBPE
from regard.data.tokenizers.remapped_sentencepiece import RemappedSentencePiece
from regard.data.tokenizers.tagged_tokenizer import TaggedTokenizer
from regard.data.tokenizers.text_tokenizer import SentencePieceText, TextTokenizer
from regard.data.tokenizers.tokenizer import PAD, Tokenizer, Tokenizers
from regard.data.tokenizers.wordpiece import WordPiece
from regard.errors import ConfigError, RunError
from regard.hardware import available_memory, pick_device
from regard.jobs.run_kind import require_task
from regard.kernels import int8_linear
from regard.model import weights
from regard.model.build import build, build_decoder, build_encoder, build_source_target_decoder
from regard.model.single_stack import DecoderOnly, EncoderOnly, SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.progress import stage
from regard.run import Run, atomic_write, open_run
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.linears import LinearFactory, dense_linear
from regard.tasks.embed.embedder import Embedder
from regard.tasks.generate import LanguageModel
from regard.tasks.translate.native import NativeTranslator
from regard.tasks.translate.translator import Translator
from regard.training.planning.cost import BYTES_PER_ELEMENT, COPIES_PER_PARAMETER, compute_parameter_counts

TOLERATED_PARAMETERS = 10_000_000  # beyond those of the weights: no reason to refuse a config, nor to fear one
LINEAR_FACTORIES: dict[str, LinearFactory] = {"none": dense_linear, "int8": int8_linear}
"""The kinds of weights that decoding can use, as `--quantize` names them."""


def load(
    folder: str | Path, device: str = "auto", quantize: str = "none", task: str = "translate", engine: str = "torch"
) -> Translator:
    """The translator of a run, with its best weights so far, in float or in 8-bit integers; of this task alone.

    `engine` is torch, or native: the same in native code, as far as that goes.
    """
    torch_device = pick_device(device)
    linear_factory = _select_linear_factory(quantize, torch_device)
    run = open_run(Path(folder))
    config = run.load_config()
    require_task(run, config, task)
    with stage(f"loading {run.folder.name}"):
        tokenizers = load_tokenizers(run, config)
        sizes = (tokenizers.source.vocab_size, tokenizers.target.vocab_size)
        _require_sizes(run, config, *sizes, tokenizers.joint)
        with torch.random.fork_rng(devices=[]):  # weights are replaced: draws of the caller's program must not change
            model = new_translation_model(config, tokenizers)
        load_weights(model, run, run.best_weights())
        model = model.to(torch_device).eval()
        if engine == "native":
            return NativeTranslator(model, tokenizers, linear_factory)
        return Translator(model, tokenizers, IncrementalDecoder(model, linear_factory))


def load_encoder(folder: str | Path, device: str = "auto") -> Embedder:
    """The embedder of an encoder that was trained for it, or imported."""
    run = open_run(Path(folder))
    config = run.load_config()
    require_task(run, config, "embed")
    with stage(f"loading {run.folder.name}"):
        tokenizer = load_text_tokenizer(run)
        num_embeddings = count_embeddings(config, tokenizer)
        _require_sizes(run, config, num_embeddings, num_embeddings, joint=True)
        with torch.random.fork_rng(devices=[]):
            is_imported = config.task != "embed"
            model = new_encoder(config, tokenizer.pad_id) if is_imported else new_embedding_model(config, tokenizer)
        load_weights(model, run, run.best_weights())
        return Embedder(model.to(pick_device(device)).eval(), tokenizer, config.data.max_length)


def load_language_model(folder: str | Path, device: str = "auto", quantize: str = "none") -> LanguageModel:
    """The language model of a decoder-only run, trained or imported, in float or in 8-bit integers."""
    torch_device = pick_device(device)
    linear_factory = _select_linear_factory(quantize, torch_device)
    run = open_run(Path(folder))
    config = run.load_config()
    require_task(run, config, "causal-lm")
    with stage(f"loading {run.folder.name}"):
        tokenizer = load_document_tokenizer(run)
        has_own = isinstance(tokenizer, DocumentTokenizer)
        vocab_size = tokenizer.vocab_size if has_own else config.data.vocab_size  # which may have unused rows
        _require_sizes(run, config, vocab_size, vocab_size, joint=True)
        with torch.random.fork_rng(devices=[]):
            model = build_decoder(config.model, vocab_size, tokenizer.pad_id)
        load_weights(model, run, run.best_weights())
        model = model.to(torch_device).eval()
        with torch.no_grad():
            decoder = IncrementalDecoder(model, linear_factory)
        return LanguageModel(model, tokenizer, config.data.max_length, decoder)


def load_document_tokenizer(run: Run) -> DocumentTokenizer | ByteLevelBPE:
    """The tokenizer of a language model: its own, or that of an imported one."""
    if run.tokenizer_json.exists():
        return ByteLevelBPE(run.read_bytes(run.tokenizer_json))
    return DocumentTokenizer(run.read_bytes(run.tokenizer()))


def _require_sizes(run: Run, config: Config, source_size: int, target_size: int, joint: bool) -> None:
    """Refuse settings that ask for far more numbers than the weights have, before anything is allocated.

    By a formula and the header of the file; names and shapes are compared exactly when the weights are loaded.
    """
    path = run.best_weights()
    stored = sum(map(math.prod, weights.read_shapes(run.verify(path)).values()))
    counts = compute_parameter_counts(config.model, source_size, target_size, joint)
    if counts.total > 2 * stored + TOLERATED_PARAMETERS:
        raise RunError(
            f"{run.config}: asks for {counts.total:,} parameters, but {path} has {stored:,}; one of the two is damaged "
            f"or of another run"
        )


def require_memory(config: Config, tokenizers: Tokenizers) -> None:
    """Refuse settings whose weights, gradients and moments would not fit into memory."""
    sizes = (tokenizers.source.vocab_size, tokenizers.target.vocab_size)
    counts = compute_parameter_counts(config.model, *sizes, tokenizers.joint)
    needed, available = BYTES_PER_ELEMENT * COPIES_PER_PARAMETER * counts.total, available_memory()
    if available and needed > available:
        raise ConfigError(
            f"model.dim={config.model.dim}, model.layers={config.model.layers}, model.ffn={config.model.ffn}: training "
            f"needs {needed / 1e9:,.1f} GB for weights and optimizer alone, but {available / 1e9:,.1f} GB are free; "
            f"choose a smaller model"
        )


def load_weights(model: nn.Module, run: Run, path: Path) -> None:
    """Load weights of a run into a model, after their checksum was verified."""
    weights.load_into(model, weights.read(run.verify(path)), str(path))


def _select_linear_factory(quantize: str, device: torch.device) -> LinearFactory:
    if quantize not in LINEAR_FACTORIES:
        raise ConfigError(f"--quantize {quantize}: expected one of {', '.join(LINEAR_FACTORIES)}")
    if quantize == "int8" and device.type != "cpu":
        raise ConfigError(f"--quantize int8 is for CPUs; on {device} leave it out, or use --device cpu")
    return LINEAR_FACTORIES[quantize]


def new_model(config: Config, tokenizers: Tokenizers) -> EncoderDecoder:
    """A randomly initialized model for these settings and vocabularies; the same for the same seed."""
    torch.manual_seed(config.train.seed)
    return build(
        config.model, tokenizers.source.vocab_size, tokenizers.target.vocab_size, joint=tokenizers.joint, pad=PAD
    )


def new_translation_model(config: Config, tokenizers: Tokenizers) -> EncoderDecoder | SourceTargetDecoder:
    """The same of any architecture: a decoder alone reads source and target as one sequence."""
    if not config.joins_source_and_target:
        return new_model(config, tokenizers)
    torch.manual_seed(config.train.seed)
    return build_source_target_decoder(config.model, tokenizers.target.vocab_size, PAD)


def new_encoder(config: Config, pad: int) -> EncoderOnly:
    """A randomly initialized encoder; its embedding may have more rows than its tokenizer has tokens."""
    torch.manual_seed(config.train.seed)
    return build_encoder(config.model, config.data.vocab_size, pad)


def new_embedding_model(config: Config, tokenizer: TextTokenizer) -> EncoderOnly | DecoderOnly:
    """A randomly initialized model whose mean states are vectors of texts; it predicts nothing."""
    torch.manual_seed(config.train.seed)
    tied = config.model.model_copy(update={"tie_embeddings": True, "output_bias": False})
    build_stack = build_decoder if config.model.architecture == "decoder" else build_encoder
    model = build_stack(tied, count_embeddings(config, tokenizer), tokenizer.pad_id, pooling="mean")
    if model.output.weight is not model.stack.embedding.tokens.weight:  # narrower, beside its positions
        model.output.requires_grad_(False)
    return model


def new_decoder(config: Config, pad: int) -> DecoderOnly:
    """A randomly initialized language model; its embedding may have more rows than its tokenizer has tokens."""
    torch.manual_seed(config.train.seed)
    return build_decoder(config.model, config.data.vocab_size, pad)


def load_text_tokenizer(run: Run) -> TextTokenizer:
    """The tokenizer of single texts of a run: its own, that of an imported encoder, or of a translator's sources."""
    if run.tokenizer_json.exists():
        return WordPiece(run.read_bytes(run.tokenizer_json))
    return SentencePieceText(load_tokenizers(run, run.load_config()).source)


def count_embeddings(config: Config, tokenizer: TextTokenizer | DocumentTokenizer | ByteLevelBPE) -> int:
    """Rows of the embedding table; that of an imported encoder may have more than its tokenizer has tokens."""
    has_own = isinstance(tokenizer, SentencePieceText | DocumentTokenizer)
    return tokenizer.vocab_size if has_own else config.data.vocab_size


def load_tokenizers(run: Run, config: Config) -> Tokenizers:
    """One tokenizer for both sides, or one for each; imported ones come with tables of their tokens."""
    if config.data.joint_vocab and not run.vocab().exists():
        return share_tokenizer(load_tokenizer(run, ""), config)
    shared = _load_token_table(run, "") if config.data.joint_vocab else None
    source, target = (load_tokenizer(run, side, shared or _load_token_table(run, side)) for side in SIDES)
    return Tokenizers(source, target)


def share_tokenizer(joint: Tokenizer, config: Config) -> Tokenizers:
    """One tokenizer for both sides; of a model of both directions, sources begin with a tag."""
    c = config.data
    return Tokenizers(TaggedTokenizer(joint, c.target) if c.both_directions else joint, joint)


def save_tokenizers(run: Run, tokenizers: Tokenizers) -> None:
    """Write imported tokenizers into a run."""
    sides = dict(zip(SIDES, (tokenizers.source, tokenizers.target), strict=True))
    for side, tokenizer in sides.items():
        with atomic_write(run.tokenizer(side)) as path:
            path.write_bytes(tokenizer.model)
    for side, tokenizer in {"": tokenizers.source}.items() if tokenizers.joint else sides.items():
        if isinstance(tokenizer, RemappedSentencePiece):
            run.write_json(run.vocab(side), tokenizer.id_to_token)
    run.record_checksums(*run.tokenizer_files())


def save_tokenizer_json(run: Run, content: bytes) -> None:
    """Write the tokenizer of an encoder or a language model into a run."""
    with atomic_write(run.tokenizer_json) as path:
        path.write_bytes(content)
    run.record_checksums(run.tokenizer_json)


def load_tokenizer(run: Run, side: str, table: tuple[str, ...] | None = None) -> Tokenizer:
    """The tokenizer of both sides ('') or of one."""
    model = run.read_bytes(run.tokenizer(side))
    return Tokenizer(model) if table is None else RemappedSentencePiece(model, table)


def _load_token_table(run: Run, side: str) -> tuple[str, ...] | None:
    path = run.vocab(side)
    return tuple(run.read_json(run.verify(path), list[str])) if path.exists() else None
