"""Limits and messages of a study file, and what a study is opened, proposed and resumed with."""

import random
from pathlib import Path

import pytest

from regard.config.base import MAX_EPOCHS, MAX_MINUTES, MAX_STEPS, MAX_TOKENS
from regard.errors import ConfigError, RegardError, RunError
from regard.tuning import open_study, storage
from regard.tuning import study as studies
from regard.tuning.folder import StudyFolder
from regard.tuning.open_study import StudyOptions, create_study, join_study, load_study, require_files
from regard.tuning.propose import _sample_new, propose_params
from regard.tuning.space import MAX_CHOICES, MAX_CONDITIONS, params_key
from regard.tuning.study import MAX_TRIALS, METRIC_NAMES, Study, TrialBudget
from tests.tuning.synthetic import FOUR, study_of

ONE = {"a": {"model.layers": 1}}
SPACE = {"model.layers": [1, 2, 3], "model.dropout": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [("trials", 1, MAX_TRIALS), ("seeds", 1, MAX_TRIALS), ("seed", 0, 2**32 - 1), ("dev_sentences", 1, MAX_STEPS)],
)
def test_numbers_of_a_study_are_bounded_on_both_sides(field: str, low: int, high: int):
    for value in (low, high):
        assert getattr(study_of(sets=ONE, **{field: value}), field) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=f"{field}={value}: input should be"):
            study_of(sets=ONE, **{field: value})


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [("minutes", 0, MAX_MINUTES), ("steps", 0, MAX_STEPS), ("tokens", 0.5, MAX_TOKENS), ("epochs", 0, MAX_EPOCHS)],
)
def test_budgets_are_bounded_on_both_sides(field: str, low: float, high: float):
    assert study_of(sets=ONE, each={field: high}).each.limits() == {field: high}
    least = {"minutes": 1e-3, "epochs": 1e-3, "tokens": 1, "steps": 1}[field]
    assert TrialBudget(**{field: least}).limits() == {field: least}
    for value in (low, 2 * high):
        with pytest.raises(ConfigError, match=rf"each\.{field}="):
            study_of(sets=ONE, each={field: value})


def test_defaults_of_a_study():
    study = study_of(sets=ONE)
    assert (study.seeds, study.seed, study.dev_sentences, study.trials) == (1, 1, 1000, None)
    assert (study.sampler, study.pruner, study.metric, study.storage) == ("sets", "none", "loss", "")
    assert studies.DEFAULT_TRIALS == 16 and TrialBudget().limits() == {}
    assert [study_of(sets=ONE, metric=name).maximize for name in METRIC_NAMES] == [False, *[True] * 5]
    assert study.direction == "minimize" and study_of(sets=ONE, metric="bleu").direction == "maximize"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, 'an empty study: sampler = "sets" needs'),
        ({"sampler": "grid"}, 'an empty study: sampler = "grid" needs a table'),
        ({"sampler": "random", "sets": ONE}, 'sampler = "random" needs a table'),
        ({"sets": ONE, "only": ["b*"]}, r"no set matches only = \['b\*'\]; available: a"),
        ({"sampler": "grid", "space": SPACE, "only": ["a"]}, 'needs sampler = "sets", not "grid"'),
        ({"sets": ONE, "metric": "rouge"}, "metric='rouge': no such metric; available: loss, bleu, chrf, accuracy"),
        ({"sets": ONE, "base": {"model": {"layers": 0}}}, r"^model\.layers"),
        ({"sets": ONE, "nothing": 1}, "unknown entry 'nothing'; a study has: name, sampler"),
        ({"sets": ONE, "name": "-a"}, "^name="),
        ({"sets": 3}, "^sets=3"),
        ({"sets": {"a": 3}}, r"^sets\.a=3"),
        ({"space": 3}, "^space=3"),
        ({"sets": ONE, "conditions": ["model.layers > 1"]}, "set 'a': does not satisfy model.layers > 1"),
        ({"sets": {"a": {"model.layers": 0}}}, r"^sets: model\.layers"),
        ({"sets": {"a": {"model.heads": 3, "model.dim": 8}}}, "^set 'a': "),
        ({"sampler": "grid", "space": {"model.layers": [0, 1]}}, r"^space: model\.layers=0: "),
        ({"sampler": "grid", "space": {"train.seed": [1, 2]}}, r"space: train\.seed cannot vary"),
        ({"sampler": "grid", "space": SPACE, "conditions": ["model.layers > 9"]}, "of all 6, none satisfies"),
        ({"sampler": "random", "space": SPACE, "conditions": ["model.layers > 9"]}, "of 2,000 random ones, none"),
        ({"sets": ONE, "conditions": ["1 < 2"] * (MAX_CONDITIONS + 1)}, "^conditions="),
    ],
    ids=str,
)
def test_what_is_no_study_is_refused_with_its_reason(fields: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        study_of(**fields)
    assert studies.build({"sets": ONE, "conditions": ["1 < 2"] * MAX_CONDITIONS}).num_trials() == 1


def test_errors_of_a_file_name_it(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("seeds = 0\n[sets.a]\nmodel.layers = 1\n")
    with pytest.raises(ConfigError, match=f"^{path}: seeds=0: "):
        studies.load(path)
    path.write_text("[sets.a]\nmodel.layers = 1\n")
    assert studies.load(path).name == "mine" and studies.load(path).sets == ONE
    path.write_text("[sets.a]\nmodel.layers = 0\n")
    with pytest.raises(ConfigError, match=f"^{path}: sets: "):
        studies.load(path)
    with pytest.raises(ConfigError, match=r"^here: not a study"):
        studies.loads("= 3", "here: ")
    assert MAX_CHOICES == 10_000 and MAX_TRIALS == 100_000


def test_tables_of_a_space_are_nested_or_dotted():
    nested = {"model": {"layers": [1, 2], "dropout": {"low": 0.1, "high": 0.3}}, "train.warmup": [7, 11]}
    study = study_of(sampler="random", space=nested)
    assert list(study.space) == ["model.layers", "model.dropout", "train.warmup"]
    assert study.space["model.dropout"] == {"low": 0.1, "high": 0.3}
    assert study_of(sets={"a": {"model": {"layers": 3}}}).sets == {"a": {"model.layers": 3}}
    assert studies.loads(studies.dump(study), "") == study


def test_the_search_space_of_sets_has_every_value_once_in_order():
    space = study_of(sets=FOUR).search_space().distributions
    assert {name: one.values for name, one in space.items()} == {
        "model.layers": (2, 4, 6), "model.heads": (8, 12), "model.dim": (128, 192), "model.dropout": (0.1, 0.2),
    }  # fmt: skip


def test_a_part_of_a_grid_is_drawn_by_the_seed():
    def grid(**fields) -> list:
        return list(study_of(sampler="grid", space=SPACE, **fields).predefined_params().values())

    whole = grid()
    assert len(whole) == 6 and grid(trials=6) == whole and grid(trials=7) == whole
    part = grid(trials=4)
    assert len(part) == 4 and all(one in whole for one in part) and part == random.Random(1).sample(whole, 4)
    assert list(study_of(sampler="grid", space=SPACE).predefined_params()) == list("123456")
    assert study_of(sampler="tpe", space=SPACE).predefined_params() is None


def test_a_tokenization_varies_where_two_trials_differ_in_it():
    def study(**fields) -> Study:
        return study_of(**{"metric": "loss", **fields})

    size = "data.vocab_size"
    study(sets={"a": {size: 500}, "b": {size: 500}})
    study(sampler="grid", space={size: [500], **SPACE})
    study(sets={"a": {size: 500}, "b": {"model.layers": 2}}, base={"data": {"train": ["a"], "vocab_size": 500}})
    study(sets={"a": {size: 500}, "b": {size: 900}}, metric="bleu")
    study(sets={"a": {size: 500}, "b": {size: 900}}, only=["a"])
    for sets in ({"a": {size: 500}, "b": {size: 900}}, {"a": {size: 500}, "b": {"model.layers": 2}}):
        for metric in ("loss", "accuracy"):
            with pytest.raises(ConfigError, match=f"metric = '{metric}', but {size} varies"):
                study(sets=sets, metric=metric)
    with pytest.raises(ConfigError, match="varies"):
        study(sampler="grid", space={size: [500, 900]})


def test_the_metric_selects_checkpoints_where_nothing_else_is_asked_for():
    assert study_of(sets=ONE, metric="chrf").trial_base_config().train.metric == "bleu"
    assert study_of(sets=ONE, metric="accuracy").trial_base_config().train.metric == "loss"
    base = {"data": {"train": ["a"]}, "train": {"metric": "loss"}}
    study = study_of(sets=ONE, metric="bleu", base=base, each={"steps": 7, "minutes": 3})
    config = study.build_config({"model.layers": 5}, 2)
    assert config.train.metric == "loss" and (config.train.steps, config.train.minutes) == (7, 3)
    assert config.model.layers == 5 and config.train.seed == study.build_config({}).train.seed + 2


def test_random_draws_are_new_valid_and_end_where_all_are_used():
    study = study_of(sampler="random", space=SPACE, conditions=["model.layers < 3"], trials=9)
    drawn = [propose_params(study, n, [])[1] for n in range(1, 5)]
    assert study.num_trials() == 4 and len(set(map(params_key, drawn))) == 4
    assert all(one["model.layers"] < 3 for one in drawn) and propose_params(study, 3, [])[0] == "3"
    with pytest.raises(ConfigError, match=r"trial 5: found no combination that is still untried; .* at most 4 trials"):
        propose_params(study, 5, [])
    used = set(map(params_key, drawn[:3]))
    assert _sample_new(study, 7, used) == drawn[3]
    other = study_of(sampler="random", space={"model.dropout": "0.1..0.4"}, seed=2)
    assert propose_params(other, 1, []) != propose_params(other.model_copy(update={"seed": 3}), 1, [])


def test_predefined_trials_are_proposed_by_their_number():
    study = study_of(sets=FOUR)
    assert [propose_params(study, n, []) for n in (1, 2, 3, 4)] == list(FOUR.items())


def test_what_may_change_when_a_study_is_resumed(tmp_path: Path):
    pytest.importorskip("optuna")
    folder = tmp_path / "s"
    create_study(study_of(sampler="random", space=SPACE, trials=2), folder).close()
    more = open_study.open_or_create_study(StudyOptions(files=[folder], fields={"trials": 3}), None)
    more.close()
    assert more.study.trials == 3 and studies.load(StudyFolder(folder).study_file).trials == 3
    again = open_study.open_or_create_study(StudyOptions(files=[folder], fields={"pruner": "median"}), None)
    again.close()
    assert again.study.pruner == "median" and again.study.trials == 3
    for fields in ({"seed": 2}, {"metric": "bleu"}, {"seeds": 2}):
        with pytest.raises(ConfigError, match=f"holds a study with another {next(iter(fields))}"):
            open_study.open_or_create_study(StudyOptions(files=[folder], fields=fields), None)
    url = storage.sqlite_url(folder / "study.db")
    elsewhere = open_study.open_or_create_study(StudyOptions(files=[folder], fields={"storage": url}), None)
    elsewhere.close()
    assert elsewhere.study.trials == 3


def test_sets_and_grids_may_grow_at_their_end_alone(tmp_path: Path):
    pytest.importorskip("optuna")
    create_study(study_of(sets=FOUR, only=["set 1", "set 2"]), tmp_path / "a").close()
    create_study(study_of(sets=FOUR, only=["set 1", "set 2", "set 3"]), tmp_path / "a").close()
    for only in (["set 1"], ["set 2", "set 3", "set 4"]):
        with pytest.raises(ConfigError, match="was created with the sets set 1, set 2, set 3; sets may be added"):
            create_study(study_of(sets=FOUR, only=only), tmp_path / "a")
    create_study(study_of(sampler="grid", space=SPACE, trials=3), tmp_path / "b").close()
    with pytest.raises(ConfigError, match="the study has another grid"):
        create_study(study_of(sampler="grid", space=SPACE, trials=4), tmp_path / "b")


def test_files_are_looked_for_before_anything_is_written(tmp_path: Path):
    study = study_of(sets=ONE)
    with pytest.raises(RegardError, match=r"a\.en"):
        require_files(study)
    for name in ("a.en", "a.fr", "b.en"):
        (tmp_path / name).write_text("x\n")
    data = {"train": [str(tmp_path / "a.en"), str(tmp_path / "a.fr")]}
    require_files(study_of(sets=ONE, base={"data": data}))
    for part in ("dev", "test"):
        missing = {**data, part: [str(tmp_path / "b.en"), str(tmp_path / "b.fr")]}
        with pytest.raises(RegardError, match=r"b\.fr"):
            require_files(study_of(sets=ONE, base={"data": missing}))
    config = tmp_path / "mine.toml"
    config.write_text(studies.dump(study))
    with pytest.raises(RegardError, match=r"a\.en"):
        open_study.open_or_create_study(StudyOptions(files=[config]), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_study_goes_into_its_folder_or_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.fr", "b.en", "b.fr"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "mine.toml").write_text(studies.dump(study_of(sets=ONE, name="other")))
    for out, folder in ((None, "studies/other"), (Path("here"), "here")):
        open_study.open_or_create_study(StudyOptions(files=[Path("mine.toml")]), out).close()
        assert studies.load(StudyFolder(Path(folder)).study_file).name == "other"


def test_a_storage_elsewhere_is_joined_into_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/shared.db"
    create_study(study_of(sets=ONE, storage=url), tmp_path / "s").close()
    assert studies.load(tmp_path / "s" / "study.toml").storage == url and not (tmp_path / "s" / "study.db").exists()
    load_study(tmp_path / "s").close()
    joined = join_study(url, "made", Path("j"))
    joined.close()
    assert joined.study_folder.path == Path("j") and studies.load(Path("j") / "study.toml").storage == url
    (tmp_path / "s").rename(tmp_path / "moved")
    default = join_study(url, None, None)
    default.close()
    assert default.study_folder.path == Path("studies") / "made"
    with pytest.raises(ConfigError, match="no study called 'x'"):
        join_study(url, "x", Path("k"))
    with pytest.raises(RunError, match="no such file"):
        load_study(tmp_path / "moved", f"sqlite:///{tmp_path}/none.db")
