"""Correct implementations in other styles are accepted."""

import heapq
import math

import pytest
import torch
import torch.nn.functional as F

from regard.labs.checker.assignments import ASSIGNMENTS
from regard.labs.checker.judge import judge


def attend_by_loops(q, k, v, attn_mask=None, bias=None):
    B, H, Tq, K = q.shape
    Tk = k.shape[2]
    mask = torch.ones(B, H, Tq, Tk, dtype=torch.bool) if attn_mask is None else attn_mask.expand(B, H, Tq, Tk)
    added = torch.zeros(B, H, Tq, Tk).to(q) if bias is None else bias.expand(B, H, Tq, Tk)
    rows = []
    for b in range(B):
        for h in range(H):
            for i in range(Tq):
                scores = torch.stack([q[b, h, i].dot(k[b, h, j]) / math.sqrt(K) + added[b, h, i, j] for j in range(Tk)])
                visible = mask[b, h, i].nonzero()[:, 0]
                row = torch.zeros_like(scores)
                rows.append(row.index_add(0, visible, scores[visible].softmax(0)) if len(visible) else row)
    weights = torch.stack(rows).view(B, H, Tq, Tk)
    return weights @ v, weights


def attend_by_a_large_number(q, k, v, attn_mask=None, bias=None):
    scores = torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5 + (0 if bias is None else bias)
    if attn_mask is None:
        weights = scores.softmax(-1)
    else:
        weights = (scores + (~attn_mask) * -1e9).softmax(-1) * attn_mask.any(-1, keepdim=True) * attn_mask
    return weights @ v, weights


def attend_in_float32(q, k, v, attn_mask=None, bias=None):
    q, k, v = q.float(), k.float(), v.float()
    scores = (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT
    scores = scores if bias is None else scores + bias.float()
    if attn_mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~attn_mask, -1e9).softmax(-1).masked_fill(~attn_mask, 0)
    return weights @ v, weights


def attend_by_pytorch(q, k, v, attn_mask=None, bias=None):
    """PyTorch's own function for the output; its weights are its output for values of one-hot vectors."""
    Tq, Tk = q.shape[2], k.shape[2]
    mask = torch.zeros(Tq, Tk).to(q) if bias is None else bias
    empty = torch.zeros(Tq, 1, dtype=torch.bool)
    if attn_mask is not None:
        empty = ~attn_mask.any(-1, keepdim=True)
        mask = mask.masked_fill(~(attn_mask | empty), -torch.inf)
    eye = torch.eye(Tk).to(q).expand(*k.shape[:2], Tk, Tk)
    both = F.scaled_dot_product_attention(q, k, torch.cat((v, eye), -1), mask.expand(*q.shape[:3], Tk))
    both = both.masked_fill(empty, 0.0)
    return both[..., : v.shape[-1]], both[..., v.shape[-1] :]


def causal_mask_by_lists(length, device=None):
    rows = [[j <= i for j in range(length)] for i in range(length)]
    return torch.tensor(rows, device="cpu" if device is None else device)


def padding_mask_by_view(ids, pad):
    return ids.ne(pad).view(len(ids), 1, 1, -1)


def sinusoid_in_float32(position_ids, dim, base=10_000.0, halves=False):
    pairs = (dim + 1) // 2
    frequencies = 1 / base ** (torch.arange(pairs) * 2 / dim)
    angles = position_ids.unsqueeze(-1) * frequencies
    table = torch.zeros(*position_ids.shape, 2 * pairs)
    first, second = (slice(0, pairs), slice(pairs, None)) if halves else (slice(0, None, 2), slice(1, None, 2))
    table[..., first], table[..., second] = angles.sin(), angles.cos()
    return table[..., :dim]


def layer_norm_by_pytorch_in_float32(x, weight, bias, epsilon=1e-5):
    return F.layer_norm(x.float(), (x.shape[-1],), weight.float(), bias.float(), epsilon)


def layer_norm_by_moments(x, weight, bias, epsilon=1e-5):
    variance, mean = torch.var_mean(x, dim=2, correction=0, keepdim=True)
    return torch.addcmul(bias, (x - mean) * torch.rsqrt(variance + epsilon), weight)


def multi_head_attention_by_heads(x, source, weights, heads, attn_mask=None):
    """One head after the other, with rows of the matrices and columns of the output projection."""
    D = x.shape[-1]
    K = D // heads
    total = weights["out_proj.bias"]
    mask = torch.ones(x.shape[1], source.shape[1]).bool() if attn_mask is None else attn_mask[:, 0]
    for h in range(heads):
        rows = slice(h * K, (h + 1) * K)
        q, k, v = (
            states @ weights[f"{name}_proj.weight"][rows].T + weights[f"{name}_proj.bias"][rows]
            for name, states in (("q", x), ("k", source), ("v", source))
        )
        scores = (q @ k.transpose(1, 2) / math.sqrt(K)).masked_fill(~mask, -1e9)
        total = total + scores.softmax(-1) @ v @ weights["out_proj.weight"][:, rows].T
    return total


def multi_head_attention_by_pytorch(x, source, weights, heads, attn_mask=None):
    mask = None
    if attn_mask is not None:
        mask = ~attn_mask.expand(len(x), heads, x.shape[1], source.shape[1]).flatten(0, 1)
    names = ("q_proj", "k_proj", "v_proj")
    biases = torch.cat([weights[f"{name}.bias"] for name in names])
    q, k = x.transpose(0, 1), source.transpose(0, 1)
    result, _ = F.multi_head_attention_forward(
        q, k, k, x.shape[-1], heads, None, biases, None, None, False, 0.0,
        weights["out_proj.weight"], weights["out_proj.bias"], training=False, attn_mask=mask, need_weights=False,
        use_separate_proj_weight=True, q_proj_weight=weights["q_proj.weight"], k_proj_weight=weights["k_proj.weight"],
        v_proj_weight=weights["v_proj.weight"],
    )  # fmt: skip
    return result.transpose(0, 1)


def _sublayers(x, weights, norm_first, *named):
    for name, sublayer in named:
        norm = (weights[f"{name}_residual.norm.weight"], weights[f"{name}_residual.norm.bias"], 1e-5)
        if norm_first:
            x = x + sublayer(layer_norm_by_moments(x, *norm))
        else:
            x = layer_norm_by_moments(x + sublayer(x), *norm)
    return x


def _part(weights, name):
    return {key[len(name) + 1 :]: value for key, value in weights.items() if key.split(".")[0] == name}


def _feed_forward(weights):
    own = _part(weights, "feed_forward")
    return lambda h: (h @ own["up.weight"].T + own["up.bias"]).clamp(min=0) @ own["down.weight"].T + own["down.bias"]


def encoder_layer_by_a_loop(x, weights, heads, attn_mask=None, norm_first=False):
    mask = None if attn_mask is None else attn_mask.expand(len(x), -1, x.shape[1], -1)
    own = _part(weights, "self_attn")
    attention = ("self_attn", lambda h: multi_head_attention_by_heads(h, h, own, heads, mask))
    return _sublayers(x, weights, norm_first, attention, ("feed_forward", _feed_forward(weights)))


def decoder_layer_by_a_loop(x, source, weights, heads, attn_mask=None, source_mask=None, norm_first=False):
    own, cross = _part(weights, "self_attn"), _part(weights, "cross_attn")
    return _sublayers(
        x,
        weights,
        norm_first,
        ("self_attn", lambda h: multi_head_attention_by_pytorch(h, h, own, heads, _expand(attn_mask, h, h))),
        (
            "cross_attn",
            lambda h: multi_head_attention_by_pytorch(h, source, cross, heads, _expand(source_mask, h, source)),
        ),
        ("feed_forward", _feed_forward(weights)),
    )


def _expand(mask, x, source):
    return None if mask is None else mask.expand(len(x), 1, x.shape[1], source.shape[1])


def rotary_by_complex_numbers(x, position_ids, base=10_000.0):
    K = x.shape[-1]
    angles = position_ids[:, None, :, None] / base ** (torch.arange(0, K, 2).double() / K)
    turned = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), -1)


def rotary_by_rotate_half(x, position_ids, base=10_000.0):
    """As in many models: in float32, with the halves exchanged."""
    inverse = 1.0 / base ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.cat([position_ids[..., None] * inverse] * 2, -1)[:, None]
    half = torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1)
    return x * angles.cos() + half * angles.sin()


def alibi_bias_by_loops(q_position_ids, k_position_ids, heads):
    def slopes(n):
        if math.log2(n).is_integer():
            return [2 ** (-(2 ** -(math.log2(n) - 3)) * (h + 1)) for h in range(n)]
        power = 2 ** math.floor(math.log2(n))
        return slopes(power) + slopes(2 * power)[0::2][: n - power]

    rows = [
        [[[-m * abs(j - i) for j in keys] for i in queries] for m in slopes(heads)]
        for queries, keys in zip(q_position_ids.tolist(), k_position_ids.tolist(), strict=True)
    ]
    return torch.tensor(rows, dtype=torch.float32)


def relative_bias_by_rows(q, table, q_position_ids, k_position_ids):
    m = (len(table) - 1) // 2
    products = q @ table.T / q.shape[-1] ** 0.5
    index = (k_position_ids.unsqueeze(1) - q_position_ids.unsqueeze(2)).clip(-m, m) + m
    return products.gather(-1, index.unsqueeze(1).expand(*q.shape[:3], -1).contiguous())


def cross_entropy_by_pytorch(logits, targets, pad, label_smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad, label_smoothing=label_smoothing)


def cross_entropy_by_kl_divergence(logits, targets, pad, label_smoothing=0.0):
    """A smoothed distribution as the target, as in the annotated Transformer."""
    V = logits.shape[-1]
    wanted = F.one_hot(targets, V) * (1 - label_smoothing) + label_smoothing / V
    each = -(wanted * torch.log_softmax(logits, -1)).sum(-1)
    return each[targets != pad].mean()


def greedy_search_by_recursion(log_probs, bos, eos, max_length):
    def follow(tokens, left):
        best = max(enumerate(log_probs(tokens).tolist()), key=lambda pair: pair[1])[0] if left else eos
        return tokens if best == eos else follow([*tokens, best], left - 1)

    return tuple(follow([bos], max_length)[1:])


def beam_search_by_heaps(log_probs, bos, eos, max_length, beam_size, alpha):
    live, done = [(0.0, (bos,))], []
    for length in range(1, max_length + 1):
        steps = [(total, tokens, log_probs(list(tokens)).tolist()) for total, tokens in live]
        everything = [(total + p, (*tokens, t)) for total, tokens, scores in steps for t, p in enumerate(scores)]
        best = heapq.nlargest(2 * beam_size, everything)
        done += [(total / length**alpha, tokens[1:-1]) for total, tokens in best[:beam_size] if tokens[-1] == eos]
        done = heapq.nlargest(beam_size, done)
        live = [one for one in best if one[1][-1] != eos][:beam_size]
        ranked = [(total / length**alpha, tokens[1:]) for total, tokens in live]
        if len(done) == beam_size and done[-1][0] >= ranked[0][0]:
            ranked = []
            break
    return [(list(tokens), torch.tensor(score)) for score, tokens in (done + ranked)[:beam_size]]


IMPLEMENTATIONS = [
    (name, function)
    for key, function in list(globals().items())
    if not key.startswith("_") and callable(function)
    for name in ASSIGNMENTS
    if key.startswith(f"{name}_")
]


@pytest.mark.parametrize("case", IMPLEMENTATIONS, ids=lambda case: case[1].__name__)
def test_another_style_is_accepted(case):
    name, function = case
    result = judge(ASSIGNMENTS[name], function)
    assert result.is_correct, "\n".join(result.lines())
    assert result.mistake == "" and result.precision


def test_each_assignment_has_another_style():
    assert {name for name, _ in IMPLEMENTATIONS} == set(ASSIGNMENTS)
    assert len(IMPLEMENTATIONS) >= 10


def test_the_precision_is_that_of_what_comes_back():
    attend, sinusoid = ASSIGNMENTS["attend"], ASSIGNMENTS["sinusoid"]
    assert judge(attend, attend_by_loops).precision == "correct to 1e-9, in float64"
    assert judge(attend, attend_in_float32).precision.endswith("in float32")
    rough = judge(sinusoid, lambda *a, **k: sinusoid_in_float32(*a, **k).double()).precision
    assert rough.endswith("in float64, with a part that is computed in float32")
