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
from regard.interchange.folder import CONFIG, SAFETENSORS
from regard.interchange.marian import (
    ACTIVATIONS,
    EOS_TOKEN,
    EPSILON,
    LOGITS_BIAS,
    MODEL_TYPE,
    PAD_TOKEN,
    SHARED_EMBEDDING,
    SOURCE_EMBEDDING,
    TARGET_EMBEDDING,
    UNK_TOKEN,
    weight_names,
)
from regard.interchange.trained import TrainedTranslator
from regard.model import weights

MIN_POSITIONS = 512  # the longest text that a folder promises to take, at least
BEAM_SIZE = 5


def write(trained: TrainedTranslator, out: Path) -> None:
    """The folder, or the reason why the format cannot express this model."""
    config = trained.config
    if reasons := list(unsupported_features(config.model)):
        raise ConfigError(f"Marian's format cannot express this run: {'; '.join(reasons)}")
    joint = trained.tokenizers.joint
    sides = {"source": trained.tokenizers.source, "target": trained.tokenizers.target}
    for side, tokenizer in sides.items():
        (out / f"{side}.spm").write_bytes(tokenizer.model)
    vocabularies = {"vocab.json": sides["source"]} | ({} if joint else {"target_vocab.json": sides["target"]})
    for file, tokenizer in vocabularies.items():
        tokens = _marian_tokens(tokenizer, joint)
        _write_json(out / file, {token: i for i, token in enumerate(tokens)})
    vocab_sizes = [tokenizer.vocab_size - 1 for tokenizer in sides.values()]  # our padding stays here
    special_ids = {"eos_token_id": 0, "pad_token_id": vocab_sizes[1] - 1 if joint else 2}
    _write_json(out / CONFIG, _convert_config(config, vocab_sizes, special_ids, joint))
    _write_json(out / "generation_config.json", _generation_config(config, special_ids))
    _write_json(out / "tokenizer_config.json", _tokenizer_config(config, joint))
    weights.write(_convert_tensors(trained, joint), out / SAFETENSORS)


def unsupported_features(model_config: ModelConfig) -> Iterator[str]:
    """What a model has that Marian's format has no word for, with what it would take."""
    expected: dict[str, tuple[Any, str]] = {
        "architecture": ("encoder-decoder", "it translates"),
        "norm": ("post", "it normalises after each sublayer"),
        "norm_kind": ("layer", "its norms centre and shift"),
        "norm_epsilon": (EPSILON, "its norms know no other"),
        "attention": ("softmax", "it knows no other"),
        "bias": (True, "all its linear layers have one"),
        "tie_embeddings": (True, "its output is the table of target words"),
        "embedding_norm": (False, "its first norm stands in its first layer"),
    }
    for name, (value, explanation) in expected.items():
        if getattr(model_config, name) != value:
            yield f"model.{name} is {getattr(model_config, name)}, not {value}: {explanation}"
    if model_config.pruned:
        yield f"{len(model_config.pruned)} heads were pruned, and all its layers have as many"
    if model_config.activation not in ACTIVATIONS.values():
        yield f"model.activation is {model_config.activation}, not one of {', '.join(sorted(set(ACTIVATIONS.values())))}"
    for positions in {
        model_config.encoder.positions or model_config.positions,
        model_config.decoder.positions or model_config.positions,
    }:
        if positions.kind != "sinusoidal":
            yield f"model.positions.kind is {positions.kind}, not sinusoidal"
        elif positions.sinusoid_layout != "halves":
            yield "model.positions.sinusoid_layout is interleaved, not halves: its sines stand before its cosines"


def _marian_tokens(tokenizer: Tokenizer, joint: bool) -> list[str]:
    """Every piece in Marian's order: end, unknown, the rest; padding last, or third where each side has its own."""
    rest = tokenizer.convert_ids_to_tokens(range(EOS + 1, tokenizer.vocab_size))
    return [EOS_TOKEN, UNK_TOKEN, *rest, PAD_TOKEN] if joint else [EOS_TOKEN, UNK_TOKEN, PAD_TOKEN, *rest]


def _reorder(tensor: Tensor, joint: bool) -> Tensor:
    """A row for each of our pieces -> one for each of theirs; padding, with which Marian begins, gets our begin's."""
    rest = range(EOS + 1, len(tensor))
    return tensor[[EOS, UNK, *rest, BOS] if joint else [EOS, UNK, BOS, *rest]]


def _convert_tensors(trained: TrainedTranslator, joint: bool) -> dict[str, Tensor]:
    regard_tensors, model_config = trained.tensors, trained.config.model
    name_pairs = weight_names(
        model_config.encoder_layers or model_config.layers, model_config.decoder_layers or model_config.layers
    )
    tensors = {marian_name: regard_tensors[name] for name, marian_name in name_pairs}
    embedding = regard_tensors["encoder.embedding.words.weight"]
    if joint:
        tensors[SHARED_EMBEDDING] = _reorder(embedding, joint)
    else:
        tensors[SOURCE_EMBEDDING] = _reorder(embedding, joint)
        embedding = regard_tensors["decoder.embedding.words.weight"]
        tensors[TARGET_EMBEDDING] = _reorder(embedding, joint)
    bias = regard_tensors["output.bias"] if model_config.output_bias else torch.zeros(len(embedding))
    tensors[LOGITS_BIAS] = _reorder(bias, joint)[None]
    return {name: tensor.float() for name, tensor in tensors.items()}


def _convert_config(config: Config, vocab_sizes: list[int], special_ids: dict[str, int], joint: bool) -> dict[str, Any]:
    model_config = config.model
    activation_names = {ours: activation_names for activation_names, ours in reversed(ACTIVATIONS.items())}
    sides = {"attention_heads": model_config.heads, "ffn_dim": model_config.ffn}
    layers = {
        "encoder": model_config.encoder_layers or model_config.layers,
        "decoder": model_config.decoder_layers or model_config.layers,
    }
    return {
        "model_type": MODEL_TYPE,
        "architectures": ["MarianMTModel"],
        "vocab_size": vocab_sizes[0],
        "decoder_vocab_size": vocab_sizes[1],
        "d_model": model_config.dim,
        **{f"{side}_{name}": value for side in layers for name, value in sides.items()},
        **{f"{side}_layers": count for side, count in layers.items()},
        "activation_function": activation_names[model_config.activation],
        "scale_embedding": model_config.scale_embeddings,
        "share_encoder_decoder_embeddings": joint,
        "tie_word_embeddings": True,
        "max_position_embeddings": max(MIN_POSITIONS, config.data.max_length),
        "dropout": model_config.dropout,
        "attention_dropout": model_config.attention_dropout,
        "activation_dropout": model_config.activation_dropout,
        "is_encoder_decoder": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "static_position_embeddings": True,
        **special_ids,
        "forced_eos_token_id": special_ids["eos_token_id"],
        "decoder_start_token_id": special_ids["pad_token_id"],
    }


def _generation_config(config: Config, special_ids: dict[str, int]) -> dict[str, Any]:
    return {
        **special_ids,
        "decoder_start_token_id": special_ids["pad_token_id"],
        "forced_eos_token_id": special_ids["eos_token_id"],
        "bad_words_ids": [[special_ids["pad_token_id"]]],
        "max_length": max(MIN_POSITIONS, config.data.max_length),
        "num_beams": BEAM_SIZE,
    }


def _tokenizer_config(config: Config, joint: bool) -> dict[str, Any]:
    languages = {"source_lang": config.data.source, "target_lang": config.data.target}
    return {
        "tokenizer_class": "MarianTokenizer",
        **{name: code for name, code in languages.items() if code},
        "separate_vocabs": not joint,
        "model_max_length": max(MIN_POSITIONS, config.data.max_length),
        "unk_token": UNK_TOKEN,
        "eos_token": EOS_TOKEN,
        "pad_token": PAD_TOKEN,
    }


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
