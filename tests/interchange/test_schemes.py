"""The schemes of positions are those of the models that made them known: same weights, same numbers."""

import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.model import weights
from regard.model.build import build, build_decoder
from regard.model.positions.relative import alibi_slopes
from regard.model.taps import record
from tests.interchange.conftest import HF, V, padded, randomise

transformers = pytest.importorskip("transformers", reason=HF)

LENGTHS = [3, 11, 7]


def load_weights(ours: nn.Module, tensors: Mapping[str, Tensor]) -> nn.Module:
    """Our model with their weights, every one of them."""
    ours = ours.double().eval()
    weights.load_into(ours, tensors, "theirs")
    return ours


def split_qkv(prefix: str, tensor: Tensor, kind: str = "weight") -> dict[str, Tensor]:
    """A fused projection as the three of an attention."""
    return {f"{prefix}.{n}_proj.{kind}": part for n, part in zip("qkv", tensor.chunk(3), strict=True)}


def both(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    """Weight and bias of a linear map."""
    return {f"{prefix}.weight": module.weight, f"{prefix}.bias": module.bias}


def norm(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{prefix}.weight": module.weight, f"{prefix}.bias": module.bias}


def assert_same_states(ours: nn.Module, theirs: nn.Module, exact: float) -> None:
    """All hidden states and the logits of real tokens, padded on the right, and on the left by position ids."""
    ids = padded(LENGTHS)
    left = torch.stack([row.roll(int((row == PAD).sum())) for row in ids])
    for text in (ids, left):
        real = text != PAD
        at = (real.cumsum(1) - 1).clamp(min=0)
        position_args = (
            {} if theirs.config.model_type == "bloom" else {"position_ids": at}
        )  # BLOOM reads them off the mask
        out = theirs(
            input_ids=text, attention_mask=real.long(), output_hidden_states=True, use_cache=False, **position_args
        )
        with record(ours, "decoder.embed", "decoder.layers.*.out") as activations:
            states = ours(text, position_ids=at)
        mine = [activations["decoder.embed"], *(activations[f"decoder.layers.{i}.out"] for i in range(2)), states]
        assert len(mine) == len(out.hidden_states) == 4  # their last one is normalised
        for one, other in zip(mine, out.hidden_states, strict=True):
            assert_close(one[real], other[real].double(), rtol=0, atol=exact)
        assert_close(ours.output(states)[real], out.logits[real].double(), rtol=0, atol=exact)


def test_learned_positions_are_those_of_gpt2():
    settings = {"n_positions": 29, "n_embd": 33, "n_layer": 3, "n_head": 3, "n_inner": 13}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=V, **settings)).double().eval()
    randomise(theirs)
    body = theirs.transformer
    tensors = {
        "decoder.embedding.tokens.weight": body.wte.weight,
        "decoder.embedding.positions.table": body.wpe.weight,
        **norm("decoder.norm", body.ln_f),
    }
    for i, layer in enumerate(body.h):
        here = f"decoder.layers.{i}"
        tensors |= split_qkv(f"{here}.self_attn", layer.attn.c_attn.weight.T)  # their maps stand the other way round
        tensors |= split_qkv(f"{here}.self_attn", layer.attn.c_attn.bias, "bias")
        for name, conv in (
            ("self_attn.out_proj", layer.attn.c_proj),
            ("feed_forward.up", layer.mlp.c_fc),
            ("feed_forward.down", layer.mlp.c_proj),
        ):
            tensors |= {f"{here}.{name}.weight": conv.weight.T, f"{here}.{name}.bias": conv.bias}
        tensors |= norm(f"{here}.self_attn_residual.norm", layer.ln_1) | norm(
            f"{here}.feed_forward_residual.norm", layer.ln_2
        )
    config = ModelConfig(
        dim=33, heads=3, ffn=13, layers=3, activation="gelu-tanh", scale_embeddings=False,
        positions={"kind": "learned", "length": 29},
    )  # fmt: skip
    assert_same_states(load_weights(build_decoder(config, V, PAD), tensors), theirs, 1e-10)


def test_rotary_positions_are_those_of_llama():
    settings = {"hidden_size": 42, "intermediate_size": 13, "num_hidden_layers": 3, "num_attention_heads": 3}
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=V, rms_norm_eps=1e-4, **settings))
    theirs = theirs.double().eval()
    randomise(theirs)
    tensors = {
        "decoder.embedding.tokens.weight": theirs.model.embed_tokens.weight,
        "output.weight": theirs.lm_head.weight,
        "decoder.norm.weight": theirs.model.norm.weight,
    }
    for i, layer in enumerate(theirs.model.layers):
        here = f"decoder.layers.{i}"
        attention, feed = layer.self_attn, layer.mlp
        for name, linear in (
            ("self_attn.q_proj", attention.q_proj),
            ("self_attn.k_proj", attention.k_proj),
            ("self_attn.v_proj", attention.v_proj),
            ("self_attn.out_proj", attention.o_proj),
            ("feed_forward.gate", feed.gate_proj),
            ("feed_forward.up", feed.up_proj),
            ("feed_forward.down", feed.down_proj),
        ):
            tensors[f"{here}.{name}.weight"] = linear.weight
        tensors[f"{here}.self_attn_residual.norm.weight"] = layer.input_layernorm.weight
        tensors[f"{here}.feed_forward_residual.norm.weight"] = layer.post_attention_layernorm.weight
    config = ModelConfig(
        dim=42, heads=3, ffn=13, layers=3, activation="swiglu", norm_kind="rms", norm_epsilon=1e-4, bias=False,
        tie_embeddings=False, scale_embeddings=False, positions={"kind": "rotary"},
    )  # fmt: skip
    assert_same_states(load_weights(build_decoder(config, V, PAD), tensors), theirs, 1e-5)  # float32 angles and norms


def test_slopes_are_those_of_bloom():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for heads in range(1, 71):
        theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float64)[
            :, 0, 1
        ]  # slope · place, and the place is 1
        assert_close(torch.tensor(alibi_slopes(heads), dtype=torch.float64), theirs, rtol=1e-6, atol=0)


@pytest.mark.parametrize("heads", [3, 4])
def test_alibi_is_that_of_bloom(heads: int):
    dim = 11 * heads
    config = transformers.BloomConfig(vocab_size=V, hidden_size=dim, n_layer=3, n_head=heads)
    theirs = transformers.BloomForCausalLM(config).eval()  # in float64 it answers padding on the left with NaN
    randomise(theirs, 0.1)
    body = theirs.transformer
    tensors = {
        "decoder.embedding.tokens.weight": body.word_embeddings.weight,
        **norm("decoder.embedding.norm", body.word_embeddings_layernorm),
        **norm("decoder.norm", body.ln_f),
    }
    for i, layer in enumerate(body.h):
        here, fused = f"decoder.layers.{i}", layer.self_attention.query_key_value
        # Query, key and value of a head stand together: (H, 3, K, D) -> (3, H, K, D).
        order = torch.arange(3 * dim).view(heads, 3, 11).transpose(0, 1).flatten()
        tensors |= split_qkv(f"{here}.self_attn", fused.weight[order])
        tensors |= split_qkv(f"{here}.self_attn", fused.bias[order], "bias")
        tensors |= both(f"{here}.self_attn.out_proj", layer.self_attention.dense)
        tensors |= both(f"{here}.feed_forward.up", layer.mlp.dense_h_to_4h)
        tensors |= both(f"{here}.feed_forward.down", layer.mlp.dense_4h_to_h)
        tensors |= norm(f"{here}.self_attn_residual.norm", layer.input_layernorm)
        tensors |= norm(f"{here}.feed_forward_residual.norm", layer.post_attention_layernorm)
    mine = ModelConfig(
        dim=dim, heads=heads, ffn=4 * dim, layers=3, activation="gelu-tanh", scale_embeddings=False,
        embedding_norm=True, positions={"kind": "alibi"},
    )  # fmt: skip
    assert_same_states(load_weights(build_decoder(mine, V, PAD), tensors), theirs, 1e-5)


def test_buckets_and_their_shared_table_are_those_of_t5():
    settings = {"d_model": 33, "d_kv": 11, "d_ff": 13, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 3}
    distances = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 11}
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=V, layer_norm_epsilon=1e-4, **settings, **distances)
    )
    theirs = theirs.double().eval()
    randomise(theirs, 0.1)
    words = theirs.shared.weight
    tensors = {
        "encoder.embedding.tokens.weight": words,
        "decoder.embedding.tokens.weight": words,
        "output.weight": words / math.sqrt(33),  # where its tables are tied, its states are divided by √D
    }
    for side, stack in (("encoder", theirs.encoder), ("decoder", theirs.decoder)):
        tensors[f"{side}.norm.weight"] = stack.final_layer_norm.weight
        first = stack.block[0].layer[0].SelfAttention
        tensors[f"{side}.layers.0.self_attn.positions.table"] = first.relative_attention_bias.weight
        for i, block in enumerate(stack.block):
            here, layers = f"{side}.layers.{i}", list(block.layer)
            feed = layers[-1]
            parts = {"self_attn": layers[0].SelfAttention} | (
                {"cross_attn": layers[1].EncDecAttention} if layers[2:] else {}
            )
            for name, attention in parts.items():
                # It does not divide scores by √K; we do, so that its queries are longer here.
                tensors[f"{here}.{name}.q_proj.weight"] = attention.q.weight * math.sqrt(11)
                tensors |= {f"{here}.{name}.{x}_proj.weight": getattr(attention, x).weight for x in "kv"}
                tensors[f"{here}.{name}.out_proj.weight"] = attention.o.weight
            for name, layer in zip((*parts, "feed_forward"), layers, strict=True):
                tensors[f"{here}.{name}_residual.norm.weight"] = layer.layer_norm.weight
            tensors[f"{here}.feed_forward.up.weight"] = feed.DenseReluDense.wi.weight
            tensors[f"{here}.feed_forward.down.weight"] = feed.DenseReluDense.wo.weight
    config = ModelConfig(
        dim=33, heads=3, ffn=13, encoder_layers=2, decoder_layers=3, norm_kind="rms", norm_epsilon=1e-4, bias=False,
        tie_embeddings=False, scale_embeddings=False, positions={"kind": "t5", "buckets": 8, "max_distance": 11},
    )  # fmt: skip
    ours = load_weights(build(config, V, V, joint=True, pad=PAD), tensors)
    source, target = padded([3, 11, 7]), padded([5, 2, 13])
    out = theirs(
        input_ids=source,
        attention_mask=(source != PAD).long(),
        decoder_input_ids=target,
        decoder_attention_mask=(target != PAD).long(),
        output_hidden_states=True,
    )
    with record(ours, "*.out") as activations:
        states = ours(source, target)
    close = {"rtol": 0, "atol": 1e-5}  # its norms and softmax are float32, always
    assert_close(
        activations["encoder.layers.0.out"][source != PAD], out.encoder_hidden_states[1][source != PAD], **close
    )
    for i in range(2):
        there = out.decoder_hidden_states[i + 1]
        assert_close(activations[f"decoder.layers.{i}.out"][target != PAD], there[target != PAD], **close)
    assert_close(ours.output(states)[target != PAD], out.logits[target != PAD], **close)
