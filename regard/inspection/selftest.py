"""Proofs that the measures measure what they say, run on the user's own machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.config import Head, ModelConfig, PositionsConfig
from regard.data.tokenizer import PAD
from regard.inspection.example import Example
from regard.inspection.flow import decompose, norms, rollout
from regard.inspection.heads.importance import ablated
from regard.inspection.heads.roles import head_facts
from regard.inspection.planted import LENGTH, plant, plant_copying, planted_examples, roles_of
from regard.inspection.pruning.order import masked, narrow
from regard.inspection.trace import inputs, sites, trace, weights
from regard.model.build import build
from regard.model.taps import alter, record
from regard.model.transformer import EncoderDecoder

SIZE = 101
SCHEMES = ("none", "sinusoidal", "learned", "concatenated", "relative", "bias", "t5", "alibi", "rotary")
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
PRUNED = ("encoder.0.self.1", "decoder.1.self.0", "decoder.0.cross.2")


@dataclass(frozen=True)
class Proof:
    """A claim, what was measured, and whether it holds."""

    claim: str
    measured: str
    holds: bool


def proofs() -> Iterator[Proof]:
    """Every proof, one after the other."""
    examples = planted_examples(SIZE)
    yield from _in_every_scheme("watched and fused paths give the same states", examples, _same_states)
    yield from _in_every_scheme("rows of weights sum to 1, masked cells are 0", examples, _rows)
    yield from _in_every_scheme("terms of scores add up to the scores", examples, _terms)
    yield from _in_every_scheme("what keys hand over adds up to the output", examples, _handed)
    yield from _in_every_scheme("shares in the output sum to 1", examples, _shares)
    yield from _in_every_scheme("a pruned model equals the masked one", examples, _pruned)
    yield from _recovered(examples)
    yield _copies(examples)
    yield _no_role(examples)
    yield _dead_head(examples)
    yield from _rolled()
    yield from _fields()


def small_model(scheme: str, norm: str = "pre", dtype: torch.dtype = torch.float32, **more: object) -> EncoderDecoder:
    """A small model of a scheme, every parameter moved away from its start."""
    torch.manual_seed(5)
    model = build(_config(scheme, norm, **more), SIZE, SIZE, joint=True, pad=PAD).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(dtype)


def _config(scheme: str, norm: str, **more: object) -> ModelConfig:
    positions = PositionsConfig(kind=scheme, length=64, width=8)
    return ModelConfig.model_validate(
        {"dim": 32, "heads": 4, "ffn": 24, "layers": 2, "norm": norm, "positions": positions} | more
    )


Make = Callable[..., EncoderDecoder]
"""A model of one scheme, norm and kind of numbers; more settings if they are given."""
Deviation = Callable[[Make, list[Example]], float]


def _in_every_scheme(claim: str, examples: list[Example], measure: Deviation) -> Iterator[Proof]:
    """The largest deviation over schemes of positions and places of the norm, relative to the largest number."""
    for dtype, least in TOLERANCE.items():
        found = {
            f"{scheme}, {norm}-norm": measure(partial(small_model, scheme, norm, dtype), examples[:3])
            for scheme in SCHEMES
            for norm in ("pre", "post")
        }
        worst = max(found, key=found.__getitem__)
        kind = str(dtype).removeprefix("torch.")
        told = f"off by {found[worst]:.1e} at most ({worst}) in {len(found)} models of {kind}; allowed {least:.0e}"
        yield Proof(claim, told, found[worst] <= least)


def _off(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).detach().abs().max() / expected.detach().abs().max().clamp(min=1))


def _same_states(make: Make, examples: list[Example]) -> float:
    model = make()
    with torch.no_grad():
        fused = model(*inputs(model, examples))
        with record(model, "*.weights"):
            return _off(model(*inputs(model, examples)), fused)


def _rows(make: Make, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for looks in weights(model, examples):
        for name, w in looks.items():
            worst = max(worst, float((w.sum(dim=-1) - 1).abs().max()))
            if name.startswith("decoder") and name.endswith("self"):
                worst = max(worst, float(w.triu(1).abs().max()))
    return worst


def _terms(make: Make, examples: list[Example]) -> float:
    model = make()
    seen = [trace(model, example) for example in examples]
    means = decompose.common(model, seen)
    worst = 0.0
    for look in seen[0].looks.values():
        found = decompose.terms(model, seen[0], look, means)
        total = look.scores.masked_fill(~found.keep, 0.0)
        worst = max(worst, _off(found.six.sum(dim=1).masked_fill(~found.keep, 0.0), total))
    return worst


def _handed(make: Make, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for look in trace(model, examples[0]).looks.values():
        total = norms.contributions(look).sum(dim=1) + look.site.attention.out_proj.bias
        worst = max(worst, _off(total, look.out))
    return worst


def _shares(make: Make, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for look in trace(model, examples[0]).looks.values():
        shares = norms.signed(look)
        of_bias = look.out @ look.site.attention.out_proj.bias.detach() / look.out.pow(2).sum(dim=1)
        off = (shares.sum(dim=(0, 2)) + of_bias - 1).abs().max() / shares.abs().max().clamp(min=1)
        worst = max(worst, float(off))
    return worst


def _pruned(make: Make, examples: list[Example]) -> float:
    model, small = make(), make(pruned=PRUNED)
    narrow(model, small)
    with torch.no_grad():
        with alter(model, masked(model, [Head.parse(name) for name in PRUNED])):
            expected = model(*inputs(model, examples))
        return _off(small(*inputs(small, examples)), expected)


def _recovered(examples: list[Example]) -> Iterator[Proof]:
    """Heads of every role, planted one attention at a time."""
    for name, kind in (("encoder.1.self", "encoder"), ("decoder.0.self", "decoder"), ("decoder.1.cross", "cross")):
        model, random, roles = small_model("sinusoidal"), _untrained(), roles_of(kind)
        missed = []
        for start in range(0, len(roles), 4):
            chosen = (roles[start : start + 4] + roles)[:4]
            with alter(model, plant(model, name, chosen, examples)):
                facts = [one for one in head_facts(model, examples, random) if one.head.attention_name == name]
            found = [one.role.name if one.role else "none" for one in facts]
            missed += [f"{was} was taken for {now}" for was, now in zip(chosen, found, strict=True) if was != now]
        told = f"{len(roles)} roles" + (f"; {'; '.join(missed)}" if missed else ", all found")
        yield Proof(f"planted heads of {kind} attention are recovered", told, not missed)


def _untrained(seed: int = 6) -> EncoderDecoder:
    torch.manual_seed(seed)
    return build(_config("sinusoidal", "pre"), SIZE, SIZE, joint=True, pad=PAD).eval()


def _copies(examples: list[Example]) -> Proof:
    model, heads = small_model("sinusoidal"), [Head.parse(f"decoder.1.self.{h}") for h in range(2)]
    for head, sign in zip(heads, (1.0, -1.0), strict=True):
        plant_copying(model, head, sign)
    facts = {one.head: one for one in head_facts(model, examples[:8], _untrained())}
    found = [facts[head].copying or 0.0 for head in heads]
    role = facts[heads[0]].role
    holds = min(found[0], -found[1]) > 0.99 and role is not None and role.name == "copy"
    return Proof("a head that copies is told from one that suppresses", f"{found[0]:.2f} and {found[1]:.2f}", holds)


def _no_role(examples: list[Example]) -> Proof:
    models = [_untrained(), _untrained(7)]
    facts = head_facts(models[0], examples, models[1])
    named = [str(one.head) for one in facts if one.role]
    return Proof("a model with random weights has no sure role", f"{len(named)} of {len(facts)} heads", not named)


def _dead_head(examples: list[Example]) -> Proof:
    model = small_model("sinusoidal")
    site = next(site for site in sites(model) if site.name == "decoder.1.cross")
    with torch.no_grad():
        site.attention.out_proj.weight[:, : site.attention.head_dim] = 0
    (cost,) = ablated(model, examples[:8], [site.heads[0]])
    return Proof("a dead head costs nothing", f"{cost.cost} nats", cost.cost == 0)


def _rolled() -> Iterator[Proof]:
    n, layers = LENGTH, 5
    same = rollout.rollout([torch.zeros(n, n)] * layers)
    yield Proof("rollout of no attention is the identity", "exactly", bool(torch.equal(same, torch.eye(n))))
    even = rollout.rollout([torch.full((n, n), 1 / n, dtype=torch.float64)] * layers)
    share = 2.0**-layers
    off = float((even - share * torch.eye(n) - (1 - share) / n).abs().max())
    yield Proof("rollout of even attention has its closed form", f"off by {off:.0e}", off < 1e-12)
    torch.manual_seed(1)
    own = [torch.randn(n, n).double().softmax(-1) for _ in range(3)]
    shares = rollout.rollout_across(own[0], own, [torch.rand(n, n).double().softmax(-1) for _ in range(3)])
    off = float((shares.source_share + shares.target.sum(dim=1) - 1).abs().max())
    yield Proof("shares of source and target sum to 1", f"off by {off:.0e}", off < 1e-12)


def _fields() -> Iterator[Proof]:
    """Heads that look (h + 1)(k + 1)^l back reach every word they can."""
    for heads, layers in ((1, 5), (2, 4), (3, 3)):
        reach = (heads + 1) ** layers
        back = [[(h + 1) * (heads + 1) ** layer for h in range(heads)] for layer in range(layers)]
        made = [torch.stack([_shift(reach, b) for b in row]) for row in back]
        found = len(rollout.receptive(made)[-1])
        yield Proof(f"{heads} heads and {layers} layers see {reach} words", f"{found}", found == reach)


def _shift(n: int, back: int) -> Tensor:
    """Attention to the token so far back, or to the first."""
    at = (torch.arange(n) - back).clamp(min=0)
    return torch.nn.functional.one_hot(at, n).float()
