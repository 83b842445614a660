"""The studies that come with the program are what they say."""

from pathlib import Path

import pytest

from regard.config.registries import POSITION_SCHEMES
from regard.tuning import study as studies
from regard.tuning.propose import propose_params

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_is_a_study(path: Path):
    study = studies.load(path)
    assert study.name == path.stem and study.each.limits()
    for number in (1, study.num_trials()):
        study.build_config(propose_params(study, number, [])[1])


def test_the_four_sets_are_those_of_the_lecture_and_a_quarter_of_them():
    study = studies.load(EXAMPLES / "ted_four_sets.toml")
    models = {name: study.build_config(point).model for name, point in study.sets.items()}
    sizes = {name: (m.layers, m.heads, m.dim, m.dropout) for name, m in models.items()}
    full = [(2, 8, 512, 0.1), (4, 8, 512, 0.2), (4, 12, 768, 0.2), (6, 12, 768, 0.1)]
    assert [sizes[f"full {n}"] for n in range(1, 5)] == full
    assert [sizes[f"quarter {n}"] for n in range(1, 5)] == [(a, b, c // 4, d) for a, b, c, d in full]
    assert all(model.ffn == 4 * model.dim for model in models.values())
    assert list(study.select_sets()) == [f"quarter {n}" for n in range(1, 5)]


def test_all_schemes_of_positions_are_tried():
    study = studies.load(EXAMPLES / "positions.toml")
    kinds = POSITION_SCHEMES.built_in
    assert (
        sorted(p["model.positions.kind"] for p in study.predefined_params().values()) == sorted(kinds)
        and len(kinds) == 9
    )
