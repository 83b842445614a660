"""BERT and its relatives: a folder of the transformers or sentence-transformers library -> an encoder."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from regard import config as settings
from regard.config import Config
from regard.data.tokenizers.wordpiece import WordPiece, from_vocab
from regard.errors import FormatError
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.trained import TrainedEncoder

MODEL_TYPE = "bert"
DEFAULTS = {
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "pad_token_id": 0,
    "type_vocab_size": 2,
}
"""The format's values of settings that a config.json leaves out."""
ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu-tanh", "silu": "silu", "swish": "silu"}
PREFIX = "bert."  # of a BERT inside a larger model, whose other parts are ignored
MAX_LAYERS = 1000
SENTENCE_CONFIG = "sentence_bert_config.json"
POOLING_MODE_PREFIX = "pooling_mode_"
PROBE_LENGTH = 16  # tokens, special tokens included: enough for two words
IGNORED_PREFIXES = ("cls.", "classifier.", "qa_outputs.", "embeddings.position_ids")

EMBEDDINGS = {
    "encoder.embedding.tokens.weight": "embeddings.word_embeddings.weight",
    "encoder.embedding.positions.table": "embeddings.position_embeddings.weight",
    "encoder.embedding.token_types.table": "embeddings.token_type_embeddings.weight",
    "encoder.embedding.norm.weight": "embeddings.LayerNorm.weight",
    "encoder.embedding.norm.bias": "embeddings.LayerNorm.bias",
}
POOLER = {f"pool.linear.{kind}": f"pooler.dense.{kind}" for kind in ("weight", "bias")}
LAYER_MODULES = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "self_attn_residual.norm": "attention.output.LayerNorm",
    "feed_forward_residual.norm": "output.LayerNorm",
}


def weight_names(layers: int, pooled: bool) -> Iterator[tuple[str, str]]:
    """Regard's and BERT's name of every weight."""
    yield from EMBEDDINGS.items()
    for i in range(layers):
        for regard_name, bert_name in LAYER_MODULES.items():
            for kind in ("weight", "bias"):
                yield f"encoder.layers.{i}.{regard_name}.{kind}", f"encoder.layer.{i}.{bert_name}.{kind}"
    if pooled:
        yield from POOLER.items()


def read(folder: ModelFolder) -> TrainedEncoder:
    """The encoder of a BERT folder."""
    bert_config = DEFAULTS | folder.config
    folder.require_supported([*_unsupported_features(bert_config), *_unsupported_pooling(folder)])
    tokenizer = _load_tokenizer(folder)
    _require_matching_tokenizer(folder, bert_config, tokenizer)
    bert_tensors = {_current_name(name): tensor for name, tensor in folder.load_tensors().items()}
    pooled = all(name in bert_tensors for name in POOLER.values())
    return TrainedEncoder(
        _convert_config(folder, bert_config, pooled), _convert_tensors(folder, bert_tensors, pooled), tokenizer
    )


def _unsupported_features(bert_config: Mapping[str, Any]) -> Iterator[str]:
    """The reasons why Regard cannot express a folder."""
    if bert_config["position_embedding_type"] != "absolute":
        yield f"position_embedding_type={bert_config['position_embedding_type']}; only absolute is supported"
    for name in ("is_decoder", "add_cross_attention"):
        if bert_config[name]:
            yield f"{name}=true is not supported: only bidirectional encoders"
    if str(bert_config["hidden_act"]) not in ACTIVATIONS:
        yield f"hidden_act={bert_config['hidden_act']}; available: {', '.join(ACTIVATIONS)}"


def _unsupported_pooling(folder: ModelFolder) -> Iterator[str]:
    """A folder that says how texts are embedded must do it as `Embedder` does: by the mean of the states."""
    for module in folder.load_json("modules.json", default=[]):
        if not isinstance(module, dict):
            raise FormatError(f"{folder.path / 'modules.json'}: expected a list of objects")
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in ("Transformer", "Pooling", "Normalize"):
            yield f"modules.json adds a {kind} layer after the encoder"
        elif kind == "Pooling":
            pooling_modes = _parse_pooling_modes(
                folder.load_json(f"{_module_path(folder, module)}/{CONFIG}", default={})
            )
            if pooling_modes not in ([], ["mean"]):
                yield f"its pooling is {' and '.join(pooling_modes)}; only mean pooling is supported"


def _module_path(folder: ModelFolder, module: Mapping[str, Any]) -> str:
    """The folder of a module, which is inside of the model's."""
    path = module.get("path", "1_Pooling")
    if not isinstance(path, str) or not re.fullmatch(r"[A-Za-z0-9_-]{0,100}", path):
        raise FormatError(f"{folder.path / 'modules.json'}: {path!a:.80} is not the name of a folder")
    return path


def _parse_pooling_modes(pooling_config: Mapping[str, Any]) -> list[str]:
    """The pooling modes: a name or a list of names, in older folders a switch for each."""
    modes = pooling_config.get("pooling_mode") or []
    legacy_modes = [
        name.removeprefix(POOLING_MODE_PREFIX)
        for name, enabled in pooling_config.items()
        if name.startswith(POOLING_MODE_PREFIX) and enabled is True
    ]
    return [
        *map(str, modes if isinstance(modes, list) else [modes]),
        *(name.removesuffix("_tokens") for name in legacy_modes),
    ]


def _load_tokenizer(folder: ModelFolder) -> WordPiece:
    if (folder.path / "tokenizer.json").exists():
        return WordPiece(folder.read_bytes("tokenizer.json"))
    tokens = [token.removesuffix("\r") for token in folder.read_text("vocab.txt").split("\n")]
    return from_vocab(tokens, folder.load_json("tokenizer_config.json", {}))


def _require_matching_tokenizer(folder: ModelFolder, bert_config: Mapping[str, Any], tokenizer: WordPiece) -> None:
    """The tokenizer and the model must belong together."""
    for name, config_value, tokenizer_value in (
        ("pad_token_id", bert_config["pad_token_id"], tokenizer.pad_id),
        ("vocab_size", folder.get_count("vocab_size"), max(folder.get_count("vocab_size"), tokenizer.vocab_size)),
    ):
        if config_value != tokenizer_value:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {config_value}, but the tokenizer's is {tokenizer_value}; "
                f"the folder mixes files of two models"
            )
    do_lower_case = folder.load_json(SENTENCE_CONFIG, default={}).get("do_lower_case")
    if do_lower_case and tokenizer.encode(["ABC É"], PROBE_LENGTH) != tokenizer.encode(["abc é"], PROBE_LENGTH):
        raise FormatError(
            f"{folder.path / SENTENCE_CONFIG}: do_lower_case is on, but the tokenizer is cased; "
            f"texts are not lowercased before they are tokenized"
        )


def _current_name(name: str) -> str:
    """A weight's current name: without the prefix of a larger model, and with the newer names of norms."""
    return name.removeprefix(PREFIX).replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias")


def _convert_tensors(folder: ModelFolder, bert_tensors: Mapping[str, Tensor], pooled: bool) -> dict[str, Tensor]:
    name_map = dict(weight_names(folder.get_count("num_hidden_layers", MAX_LAYERS), pooled))
    folder.require_weights(name_map.values(), bert_tensors)
    expected_names = {*name_map.values(), *POOLER.values()}
    if unexpected := [
        name for name in bert_tensors if name not in expected_names and not name.startswith(IGNORED_PREFIXES)
    ]:
        raise FormatError(f"{folder.path}: its weights hold {unexpected[0]}, which no BERT has")
    return {regard_name: bert_tensors[name] for regard_name, name in name_map.items()}


def _convert_config(folder: ModelFolder, bert_config: Mapping[str, Any], pooled: bool) -> Config:
    num_positions = folder.get_count("max_position_embeddings")
    max_seq_length = folder.load_json(SENTENCE_CONFIG, default={}).get("max_seq_length") or num_positions
    if type(max_seq_length) is not int:
        raise FormatError(f"{folder.path / SENTENCE_CONFIG}: max_seq_length is {max_seq_length!r}, expected an integer")
    model = {
        "architecture": "encoder",
        "dim": folder.get("hidden_size"),
        "layers": folder.get("num_hidden_layers"),
        "heads": folder.get("num_attention_heads"),
        "ffn": folder.get("intermediate_size"),
        "activation": ACTIVATIONS[bert_config["hidden_act"]],
        "norm": "post",
        "norm_epsilon": bert_config["layer_norm_eps"],
        "dropout": bert_config["hidden_dropout_prob"],
        "attention_dropout": bert_config["attention_probs_dropout_prob"],
        "scale_embeddings": False,
        "embedding_norm": True,
        "token_types": bert_config["type_vocab_size"],
        "pooler": pooled,
        "positions": {"kind": "learned", "length": num_positions},
    }
    data = {
        "vocab_size": folder.get("vocab_size"),
        "max_length": min(max_seq_length, num_positions),
    }
    return settings.build({"data": data, "model": model}, f"{folder.path / CONFIG}: ")
