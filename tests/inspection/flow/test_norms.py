"""The norms of what each key hands over are those of vectors that add up to the attention output."""

import torch
from torch.testing import assert_close

from regard.inspection.flow import norms
from regard.inspection.trace import AttentionTrace, trace_forward
from regard.model.taps import alter
from tests.inspection.conftest import config_of, example_of, model_of

EXAMPLE = example_of([5, 6, 7], [8, 9])


def handed_over(model, name: str, head: int, key: int) -> torch.Tensor:
    """What attention gives if all of its weights but those of one head on one key are 0: (Tq, D), without the bias."""
    path = trace_forward(model, EXAMPLE).attentions[name].site.path

    def keep_one(weights: torch.Tensor) -> torch.Tensor:
        one = torch.zeros_like(weights)
        one[:, head, :, key] = weights[:, head, :, key]
        return one

    with alter(model, {f"{path}.weights": keep_one}):
        attn = trace_forward(model, EXAMPLE).attentions[name]
    return attn.out - attn.site.attention.out_proj.bias.detach()


def test_norms_are_those_of_vectors_that_add_up_to_the_attention_output():
    """Also with relative position embeddings of values, which are part of what a key hands over."""
    for positions in ({"kind": "relative", "max_relative": 3, "values": True}, {"kind": "sinusoidal"}):
        model = model_of(config_of(positions)).double()
        for name in ("encoder.1.self", "decoder.0.self", "decoder.1.cross"):
            attn: AttentionTrace = trace_forward(model, EXAMPLE).attentions[name]
            heads, _, keys = attn.weights.shape
            vectors = torch.stack(
                [torch.stack([handed_over(model, name, h, j) for j in range(keys)], dim=1) for h in range(heads)]
            )  # (H, Tq, Tk, D)
            assert_close(vectors.sum(dim=(0, 2)) + attn.site.attention.out_proj.bias.detach(), attn.out)
            assert_close(norms.value_weighted_norms(attn), vectors.norm(dim=-1))
            assert_close(norms.key_contributions(attn), vectors.sum(dim=0))
