"""The norms of what each key hands over are those of vectors that add up to the attention output."""

import pytest
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


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_mixing_ratio_is_what_others_give_by_what_all_give(norm):
    """By the sums that the paper names, of what each key hands over with the residual on the diagonal."""
    torch.manual_seed(3)
    example = example_of([7, 8, 9, 10, 11], [5, 6, 7])
    trace = trace_forward(model_of(config_of({"kind": "sinusoidal"}, norm=norm)).double(), example)
    for attn in trace.attentions.values():
        parts = norms.layer_contributions(attn)
        for i, ratio in enumerate(norms.mixing_ratio(attn).tolist()):
            if attn.site.kind == "cross":
                others, own = sum(parts.by_key[i]), parts.residual[i]
            else:
                others = sum(row for j, row in enumerate(parts.by_key[i]) if j != i)
                own = parts.by_key[i, i]
            size = float(torch.as_tensor(others, dtype=torch.double).norm())
            assert ratio == pytest.approx(size / (size + float(own.norm())), abs=1e-9)
