"""A translator of this house -> a folder that the transformers library reads as MarianMT."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config import Config, ModelConfig
from regard.data.tokenizer import BOS, EOS, UNK, Tokenizer
from regard.errors import ConfigError
from regard.interchange.folder import CONFIG, SAFE
from regard.interchange.marian import (
    ACTIVATIONS,
    BIAS,
    EOS_NAME,
    EPSILON,
    PAD_NAME,
    SHARED,
    SOURCE,
    TARGET,
    TYPE,
    UNK_NAME,
    names,
)
from regard.interchange.trained import Trained
from regard.model import weights

PLACES = 512  # the longest text that a folder promises to take, at least
BEAM = 5


def write(trained: Trained, out: Path) -> None:
    """The folder, or the reason why the format cannot express this model."""
    c = trained.config
    if reasons := list(reasons_against(c.model)):
        raise ConfigError(f"Marian's format cannot express this run: {'; '.join(reasons)}")
    joint = trained.tokenizers.joint
    sides = {"source": trained.tokenizers.source, "target": trained.tokenizers.target}
    for side, tokenizer in sides.items():
        (out / f"{side}.spm").write_bytes(tokenizer.model)
    vocabularies = {"vocab.json": sides["source"]} | ({} if joint else {"target_vocab.json": sides["target"]})
    for file, tokenizer in vocabularies.items():
        pieces = _pieces(tokenizer, joint)
        _write_json(out / file, {piece: i for i, piece in enumerate(pieces)})
    sizes = [tokenizer.vocab_size - 1 for tokenizer in sides.values()]  # our padding stays here
    marks = {"eos_token_id": 0, "pad_token_id": sizes[1] - 1 if joint else 2}
    _write_json(out / CONFIG, _config(c, sizes, marks, joint))
    _write_json(out / "generation_config.json", _generation(c, marks))
    _write_json(out / "tokenizer_config.json", _about(c, joint))
    weights.write(_tensors(trained, joint), out / SAFE)


def reasons_against(m: ModelConfig) -> Iterator[str]:
    """What a model has that Marian's format has no word for, with what it would take."""
    expected: dict[str, tuple[Any, str]] = {
        "architecture": ("encoder-decoder", "it translates"),
        "norm": ("post", "it normalises after each sublayer"),
        "norm_kind": ("layer", "its norms centre and shift"),
        "norm_epsilon": (EPSILON, "its norms know no other"),
        "attention": ("softmax", "it knows no other"),
        "bias": (True, "all its linear layers have one"),
        "tie": (True, "its output is the table of target words"),
        "embedding_norm": (False, "its first norm stands in its first layer"),
    }
    for name, (value, why) in expected.items():
        if getattr(m, name) != value:
            yield f"model.{name} is {getattr(m, name)}, not {value}: {why}"
    if m.pruned:
        yield f"{len(m.pruned)} heads were pruned, and all its layers have as many"
    if m.activation not in ACTIVATIONS.values():
        yield f"model.activation is {m.activation}, not one of {', '.join(sorted(set(ACTIVATIONS.values())))}"
    for positions in {m.encoder.positions or m.positions, m.decoder.positions or m.positions}:
        if positions.kind != "sinusoidal":
            yield f"model.positions.kind is {positions.kind}, not sinusoidal"
        elif positions.sinusoid_layout != "halves":
            yield "model.positions.waves is interleaved, not halves: its sines stand before its cosines"


def _pieces(tokenizer: Tokenizer, joint: bool) -> list[str]:
    """Every piece in Marian's order: end, unknown, the rest; padding last, or third where each side has its own."""
    rest = tokenizer.convert_ids_to_tokens(range(EOS + 1, tokenizer.vocab_size))
    return [EOS_NAME, UNK_NAME, *rest, PAD_NAME] if joint else [EOS_NAME, UNK_NAME, PAD_NAME, *rest]


def _reorder(ours: Tensor, joint: bool) -> Tensor:
    """A row for each of our pieces -> one for each of theirs; padding, with which Marian begins, gets our begin's."""
    rest = range(EOS + 1, len(ours))
    return ours[[EOS, UNK, *rest, BOS] if joint else [EOS, UNK, BOS, *rest]]


def _tensors(trained: Trained, joint: bool) -> dict[str, Tensor]:
    ours, m = trained.tensors, trained.config.model
    inside = names(m.encoder_layers or m.layers, m.decoder_layers or m.layers)
    tensors = {theirs: ours[name] for name, theirs in inside}
    words = ours["encoder.embedding.words.weight"]
    if joint:
        tensors[SHARED] = _reorder(words, joint)
    else:
        tensors[SOURCE] = _reorder(words, joint)
        words = ours["decoder.embedding.words.weight"]
        tensors[TARGET] = _reorder(words, joint)
    bias = ours["output.bias"] if m.output_bias else torch.zeros(len(words))
    tensors[BIAS] = _reorder(bias, joint)[None]
    return {name: tensor.float() for name, tensor in tensors.items()}


def _config(c: Config, sizes: list[int], marks: dict[str, int], joint: bool) -> dict[str, Any]:
    m = c.model
    theirs = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    sides = {"attention_heads": m.heads, "ffn_dim": m.ffn}
    layers = {"encoder": m.encoder_layers or m.layers, "decoder": m.decoder_layers or m.layers}
    return {
        "model_type": TYPE,
        "architectures": ["MarianMTModel"],
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "d_model": m.dim,
        **{f"{side}_{name}": value for side in layers for name, value in sides.items()},
        **{f"{side}_layers": count for side, count in layers.items()},
        "activation_function": theirs[m.activation],
        "scale_embedding": m.scale_embeddings,
        "share_encoder_decoder_embeddings": joint,
        "tie_word_embeddings": True,
        "max_position_embeddings": max(PLACES, c.data.max_length),
        "dropout": m.dropout,
        "attention_dropout": m.attention_dropout,
        "activation_dropout": m.activation_dropout,
        "is_encoder_decoder": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "static_position_embeddings": True,
        **marks,
        "forced_eos_token_id": marks["eos_token_id"],
        "decoder_start_token_id": marks["pad_token_id"],
    }


def _generation(c: Config, marks: dict[str, int]) -> dict[str, Any]:
    return {
        **marks,
        "decoder_start_token_id": marks["pad_token_id"],
        "forced_eos_token_id": marks["eos_token_id"],
        "bad_words_ids": [[marks["pad_token_id"]]],
        "max_length": max(PLACES, c.data.max_length),
        "num_beams": BEAM,
    }


def _about(c: Config, joint: bool) -> dict[str, Any]:
    languages = {"source_lang": c.data.source, "target_lang": c.data.target}
    return {
        "tokenizer_class": "MarianTokenizer",
        **{name: code for name, code in languages.items() if code},
        "separate_vocabs": not joint,
        "model_max_length": max(PLACES, c.data.max_length),
        "unk_token": UNK_NAME,
        "eos_token": EOS_NAME,
        "pad_token": PAD_NAME,
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
