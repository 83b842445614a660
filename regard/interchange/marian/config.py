"""Marian's settings: config.json <-> Regard's settings, and what one of the two cannot express."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard import config as settings
from regard.config import MIN_VOCAB_SIZE, Config, ModelConfig
from regard.data.tokenizer import Tokenizers
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.marian.vocabulary import EOS_TOKEN, PAD_TOKEN, UNK_TOKEN, MarianVocabulary

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
"""The format's values of settings that a config.json leaves out."""
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh"}
EPSILON = 1e-5  # of its norms; no setting changes it
FINETUNE_LEARNING_RATE = 5e-5  # for a model that was trained on millions of pairs and learns from a few more
MAX_LAYERS = 1000
MIN_POSITIONS = 512  # the shortest maximum length that an exported folder names
BEAM_SIZE = 5


def unsupported_settings(folder: ModelFolder, marian_config: Mapping[str, Any]) -> Iterator[str]:
    """The reasons why Regard cannot express a folder."""
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if marian_config[name]:
            yield f"{name} is on, and Marian's norms stand after each sublayer and nowhere else"
    if not marian_config["static_position_embeddings"]:
        yield "static_position_embeddings is off, and Marian's positions are sinusoids"
    for name in ("attention_heads", "ffn_dim"):
        sides = [folder.get_count(f"{side}_{name}") for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            yield f"encoder and decoder differ in {name} ({sides[0]} and {sides[1]}); in Regard both have the same"
    if str(marian_config["activation_function"]) not in ACTIVATIONS:
        yield f"activation_function is {marian_config['activation_function']}; there are {', '.join(ACTIVATIONS)}"
    if not marian_config["tie_word_embeddings"]:
        yield "tie_word_embeddings is off: the output has a table of its own beside a shared one"
    if folder.get("decoder_start_token_id") != folder.get("pad_token_id"):
        yield "decoder_start_token_id is not pad_token_id, with which Marian starts a translation"


def unsupported_features(model_config: ModelConfig) -> Iterator[str]:
    """The reasons why Marian's format cannot express a model, each with the value that it requires."""
    required: dict[str, tuple[Any, str]] = {
        "architecture": ("encoder-decoder", "it translates"),
        "norm": ("post", "it normalizes after each sublayer"),
        "norm_kind": ("layer", "its norms are LayerNorm"),
        "norm_epsilon": (EPSILON, "its norms have no other"),
        "attention": ("softmax", "it has no other"),
        "bias": (True, "all its linear layers have one"),
        "tie_embeddings": (True, "its output layer is the target embedding"),
        "embedding_norm": (False, "its first norm stands in its first layer"),
    }
    for name, (value, explanation) in required.items():
        if getattr(model_config, name) != value:
            yield f"model.{name} is {getattr(model_config, name)}, not {value}: {explanation}"
    if model_config.pruned:
        yield f"{len(model_config.pruned)} heads were pruned, and all its layers have the same number of heads"
    if model_config.activation not in ACTIVATIONS.values():
        supported = ", ".join(sorted(set(ACTIVATIONS.values())))
        yield f"model.activation is {model_config.activation}, not one of {supported}"
    for positions in {
        model_config.encoder.positions or model_config.positions,
        model_config.decoder.positions or model_config.positions,
    }:
        if positions.kind != "sinusoidal":
            yield f"model.positions.kind is {positions.kind}, not sinusoidal"
        elif positions.sinusoid_layout != "halves":
            yield "model.positions.sinusoid_layout is interleaved, not halves: its sines stand before its cosines"


def read_config(folder: ModelFolder, marian_config: Mapping[str, Any], tokenizers: Tokenizers) -> Config:
    """Regard's settings of a folder."""
    tokenizer_config = folder.load_json("tokenizer_config.json", default={})
    languages = {side: str(tokenizer_config.get(f"{side}_lang") or "") for side in ("source", "target")}
    data = {
        # Longer codes name language groups, which no file of pairs does; fine-tuning may set the language.
        **{side: code for side, code in languages.items() if re.fullmatch("[a-z]{2}", code)},
        "vocab_size": max(tokenizers.target.vocab_size, MIN_VOCAB_SIZE),
        "joint_vocab": tokenizers.joint,
        "max_length": marian_config["max_position_embeddings"],
    }
    model = {
        "dim": folder.get("d_model"),
        **read_layer_counts(folder),
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


def read_layer_counts(folder: ModelFolder) -> dict[str, int]:
    """The layers of both sides."""
    return {name: folder.get_count(name, MAX_LAYERS) for name in ("encoder_layers", "decoder_layers")}


def layer_counts(model_config: ModelConfig) -> dict[str, int]:
    """The layers of both sides, under the names that config.json has for them."""
    return {
        "encoder_layers": model_config.encoder_layers or model_config.layers,
        "decoder_layers": model_config.decoder_layers or model_config.layers,
    }


def config_files(
    config: Config, source: MarianVocabulary, target: MarianVocabulary, joint: bool
) -> dict[str, dict[str, Any]]:
    """The JSON files of an exported folder that hold settings, by their names."""
    special_ids = {"eos_token_id": target.eos, "pad_token_id": target.pad}
    start_and_end = {"decoder_start_token_id": target.pad, "forced_eos_token_id": target.eos}
    max_length = max(MIN_POSITIONS, config.data.max_length)
    languages = {"source_lang": config.data.source, "target_lang": config.data.target}
    return {
        CONFIG: {
            **_model_settings(config.model, joint),
            "vocab_size": len(source.tokens),
            "decoder_vocab_size": len(target.tokens),
            "max_position_embeddings": max_length,
            **special_ids,
            **start_and_end,
        },
        "generation_config.json": {
            **special_ids,
            **start_and_end,
            "bad_words_ids": [[target.pad]],
            "max_length": max_length,
            "num_beams": BEAM_SIZE,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "MarianTokenizer",
            **{name: code for name, code in languages.items() if code},
            "separate_vocabs": not joint,
            "model_max_length": max_length,
            "unk_token": UNK_TOKEN,
            "eos_token": EOS_TOKEN,
            "pad_token": PAD_TOKEN,
        },
    }


def _model_settings(model_config: ModelConfig, joint: bool) -> dict[str, Any]:
    activation_names = {regard_name: name for name, regard_name in reversed(ACTIVATIONS.items())}
    return {
        "model_type": MODEL_TYPE,
        "architectures": ["MarianMTModel"],
        "d_model": model_config.dim,
        **{f"{side}_attention_heads": model_config.heads for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": model_config.ffn for side in ("encoder", "decoder")},
        **layer_counts(model_config),
        "activation_function": activation_names[model_config.activation],
        "scale_embedding": model_config.scale_embeddings,
        "share_encoder_decoder_embeddings": joint,
        "tie_word_embeddings": True,
        "dropout": model_config.dropout,
        "attention_dropout": model_config.attention_dropout,
        "activation_dropout": model_config.activation_dropout,
        "is_encoder_decoder": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "static_position_embeddings": True,
    }
