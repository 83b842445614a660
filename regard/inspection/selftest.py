"""Self-tests of the inspection methods on small models with known properties."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from regard.config import Head, ModelConfig, PositionsConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.inspection.example import Example
from regard.inspection.flow import decompose, norms, rollout
from regard.inspection.heads.importance import ablate_heads
from regard.inspection.heads.roles import analyze_heads
from regard.inspection.planted import SENTENCE_LENGTH, plant_copying, plant_roles, planted_examples, possible_roles
from regard.inspection.pruning.order import copy_pruned_weights, mask_heads
from regard.inspection.trace import attention_sites, attention_weights, model_inputs, trace_forward
from regard.model.build import build
from regard.model.taps import alter, record
from regard.model.transformer import EncoderDecoder

VOCAB_SIZE = 101
SCHEMES = ("none", "sinusoidal", "learned", "concatenated", "relative", "bias", "t5", "alibi", "rotary")
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
PRUNED_HEADS = ("encoder.0.self.1", "decoder.1.self.0", "decoder.0.cross.2")


@dataclass(frozen=True)
class SelfTestResult:
    """A claim, the measurement, and whether it holds."""

    claim: str
    measurement: str
    passed: bool


def run_selftests() -> Iterator[SelfTestResult]:
    """Run all self-tests, one after the other."""
    examples = planted_examples(VOCAB_SIZE)
    yield from _check_all_schemes("recorded and fused attention give the same states", examples, _fused_path_error)
    yield from _check_all_schemes("rows of weights sum to 1, masked cells are 0", examples, _row_sum_error)
    yield from _check_all_schemes("terms of scores add up to the scores", examples, _score_terms_error)
    yield from _check_all_schemes("contributions of keys add up to the output", examples, _contribution_error)
    yield from _check_all_schemes("shares in the output sum to 1", examples, _signed_share_error)
    yield from _check_all_schemes("a pruned model equals the masked one", examples, _pruning_error)
    yield from _check_planted_roles(examples)
    yield _check_copying(examples)
    yield _check_no_random_roles(examples)
    yield _check_dead_head(examples)
    yield from _check_rollout()
    yield from _check_receptive_fields()


def small_model(
    scheme: str, norm: str = "pre", dtype: torch.dtype = torch.float32, **overrides: object
) -> EncoderDecoder:
    """A small model with one position encoding, all parameters perturbed from their initial values."""
    torch.manual_seed(5)
    model = build(_config(scheme, norm, **overrides), VOCAB_SIZE, VOCAB_SIZE, joint=True, pad=PAD).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(dtype)


def _config(scheme: str, norm: str, **overrides: object) -> ModelConfig:
    positions = PositionsConfig(kind=scheme, length=64, width=8)
    return ModelConfig.model_validate(
        {"dim": 32, "heads": 4, "ffn": 24, "layers": 2, "norm": norm, "positions": positions} | overrides
    )


ModelFactory = Callable[..., EncoderDecoder]
"""Builds a model with one position encoding, norm and dtype; takes overrides of settings."""
ErrorMeasure = Callable[[ModelFactory, list[Example]], float]


def _check_all_schemes(claim: str, examples: list[Example], measure: ErrorMeasure) -> Iterator[SelfTestResult]:
    """The largest relative error over position encodings and placements of the norm."""
    for dtype, tolerance in TOLERANCE.items():
        errors = {
            f"{scheme}, {norm}-norm": measure(partial(small_model, scheme, norm, dtype), examples[:3])
            for scheme in SCHEMES
            for norm in ("pre", "post")
        }
        worst = max(errors, key=errors.__getitem__)
        kind = str(dtype).removeprefix("torch.")
        message = (
            f"largest error {errors[worst]:.1e} ({worst}) in {len(errors)} models of {kind}; allowed {tolerance:.0e}"
        )
        yield SelfTestResult(claim, message, errors[worst] <= tolerance)


def _relative_error(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).detach().abs().max() / expected.detach().abs().max().clamp(min=1))


def _fused_path_error(make: ModelFactory, examples: list[Example]) -> float:
    model = make()
    with torch.no_grad():
        fused = model(*model_inputs(model, examples))
        with record(model, "*.weights"):
            return _relative_error(model(*model_inputs(model, examples)), fused)


def _row_sum_error(make: ModelFactory, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for attn_weights in attention_weights(model, examples):
        for name, w in attn_weights.items():
            worst = max(worst, float((w.sum(dim=-1) - 1).abs().max()))
            if name.startswith("decoder") and name.endswith("self"):
                worst = max(worst, float(w.triu(1).abs().max()))
    return worst


def _score_terms_error(make: ModelFactory, examples: list[Example]) -> float:
    model = make()
    traces = [trace_forward(model, example) for example in examples]
    means = decompose.compute_corpus_means(model, traces)
    worst = 0.0
    for attn in traces[0].attentions.values():
        score_terms = decompose.decompose_scores(model, traces[0], attn, means)
        total = attn.scores.masked_fill(~score_terms.attn_mask, 0.0)
        worst = max(
            worst, _relative_error(score_terms.grouped_terms.sum(dim=1).masked_fill(~score_terms.attn_mask, 0.0), total)
        )
    return worst


def _contribution_error(make: ModelFactory, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for attn in trace_forward(model, examples[0]).attentions.values():
        total = norms.key_contributions(attn).sum(dim=1) + attn.site.attention.out_proj.bias
        worst = max(worst, _relative_error(total, attn.out))
    return worst


def _signed_share_error(make: ModelFactory, examples: list[Example]) -> float:
    model = make()
    worst = 0.0
    for attn in trace_forward(model, examples[0]).attentions.values():
        shares = norms.signed_shares(attn)
        bias_share = attn.out @ attn.site.attention.out_proj.bias.detach() / attn.out.pow(2).sum(dim=1)
        error = (shares.sum(dim=(0, 2)) + bias_share - 1).abs().max() / shares.abs().max().clamp(min=1)
        worst = max(worst, float(error))
    return worst


def _pruning_error(make: ModelFactory, examples: list[Example]) -> float:
    model, pruned_model = make(), make(pruned=PRUNED_HEADS)
    copy_pruned_weights(model, pruned_model)
    with torch.no_grad():
        with alter(model, mask_heads(model, [Head.parse(name) for name in PRUNED_HEADS])):
            expected = model(*model_inputs(model, examples))
        return _relative_error(pruned_model(*model_inputs(pruned_model, examples)), expected)


def _check_planted_roles(examples: list[Example]) -> Iterator[SelfTestResult]:
    """Plant heads of every role, one attention at a time."""
    for name, kind in (("encoder.1.self", "encoder"), ("decoder.0.self", "decoder"), ("decoder.1.cross", "cross")):
        model, random_model, roles = small_model("sinusoidal"), _random_model(), possible_roles(kind)
        missed = []
        for start in range(0, len(roles), 4):
            planted_roles = (roles[start:] + roles)[:4]
            with alter(model, plant_roles(model, name, planted_roles, examples)):
                analyses = [
                    analysis
                    for analysis in analyze_heads(model, examples, random_model)
                    if analysis.head.attention_name == name
                ]
            recovered_roles = [analysis.role.name if analysis.role else "none" for analysis in analyses]
            missed += [
                f"{planted_role} was classified as {recovered_role}"
                for planted_role, recovered_role in zip(planted_roles, recovered_roles, strict=True)
                if planted_role != recovered_role
            ]
        message = f"{len(roles)} roles" + (f"; {'; '.join(missed)}" if missed else ", all recovered")
        yield SelfTestResult(f"planted heads of {kind} attention are recovered", message, not missed)


def _random_model(seed: int = 6) -> EncoderDecoder:
    torch.manual_seed(seed)
    return build(_config("sinusoidal", "pre"), VOCAB_SIZE, VOCAB_SIZE, joint=True, pad=PAD).eval()


def _check_copying(examples: list[Example]) -> SelfTestResult:
    model, heads = small_model("sinusoidal"), [Head.parse(f"decoder.1.self.{h}") for h in range(2)]
    for head, sign in zip(heads, (1.0, -1.0), strict=True):
        plant_copying(model, head, sign)
    analyses = {analysis.head: analysis for analysis in analyze_heads(model, examples[:8], _random_model())}
    scores = [analyses[head].copying_score or 0.0 for head in heads]
    role = analyses[heads[0]].role
    holds = min(scores[0], -scores[1]) > 0.99 and role is not None and role.name == "copy"
    return SelfTestResult(
        "a copying head is distinguished from a suppressing one", f"{scores[0]:.2f} and {scores[1]:.2f}", holds
    )


def _check_no_random_roles(examples: list[Example]) -> SelfTestResult:
    models = [_random_model(), _random_model(7)]
    analyses = analyze_heads(models[0], examples, models[1])
    heads_with_role = [str(analysis.head) for analysis in analyses if analysis.role]
    return SelfTestResult(
        "a model with random weights has no reliable role",
        f"{len(heads_with_role)} of {len(analyses)} heads",
        not heads_with_role,
    )


def _check_dead_head(examples: list[Example]) -> SelfTestResult:
    model = small_model("sinusoidal")
    site = next(site for site in attention_sites(model) if site.name == "decoder.1.cross")
    with torch.no_grad():
        site.attention.out_proj.weight[:, : site.attention.head_dim] = 0
    (cost,) = ablate_heads(model, examples[:8], [site.heads[0]])
    return SelfTestResult("a dead head costs nothing", f"{cost.cost} nats", cost.cost == 0)


def _check_rollout() -> Iterator[SelfTestResult]:
    n, layers = SENTENCE_LENGTH, 5
    identity = rollout.attention_rollout([torch.zeros(n, n)] * layers)
    yield SelfTestResult(
        "rollout of no attention is the identity", "exactly", bool(torch.equal(identity, torch.eye(n)))
    )
    uniform = rollout.attention_rollout([torch.full((n, n), 1 / n, dtype=torch.float64)] * layers)
    share = 2.0**-layers
    error = float((uniform - share * torch.eye(n) - (1 - share) / n).abs().max())
    yield SelfTestResult("rollout of uniform attention has its closed form", f"error {error:.0e}", error < 1e-12)
    torch.manual_seed(1)
    self_attention = [torch.randn(n, n).double().softmax(-1) for _ in range(3)]
    decoder_rollout = rollout.encoder_decoder_rollout(
        self_attention[0], self_attention, [torch.rand(n, n).double().softmax(-1) for _ in range(3)]
    )
    error = float((decoder_rollout.source_share + decoder_rollout.target.sum(dim=1) - 1).abs().max())
    yield SelfTestResult("shares of source and target sum to 1", f"error {error:.0e}", error < 1e-12)


def _check_receptive_fields() -> Iterator[SelfTestResult]:
    """Heads that attend (h + 1)(k + 1)^l tokens back reach the largest receptive field."""
    for heads, layers in ((1, 5), (2, 4), (3, 3)):
        field_size = (heads + 1) ** layers
        back = [[(h + 1) * (heads + 1) ** layer for h in range(heads)] for layer in range(layers)]
        attention_layers = [torch.stack([_shifted_attention(field_size, b) for b in row]) for row in back]
        measured_size = len(rollout.receptive_fields(attention_layers)[-1])
        yield SelfTestResult(
            f"{heads} heads and {layers} layers reach {field_size} tokens",
            f"{measured_size}",
            measured_size == field_size,
        )


def _shifted_attention(n: int, back: int) -> Tensor:
    """Attention to the token `back` positions before, or to the first."""
    key_ids = (torch.arange(n) - back).clamp(min=0)
    return torch.nn.functional.one_hot(key_ids, n).float()
