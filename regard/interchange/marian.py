"""MarianMT, the models of OPUS-MT: a folder of the transformers library -> a translator of this house.

Marian begins a translation with its padding, which here is a piece of its own: the begin mark takes over the row of
Marian's padding, and real padding gets a new row that is never predicted. So ids are renumbered on the way in and on
the way out, and whoever translates, trains or looks need not know of it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard import config as settings
from regard.config import MIN_VOCAB_SIZE, Config
from regard.data.remapped_sentencepiece import SPECIAL_TOKENS, RemappedSentencePiece
from regard.data.tokenizer import Tokenizers
from regard.errors import DataError, FormatError
from regard.interchange.folder import CONFIG, ModelFolder, read_json
from regard.interchange.trained import TrainedTranslator
from regard.model.positions import sinusoid

MODEL_TYPE = "marian"
DEFAULTS = {
    "activation_function": "gelu",
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "max_position_embeddings": 1024,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
"""What the format means by a setting that a folder leaves out."""
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh"}
EPSILON = 1e-5  # of its norms; no folder says another
PADDING_LOGIT = -100.0  # a score so low that padding has no share in any prediction
FINETUNE_LEARNING_RATE = 5e-5  # at which a model that has seen millions of pairs learns from a few more
MAX_LAYERS = 1000  # layers
PAD_TOKEN, UNK_TOKEN, EOS_TOKEN = "<pad>", "<unk>", "</s>"
SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
)
LM_HEAD, LOGITS_BIAS = "lm_head.weight", "final_logits_bias"
EMBEDDING_WEIGHT = "embedding.words.weight"  # our name of a table, on either side

SELF_ATTENTION = {f"self.{name}": f"self_attn.{name}_proj" for name in ("q", "k", "v", "out")}
CROSS_ATTENTION = {f"cross.{name}": f"encoder_attn.{name}_proj" for name in ("q", "k", "v", "out")}
FEED_FORWARD = {"feed.into": "fc1", "feed.out": "fc2"}
NORMS = {"around_self.norm": "self_attn_layer_norm", "around_feed.norm": "final_layer_norm"}
CROSS_NORM = {"around_cross.norm": "encoder_attn_layer_norm"}


def weight_names(encoder_layers: int, decoder_layers: int) -> Iterator[tuple[str, str]]:
    """Our name and theirs of every weight inside the layers."""
    encoder, decoder = (
        (SELF_ATTENTION | FEED_FORWARD, NORMS),
        (SELF_ATTENTION | CROSS_ATTENTION | FEED_FORWARD, NORMS | CROSS_NORM),
    )
    for side, count, (linears, norms) in (("encoder", encoder_layers, encoder), ("decoder", decoder_layers, decoder)):
        for i in range(count):
            for regard_name, marian_name in linears.items():
                for kind in ("weight", "bias"):
                    yield f"{side}.layers.{i}.{regard_name}.{kind}", f"model.{side}.layers.{i}.{marian_name}.{kind}"
            for regard_name, marian_name in norms.items():
                for regard_kind, kind in (("gain", "weight"), ("shift", "bias")):
                    yield (
                        f"{side}.layers.{i}.{regard_name}.{regard_kind}",
                        f"model.{side}.layers.{i}.{marian_name}.{kind}",
                    )


@dataclass(frozen=True)
class MarianVocabulary:
    """Which piece has which id in a Marian folder."""

    tokens: tuple[str, ...]
    pad: int
    unk: int
    eos: int

    @property
    def row_order(self) -> list[int]:
        """Their rows in our order, from the unknown piece on: our padding has none."""
        special_ids = (self.unk, self.pad, self.eos)
        return [*special_ids, *(i for i in range(len(self.tokens)) if i not in special_ids)]

    @property
    def reordered_tokens(self) -> tuple[str, ...]:
        """Every piece in our order."""
        return (*SPECIAL_TOKENS, *(self.tokens[i] for i in self.row_order[3:]))

    def reorder(self, tensor: Tensor, padding_value: float) -> Tensor:
        """A tensor with a row for each of their pieces -> one for each of ours; padding's is filled."""
        return torch.cat((torch.full_like(tensor[:1], padding_value), tensor[self.row_order]))


def read(folder: ModelFolder) -> TrainedTranslator:
    """The translator of a Marian folder."""
    marian_config = DEFAULTS | folder.config
    folder.require_supported(list(_unsupported_features(folder, marian_config)))
    source = _read_vocabulary(folder, "vocab.json", folder.get_count("vocab_size"))
    target = source
    if not marian_config["share_encoder_decoder_embeddings"]:
        target = _read_vocabulary(folder, "target_vocab.json", folder.get_count("decoder_vocab_size"))
    _require_special_ids(folder, target)
    source_tokens = source.reordered_tokens
    tokenizers = Tokenizers(
        _load_tokenizer(folder, "source.spm", source_tokens),
        _load_tokenizer(folder, "target.spm", source_tokens if target is source else target.reordered_tokens),
    )
    return TrainedTranslator(
        _convert_config(folder, marian_config, tokenizers),
        _convert_tensors(folder, marian_config, source, target),
        tokenizers,
    )


def _load_tokenizer(folder: ModelFolder, file: str, tokens: tuple[str, ...]) -> RemappedSentencePiece:
    try:
        return RemappedSentencePiece(folder.read_bytes(file), tokens)
    except DataError as error:
        raise FormatError(f"{folder.path / file}: {error}") from None


def _unsupported_features(folder: ModelFolder, marian_config: Mapping[str, Any]) -> Iterator[str]:
    """Why a folder cannot be expressed here."""
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if marian_config[name]:
            yield f"{name} is on, and Marian's norms stand after each sublayer and nowhere else"
    if not marian_config["static_position_embeddings"]:
        yield "static_position_embeddings is off, and Marian's positions are sinusoids"
    for name in ("attention_heads", "ffn_dim"):
        sides = [folder.get_count(f"{side}_{name}") for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            yield f"encoder and decoder differ in {name} ({sides[0]} and {sides[1]}), which model settings here do not"
    if str(marian_config["activation_function"]) not in ACTIVATIONS:
        yield f"activation_function is {marian_config['activation_function']}; there are {', '.join(ACTIVATIONS)}"
    if not marian_config["tie_word_embeddings"]:
        yield "tie_word_embeddings is off: the output has a table of its own beside a shared one"
    if folder.get("decoder_start_token_id") != folder.get("pad_token_id"):
        yield "decoder_start_token_id is not pad_token_id, with which Marian begins"


def _read_vocabulary(folder: ModelFolder, file: str, size: int) -> MarianVocabulary:
    path = folder.path / file
    ids = read_json(path)
    if not isinstance(ids, dict) or not all(isinstance(i, int) and 0 <= i < size for i in ids.values()):
        raise FormatError(f"{path}: expected pieces with ids below {size}, the size in {CONFIG}")
    if missing := [name for name in (PAD_TOKEN, UNK_TOKEN, EOS_TOKEN) if name not in ids]:
        raise FormatError(f"{path}: has no piece {missing[0]}, which Marian needs")
    by_id = {i: name for name, i in ids.items()}
    tokens = tuple(by_id.get(i, f"<unused {i}>") for i in range(size))
    return MarianVocabulary(tokens, ids[PAD_TOKEN], ids[UNK_TOKEN], ids[EOS_TOKEN])


def _require_special_ids(folder: ModelFolder, target: MarianVocabulary) -> None:
    """The ids of the marks stand in two files, which must agree."""
    for name, vocabulary_id in (("pad_token_id", target.pad), ("eos_token_id", target.eos)):
        if folder.get(name) != vocabulary_id:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {folder.get(name)}, but its piece has the id {vocabulary_id} in the "
                f"vocabulary; the folder is put together from two models"
            )


def _convert_config(folder: ModelFolder, marian_config: Mapping[str, Any], tokenizers: Tokenizers) -> Config:
    tokenizer_config = folder.load_json("tokenizer_config.json", default={})
    languages = {side: str(tokenizer_config.get(f"{side}_lang") or "") for side in ("source", "target")}
    data = {
        # Longer codes are of a kind that no file of pairs has: whoever fine-tunes may name the language.
        **{side: code for side, code in languages.items() if re.fullmatch("[a-z]{2}", code)},
        "vocab_size": max(tokenizers.target.vocab_size, MIN_VOCAB_SIZE),
        "joint_vocab": tokenizers.joint,
        "max_length": marian_config["max_position_embeddings"],
    }
    model = {
        "dim": folder.get("d_model"),
        **_layer_counts(folder),
        "heads": folder.get("encoder_attention_heads"),
        "ffn": folder.get("encoder_ffn_dim"),
        "activation": ACTIVATIONS[marian_config["activation_function"]],
        "norm": "post",
        "norm_epsilon": EPSILON,
        "scale_embeddings": marian_config["scale_embedding"],
        "output_bias": True,
        "positions": {"kind": "sinusoidal", "sinusoid_layout": "halves"},
        **{name: marian_config[name] for name in ("dropout", "attention_dropout", "activation_dropout")},
    }
    return settings.build(
        {"data": data, "model": model, "train": {"learning_rate": FINETUNE_LEARNING_RATE}}, f"{folder.path / CONFIG}: "
    )


def _layer_counts(folder: ModelFolder) -> dict[str, int]:
    return {name: folder.get_count(name, MAX_LAYERS) for name in ("encoder_layers", "decoder_layers")}


def _convert_tensors(
    folder: ModelFolder, marian_config: Mapping[str, Any], source: MarianVocabulary, target: MarianVocabulary
) -> dict[str, Tensor]:
    marian_tensors = folder.load_tensors()
    _require_sinusoids(folder, marian_tensors)
    name_map = dict(weight_names(**_layer_counts(folder)))
    if missing := [name for name in name_map.values() if name not in marian_tensors]:
        raise FormatError(f"{folder.path}: its weights lack {missing[0]} and {len(missing) - 1} more; is it whole?")
    tensors = {regard_name: marian_tensors[name] for regard_name, name in name_map.items()}
    if target is source:
        tensors[f"encoder.{EMBEDDING_WEIGHT}"] = _embedding_table(
            folder, marian_tensors, source, SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING
        )
    else:
        tensors[f"encoder.{EMBEDDING_WEIGHT}"] = _embedding_table(folder, marian_tensors, source, SOURCE_EMBEDDING)
        tensors[f"decoder.{EMBEDDING_WEIGHT}"] = _embedding_table(
            folder, marian_tensors, target, TARGET_EMBEDDING, LM_HEAD
        )
    bias = marian_tensors.get(LOGITS_BIAS, torch.zeros(len(target.tokens))).flatten()
    _require_rows(folder, LOGITS_BIAS, bias, target)
    tensors["output.bias"] = target.reorder(bias, PADDING_LOGIT)
    expected_names = {*name_map.values(), SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING, LM_HEAD, LOGITS_BIAS}
    if unexpected := [name for name in marian_tensors if name not in expected_names and "embed_positions" not in name]:
        raise FormatError(f"{folder.path}: its weights hold {unexpected[0]}, which no Marian model has")
    return tensors


def _embedding_table(
    folder: ModelFolder, marian_tensors: Mapping[str, Tensor], vocabulary: MarianVocabulary, *candidates: str
) -> Tensor:
    """A table that is written once, under one of the names of those who share it; in our order."""
    for name in candidates:
        if name in marian_tensors:
            _require_rows(folder, name, marian_tensors[name], vocabulary)
            return vocabulary.reorder(marian_tensors[name], 0.0)
    raise FormatError(f"{folder.path}: its weights lack {' and '.join(candidates)}, one of which holds the words")


def _require_rows(folder: ModelFolder, name: str, table: Tensor, vocabulary: MarianVocabulary) -> None:
    if len(table) != len(vocabulary.tokens):
        raise FormatError(
            f"{folder.path}: {name} has {len(table):,} rows, but {CONFIG} speaks of {len(vocabulary.tokens):,} pieces; "
            f"the folder is put together from two models"
        )


def _require_sinusoids(folder: ModelFolder, marian_tensors: Mapping[str, Tensor]) -> None:
    """Older folders write their positions down; they must be what the formula says."""
    for name, table in marian_tensors.items():
        if "embed_positions" in name:
            formula = sinusoid(torch.arange(len(table)), table.shape[1], halves=True)
            if not torch.allclose(table.double(), formula, atol=1e-3):
                raise FormatError(f"{folder.path}: {name} is not the sinusoids that Marian's positions are")
