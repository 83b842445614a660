"""A study from options alone, from a file with changes, and from its folder."""

from pathlib import Path

import pytest

from regard.errors import ConfigError
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.jobs.evaluate import write_scores
from regard.run import Run
from regard.tuning import open_study
from regard.tuning import study as studies
from regard.tuning.analysis.evidence import analyze_study, compare_dev_examples
from regard.tuning.open_study import MAX_DEFAULT_GRID, StudyOptions, _build_study, _num_combinations
from regard.tuning.pages.study import StudyPage
from regard.tuning.results import rank_trials
from regard.tuning.space import Categorical, Range
from tests.tuning.synthetic import FOUR, make, study_of

LAYERS = Categorical((1, 2, 3))


def options(**changes) -> StudyOptions:
    return StudyOptions(
        **{"files": [Path("my data.en"), Path("my data.fr")], "over": {"model.layers": LAYERS}, **changes}
    )


def test_a_small_space_is_a_grid_and_a_large_one_is_sampled():
    small = _build_study(options())
    assert (small.sampler, small.pruner, small.name, small.num_trials()) == ("grid", "none", "my-data", 3)
    assert list(small.base.data.train) == ["my data.en", "my data.fr"]
    for over in ({"model.dropout": Range(0.1, 0.4)}, {"model.layers": Range(1, MAX_DEFAULT_GRID + 1)}):
        large = _build_study(options(over=over))
        assert (large.sampler, large.pruner) == ("tpe", "median")
    assert _build_study(options(over={"model.layers": Range(1, MAX_DEFAULT_GRID)})).sampler == "grid"
    assert _build_study(options(fields={"trials": 2})).sampler == "tpe"
    assert _build_study(options(fields={"trials": 3})).sampler == "grid"
    assert _build_study(options(fields={"sampler": "random"})).sampler == "random"
    assert _num_combinations([LAYERS, Range(1, 4)]) == 12 and _num_combinations([Range(0.1, 0.4)]) == float("inf")


def test_budgets_and_settings_reach_the_study():
    study = _build_study(options(budget={"steps": 7}, values={"model.dropout": 0.3}, fields={"metric": "bleu"}))
    assert study.each.steps == 7 and study.base.model.dropout == 0.3 and study.metric == "bleu"
    assert _build_study(options(files=[Path("...")])).name == "study"


def test_a_file_is_changed_by_options(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(studies.dump(study_of(sets=FOUR)), encoding="utf-8")
    plain = _build_study(StudyOptions(files=[path]))
    assert plain.sets == FOUR and plain.each.epochs == 25 and list(plain.base.data.train) == ["a.en", "a.fr"]
    changed = _build_study(
        StudyOptions(
            files=[path, Path("x.tsv")], values={"model.dropout": 0.3}, budget={"steps": 3}, fields={"seeds": 2}
        )
    )
    assert changed.each.steps == 3 and changed.each.epochs is None and changed.seeds == 2
    assert list(changed.base.data.train) == ["x.tsv"] and changed.base.model.dropout == 0.3
    with pytest.raises(ConfigError, match="defines what varies"):
        _build_study(options(files=[path]))
    with pytest.raises(ConfigError, match="nothing varies"):
        _build_study(options(over={}))
    with pytest.raises(ConfigError, match="nothing to train on"):
        _build_study(options(files=[]))


def test_a_study_is_resumed_unchanged(tmp_path: Path):
    pytest.importorskip("optuna")
    open_study.create_study(study_of(sets=FOUR), tmp_path / "s").close()
    worker = open_study.open_or_create_study(StudyOptions(files=[tmp_path / "s"]), None)
    worker.close()
    assert worker.study.sets == FOUR
    for change in ({"over": {"model.layers": LAYERS}}, {"budget": {"steps": 1}}, {"values": {"model.dim": 8}}):
        with pytest.raises(ConfigError, match="resumed unchanged"):
            open_study.open_or_create_study(StudyOptions(files=[tmp_path / "s"], **change), None)
    with pytest.raises(ConfigError, match="resumed unchanged"):
        open_study.open_or_create_study(StudyOptions(files=[tmp_path / "s"]), tmp_path / "t")
    nothing = study_of(sets=FOUR).model_copy(update={"base": studies.Config()})
    with pytest.raises(ConfigError, match="nothing to train on"):
        open_study.create_study(nothing, tmp_path / "none")


def test_sentences_that_differ_are_counted_and_test_scores_have_a_caption(tmp_path: Path):
    worker = make(study_of(sets=FOUR, metric="bleu"), tmp_path / "s")
    ranking = rank_trials(worker.study, worker.results())
    tests = compare_dev_examples(worker.study, ranking)
    best = [line.split("\t")[2] for line in Run(ranking[0].folders[0]).sentence_scores("dev").read_text().splitlines()]
    for one in ranking[1:]:
        lines = Run(one.folders[0]).sentence_scores("dev").read_text().splitlines()
        differing = sum(a != line.split("\t")[2] for a, line in zip(best, lines, strict=True))
        assert tests[one.number].num_differing == differing > 0
    pairs = [Pair("x", f"a b c d {n}") for n in range(11)]
    evaluation = evaluate(lambda _: [pair.target for pair in pairs], pairs)
    write_scores(Run(ranking[0].folders[0]), "test", evaluation)
    analysis, curves = analyze_study(worker.study, worker.results())
    page = StudyPage(worker, analysis, curves, all_tests=False, pads_counted=False)
    text = page.html()
    worker.close()
    assert "On test, which is not used to select." in text and "First seed only." not in text
