"""The source is read once, but by each layer with eyes of its own."""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build
from regard.model.layers import EncoderOutput
from regard.model.modules import evaluation_mode
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Cross-attention is self-attention whose keys and values come from the encoder and are constant in all layers."
SOURCE = "slides of a lecture on Transformers"
CLAIMS = (16, 17, 18, 19)
PREDICT = "The same source: by which share of their length do the keys of two layers of the decoder differ?"
CHANGE = "LAYERS=6: do the keys of layers that follow each other differ less?"
TURN = {"SOURCE_TOKENS": (5, 7, 13)}

SOURCE_TOKENS, TARGET_TOKENS, LAYERS, DIM, VOCAB = 7, 11, 2, 32, 50

Encode = Callable[[EncoderDecoder, Tensor, Tensor], EncoderOutput]


def encode_source(model: EncoderDecoder, source: Tensor, target: Tensor) -> EncoderOutput:
    return model.encode(source)


def measure(encode_source: Encode) -> tuple[float, float, float]:
    model = build(ModelConfig(dim=DIM, heads=4, layers=LAYERS, ffn=2 * DIM), VOCAB, VOCAB, True, pad=0).double()
    source, target = (torch.randint(1, VOCAB, (1, length)) for length in (SOURCE_TOKENS, TARGET_TOKENS))
    with torch.no_grad(), evaluation_mode(model), record(model, "decoder.layers.0.cross_attn.weights") as tensors:
        steps = []  # of decoding: the keys of the source's tokens in all layers, (L, S, D)
        for length in range(1, TARGET_TOKENS + 1):
            output = encode_source(model, source, target[:, :length])
            kv = [layer.cross_attn.project_kv(output.states, output.position_ids) for layer in model.decoder.layers]  # type: ignore[operator, union-attr]
            steps.append(torch.stack([one.k.transpose(1, 2).flatten(2)[0, :SOURCE_TOKENS] for one in kv]))
        model.decode(target, output)
    keys, weights = steps[-1], tensors["decoder.layers.0.cross_attn.weights"].mean(dim=1)[0]  # over heads: (T, S)
    by_step = max(float((step - keys).norm() / keys.norm()) for step in steps)
    by_layer = float((keys[1:] - keys[:-1]).norm() / keys[1:].norm())
    return by_layer, by_step, float(weights.triu(1).sum(-1).mean())


def run(seeds: Sequence[int], encode_source: Encode = encode_source) -> Finding:
    by_layer, by_step, later = zip(*over(seeds, lambda: measure(encode_source)), strict=True)
    return Finding(
        [
            # 0.1: keys that differ by a tenth of their length could still be called constant
            Effect("the difference of the keys of two layers, as a share of their length", by_layer, most=0.1),
            Exact("the largest change of the keys over the steps of decoding", by_step, tolerance=0),
            Exact("the weight of tokens that stand later than the query, which self-attention masks", later),
        ],
        Table(
            {"keys compared": ["of two layers", "of two steps of decoding"], "change": [fmean(by_layer), max(by_step)]}
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "keys compared", "change")


def broken(seeds: Sequence[int]) -> Finding:
    """An encoder that reads what is translated so far, too: all keys are others at each step."""

    def encode_both(model: EncoderDecoder, source: Tensor, target: Tensor) -> EncoderOutput:
        return model.encode(torch.cat((source, target), dim=1))

    return run(seeds, encode_source=encode_both)
