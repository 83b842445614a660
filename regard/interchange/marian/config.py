"""Marian's settings: config.json <-> Regard's settings, and what one of the two cannot express."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard import config as settings
from regard.config import MIN_VOCAB_SIZE, Config, ModelConfig
from regard.data.tokenizers.tokenizer import Tokenizers
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
            yield f"{name}=true is not supported: Marian is post-norm only"
    if not marian_config["static_position_embeddings"]:
        yield "static_position_embeddings=false is not supported: positions must be sinusoidal"
    for name in ("attention_heads", "ffn_dim"):
        sides = [folder.get_count(f"{side}_{name}") for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            yield f"encoder and decoder differ in {name} ({sides[0]} and {sides[1]}); in Regard both have the same"
    if str(marian_config["activation_function"]) not in ACTIVATIONS:
        yield f"activation_function={marian_config['activation_function']}; available: {', '.join(ACTIVATIONS)}"
    if not marian_config["tie_word_embeddings"]:
        yield "tie_word_embeddings=false is not supported"
    if folder.get("decoder_start_token_id") != folder.get("pad_token_id"):
        yield "decoder_start_token_id must equal pad_token_id"


def unsupported_features(model_config: ModelConfig) -> Iterator[str]:
    """The reasons why Marian's format cannot express a model, each with the value that it requires."""
    required: dict[str, tuple[Any, str]] = {
        "architecture": ("encoder-decoder", "only encoder-decoder models"),
        "norm": ("post", "post-norm"),
        "norm_kind": ("layer", "LayerNorm"),
        "norm_epsilon": (EPSILON, "fixed epsilon"),
        "attention": ("softmax", "softmax attention"),
        "qk_norm": (False, "queries and keys as they are projected"),
        "bias": (True, "biases in all linear layers"),
        "tie_embeddings": (True, "output tied to the target embedding"),
        "embedding_norm": (False, "no embedding norm"),
    }
    for name, (value, explanation) in required.items():
        if (actual := getattr(model_config, name)) != value:
            yield f"model.{name}={_format_value(actual)}; Marian requires {_format_value(value)} ({explanation})"
    if model_config.pruned:
        yield f"{len(model_config.pruned)} heads were pruned; Marian requires the same number of heads in all layers"
    if model_config.activation not in ACTIVATIONS.values():
        supported = ", ".join(sorted(set(ACTIVATIONS.values())))
        yield f"model.activation={model_config.activation}; Marian requires one of {supported}"
    for positions in {
        model_config.encoder.positions or model_config.positions,
        model_config.decoder.positions or model_config.positions,
    }:
        if positions.kind != "sinusoidal":
            yield f"model.positions.kind={positions.kind}; Marian requires sinusoidal"
        elif positions.sinusoid_layout != "halves":
            yield "model.positions.sinusoid_layout=interleaved; Marian requires halves"


def _format_value(value: object) -> str:
    """A value as in config.toml, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


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
