"""A comparison of systems that work: curves, costs with their front, and words for what has collapsed."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from regard import config as settings
from regard.display.views.comparison import format_comparison
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.run import Run, write_text
from regard.tuning.compare import Comparison, System, compare_systems
from regard.tuning.measure import SCORED_METRICS, find_differing_settings
from regard.tuning.pages.comparison import draw_charts, write_comparison
from regard.tuning.pages.run_parts import describe_settings, draw_run_curves
from tests.tuning.synthetic import FOUR, REFERENCES, make_summary, write_log

PAIRS = [Pair(reference.upper(), reference) for reference in REFERENCES[:60]]
# How many words are wrong, and what it cost: the second is worse than the first and dearer, so it is on no front.
SETTINGS = {"small": {"steps": 700}, "waste": {"steps": 1100}, "large": {"steps": 700}, "broken": {}}
QUALITY = {"small": (0.3, "set 1"), "waste": (0.4, "set 3"), "large": (0.1, "set 4"), "broken": (0.9, "set 2")}


def system_of(name: str, folder: Path) -> System:
    wrong, set_name = QUALITY[name]
    rng = random.Random(name)
    written = [" ".join(rng.choice("xyz") if rng.random() < wrong else w for w in p.target.split()) for p in PAIRS]
    run = Run(folder / name)
    config = settings.build({"data": {"train": ["a.en", "a.fr"]}, "train": SETTINGS[name] | {"threads": len(name)}})
    write_text(run.config, settings.dump(config))
    write_log(run, 5 - 4 * wrong, rng, turns=False)
    summary = make_summary(FOUR[set_name], 5 - 4 * wrong, collapsed=name == "broken")
    system = System(name, evaluate(lambda _: written, PAIRS, metrics=SCORED_METRICS), run, summary)
    vars(system)["parameters"] = summary.parameters  # counted from weights, which these runs do not have
    return system


@pytest.fixture(scope="module")
def comparison(tmp_path_factory) -> Comparison:
    folder = tmp_path_factory.mktemp("systems")
    plain = System("file.txt", evaluate(lambda _: [p.target for p in PAIRS], PAIRS, metrics=SCORED_METRICS))
    return compare_systems("test", PAIRS, [*(system_of(name, folder) for name in QUALITY), plain])


def test_every_run_with_a_log_has_its_curves_on_common_axes(comparison):
    by_unit = draw_run_curves(comparison.systems)
    assert list(by_unit) == ["minutes", "steps", "targets"]
    for unit, title in (("minutes", "minutes"), ("steps", "steps"), ("targets", "target tokens")):
        assert [chart.name.partition("-")[0] for chart in by_unit[unit]] == ["loss", "accuracy", "score"]
        for chart in by_unit[unit]:
            assert all(f">{system}<" in chart.to_svg() for system in QUALITY) and f">{title}<" in chart.to_svg()


def test_costs_are_drawn_with_their_front_and_without_what_has_collapsed(comparison):
    charts = draw_charts(comparison)
    assert {"parameters-quality", "minutes-quality"} <= set(charts)
    for name in ("parameters-quality", "minutes-quality"):
        text = charts[name].to_svg()
        assert all(system in text for system in ("small", "waste", "large"))
        assert "broken" not in text and "file.txt" not in text


def test_a_file_of_translations_has_scores_but_no_cost(comparison, tmp_path):
    text = " ".join(" ".join(format_comparison(comparison, 120)).split())
    assert "file.txt" in text and "broken has collapsed: it ignores its source" in text
    page = write_comparison(comparison, tmp_path).read_text(encoding="utf-8")
    assert "broken has collapsed: it ignores its source" in page and "It is not ranked." in page
    assert "file.txt has the highest BLEU on" in page
    assert re.search(
        r"large against small: BLEU \+[\d.]+, chrF2 \+[\d.]+, TER -[\d.]+, significant by both tests\.", page
    )
    assert {path.stem for path in (tmp_path / "charts").glob("*.svg")} >= {"loss", "minutes-quality", "sentence-bleu"}


def test_how_a_language_without_spaces_is_split_is_said(comparison, tmp_path):
    """It is in the signature, and in words: a BLEU over characters is no BLEU over words."""
    pairs = [Pair("x", f"เขาหามันไม่เจอ{n}") for n in range(11)]
    systems = [
        System(name, evaluate(lambda _, cut=cut: [p.target[cut:] for p in pairs], pairs, metrics=SCORED_METRICS))
        for name, cut in (("a", 0), ("b", 2))
    ]
    thai = compare_systems("test", pairs, systems)
    words = "the target language is th: BLEU, TER and ROUGE-L count characters (char)"
    assert words in " ".join(" ".join(format_comparison(thai, 80)).split())
    assert words in write_comparison(thai, tmp_path).read_text(encoding="utf-8")
    assert "the target language is" not in " ".join(format_comparison(comparison, 80))


def test_the_first_decides_what_is_significant(comparison):
    """Turned round, every difference has the other sign; a system that has collapsed is compared with none."""
    small, large = comparison.systems[0], comparison.systems[2]
    forth, back = compare_systems("test", PAIRS, [small, large]), compare_systems("test", PAIRS, [large, small])
    one, other = forth.bootstrap["large"]["bleu"], back.bootstrap["small"]["bleu"]
    assert one.difference == pytest.approx(-other.difference) and one.difference > 0 and one.significant
    broken = replace(small, summary=comparison.systems[3].summary)
    vars(broken)["parameters"] = 1
    text = draw_charts(compare_systems("test", PAIRS, [broken, large]))
    assert "minutes-quality" not in text  # one system alone has no front


def test_settings_that_differ_are_named_and_those_of_the_machine_are_not(comparison, tmp_path):
    assert find_differing_settings(comparison.systems) == {
        "train.steps": {"small": 700, "waste": 1100, "large": 700, "broken": None}
    }
    shown = " ".join(" ".join(format_comparison(comparison, 120)).split())
    assert "settings that differ (small / waste / large / broken): train.steps 700 / 1100 / 700 / unset" in shown
    page = write_comparison(comparison, tmp_path / "page").read_text(encoding="utf-8")
    assert "Settings that differ" in page and "train.steps" in page
    equal = replace(comparison, systems=[comparison.systems[0], comparison.systems[2]])
    assert describe_settings(equal.systems) == "no setting differs"
    alone = replace(comparison, systems=[comparison.systems[0], comparison.systems[-1]])  # a run and a file
    assert describe_settings(alone.systems) == "" and find_differing_settings(alone.systems) == {}


def test_right_to_left_translations_are_isolated_from_the_names_of_systems(tmp_path):
    pairs = [Pair("I read.", "אני קורא (היום).")] * 7
    systems = [
        System("a", evaluate(lambda _: ["אני קורא."] * 7, pairs, metrics=SCORED_METRICS)),
        System("b", evaluate(lambda _: ["אני."] * 7, pairs, metrics=SCORED_METRICS)),
    ]
    page = write_comparison(compare_systems("test", pairs, systems), tmp_path / "page").read_text(encoding="utf-8")
    assert re.search(r'<dt>a</dt><dd dir="auto">(<mark[^>]*>|)אני', page)
    assert re.search(r'<dt>b</dt><dd dir="auto">(<mark[^>]*>|)אני', page)
