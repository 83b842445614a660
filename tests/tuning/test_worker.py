"""A study runs every trial once, even if workers are stopped or killed."""

from collections import Counter
from pathlib import Path

import pytest

from regard.atomic import TEMPORARY_SUFFIX
from regard.errors import ConfigError, RunError
from regard.run import Run, is_run
from regard.tuning import open_study
from regard.tuning.events import StudyFinished, TrialFinished, TrialInterrupted, TrialStarted
from regard.tuning.folder import StudyFolder
from regard.tuning.study import Study
from regard.tuning.worker import run_trials
from tests.tuning.synthetic import study_of


def never() -> bool:
    return False


def finish(study: Study, folder: Path) -> list[object]:
    return list(run_trials(open_study.create_study(study, folder), never))


def test_every_set_is_an_ordinary_run_trained_once(small, tmp_path: Path):
    all_events = finish(small(), tmp_path / "s")
    assert [event.name for event in all_events if isinstance(event, TrialStarted)] == ["set 1", "set 2", "set 3"]
    done = all_events[-1]
    assert isinstance(done, StudyFinished) and [result.state for result in done.trials] == ["complete"] * 3
    for result in done.trials:
        run = Run(StudyFolder(tmp_path / "s").trial_folder(result.number))
        assert is_run(run.folder) and run.read_json(run.latest)["finished"]
        config = run.load_config()
        assert (
            config.model.dropout == result.params["model.dropout"]
            and config.model.layers == result.params["model.layers"]
        )
        assert result.value == pytest.approx(run.read_json(run.scores("dev"))["loss"])
        assert (
            run.sentence_scores("dev").exists()
            and result.first_summary.parameters > 10_000
            and result.first_summary.steps == 4
        )
    assert "of a unigram model" in done.trials[2].collapse_reason and not done.trials[2].is_ranked
    again = finish(small(), tmp_path / "s")
    assert not [event for event in again if isinstance(event, TrialStarted | TrialFinished)]


@pytest.mark.slow
def test_a_stopped_study_goes_on_with_the_same_trial(small, tmp_path: Path):
    study_worker, asked = open_study.create_study(small(), tmp_path / "s"), []

    def soon() -> bool:
        asked.append(1)
        return len(asked) > 4  # in the middle of the second trial

    all_events = list(run_trials(study_worker, soon))
    assert isinstance(all_events[-1], TrialInterrupted) and all_events[-1].number == 2
    rest = list(run_trials(open_study.load_study(tmp_path / "s"), never))
    began = [(event.number, event.resumed) for event in rest if isinstance(event, TrialStarted)]
    assert began == [(2, True), (3, False)]
    assert Counter(r.state for r in rest[-1].trials) == {"complete": 3}


def test_a_model_that_cannot_be_held_fails_its_trial_alone(small, tmp_path: Path):
    sets = {"too large": {"model.dim": 65_536}, "fits": {"model.dim": 16}}
    done = finish(small(sets=sets), tmp_path / "s")[-1]
    assert [result.state for result in done.trials] == ["failed", "complete"]
    assert "GB are free" in done.trials[0].reason and not StudyFolder(tmp_path / "s").trial_folder(1).exists()


def test_a_study_is_not_mixed_with_another(small, tmp_path: Path):
    open_study.create_study(small(), tmp_path / "s")
    with pytest.raises(ConfigError, match="holds a study with another each"):
        open_study.create_study(small(each={"steps": 5}), tmp_path / "s")


def test_seeds_are_judged_on_one_dev_set_or_not_at_all(tmp_path: Path):
    alone = {"data": {"train": ["a.en", "a.fr"]}}
    sets = {"a": {"model.layers": 2}}
    with pytest.raises(ConfigError, match=r"seeds = 2 without dev pairs: .* give --dev"):
        open_study.create_study(study_of(sets=sets, seeds=2, base=alone), tmp_path / "s")
    assert not (tmp_path / "s").exists()
    open_study.create_study(study_of(sets=sets, seeds=1, base=alone), tmp_path / "s").close()
    open_study.create_study(study_of(sets=sets, seeds=2), tmp_path / "t").close()


def test_a_study_killed_in_its_first_seconds_is_begun_again(tmp_path: Path, monkeypatch):
    study = study_of(sets={"a": {"model.layers": 2}})

    def killed(path: Path, text: str) -> None:
        path.with_name(f".{path.name}.0123456789abcdef{TEMPORARY_SUFFIX}").touch()  # what a kill leaves
        raise KeyboardInterrupt

    with monkeypatch.context() as first, pytest.raises(KeyboardInterrupt):
        first.setattr(open_study, "write_text", killed)
        open_study.create_study(study, tmp_path / "s")
    left = {path.name for path in (tmp_path / "s").iterdir()}
    assert "study.db" in left and "study.toml" not in left
    open_study.create_study(study, tmp_path / "s").close()
    (tmp_path / "s" / "study.toml").rename(tmp_path / "s" / "notes.txt")
    with pytest.raises(RunError, match="already exists and is not a study"):
        open_study.create_study(study, tmp_path / "s")
