"""Architectures of a comparison have equally many weights, as built."""

from pathlib import Path

import pytest

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import ConfigError
from regard.model import weights
from regard.model.build import build, build_decoder, build_encoder
from regard.run import Run
from regard.tuning.architectures.sizes import (
    TOKEN_TABLES,
    TOLERANCE,
    count_outside_tables,
    count_run_weights,
    match_sizes,
    spread,
)

BUILDERS = {
    "encoder": lambda c: build_encoder(c, 307, PAD),
    "decoder": lambda c: build_decoder(c, 307, PAD),
    "encoder-decoder": lambda c: build(c, 307, 307, joint=True, pad=PAD),
}
ORDERS = (("encoder", "decoder", "encoder-decoder"), ("encoder-decoder", "decoder"))


@pytest.mark.parametrize("vocab_size", [307, 601])
@pytest.mark.parametrize("name", list(BUILDERS))
def test_a_run_has_the_weights_of_the_formula_however_many_tokens_and_labels(
    name: str, vocab_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    config = ModelConfig(dim=36, heads=3, layers=2, ffn=144, tie_embeddings=False, architecture=name)
    builders = {"encoder": build_encoder, "decoder": build_decoder}
    model = (
        builders[name](config, vocab_size, PAD)
        if name in builders
        else build(config, vocab_size, vocab_size, joint=False, pad=PAD)
    )
    weights.write(model.state_dict(), tmp_path / "1.safetensors")
    monkeypatch.setattr(Run, "best_weights", lambda run: run.folder / "1.safetensors")
    outside, total = count_run_weights(Run(tmp_path))
    assert outside == count_outside_tables(config)
    assert total == sum(tensor.numel() for tensor in model.state_dict().values())


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
@pytest.mark.parametrize(
    "settings",
    [
        {"dim": 36, "heads": 3, "layers": 2, "ffn": 144},
        {"dim": 44, "heads": 2, "layers": 3, "ffn": 100, "positions": {"kind": "relative"}},
        {"dim": 60, "heads": 5, "layers": 5, "ffn": 240, "activation": "swiglu", "bias": False},
        {"dim": 36, "heads": 3, "layers": 1, "ffn": 144, "positions": {"kind": "learned", "length": 7}},
    ],
    ids=str,
)
def test_weights_are_equal_as_built_and_the_first_is_as_it_was_asked_for(settings: dict, order: tuple[str, ...]):
    model = ModelConfig(**settings)
    sized = match_sizes(model, order)
    assert list(sized) == list(order) and spread([one.weights for one in sized.values()]) <= TOLERANCE
    depths = set()
    for name, one in sized.items():
        values = {key.removeprefix("model."): value for key, value in one.params.items()}
        config = ModelConfig(**(settings | values))
        parameters = BUILDERS[name](config).named_parameters()
        outside = sum(p.numel() for key, p in parameters if not key.endswith(TOKEN_TABLES))
        assert outside == one.weights == count_outside_tables(config)
        depths.add(sum(config.depth(stack) for stack in name.split("-")))
        assert config.dim == settings["dim"]
    assert len(depths) == 1
    assert sized[order[0]].params["model.ffn"] == settings["ffn"]


def test_feed_forward_layers_that_leave_no_room_for_cross_attention_are_refused():
    with pytest.raises(ConfigError, match=r"model\.ffn=8: too narrow to be divided"):
        match_sizes(ModelConfig(dim=36, heads=3, layers=2, ffn=8), ORDERS[0])
