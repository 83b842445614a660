"""What attention looked at, for given sentences: padding gone, one matrix a layer and head."""

import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder, device_of


def cross_weights(model: EncoderDecoder, batch: Batch) -> list[Tensor]:
    """For each sentence its cross-attention (layers, H, T, S), real tokens only.

    Row t is the query that predicts target token t; columns are the source with its eos.
    """
    model.eval()
    here = batch.to(device_of(model))
    with torch.inference_mode(), record(model, "decoder.*.cross.weights") as seen:
        model(here.source, here.target_in)
    layers = torch.stack([seen[name] for name in sorted(seen, key=_layer)], dim=1)  # (B, layers, H, T, S)
    rows = (batch.target_out != model.pad).sum(dim=1).tolist()
    columns = (batch.source != model.pad).sum(dim=1).tolist()
    return [layers[b, :, :, :t, :s] for b, (t, s) in enumerate(zip(rows, columns, strict=True))]


def _layer(name: str) -> int:
    return int(name.split(".")[1])
