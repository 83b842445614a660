"""What attention looked at, for given sentences: padding gone, one matrix a layer and head."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import Head
from regard.data.batch import Batch
from regard.errors import ModelError
from regard.inspection.example import Example
from regard.model.attention import Attention
from regard.model.layers import DecoderLayer, Residual
from regard.model.taps import record
from regard.model.transformer import DecoderOnly, EncoderDecoder, EncoderOnly, TransformerStack, device_of

Model = EncoderDecoder | EncoderOnly | DecoderOnly
BATCH_CELLS = 2**21  # weights of a layer and batch, so that memory stays flat


@dataclass(frozen=True)
class Site:
    """One attention of a model, with the residual around it."""

    name: str
    """As taps call it: decoder.3.cross."""
    attention: Attention
    around: Residual

    @property
    def kind(self) -> str:
        """encoder, decoder or cross."""
        return "cross" if self.name.endswith("cross") else self.name.partition(".")[0]

    @property
    def layer(self) -> int:
        return int(self.name.split(".")[1])

    @property
    def heads(self) -> list[Head]:
        """The heads that are there, in the order of their rows."""
        stack, layer, kind = self.name.split(".")
        return [Head(stack, int(layer), kind, number) for number in self.attention.head_ids]


def sites(model: Model) -> list[Site]:
    """Every attention of a model, in the order of the forward pass."""
    return list(_sites(model))


def _sites(model: Model) -> Iterator[Site]:
    for stack in ("encoder", "decoder"):
        layers: Sequence[Any] = getattr(model, stack).layers if hasattr(model, stack) else ()
        for i, layer in enumerate(layers):
            yield Site(f"{stack}.{i}.self", layer.self, layer.around_self)
            if isinstance(layer, DecoderLayer):
                yield Site(f"{stack}.{i}.cross", layer.cross_attn, layer.cross_attn_residual)  # type: ignore[arg-type]


def encoder_of(model: Model) -> TransformerStack:
    """The stack that reads, or a word about a model that has none."""
    if isinstance(model, DecoderOnly):
        raise ModelError("this model has no encoder, so no word can be looked at in its context; it only writes")
    return model.encoder


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Rows of ids as one matrix, padded on the right with a model's own padding."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])


def inputs(model: Model, examples: Sequence[Example]) -> tuple[Tensor, ...]:
    """What a model is called with for these examples, one below the other."""
    device = device_of(model)
    sides = [pad_rows([example.source.ids for example in examples], model.pad)]
    if isinstance(model, EncoderDecoder):
        sides.append(pad_rows([example.rows("decoder").ids for example in examples], model.pad))
    return tuple(side.to(device) for side in sides)


def batches(examples: Sequence[Example], least: int = 1) -> Iterator[list[int]]:
    """Examples of like length together, as many as memory likes, but `least` at least."""
    batch: list[int] = []
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].source))
    for done, i in enumerate(order):
        longest = max(len(examples[i].source), len(examples[i].read or ()))
        full = (len(batch) + 1) * longest**2 > BATCH_CELLS // 16
        if full and len(batch) >= least <= len(order) - done:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def weights(model: Model, examples: Sequence[Example]) -> list[dict[str, Tensor]]:
    """For each example its attention weights (H, Tq, Tk) by the name of the attention, real tokens only."""
    found: list[dict[str, Tensor]] = [{} for _ in examples]
    every = sites(model)
    model.eval()
    for rows in batches(examples):
        with torch.inference_mode(), record(model, "*.weights") as seen:
            model(*inputs(model, [examples[i] for i in rows]))
        for site in every:
            for b, i in enumerate(rows):
                tq, tk = len(examples[i].rows(site.kind)), len(examples[i].columns(site.kind))
                found[i][site.name] = seen[f"{site.name}.weights"][b, :, :tq, :tk].cpu()
    return found


@dataclass(frozen=True)
class Look:
    """All that one attention was given and did for one sentence."""

    site: Site
    stream: Tensor
    """(Tq, D) what the residual passes by: before any norm of a pre-norm layer."""
    x: Tensor
    """(Tq, D) what queries are made of."""
    seen: Tensor
    """(Tk, D) what keys and values are made of."""
    k: Tensor
    """(H, Tk, K) turned by where they stand."""
    v: Tensor
    keep: Tensor
    """(Tq, Tk) which keys may be looked at."""
    at: Tensor
    """(1, Tq) where queries stand."""
    seen_at: Tensor
    scores: Tensor
    """(H, Tq, Tk) before the mask."""
    weights: Tensor
    mixed: Tensor
    """(H, Tq, K) what each head takes."""
    out: Tensor
    """(Tq, D) what goes into the residual."""


@dataclass(frozen=True)
class Trace:
    """A sentence on its way through a model."""

    example: Example
    looks: dict[str, Look]
    streams: dict[str, Tensor]
    """(T, D) by the name of the tap: encoder.embed, encoder.0.out …"""
    states: Tensor
    """(T, D) what the model returns."""

    def kind(self, kind: str) -> list[Look]:
        """The looks of one kind, layer by layer."""
        return [look for look in self.looks.values() if look.site.kind == kind]


def trace(model: Model, example: Example) -> Trace:
    """Everything that can be seen of one sentence."""
    every = sites(model)
    given: dict[str, tuple[Any, ...]] = {}
    around: dict[str, Tensor] = {}
    out: dict[str, Tensor] = {}
    model.eval()
    with ExitStack() as stack:
        for site in every:
            stack.callback(site.attention.register_forward_hook(_keep(site.name, given, out)).remove)
            stack.callback(site.around.register_forward_hook(_keep_stream(site.name, around)).remove)
        seen = stack.enter_context(record(model, "*.scores", "*.weights", "*.mixed", "*.embed", "*.out"))
        stack.enter_context(torch.no_grad())
        states = model(*inputs(model, [example]))[0]
        looks = {site.name: _look(site, given[site.name], around, out, seen) for site in every}
        # Keys of cross-attention are made once for all layers, out of what the encoder returns.
        returned = model.encoder.norm(_last(seen, model)) if isinstance(model, EncoderDecoder) else None
    if returned is not None:
        looks = {
            name: _with_source(look, returned[0]) if look.site.kind == "cross" else look for name, look in looks.items()
        }
    streams = {name: seen[name][0] for name in seen if name.endswith((".embed", ".out"))}
    return Trace(example, looks, streams, states)


def _last(seen: Any, model: EncoderDecoder) -> Tensor:
    last: Tensor = seen[f"encoder.{len(model.encoder.layers) - 1}.out"]
    return last


def _with_source(look: Look, source: Tensor) -> Look:
    return Look(**{**vars(look), "seen": source})


def _look(site: Site, given: tuple[Any, ...], around: dict[str, Tensor], out: dict[str, Tensor], seen: Any) -> Look:
    x, key_values, keep, at = given
    scores = seen[f"{site.name}.scores"][0]
    every = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    return Look(
        site=site,
        stream=around[site.name][0],
        x=x[0],
        seen=x[0],
        k=key_values.k[0],
        v=key_values.v[0],
        keep=every if keep is None else (keep[0, 0] & every),
        at=at[:1],
        seen_at=key_values.at[:1],
        scores=scores,
        weights=seen[f"{site.name}.weights"][0],
        mixed=seen[f"{site.name}.mixed"][0],
        out=out[site.name][0],
    )


def _keep(name: str, given: dict[str, tuple[Any, ...]], out: dict[str, Tensor]) -> Any:
    def watch(module: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> None:
        given[name], out[name] = arguments, result

    return watch


def _keep_stream(name: str, around: dict[str, Tensor]) -> Any:
    def watch(module: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> None:
        around[name] = arguments[0]

    return watch


def cross_weights(model: EncoderDecoder, batch: Batch) -> list[Tensor]:
    """For each sentence its cross-attention (layers, H, T, S), real tokens only; heads are those of a whole model.

    Row t is the query that predicts target token t; columns are the source with its eos. A head that was pruned looks
    at nothing.
    """
    model.eval()
    here = batch.to(device_of(model))
    crosses = [site for site in sites(model) if site.kind == "cross"]
    with torch.inference_mode(), record(model, "decoder.*.cross.weights") as seen:
        model(here.source, here.target_in)
    layers = torch.stack([_whole(seen[f"{site.name}.weights"], site.attention) for site in crosses], dim=1)
    rows = (batch.target_out != model.pad).sum(dim=1).tolist()
    columns = (batch.source != model.pad).sum(dim=1).tolist()
    return [layers[b, :, :, :t, :s] for b, (t, s) in enumerate(zip(rows, columns, strict=True))]


def _whole(weights: Tensor, attention: Attention) -> Tensor:
    """(B, heads left, T, S) -> (B, H, T, S)"""
    heads = attention.out_proj.out_features // attention.head_dim
    if heads == attention.heads:
        return weights
    whole = weights.new_zeros(weights.shape[0], heads, *weights.shape[2:])
    whole[:, list(attention.head_ids)] = weights
    return whole
