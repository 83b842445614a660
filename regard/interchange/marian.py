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
from regard.interchange.folder import CONFIG, Folder, read_json
from regard.interchange.trained import Trained
from regard.model.positions import sinusoid

TYPE = "marian"
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
NEVER = -100.0  # a score so low that padding has no share in any prediction
RATE = 5e-5  # at which a model that has seen millions of pairs learns from a few more
DEEPEST = 1000  # layers
PAD_NAME, UNK_NAME, EOS_NAME = "<pad>", "<unk>", "</s>"
SHARED, SOURCE, TARGET = "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
HEAD, BIAS = "lm_head.weight", "final_logits_bias"
WORDS = "embedding.words.weight"  # our name of a table, on either side

SELF = {f"self.{name}": f"self_attn.{name}_proj" for name in ("q", "k", "v", "out")}
CROSS = {f"cross.{name}": f"encoder_attn.{name}_proj" for name in ("q", "k", "v", "out")}
FEED = {"feed.into": "fc1", "feed.out": "fc2"}
NORMS = {"around_self.norm": "self_attn_layer_norm", "around_feed.norm": "final_layer_norm"}
CROSS_NORM = {"around_cross.norm": "encoder_attn_layer_norm"}


def names(encoder_layers: int, decoder_layers: int) -> Iterator[tuple[str, str]]:
    """Our name and theirs of every weight inside the layers."""
    encoder, decoder = (SELF | FEED, NORMS), (SELF | CROSS | FEED, NORMS | CROSS_NORM)
    for side, count, (linears, norms) in (("encoder", encoder_layers, encoder), ("decoder", decoder_layers, decoder)):
        for i in range(count):
            for ours, theirs in linears.items():
                for kind in ("weight", "bias"):
                    yield f"{side}.layers.{i}.{ours}.{kind}", f"model.{side}.layers.{i}.{theirs}.{kind}"
            for ours, theirs in norms.items():
                for mine, kind in (("gain", "weight"), ("shift", "bias")):
                    yield f"{side}.layers.{i}.{ours}.{mine}", f"model.{side}.layers.{i}.{theirs}.{kind}"


@dataclass(frozen=True)
class Vocabulary:
    """Which piece has which id in a Marian folder."""

    names: tuple[str, ...]
    pad: int
    unk: int
    eos: int

    @property
    def rows(self) -> list[int]:
        """Their rows in our order, from the unknown piece on: our padding has none."""
        marks = (self.unk, self.pad, self.eos)
        return [*marks, *(i for i in range(len(self.names)) if i not in marks)]

    @property
    def table(self) -> tuple[str, ...]:
        """Every piece in our order."""
        return (*SPECIAL_TOKENS, *(self.names[i] for i in self.rows[3:]))

    def reorder(self, theirs: Tensor, padding: float) -> Tensor:
        """A tensor with a row for each of their pieces -> one for each of ours; padding's is filled."""
        return torch.cat((torch.full_like(theirs[:1], padding), theirs[self.rows]))


def read(folder: Folder) -> Trained:
    """The translator of a Marian folder."""
    c = DEFAULTS | folder.config
    folder.refuse(list(_reasons(folder, c)))
    source = _vocabulary(folder, "vocab.json", folder.count("vocab_size"))
    target = source
    if not c["share_encoder_decoder_embeddings"]:
        target = _vocabulary(folder, "target_vocab.json", folder.count("decoder_vocab_size"))
    _require_marks(folder, target)
    source_table = source.table
    tokenizers = Tokenizers(
        _tokenizer(folder, "source.spm", source_table),
        _tokenizer(folder, "target.spm", source_table if target is source else target.table),
    )
    return Trained(_config(folder, c, tokenizers), _tensors(folder, c, source, target), tokenizers)


def _tokenizer(folder: Folder, file: str, table: tuple[str, ...]) -> RemappedSentencePiece:
    try:
        return RemappedSentencePiece(folder.bytes(file), table)
    except DataError as error:
        raise FormatError(f"{folder.path / file}: {error}") from None


def _reasons(folder: Folder, c: Mapping[str, Any]) -> Iterator[str]:
    """Why a folder cannot be expressed here."""
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if c[name]:
            yield f"{name} is on, and Marian's norms stand after each sublayer and nowhere else"
    if not c["static_position_embeddings"]:
        yield "static_position_embeddings is off, and Marian's positions are sinusoids"
    for name in ("attention_heads", "ffn_dim"):
        sides = [folder.count(f"{side}_{name}") for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            yield f"encoder and decoder differ in {name} ({sides[0]} and {sides[1]}), which model settings here do not"
    if str(c["activation_function"]) not in ACTIVATIONS:
        yield f"activation_function is {c['activation_function']}; there are {', '.join(ACTIVATIONS)}"
    if not c["tie_word_embeddings"]:
        yield "tie_word_embeddings is off: the output has a table of its own beside a shared one"
    if folder.get("decoder_start_token_id") != folder.get("pad_token_id"):
        yield "decoder_start_token_id is not pad_token_id, with which Marian begins"


def _vocabulary(folder: Folder, file: str, size: int) -> Vocabulary:
    where = folder.path / file
    ids = read_json(where)
    if not isinstance(ids, dict) or not all(isinstance(i, int) and 0 <= i < size for i in ids.values()):
        raise FormatError(f"{where}: expected pieces with ids below {size}, the size in {CONFIG}")
    if missing := [name for name in (PAD_NAME, UNK_NAME, EOS_NAME) if name not in ids]:
        raise FormatError(f"{where}: has no piece {missing[0]}, which Marian needs")
    by_id = {i: name for name, i in ids.items()}
    pieces = tuple(by_id.get(i, f"<unused {i}>") for i in range(size))
    return Vocabulary(pieces, ids[PAD_NAME], ids[UNK_NAME], ids[EOS_NAME])


def _require_marks(folder: Folder, target: Vocabulary) -> None:
    """The ids of the marks stand in two files, which must agree."""
    for name, mine in (("pad_token_id", target.pad), ("eos_token_id", target.eos)):
        if folder.get(name) != mine:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {folder.get(name)}, but its piece has the id {mine} in the "
                f"vocabulary; the folder is put together from two models"
            )


def _config(folder: Folder, c: Mapping[str, Any], tokenizers: Tokenizers) -> Config:
    about = folder.json("tokenizer_config.json", otherwise={})
    languages = {side: str(about.get(f"{side}_lang") or "") for side in ("source", "target")}
    data = {
        # Longer codes are of a kind that no file of pairs has: whoever fine-tunes may name the language.
        **{side: code for side, code in languages.items() if re.fullmatch("[a-z]{2}", code)},
        "vocabulary": max(tokenizers.target.vocab_size, MIN_VOCAB_SIZE),
        "joint": tokenizers.joint,
        "max_length": c["max_position_embeddings"],
    }
    model = {
        "dim": folder.get("d_model"),
        **_depths(folder),
        "heads": folder.get("encoder_attention_heads"),
        "ffn": folder.get("encoder_ffn_dim"),
        "activation": ACTIVATIONS[c["activation_function"]],
        "norm": "post",
        "norm_epsilon": EPSILON,
        "scale_words": c["scale_embedding"],
        "output_bias": True,
        "positions": {"kind": "sinusoidal", "waves": "halves"},
        **{name: c[name] for name in ("dropout", "attention_dropout", "activation_dropout")},
    }
    return settings.build({"data": data, "model": model, "train": {"rate": RATE}}, f"{folder.path / CONFIG}: ")


def _depths(folder: Folder) -> dict[str, int]:
    return {name: folder.count(name, DEEPEST) for name in ("encoder_layers", "decoder_layers")}


def _tensors(folder: Folder, c: Mapping[str, Any], source: Vocabulary, target: Vocabulary) -> dict[str, Tensor]:
    theirs = folder.tensors()
    _require_sinusoids(folder, theirs)
    inside = dict(names(**_depths(folder)))
    if missing := [name for name in inside.values() if name not in theirs]:
        raise FormatError(f"{folder.path}: its weights lack {missing[0]} and {len(missing) - 1} more; is it whole?")
    tensors = {ours: theirs[name] for ours, name in inside.items()}
    if target is source:
        tensors[f"encoder.{WORDS}"] = _words(folder, theirs, source, SHARED, SOURCE, TARGET)
    else:
        tensors[f"encoder.{WORDS}"] = _words(folder, theirs, source, SOURCE)
        tensors[f"decoder.{WORDS}"] = _words(folder, theirs, target, TARGET, HEAD)
    bias = theirs.get(BIAS, torch.zeros(len(target.names))).flatten()
    _require_rows(folder, BIAS, bias, target)
    tensors["output.bias"] = target.reorder(bias, NEVER)
    known = {*inside.values(), SHARED, SOURCE, TARGET, HEAD, BIAS}
    if strange := [name for name in theirs if name not in known and "embed_positions" not in name]:
        raise FormatError(f"{folder.path}: its weights hold {strange[0]}, which no Marian model has")
    return tensors


def _words(folder: Folder, theirs: Mapping[str, Tensor], vocabulary: Vocabulary, *candidates: str) -> Tensor:
    """A table that is written once, under one of the names of those who share it; in our order."""
    for name in candidates:
        if name in theirs:
            _require_rows(folder, name, theirs[name], vocabulary)
            return vocabulary.reorder(theirs[name], 0.0)
    raise FormatError(f"{folder.path}: its weights lack {' and '.join(candidates)}, one of which holds the words")


def _require_rows(folder: Folder, name: str, table: Tensor, vocabulary: Vocabulary) -> None:
    if len(table) != len(vocabulary.names):
        raise FormatError(
            f"{folder.path}: {name} has {len(table):,} rows, but {CONFIG} speaks of {len(vocabulary.names):,} pieces; "
            f"the folder is put together from two models"
        )


def _require_sinusoids(folder: Folder, theirs: Mapping[str, Tensor]) -> None:
    """Older folders write their positions down; they must be what the formula says."""
    for name, table in theirs.items():
        if "embed_positions" in name:
            formula = sinusoid(torch.arange(len(table)), table.shape[1], halves=True)
            if not torch.allclose(table.double(), formula, atol=1e-3):
                raise FormatError(f"{folder.path}: {name} is not the sinusoids that Marian's positions are")
