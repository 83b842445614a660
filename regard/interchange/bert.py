"""BERT and its kin: a folder of the transformers or sentence-transformers library -> an encoder of this house."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from regard import config as settings
from regard.config import Config
from regard.data.wordpiece import WordPiece, from_vocab
from regard.errors import FormatError
from regard.interchange.folder import CONFIG, Folder
from regard.interchange.trained import TrainedEncoder

TYPE = "bert"
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
DEEPEST = 1000  # layers
SENTENCES = "sentence_bert_config.json"
SWITCH = "pooling_mode_"
PROBE = 16  # pieces, more than the marks around two words
OTHERS = ("cls.", "classifier.", "qa_outputs.", "embeddings.position_ids")

TABLES = {
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


def names(layers: int, pooled: bool) -> Iterator[tuple[str, str]]:
    """Our name and theirs of every weight."""
    yield from TABLES.items()
    for i in range(layers):
        for ours, theirs in LINEARS.items():
            for kind in ("weight", "bias"):
                yield f"encoder.layers.{i}.{ours}.{kind}", f"encoder.layer.{i}.{theirs}.{kind}"
        for ours, theirs in NORMS.items():
            for mine, kind in (("gain", "weight"), ("shift", "bias")):
                yield f"encoder.layers.{i}.{ours}.{mine}", f"encoder.layer.{i}.{theirs}.{kind}"
    if pooled:
        yield from POOLER.items()


def read(folder: Folder) -> TrainedEncoder:
    """The encoder of a BERT folder."""
    c = DEFAULTS | folder.config
    folder.refuse([*_reasons(c), *_other_embeddings(folder)])
    tokenizer = _tokenizer(folder)
    _require_fit(folder, c, tokenizer)
    theirs = {_modern(name): tensor for name, tensor in folder.tensors().items()}
    pooled = all(name in theirs for name in POOLER.values())
    return TrainedEncoder(_config(folder, c, pooled), _tensors(folder, theirs, pooled), tokenizer)


def _reasons(c: Mapping[str, Any]) -> Iterator[str]:
    """Why a folder cannot be expressed here."""
    if c["position_embedding_type"] != "absolute":
        yield f"position_embedding_type is {c['position_embedding_type']}, and BERT's places are absolute"
    for name in ("is_decoder", "add_cross_attention"):
        if c[name]:
            yield f"{name} is on, and an encoder looks at its own text alone, both ways"
    if str(c["hidden_act"]) not in ACTIVATIONS:
        yield f"hidden_act is {c['hidden_act']}; there are {', '.join(ACTIVATIONS)}"


def _other_embeddings(folder: Folder) -> Iterator[str]:
    """Where a folder says how texts become vectors, it must be as it is done here: the mean of the states."""
    for module in folder.json("modules.json", otherwise=[]):
        if not isinstance(module, dict):
            raise FormatError(f"{folder.path / 'modules.json'}: expected a list of objects")
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in ("Transformer", "Pooling", "Normalize"):
            yield f"modules.json adds a {kind} layer after the encoder"
        elif kind == "Pooling":
            on = _pooling(folder.json(f"{module.get('path', '1_Pooling')}/{CONFIG}", otherwise={}))
            if on not in ([], ["mean"]):
                yield f"its texts are embedded by {' and '.join(on)}, here by the mean of their tokens"


def _pooling(said: Mapping[str, Any]) -> list[str]:
    """How a text's states become one vector: today a name or a list of them, in older folders a switch each."""
    today = said.get("pooling_mode") or []
    old = [name.removeprefix(SWITCH) for name, on in said.items() if name.startswith(SWITCH) and on is True]
    return [*map(str, today if isinstance(today, list) else [today]), *(name.removesuffix("_tokens") for name in old)]


def _tokenizer(folder: Folder) -> WordPiece:
    if (folder.path / "tokenizer.json").exists():
        return WordPiece(folder.bytes("tokenizer.json"))
    pieces = [piece.removesuffix("\r") for piece in folder.text("vocab.txt").split("\n")]
    return from_vocab(pieces, folder.json("tokenizer_config.json", {}))


def _require_fit(folder: Folder, c: Mapping[str, Any], tokenizer: WordPiece) -> None:
    """The tokeniser and the model must be of one folder."""
    for name, theirs, mine in (
        ("pad_token_id", c["pad_token_id"], tokenizer.pad_id),
        ("vocab_size", folder.count("vocab_size"), max(folder.count("vocab_size"), tokenizer.vocab_size)),
    ):
        if theirs != mine:
            raise FormatError(
                f"{folder.path / CONFIG}: {name} is {theirs}, but the tokeniser says {mine}; "
                f"the folder is put together from two models"
            )
    lowered = folder.json(SENTENCES, otherwise={}).get("do_lower_case")
    if lowered and tokenizer.encode(["ABC É"], PROBE) != tokenizer.encode(["abc é"], PROBE):
        raise FormatError(
            f"{folder.path / SENTENCES}: do_lower_case is on, and the tokeniser tells large letters from small ones; "
            f"here a text is read as it stands"
        )


def _modern(name: str) -> str:
    """A weight's name today: without the larger model around it, and with the norms' names of later years."""
    return name.removeprefix(PREFIX).replace("Norm.gamma", "Norm.weight").replace("Norm.beta", "Norm.bias")


def _tensors(folder: Folder, theirs: Mapping[str, Tensor], pooled: bool) -> dict[str, Tensor]:
    inside = dict(names(folder.count("num_hidden_layers", DEEPEST), pooled))
    if missing := [name for name in inside.values() if name not in theirs]:
        raise FormatError(f"{folder.path}: its weights lack {missing[0]} and {len(missing) - 1} more; is it whole?")
    known = {*inside.values(), *POOLER.values()}
    if strange := [name for name in theirs if name not in known and not name.startswith(OTHERS)]:
        raise FormatError(f"{folder.path}: its weights hold {strange[0]}, which no BERT has")
    return {ours: theirs[name] for ours, name in inside.items()}


def _config(folder: Folder, c: Mapping[str, Any], pooled: bool) -> Config:
    places = folder.count("max_position_embeddings")
    longest = folder.json(SENTENCES, otherwise={}).get("max_seq_length") or places
    if type(longest) is not int:
        raise FormatError(f"{folder.path / SENTENCES}: max_seq_length is {longest!r}, expected a whole number")
    model = {
        "architecture": "encoder",
        "dim": folder.get("hidden_size"),
        "layers": folder.get("num_hidden_layers"),
        "heads": folder.get("num_attention_heads"),
        "ffn": folder.get("intermediate_size"),
        "activation": ACTIVATIONS[c["hidden_act"]],
        "norm": "post",
        "norm_epsilon": c["layer_norm_eps"],
        "dropout": c["hidden_dropout_prob"],
        "attention_dropout": c["attention_probs_dropout_prob"],
        "scale_words": False,
        "embedding_norm": True,
        "token_types": c["type_vocab_size"],
        "pooler": pooled,
        "positions": {"kind": "learned", "length": places},
    }
    data = {
        "vocabulary": folder.get("vocab_size"),
        "max_length": min(longest, places),
    }
    return settings.build({"data": data, "model": model}, f"{folder.path / CONFIG}: ")
