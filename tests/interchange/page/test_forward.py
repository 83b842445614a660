"""The engine of a page computes what torch computes: every scheme, norm and activation, every tap by its name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import BOS, PAD
from regard.interchange.page import pack_model
from regard.model.build import ACTIVATIONS, build, build_decoder, build_encoder, build_source_target_decoder
from regard.model.taps import named_taps, record
from tests.interchange.conftest import randomise

V, S, T = 37, 11, 7
EXACT = 1e-4
SMALL = {"dim": 30, "heads": 3, "ffn": 23, "layers": 2, "dropout": 0.0}
TWO = {"encoder_layers": 2, "decoder_layers": 3}
CASES = {
    **{
        kind: {"positions": {"kind": kind, "length": 41}}
        for kind in ("none", "sinusoidal", "learned", "bias", "t5", "alibi", "rotary", "relative")
    },
    "beside": {"positions": {"kind": "concatenated", "width": 7}},
    "halves": {"positions": {"kind": "sinusoidal", "sinusoid_layout": "halves"}},
    "learned beside": {"positions": {"kind": "concatenated", "width": 7, "table": "learned", "length": 29}},
    "values": {"positions": {"kind": "relative", "max_relative": 3, "values": True}},
    "few buckets": {"positions": {"kind": "t5", "buckets": 8, "max_distance": 9}},
    "two-sided": {"positions": {"kind": "alibi", "sides": "two-sided"}},
    "interleaved": {"positions": {"kind": "rotary", "rotary_layout": "interleaved", "partial_rotary_factor": 0.5}},
    "stacks apart": {"encoder": {"positions": {"kind": "alibi"}}, "decoder": {"positions": {"kind": "rotary"}}},
    **{name: {"activation": name} for name in ("relu", "gelu", "gelu-tanh", "silu", "swiglu")},
    "post": {"norm": "post"},
    "rms": {"norm_kind": "rms", "norm_epsilon": 1e-3},
    "post rms": {"norm": "post", "norm_kind": "rms"},
    "hard": {"attention": "argmax"},
    "bare": {"bias": False, "scale_embeddings": False, "tie_embeddings": False},
    "dressed": {"embedding_norm": True, "output_bias": True, **TWO},
    "pruned": {"pruned": ("encoder.0.self.1", "decoder.1.cross.0", "decoder.1.cross.2", "decoder.0.self.2")},
    "pruned alibi": {"pruned": ("encoder.0.self.1", "decoder.0.self.0"), "positions": {"kind": "alibi"}},
    "pruned t5": {"pruned": ("encoder.1.self.1",), "positions": {"kind": "t5"}},
    "pruned bias": {"pruned": ("decoder.1.self.2",), "positions": {"kind": "bias"}},
}
READ = """
finish(input.cases.map(({ file, source, target, single }) => {
  return [true, false].map((simd) => {
    const weights = open(file, simd);
    if (weights.kernels.simd !== simd) throw new Error("no SIMD here");
    const model = module_build.buildModel(weights);
    const taps = new module_taps.Taps(["*"]);
    const logits = single ? model.read(target, taps) : model.teacherForce(source, target, taps);
    return [numbers(logits), Object.fromEntries([...taps.tensors].map(([name, one]) => [name, numbers(one)]))];
  });
}));
"""


ACTIVATE = "finish(input.names.map((name) => input.x.map((x) => module_activations.ACTIVATIONS[name](x))));"


def test_activations_are_exact(node):
    """To more digits than any stored tensor has: in integers, a small difference may round to another one."""
    x = torch.linspace(-9, 9, 1_201, dtype=torch.float64)
    for name, ours in zip(ACTIVATIONS, node(ACTIVATE, {"names": list(ACTIVATIONS), "x": x.tolist()}), strict=True):
        expected = ACTIVATIONS[name](x)
        assert_close(torch.tensor(ours, dtype=torch.float64), expected, rtol=1e-11, atol=1e-14, msg=name)


def settings(case: dict[str, object], **others: object) -> ModelConfig:
    return ModelConfig.model_validate(SMALL | case | others)


def tensor_of(stored: dict) -> Tensor:
    return torch.tensor(stored["data"], dtype=torch.float32).view(stored["shape"])


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def ids(count: int) -> Tensor:
    return torch.randint(4, V, (count,))


def write(model: nn.Module, config: ModelConfig, path: Path, quantize: str = "none") -> str:
    randomise(model.eval(), 0.2)
    path.write_bytes(pack_model(model, config, quantize=quantize))
    return str(path)


def assert_same(model: nn.Module, call: object, ours: list, label: str) -> None:
    """Logits and what passes every tap, with SIMD and without."""
    with record(model, "*") as activations:
        expected = model.output(call())[0]
    assert set(activations) == set(named_taps(model))
    for simd, (logits, taps) in zip((True, False), ours, strict=True):
        assert_close(
            tensor_of(logits), expected[-len(tensor_of(logits)) :], rtol=EXACT, atol=EXACT, msg=f"{label} {simd}"
        )
        for name, activation in activations.items():
            assert_close(tensor_of(taps[name]), activation[0], rtol=EXACT, atol=EXACT, msg=f"{label}: {name}")


def test_an_encoder_decoder_computes_what_torch_computes(node, tmp_path):
    models, cases = {}, []
    source, target = ids(S), torch.cat((torch.tensor([BOS]), ids(T - 1)))
    source[5] = PAD  # no key
    for i, (label, case) in enumerate(CASES.items()):
        config = settings(case)
        models[label] = build(config, V, V, joint=True, pad=PAD)
        file = write(models[label], config, tmp_path / f"{i}.bin")
        cases.append({"file": file, "source": source.tolist(), "target": target.tolist()})
    for (label, model), ours in zip(models.items(), node(READ, {"cases": cases}), strict=True):
        assert_same(model, lambda model=model: model(source[None], target[None]), ours, label)


def test_other_architectures_compute_what_torch_computes(node, tmp_path):
    text, source, target = ids(T), ids(S), torch.cat((torch.tensor([BOS]), ids(T - 1)))
    types = {"architecture": "encoder", "token_types": 2, "embedding_norm": True, "norm": "post"}
    built = {
        "encoder": (build_encoder, settings({}, **types)),
        "decoder": (build_decoder, settings({"positions": {"kind": "rotary"}}, architecture="decoder")),
        "alibi": (build_encoder, settings({"positions": {"kind": "alibi"}}, architecture="encoder")),
        "joined": (build_source_target_decoder, settings({}, architecture="decoder")),
    }
    models = {label: make(config, V, PAD) for label, (make, config) in built.items()}
    cases = [
        {
            "file": write(models[label], config, tmp_path / f"{label}.bin"),
            "source": source.tolist(),
            "target": (target if label == "joined" else text).tolist(),
            "single": label != "joined",
        }
        for label, (_, config) in built.items()
    ]
    calls = {label: (lambda model=model: model(text[None])) for label, model in models.items()}
    calls["joined"] = lambda: models["joined"](source[None], target[None])
    for (label, model), ours in zip(models.items(), node(READ, {"cases": cases}), strict=True):
        assert_same(model, calls[label], ours, label)
