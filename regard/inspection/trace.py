"""Attention weights and other activations of given sentences, without padding."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import Head
from regard.data.batch import Batch
from regard.inspection.example import Example
from regard.model.attention import Attention
from regard.model.layers import DecoderLayer, Residual
from regard.model.masks import position_ids_of
from regard.model.modules import device_of, evaluation_mode
from regard.model.single_stack import DecoderOnly, EncoderOnly
from regard.model.taps import attention_path, record
from regard.model.transformer import EncoderDecoder, TransformerStack
from regard.progress import track
from regard.tasks.text_forward import has_token_types

Model = EncoderDecoder | EncoderOnly | DecoderOnly
BATCH_CELLS = 2**21  # attention weights of one layer and batch, which bounds memory


@dataclass(frozen=True)
class AttentionSite:
    """One attention module of a model, with the residual connection around it."""

    name: str
    """The name shown to people: decoder.3.cross."""
    attention: Attention
    residual: Residual

    @property
    def path(self) -> str:
        """The module path, which taps are named by: decoder.layers.3.cross_attn."""
        return attention_path(self.name)

    @property
    def kind(self) -> str:
        """encoder, decoder or cross."""
        return "cross" if self.name.endswith("cross") else self.name.partition(".")[0]

    @property
    def layer(self) -> int:
        return int(self.name.split(".")[1])

    @property
    def heads(self) -> list[Head]:
        """The remaining heads, in the order of their rows."""
        stack, layer, kind = self.name.split(".")
        return [Head(stack, int(layer), kind, number) for number in self.attention.head_ids]


def attention_sites(model: Model) -> list[AttentionSite]:
    """All attention modules of a model, in the order of the forward pass."""
    return list(_iter_attention_sites(model))


def _iter_attention_sites(model: Model) -> Iterator[AttentionSite]:
    for stack in ("encoder", "decoder"):
        layers: Sequence[Any] = getattr(model, stack).layers if hasattr(model, stack) else ()
        for i, layer in enumerate(layers):
            yield AttentionSite(f"{stack}.{i}.self", layer.self_attn, layer.self_attn_residual)
            if isinstance(layer, DecoderLayer):
                yield AttentionSite(f"{stack}.{i}.cross", layer.cross_attn, layer.cross_attn_residual)


def get_reading_stack(model: Model) -> tuple[str, TransformerStack]:
    """The stack that reads the text, and its name: the encoder; of a decoder-only model, the decoder."""
    if isinstance(model, DecoderOnly):
        return "decoder", model.decoder
    return "encoder", model.encoder


def pad_sequences(sequences: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Sequences of ids as one matrix (B, T), padded on the right with the padding id of the model."""
    max_length = max(map(len, sequences))
    return torch.tensor([[*row, *[pad_id] * (max_length - len(row))] for row in sequences])


def model_inputs(model: Model, examples: Sequence[Example]) -> tuple[Tensor, ...]:
    """The arguments of a forward pass over these examples: ids (B, S) and, for an encoder-decoder, (B, T).

    A model that tells two texts apart also has their positions and token types (B, S).
    """
    device = device_of(model)
    pad_id = max(0, model.pad)  # an imported vocabulary has no padding: what follows a text changes nothing
    sides = [pad_sequences([example.source.ids for example in examples], pad_id)]
    if isinstance(model, EncoderDecoder):
        sides.append(pad_sequences([example.query_tokens("decoder").ids for example in examples], model.pad))
    elif any(example.source.token_type_ids for example in examples) and has_token_types(model):
        types = [example.source.token_type_ids or [0] * len(example.source) for example in examples]
        sides += [position_ids_of(sides[0]), pad_sequences(types, 0)]
    return tuple(side.to(device) for side in sides)


def batch_by_length(examples: Sequence[Example], min_size: int = 1) -> Iterator[list[int]]:
    """Indices of examples in batches of similar length, bounded by BATCH_CELLS but with at least `min_size` each."""
    batch: list[int] = []
    max_length = 0
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].source))
    for num_batched, i in enumerate(order):
        length = max(len(examples[i].source), len(examples[i].decoder_input or ()))
        full = (len(batch) + 1) * max(max_length, length) ** 2 > BATCH_CELLS // 16
        if full and len(batch) >= min_size <= len(order) - num_batched:
            yield batch
            batch, max_length = [], 0
        batch.append(i)
        max_length = max(max_length, length)
    if batch:
        yield batch


def attention_weights(model: Model, examples: Sequence[Example]) -> list[dict[str, Tensor]]:
    """The attention weights (H, Tq, Tk) of each example by the name of the attention, without padding."""
    weights_by_example: list[dict[str, Tensor]] = [{} for _ in examples]
    attn_sites = attention_sites(model)
    with evaluation_mode(model), torch.inference_mode():
        for indices in track(list(batch_by_length(examples)), "computing attention"):
            with record(model, "*.weights") as activations:
                model(*model_inputs(model, [examples[i] for i in indices]))
            for site in attn_sites:
                for b, i in enumerate(indices):
                    tq, tk = len(examples[i].query_tokens(site.kind)), len(examples[i].key_tokens(site.kind))
                    weights_by_example[i][site.name] = activations[f"{site.path}.weights"][b, :, :tq, :tk].cpu()
    return weights_by_example


@dataclass(frozen=True)
class AttentionTrace:
    """The inputs, intermediate results and output of one attention for one sentence."""

    site: AttentionSite
    residual_stream: Tensor
    """(Tq, D) the residual stream before the sublayer; in a pre-norm layer before the norm."""
    query_input: Tensor
    """(Tq, D) what the queries are projected from."""
    key_input: Tensor
    """(Tk, D) what the keys and values are projected from."""
    k: Tensor
    """(H, Tk, K) after rotary embedding, if there is any."""
    v: Tensor
    attn_mask: Tensor
    """(Tq, Tk) True where a query may attend to a key."""
    query_position_ids: Tensor
    """(1, Tq)"""
    key_position_ids: Tensor
    """(1, Tk)"""
    scores: Tensor
    """(H, Tq, Tk) before the mask."""
    weights: Tensor
    """(H, Tq, Tk) after mask and softmax."""
    head_outputs: Tensor
    """(H, Tq, K) weights @ v of each head."""
    out: Tensor
    """(Tq, D) after the output projection; added to the residual stream."""


@dataclass(frozen=True)
class Trace:
    """The activations of one forward pass over one sentence."""

    example: Example
    attentions: dict[str, AttentionTrace]
    """By the name of the attention: decoder.3.cross."""
    hidden_states: dict[str, Tensor]
    """(T, D) by the name of the tap: encoder.embed, encoder.layers.0.out …"""
    last_hidden_state: Tensor
    """(T, D) the output of the model."""

    def of_kind(self, kind: str) -> list[AttentionTrace]:
        """The attentions of one kind (encoder, decoder or cross), layer by layer."""
        return [attn for attn in self.attentions.values() if attn.site.kind == kind]


def trace_forward(model: Model, example: Example) -> Trace:
    """Run one sentence through the model and keep its activations."""
    attn_sites = attention_sites(model)
    attn_args: dict[str, tuple[Any, ...]] = {}
    residual_streams: dict[str, Tensor] = {}
    attn_outputs: dict[str, Tensor] = {}
    with ExitStack() as exit_stack:
        exit_stack.enter_context(evaluation_mode(model))
        for site in attn_sites:
            exit_stack.callback(
                site.attention.register_forward_hook(_save_call_hook(site.name, attn_args, attn_outputs)).remove
            )
            exit_stack.callback(
                site.residual.register_forward_hook(_save_residual_hook(site.name, residual_streams)).remove
            )
        activations = exit_stack.enter_context(
            record(model, "*.scores", "*.weights", "*.head_outputs", "*.embed", "*.out")
        )
        exit_stack.enter_context(torch.no_grad())
        last_hidden_state = model(*model_inputs(model, [example]))[0]
        attentions = {
            site.name: _attention_trace(site, attn_args[site.name], residual_streams, attn_outputs, activations)
            for site in attn_sites
        }
        # Keys of cross-attention are projected from the encoder output, outside of the hooked calls.
        encoder_output = (
            model.encoder.norm(activations[last_encoder_output_name(model.encoder)])
            if isinstance(model, EncoderDecoder)
            else None
        )
    if encoder_output is not None:
        attentions = {
            name: _with_key_input(attn, encoder_output[0]) if attn.site.kind == "cross" else attn
            for name, attn in attentions.items()
        }
    hidden_states = {name: activations[name][0] for name in activations if name.endswith((".embed", ".out"))}
    return Trace(example, attentions, hidden_states, last_hidden_state)


def last_encoder_output_name(encoder: TransformerStack) -> str:
    """The tap after the last encoder layer, before the final norm."""
    return f"encoder.layers.{len(encoder.layers) - 1}.out"


def _with_key_input(attn: AttentionTrace, key_input: Tensor) -> AttentionTrace:
    return replace(attn, key_input=key_input)


def _attention_trace(
    site: AttentionSite,
    attn_args: tuple[Any, ...],
    residual_streams: dict[str, Tensor],
    attn_outputs: dict[str, Tensor],
    activations: Any,
) -> AttentionTrace:
    query_input, key_values, attn_mask, position_ids = attn_args
    scores = activations[f"{site.path}.scores"][0]
    full_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    return AttentionTrace(
        site=site,
        residual_stream=residual_streams[site.name][0],
        query_input=query_input[0],
        key_input=query_input[0],
        k=key_values.k[0],
        v=key_values.v[0],
        attn_mask=full_mask if attn_mask is None else (attn_mask[0, 0] & full_mask),
        query_position_ids=position_ids,
        key_position_ids=key_values.position_ids,
        scores=scores,
        weights=activations[f"{site.path}.weights"][0],
        head_outputs=activations[f"{site.path}.head_outputs"][0],
        out=attn_outputs[site.name][0],
    )


def _save_call_hook(name: str, attn_args: dict[str, tuple[Any, ...]], attn_outputs: dict[str, Tensor]) -> Any:
    def hook(module: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> None:
        attn_args[name], attn_outputs[name] = arguments, result

    return hook


def _save_residual_hook(name: str, residual_streams: dict[str, Tensor]) -> Any:
    def hook(module: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> None:
        residual_streams[name] = arguments[0]

    return hook


def cross_attention_weights(model: EncoderDecoder, batch: Batch) -> list[Tensor]:
    """The cross-attention weights (layers, H, T, S) of each sentence, without padding.

    Row t is the query that predicts target token t; columns are the source tokens with eos. Pruned heads are included,
    with weights of 0.
    """
    device_batch = batch.to(device_of(model))
    cross_sites = [site for site in attention_sites(model) if site.kind == "cross"]
    with (
        evaluation_mode(model),
        torch.inference_mode(),
        record(model, "decoder.layers.*.cross_attn.weights") as activations,
    ):
        model(device_batch.source, device_batch.target_in)
    layers = torch.stack(
        [_restore_pruned_heads(activations[f"{site.path}.weights"], site.attention) for site in cross_sites], dim=1
    )
    target_lengths = (batch.target_out != model.pad).sum(dim=1).tolist()
    source_lengths = (batch.source != model.pad).sum(dim=1).tolist()
    return [layers[b, :, :, :t, :s] for b, (t, s) in enumerate(zip(target_lengths, source_lengths, strict=True))]


def _restore_pruned_heads(weights: Tensor, attention: Attention) -> Tensor:
    """(B, remaining heads, T, S) -> (B, H, T, S)"""
    heads = attention.out_proj.out_features // attention.head_dim
    if heads == attention.heads:
        return weights
    restored = weights.new_zeros(weights.shape[0], heads, *weights.shape[2:])
    restored[:, list(attention.head_ids)] = weights
    return restored
