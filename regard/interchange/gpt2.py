"""GPT-2 and its relatives: a folder of the transformers library -> a language model."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from regard import config as settings
from regard.config import Config
from regard.config.base import MAX_LAYERS
from regard.data.tokenizers.byte_level_bpe import EOS_TOKEN, ByteLevelBPE, from_merges
from regard.errors import FormatError
from regard.files import check_shape
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.trained import TrainedLanguageModel

MODEL_TYPE = "gpt2"
DEFAULTS = {
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "n_inner": None,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
    "eos_token_id": None,
}
"""The format's values of settings that a config.json leaves out; an eos_token_id is the tokenizer's."""
ACTIVATIONS = {
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
UNSUPPORTED = ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention")
PREFIX = "transformer."  # of the stack inside a language model
VOCAB, MERGES, TOKENIZER = "vocab.json", "merges.txt", "tokenizer.json"
OUTPUT = "lm_head.weight"
IGNORED_PREFIXES = ("score.", "classifier.", "multiple_choice_head.", "v_head.")
IGNORED_BUFFERS = (".attn.bias", ".attn.masked_bias")  # causal masks of older files

CONVOLUTIONS = {
    "self_attn.out_proj": ("attn.c_proj", ("dim", "dim")),
    "feed_forward.up": ("mlp.c_fc", ("dim", "ffn")),
    "feed_forward.down": ("mlp.c_proj", ("ffn", "dim")),
}
"""GPT-2's linear layers are convolutions of width 1, whose weights (input, output) are transposed here."""
NORMS = {"self_attn_residual.norm": "ln_1", "feed_forward_residual.norm": "ln_2"}
QKV = "attn.c_attn"  # queries, keys and values in one


def read(folder: ModelFolder) -> TrainedLanguageModel:
    """The language model of a GPT-2 folder."""
    gpt2_config = DEFAULTS | folder.config
    folder.require_supported(list(_unsupported_features(gpt2_config)))
    tokenizer = _load_tokenizer(folder)
    _require_matching_tokenizer(folder, gpt2_config, tokenizer)
    config = _convert_config(folder, gpt2_config)
    return TrainedLanguageModel(config, _convert_tensors(folder, config), tokenizer)


def _unsupported_features(gpt2_config: Mapping[str, Any]) -> Iterator[str]:
    """The reasons why Regard cannot express a folder."""
    for name in UNSUPPORTED:
        if gpt2_config[name]:
            yield f"{name}=true is not supported"
    if not gpt2_config["scale_attn_weights"]:
        yield "scale_attn_weights=false is not supported: scores are always divided by √K"
    if str(gpt2_config["activation_function"]) not in ACTIVATIONS:
        yield f"activation_function={gpt2_config['activation_function']!s:.80}; available: {', '.join(ACTIVATIONS)}"


def _load_tokenizer(folder: ModelFolder) -> ByteLevelBPE:
    if (folder.path / TOKENIZER).exists():
        return ByteLevelBPE(folder.read_bytes(TOKENIZER))
    if not (folder.path / VOCAB).exists():
        raise FormatError(f"{folder.path}: has no tokenizer; expected {TOKENIZER}, or {VOCAB} and {MERGES}")
    merges = folder.read_text(MERGES)
    try:
        vocab = check_shape(folder.load_json(VOCAB, {}), dict[str, int])
    except ValueError as error:
        raise FormatError(f"{folder.path / VOCAB}: expected an object from tokens to ids ({error})") from None
    add_prefix_space = bool(folder.load_json("tokenizer_config.json", {}).get("add_prefix_space", False))
    return from_merges(vocab, merges, add_prefix_space)


def _require_matching_tokenizer(folder: ModelFolder, gpt2_config: Mapping[str, Any], tokenizer: ByteLevelBPE) -> None:
    """The tokenizer and the model must belong together; the model may have more rows than there are tokens."""
    vocab_size, eos_id = folder.get_count("vocab_size"), gpt2_config["eos_token_id"]
    if tokenizer.vocab_size > vocab_size:
        problem = f"vocab_size is {vocab_size}, but the tokenizer's is {tokenizer.vocab_size}"
    elif eos_id is not None and eos_id != tokenizer.eos_id:
        problem = f"eos_token_id is {eos_id!a:.40}, but {EOS_TOKEN} is {tokenizer.eos_id} in the tokenizer"
    else:
        return
    raise FormatError(f"{folder.path / CONFIG}: {problem}; the folder mixes files of two models")


def _convert_config(folder: ModelFolder, gpt2_config: Mapping[str, Any]) -> Config:
    dim, num_positions = folder.get_count("n_embd"), folder.get_count("n_positions")
    model = {
        "architecture": "decoder",
        "dim": dim,
        "layers": folder.get_count("n_layer", MAX_LAYERS),
        "heads": folder.get_count("n_head"),
        "ffn": 4 * dim if gpt2_config["n_inner"] is None else folder.get_count("n_inner"),
        "activation": ACTIVATIONS[gpt2_config["activation_function"]],
        "norm": "pre",
        "norm_epsilon": gpt2_config["layer_norm_epsilon"],
        "dropout": gpt2_config["resid_pdrop"],
        "attention_dropout": gpt2_config["attn_pdrop"],
        "tie_embeddings": gpt2_config["tie_word_embeddings"],
        "scale_embeddings": False,
        "positions": {"kind": "learned", "length": num_positions},
    }
    data = {"vocab_size": folder.get("vocab_size"), "max_length": num_positions}
    return settings.build({"task": "causal-lm", "data": data, "model": model}, f"{folder.path / CONFIG}: ")


def _convert_tensors(folder: ModelFolder, config: Config) -> dict[str, Tensor]:
    """The weights under Regard's names, each checked before it is transposed or split."""
    gpt2_tensors = {
        name.removeprefix(PREFIX): tensor
        for name, tensor in folder.load_tensors().items()
        if not name.startswith(IGNORED_PREFIXES) and not name.endswith(IGNORED_BUFFERS)
    }
    if config.model.tie_embeddings:
        gpt2_tensors.pop(OUTPUT, None)  # a copy of the embeddings
    shapes = dict(_weight_shapes(config))
    folder.require_weights(shapes, gpt2_tensors)
    if unexpected := [name for name in gpt2_tensors if name not in shapes]:
        raise FormatError(f"{folder.path}: its weights hold {unexpected[0]:.80}, which no GPT-2 has")
    for name, shape in shapes.items():
        if gpt2_tensors[name].shape != shape:
            raise FormatError(f"{folder.path}: {name} is {tuple(gpt2_tensors[name].shape)}, expected {shape}")
    return dict(_rename_weights(config, gpt2_tensors))


def _weight_shapes(config: Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """GPT-2's name and shape of every weight."""
    model = config.model
    sizes = {"dim": model.dim, "ffn": model.ffn}
    yield "wte.weight", (config.data.vocab_size, model.dim)
    yield "wpe.weight", (model.positions.length, model.dim)
    for i in range(model.layers):
        yield f"h.{i}.{QKV}.weight", (model.dim, 3 * model.dim)
        yield f"h.{i}.{QKV}.bias", (3 * model.dim,)
        for name, (inputs, outputs) in CONVOLUTIONS.values():
            yield f"h.{i}.{name}.weight", (sizes[inputs], sizes[outputs])
            yield f"h.{i}.{name}.bias", (sizes[outputs],)
        for name in NORMS.values():
            yield from ((f"h.{i}.{name}.{kind}", (model.dim,)) for kind in ("weight", "bias"))
    yield from ((f"ln_f.{kind}", (model.dim,)) for kind in ("weight", "bias"))
    if not model.tie_embeddings:
        yield OUTPUT, (config.data.vocab_size, model.dim)


def _rename_weights(config: Config, gpt2_tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Regard's name and the value of every weight."""
    yield "decoder.embedding.tokens.weight", gpt2_tensors["wte.weight"]
    yield "decoder.embedding.positions.table", gpt2_tensors["wpe.weight"]
    for i in range(config.model.layers):
        gpt2_layer, layer = f"h.{i}", f"decoder.layers.{i}"
        for kind in ("weight", "bias"):
            qkv = gpt2_tensors[f"{gpt2_layer}.{QKV}.{kind}"].chunk(3, dim=-1)
            for name, tensor in zip(("q_proj", "k_proj", "v_proj"), qkv, strict=True):
                yield f"{layer}.self_attn.{name}.{kind}", _transpose(tensor)
            for name, (gpt2_name, _) in CONVOLUTIONS.items():
                yield f"{layer}.{name}.{kind}", _transpose(gpt2_tensors[f"{gpt2_layer}.{gpt2_name}.{kind}"])
            for name, gpt2_name in NORMS.items():
                yield f"{layer}.{name}.{kind}", gpt2_tensors[f"{gpt2_layer}.{gpt2_name}.{kind}"]
    for kind in ("weight", "bias"):
        yield f"decoder.norm.{kind}", gpt2_tensors[f"ln_f.{kind}"]
    if not config.model.tie_embeddings:
        yield "output.weight", gpt2_tensors[OUTPUT]


def _transpose(tensor: Tensor) -> Tensor:
    """A weight (input, output) as (output, input); a bias as it is."""
    return tensor.mT if tensor.dim() == 2 else tensor
