"""Marian's weights: their names, and the tensors of a folder <-> those of a translator."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from regard.errors import FormatError
from regard.interchange.folder import CONFIG, ModelFolder
from regard.interchange.marian.vocabulary import MarianVocabulary
from regard.model.positions import sinusoid

PADDING_LOGIT = -100.0
"""So low that padding has no probability in any prediction."""
SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
)
LM_HEAD, LOGITS_BIAS = "lm_head.weight", "final_logits_bias"
ENCODER_EMBEDDING, DECODER_EMBEDDING = "encoder.embedding.tokens.weight", "decoder.embedding.tokens.weight"
OUTPUT_BIAS = "output.bias"

SELF_ATTENTION = {f"self_attn.{name}": f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "out_proj")}
CROSS_ATTENTION = {f"cross_attn.{name}": f"encoder_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "out_proj")}
FEED_FORWARD = {"feed_forward.up": "fc1", "feed_forward.down": "fc2"}
NORMS = {"self_attn_residual.norm": "self_attn_layer_norm", "feed_forward_residual.norm": "final_layer_norm"}
CROSS_NORM = {"cross_attn_residual.norm": "encoder_attn_layer_norm"}


def weight_names(encoder_layers: int, decoder_layers: int) -> Iterator[tuple[str, str]]:
    """Regard's and Marian's name of every weight inside the layers."""
    encoder = SELF_ATTENTION | FEED_FORWARD | NORMS
    for side, layers, modules in (
        ("encoder", encoder_layers, encoder),
        ("decoder", decoder_layers, encoder | CROSS_ATTENTION | CROSS_NORM),
    ):
        for i in range(layers):
            for regard_name, marian_name in modules.items():
                for kind in ("weight", "bias"):
                    yield f"{side}.layers.{i}.{regard_name}.{kind}", f"model.{side}.layers.{i}.{marian_name}.{kind}"


def read_tensors(
    folder: ModelFolder, layer_counts: Mapping[str, int], source: MarianVocabulary, target: MarianVocabulary
) -> dict[str, Tensor]:
    """The weights of a folder under Regard's names, their rows in Regard's order."""
    marian_tensors = folder.load_tensors()
    _require_sinusoids(folder, marian_tensors)
    name_map = dict(weight_names(**layer_counts))
    folder.require_weights(name_map.values(), marian_tensors)
    tensors = {regard_name: marian_tensors[name] for regard_name, name in name_map.items()}
    if target is source:
        tensors[ENCODER_EMBEDDING] = _read_embedding(
            folder, marian_tensors, source, SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING
        )
    else:
        tensors[ENCODER_EMBEDDING] = _read_embedding(folder, marian_tensors, source, SOURCE_EMBEDDING)
        tensors[DECODER_EMBEDDING] = _read_embedding(folder, marian_tensors, target, TARGET_EMBEDDING, LM_HEAD)
    bias = marian_tensors.get(LOGITS_BIAS, torch.zeros(len(target.tokens))).flatten()
    _require_rows(folder, LOGITS_BIAS, bias, target)
    tensors[OUTPUT_BIAS] = target.to_regard(bias, PADDING_LOGIT)
    expected_names = {*name_map.values(), SHARED_EMBEDDING, SOURCE_EMBEDDING, TARGET_EMBEDDING, LM_HEAD, LOGITS_BIAS}
    if unexpected := [name for name in marian_tensors if name not in expected_names and "embed_positions" not in name]:
        raise FormatError(f"{folder.path}: its weights hold {unexpected[0]}, which no Marian model has")
    return tensors


def convert_tensors(
    tensors: Mapping[str, Tensor], layer_counts: Mapping[str, int], source: MarianVocabulary, target: MarianVocabulary
) -> dict[str, Tensor]:
    """A translator's weights in float32 under Marian's names, their rows in Marian's order."""
    marian_tensors = {marian_name: tensors[name] for name, marian_name in weight_names(**layer_counts)}
    if target is source:
        marian_tensors[SHARED_EMBEDDING] = source.to_marian(tensors[ENCODER_EMBEDDING])
    else:
        marian_tensors[SOURCE_EMBEDDING] = source.to_marian(tensors[ENCODER_EMBEDDING])
        marian_tensors[TARGET_EMBEDDING] = target.to_marian(tensors[DECODER_EMBEDDING])
    bias = tensors[OUTPUT_BIAS] if OUTPUT_BIAS in tensors else torch.zeros(len(target.tokens) + 1)
    marian_tensors[LOGITS_BIAS] = target.to_marian(bias)[None]
    return {name: tensor.float() for name, tensor in marian_tensors.items()}


def _read_embedding(
    folder: ModelFolder, marian_tensors: Mapping[str, Tensor], vocabulary: MarianVocabulary, *candidates: str
) -> Tensor:
    """A shared table, stored once under one of several names; in Regard's order."""
    for name in candidates:
        if name in marian_tensors:
            _require_rows(folder, name, marian_tensors[name], vocabulary)
            return vocabulary.to_regard(marian_tensors[name], 0.0)
    raise FormatError(f"{folder.path}: its weights lack {' and '.join(candidates)}, one of which holds the embeddings")


def _require_rows(folder: ModelFolder, name: str, table: Tensor, vocabulary: MarianVocabulary) -> None:
    if len(table) != len(vocabulary.tokens):
        raise FormatError(
            f"{folder.path}: {name} has {len(table):,} rows, but {CONFIG} names {len(vocabulary.tokens):,} tokens; "
            f"the folder mixes files of two models"
        )


def _require_sinusoids(folder: ModelFolder, marian_tensors: Mapping[str, Tensor]) -> None:
    """Older folders store their position table, which must be that of the formula."""
    for name, table in marian_tensors.items():
        if "embed_positions" in name:
            formula = sinusoid(torch.arange(len(table)), table.shape[1], halves=True)
            if not torch.allclose(table.double(), formula, atol=1e-3):
                raise FormatError(f"{folder.path}: {name} does not hold the sinusoids of Marian's positions")
