"""BERT and its kin: a folder of the transformers or sentence-transformers library -> an encoder of this house."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from regard import config as settings
from regard.config import Config
from regard.data.wordpiece import WordPiece, from_vocab
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
"""What the format means by a setting that a folder leaves out."""
ACTIVATIONS = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu-tanh", "silu": "silu", "swish": "silu"}
PREFIX = "bert."  # of a BERT inside a larger model, whose other parts stay behind
MAX_LAYERS = 1000  # layers
SENTENCE_CONFIG = "sentence_bert_config.json"
POOLING_MODE_PREFIX = "pooling_mode_"
PROBE_LENGTH = 16  # pieces, more than the marks around two words
IGNORED_PREFIXES = ("cls.", "classifier.", "qa_outputs.", "embeddings.position_ids")

EMBEDDINGS = {
    "encoder.embedding.words.weight": "embeddings.word_embeddings.weight",
    "encoder.embedding.positions.table": "embeddings.position_embeddings.weight",
    "encoder.embedding.types.table": "embeddings.token_type_embeddings.weight",
    "encoder.embedding.norm.gain": "embeddings.LayerNorm.weight",
    "encoder.embedding.norm.shift": "embeddings.LayerNorm.bias",
}
POOLER = {f"pool.linear.{kind}": f"pooler.dense.{kind}" for kind in ("weight", "bias")}
LINEARS = {
    "self.q": "attention.self.query",
    "self.k": "attention.self.key",
    "self.v": "attention.self.value",
    "self.out": "attention.output.dense",
    "feed.into": "intermediate.dense",
    "feed.out": "output.dense",
}
NORMS = {"around_self.norm": "attention.output.LayerNorm", "around_feed.norm": "output.LayerNorm"}


def weight_names(layers: int, pooled: bool) -> Iterator[tuple[str, str]]:
    """Our name and theirs of every weight."""
    yield from EMBEDDINGS.items()
    for i in range(layers):
        for regard_name, bert_name in LINEARS.items():
            for kind in ("weight", "bias"):
                yield f"encoder.layers.{i}.{regard_name}.{kind}", f"encoder.layer.{i}.{bert_name}.{kind}"
        for regard_name, bert_name in NORMS.items():
            for regard_kind, kind in (("gain", "weight"), ("shift", "bias")):
                yield f"encoder.layers.{i}.{regard_name}.{regard_kind}", f"encoder.layer.{i}.{bert_name}.{kind}"
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
    """Why a folder cannot be expressed here."""
    if bert_config["position_embedding_type"] != "absolute":
        yield f"position_embedding_type is {bert_config['position_embedding_type']}, and BERT's places are absolute"
    for name in ("is_decoder", "add_cross_attention"):
        if bert_config[name]:
            yield f"{name} is on, and an encoder looks at its own text alone, both ways"
    if str(bert_config["hidden_act"]) not in ACTIVATIONS:
        yield f"hidden_act is {bert_config['hidden_act']}; there are {', '.join(ACTIVATIONS)}"


def _unsupported_pooling(folder: ModelFolder) -> Iterator[str]:
    """Where a folder says how texts become vectors, it must be as it is done here: the mean of the states."""
    for module in folder.load_json("modules.json", default=[]):
        if not isinstance(module, dict):
            raise FormatError(f"{folder.path / 'modules.json'}: expected a list of objects")
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in ("Transformer", "Pooling", "Normalize"):
            yield f"modules.json adds a {kind} layer after the encoder"
        elif kind == "Pooling":
            pooling_modes = _parse_pooling_modes(
                folder.load_json(f"{module.get('path', '1_Pooling')}/{CONFIG}", default={})
            )
            if pooling_modes not in ([], ["mean"]):
                yield f"its texts are embedded by {' and '.join(pooling_modes)}, here by the mean of their tokens"


def _parse_pooling_modes(pooling_config: Mapping[str, Any]) -> list[str]:
    """How a text's states become one vector: today a name or a list of them, in older folders a switch each."""
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
    """The tokeniser and the model must be of one folder."""
    for name, config_value, tokenizer_value in (
        ("pad_token_id", bert_config["pad_token_id"], tokenizer.pad_id),
        ("vocab_size", folder.get_count("vocab_size"), max(folder.get_count("vocab_size"), tokenizer.vocab_size)),
    ):
        if config_value != tokenizer_value:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {config_value}, but the tokeniser says {tokenizer_value}; "
                f"the folder is put together from two models"
            )
    do_lower_case = folder.load_json(SENTENCE_CONFIG, default={}).get("do_lower_case")
    if do_lower_case and tokenizer.encode(["ABC É"], PROBE_LENGTH) != tokenizer.encode(["abc é"], PROBE_LENGTH):
        raise FormatError(
            f"{folder.path / SENTENCE_CONFIG}: do_lower_case is on, and the tokeniser tells large letters from small ones; "
            f"here a text is read as it stands"
        )


def _current_name(name: str) -> str:
    """A weight's name today: without the larger model around it, and with the norms' names of later years."""
    return name.removeprefix(PREFIX).replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias")


def _convert_tensors(folder: ModelFolder, bert_tensors: Mapping[str, Tensor], pooled: bool) -> dict[str, Tensor]:
    name_map = dict(weight_names(folder.get_count("num_hidden_layers", MAX_LAYERS), pooled))
    if missing := [name for name in name_map.values() if name not in bert_tensors]:
        raise FormatError(f"{folder.path}: its weights lack {missing[0]} and {len(missing) - 1} more; is it whole?")
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
        raise FormatError(
            f"{folder.path / SENTENCE_CONFIG}: max_seq_length is {max_seq_length!r}, expected a whole number"
        )
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
