"""Position schemes and activations from outside: what is refused, and in which words."""

import pytest
import torch

from regard import config
from regard.config import Config, ModelConfig, PositionsConfig
from regard.config.registries import ACTIVATIONS, POSITION_SCHEMES
from regard.errors import ConfigError
from regard.model import build
from regard.model.positions import Positions
from regard.model.positions.build import SCHEMES
from regard.model.register import register_activation, register_position_scheme
from tests.model.conftest import make


class Ramp(Positions):
    """Adds the position itself, times a slope, to every dimension."""

    def __init__(self, shape, config, slope: float = 0.1, sign: int = 1, name: str = "ramp", up: bool = True):
        super().__init__()
        if slope < 0:
            raise ValueError("slope must not be negative")
        self.slope = torch.nn.Parameter(torch.full((shape.dim,), slope * sign))

    def embed(self, x, position_ids):
        return x + position_ids[..., None] * self.slope


@pytest.fixture
def ramp(registries) -> None:
    register_position_scheme("ramp", enters="embeddings")(Ramp)


def test_the_names_that_are_built_in_are_those_that_are_built():
    assert POSITION_SCHEMES.built_in == tuple(SCHEMES)
    assert ACTIVATIONS.built_in == (*build.ACTIVATIONS, "swiglu")


@pytest.mark.parametrize("name", ["", "My-Scheme", "my scheme", "a,b", "-x", "it's", None, Ramp])
def test_names_are_plain(registries, name):
    for register in (register_position_scheme, register_activation):
        with pytest.raises(ConfigError, match="cannot be the name of a registered"):
            register(name)


class Rotating(Positions):
    def __init__(self, shape, config):
        super().__init__()

    def rotate(self, q, position_ids):
        return q


class Nothing(Positions):
    def __init__(self, shape, config):
        super().__init__()


class Bare(Rotating):
    def __init__(self):
        super().__init__(None, None)


class Open(Rotating):
    def __init__(self, shape, config, **options):
        super().__init__(shape, config)


@pytest.mark.parametrize(
    ("scheme", "enters", "message"),
    [
        (torch.nn.Linear, "attention", r"'mine': <class .*Linear'> is not a subclass of regard.model.positions"),
        (Positions(), "attention", r"Positions\(\) is not a subclass"),
        (lambda shape, config: Positions(), "attention", r"is not a subclass"),
        (
            Ramp,
            "attention",
            r"enters at the attention overrides rotate or bias or value_bias, but Ramp overrides embed",
        ),
        (
            Rotating,
            "embeddings",
            r"overrides shift_positions or embed, but Rotating overrides rotate, which is not called",
        ),
        (Nothing, "attention", r"but Nothing overrides none of them"),
        (Rotating, "layers", r"enters='layers'; expected 'attention' or 'embeddings'"),
        (Bare, "attention", r"Bare has the parameters \(\); expected __init__\(self, shape, config\)"),
        (Open, "attention", r"Open has the parameters \(shape, config, \*\*options\)"),
    ],
)
def test_what_is_no_scheme_is_refused(registries, scheme, enters, message):
    with pytest.raises(ConfigError, match=message):
        register_position_scheme("mine", enters=enters)(scheme)


def scheme_with(parameters: str) -> type[Rotating]:
    """A scheme whose __init__ has these parameters."""
    space: dict[str, object] = {}
    exec(f"def __init__(self, {parameters}):\n    Positions.__init__(self)", {"Positions": Positions}, space)
    return type("Mine", (Rotating,), space)


@pytest.mark.parametrize(
    "parameters",
    [
        "shape, config",
        "shape, config, slope=1.0",
        "shape, config, *, slope=1.0",
        "shape, config, /, slope=1.0",
        "shape, /, config, slope=1.0, *, sign=1",
    ],
)
def test_shape_and_config_come_first_and_options_are_named(registries, parameters: str):
    register_position_scheme("mine")(scheme_with(parameters))
    make(positions={"kind": "mine"})


@pytest.mark.parametrize(
    "parameters",
    [
        "shape",
        "*, shape, config",
        "shape, *, config",
        "shape, *options",
        "shape, **options",
        "*options",
        "shape, config, *options",
        "shape, config, slope=1.0, **options",
        "shape, config, slope=1.0, /",
    ],
)
def test_a_class_that_cannot_be_called_with_both_is_refused(registries, parameters: str):
    with pytest.raises(
        ConfigError, match=r"'mine': Mine has the parameters .*; expected __init__\(self, shape, config\)"
    ):
        register_position_scheme("mine")(scheme_with(parameters))


@pytest.mark.parametrize("activation", [3, torch.nn.GELU, torch.nn.PReLU(), None])
def test_what_is_no_activation_is_refused(registries, activation):
    with pytest.raises(ConfigError, match=r"activation 'mine': .* is not a function"):
        register_activation("mine")(activation)


@pytest.mark.parametrize("activation", [lambda x: x[..., :2], lambda x: x.sum(), lambda x: 3.0])
def test_an_activation_must_keep_the_shape(registries, activation):
    register_activation("mine")(activation)
    with pytest.raises(ConfigError, match="activation 'mine' does not return a tensor of the shape"):
        make(activation="mine")


def test_an_activation_that_fails_is_named(registries):
    register_activation("mine")(lambda x: x.no_such_method())
    with pytest.raises(ConfigError, match=r"activation 'mine' failed: AttributeError: .*no_such_method.*\.py:\d+\)$"):
        make(activation="mine")


class Faulty(Positions):
    """A scheme of which each subclass has one mistake."""

    def __init__(self, shape, config):
        super().__init__()
        self.heads = shape.heads

    def bias(self, q, q_position_ids, k_position_ids):
        return None


class WrongAttribute(Faulty):
    def __init__(self, shape, config):
        super().__init__(shape, config)
        self.size = shape.no_such_size


class WithoutParent(Faulty):
    def __init__(self, shape, config):
        self.heads = shape.heads


class WeightWithoutParent(Faulty):
    def __init__(self, shape, config):
        self.slope = torch.nn.Parameter(torch.ones(shape.heads))


class FailingBias(Faulty):
    def bias(self, q, q_position_ids, k_position_ids):
        return self.no_such_table[q_position_ids]


class TransposedBias(Faulty):
    def bias(self, q, q_position_ids, k_position_ids):
        return torch.zeros(1, self.heads, k_position_ids.shape[1], q_position_ids.shape[1])


class LargerBias(Faulty):
    def bias(self, q, q_position_ids, k_position_ids):
        return torch.zeros(1, *q.shape[:3], k_position_ids.shape[1])


class NumberAsBias(Faulty):
    def bias(self, q, q_position_ids, k_position_ids):
        return 0.5


class CutRotation(Faulty):
    def rotate(self, q, position_ids):
        return q[..., :1]


class WrongValueBias(Faulty):
    adds_to_values = True

    def value_bias(self, weights, q_position_ids, k_position_ids):
        return weights


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (
            WrongAttribute,
            r"'mine' failed: AttributeError: 'AttentionShape' .*no_such_size.* \(.*test_register.py:\d+\)$",
        ),
        (WithoutParent, r"'mine': WithoutParent.__init__ does not call super\(\).__init__\(\)$"),
        (WeightWithoutParent, r"'mine' failed: AttributeError: cannot assign parameters before Module.__init__\(\)"),
        (FailingBias, r"'mine' failed: AttributeError: 'FailingBias' object has no attribute 'no_such_table'"),
        (
            TransposedBias,
            r"bias returns a tensor of the shape \(1, 2, 7, 5\); expected .* to the shape \(3, 2, 5, 7\)$",
        ),
        (LargerBias, r"bias returns a tensor of the shape \(1, 3, 2, 5, 7\)"),
        (NumberAsBias, r"bias returns float; expected a tensor that broadcasts to"),
        (CutRotation, r"rotate returns a tensor of the shape \(3, 2, 5, 1\); expected a tensor of the shape"),
        (WrongValueBias, r"value_bias returns a tensor of the shape \(3, 2, 5, 7\)"),
    ],
)
def test_a_faulty_scheme_is_refused_when_it_is_built(registries, scheme, message):
    register_position_scheme("mine")(scheme)
    with pytest.raises(ConfigError, match=f"^position scheme .*{message}"):
        make(positions={"kind": "mine"})


@pytest.mark.parametrize(
    ("method", "function", "message"),
    [
        (
            "embed",
            lambda self, x, ids: x[..., :3],
            r"embed returns a tensor of the shape \(3, 7, 3\); expected .*22\)$",
        ),
        ("embed", lambda self, x, ids: None, r"embed returns NoneType"),
        (
            "shift_positions",
            lambda self, ids, rows: ids[:, :2],
            r"shift_positions returns a tensor of the shape \(1, 2\)",
        ),
    ],
)
def test_a_faulty_embedding_of_positions_is_refused(registries, method, function, message):
    scheme = type("Mine", (Ramp,), {method: function})
    register_position_scheme("mine", enters="embeddings")(scheme)
    with pytest.raises(ConfigError, match=f"^position scheme 'mine': {message}"):
        make(positions={"kind": "mine"})


def test_the_call_of_a_new_scheme_draws_no_random_numbers(registries):
    class Noisy(Ramp):
        def shift_positions(self, position_ids, rows):
            return position_ids + torch.randint(7, (rows, 1))

    register_position_scheme("noisy", enters="embeddings")(Noisy)
    register_position_scheme("quiet", enters="embeddings")(Ramp)
    drawn = []
    for kind in ("noisy", "quiet"):
        torch.manual_seed(5)
        make(positions={"kind": kind})
        drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]


def test_names_are_listed_and_suggested(example_plugin):
    lines = {setting.name: setting.choices for setting in config.describe()}
    assert lines["model.positions.kind"].endswith("rotary, kerple")
    assert lines["model.activation"] == "relu, gelu, gelu-tanh, silu, swiglu, squared-relu"
    for change, message in {
        "model.positions.kind=kerpel": r"kind='kerpel': input should be 'none', .*'rotary' or 'kerple'; did you mean",
        "model.activation=squared_relu": r"'swiglu' or 'squared-relu'; did you mean 'squared-relu'\?$",
        "model.positions.kind=rotray": r"did you mean 'rotary'\?$",
        "model.activation=zzz": r"or 'squared-relu'. If a plug-in provides it, .*`regard.plugins`.*REGARD_PLUGINS",
    }.items():
        with pytest.raises(ConfigError, match=message):
            config.override(Config(), [change])


def test_a_file_with_a_name_that_is_not_registered_says_where_it_comes_from(registries, tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[model.positions]\nkind = "rotary-2"\n')  # close to a built-in one, which it is not
    with pytest.raises(ConfigError, match=r"config.toml: model.positions.kind='rotary-2'.*REGARD_PLUGINS"):
        config.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"slop": 1.0},
            r"model.positions.options.slop: the position scheme has no such option; did you mean 'slope'\?",
        ),
        ({"zzz": 1.0}, r"no such option; it has: slope, sign, name, up"),
        ({"slope": "steep"}, r"model.positions.options.slope='steep': expected a number, like 0.1"),
        ({"slope": True}, r"slope=True: expected a number"),
        ({"sign": 0.5}, r"sign=0.5: expected an integer, like 1"),
        ({"name": 3}, r"name=3: expected text, like 'ramp'"),
        ({"up": 1}, r"up=1: expected true or false, like True"),
    ],
)
def test_options_are_the_parameters_of_the_class(ramp, options, message):
    with pytest.raises(ConfigError, match=message):
        config.build({"model": {"positions": {"kind": "ramp", "options": options}}})


def test_options_reach_the_scheme_and_are_saved(ramp, tmp_path):
    some = config.override(Config(), ["model.positions.kind=ramp", "model.positions.options.slope=3"])
    (tmp_path / "c.toml").write_text(config.dump(some))
    assert config.load(tmp_path / "c.toml") == some and hash(some.model.positions) == hash(some.model.positions)
    assert "model.positions.options.slope" in config.explicit_settings(some)
    scheme = make(positions=some.model.positions).encoder.embedding.positions
    assert scheme.slope.dtype == torch.double and scheme.slope.tolist() == [3.0] * 22
    with pytest.raises(ConfigError, match="position scheme 'ramp': slope must not be negative"):
        make(positions=PositionsConfig(kind="ramp", options={"slope": -1.0}))


def test_options_are_for_registered_schemes(registries):
    with pytest.raises(ConfigError, match=r"model.positions.options is for schemes of plug-ins, but .*kind is alibi"):
        config.override(Config(), ["model.positions.kind=alibi", "model.positions.options.slope=3"])


def test_a_required_option_must_be_set(registries):
    @register_position_scheme("needy")
    class Needy(Rotating):
        def __init__(self, shape, config, window):
            super().__init__(shape, config)

    with pytest.raises(ConfigError, match=r"model.positions.options.window: the position scheme needs it; set it"):
        config.override(Config(), ["model.positions.kind=needy"])


@pytest.mark.parametrize("shared", [True, False])
def test_layers_share_a_scheme_if_it_says_so(registries, shared: bool):
    register_position_scheme("mine", shared=shared)(Rotating)
    layers = make(positions={"kind": "mine"}).encoder.layers
    assert (layers[0].self_attn.positions is layers[1].self_attn.positions) == shared


def test_a_scheme_may_reserve_dimensions_but_not_all(registries):
    @register_position_scheme("wide", enters="embeddings")
    class Wide(Rotating):
        rotate = Positions.rotate

        def __init__(self, shape, config, dims: int = 5):
            super().__init__(shape, config)
            self.width = dims

        def embed(self, x, position_ids):
            return torch.cat((x, position_ids[..., None].expand(*x.shape[:-1], self.width).to(x)), dim=-1)

    assert make(positions={"kind": "wide"}).encoder.embedding.tokens.weight.shape[1] == 17
    with pytest.raises(ConfigError, match=r"its width of 22 leaves no room for embeddings in model.dim=22"):
        make(positions={"kind": "wide", "options": {"dims": 22}})


def test_one_stack_may_have_a_registered_scheme(example_plugin):
    c = ModelConfig(dim=22, heads=2, encoder={"positions": {"kind": "kerple"}})
    model = build.build(c, 23, 23, joint=True, pad=0)
    assert type(model.encoder.layers[0].self_attn.positions).__name__ == "Kerple"
    assert type(model.decoder.layers[0].self_attn.positions) is Positions
