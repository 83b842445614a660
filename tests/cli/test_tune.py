"""The commands tune, compare and report, and their error messages."""

import json
import signal
from pathlib import Path

import pytest

from regard.cli import main
from regard.run import is_run
from regard.tuning import open_study
from regard.tuning.compare import P_VALUES
from regard.tuning.open_study import StudyOptions, _study_from_options
from regard.tuning.space import parse_over
from tests.commands import run_command
from tests.jobs.conftest import TINY

SMALL = [c for c in TINY if not c.startswith(("model.layers", "train.validation_sentences"))]
QUICK = [word for change in (*SMALL, "train.validate_every=2") for word in ("--set", change)]


def arguments(files: Path, out: Path, steps: int = 3) -> list[str]:
    pairs = [str(files / "train.en"), str(files / "train.fr"), "--dev", str(files / "dev.en"), str(files / "dev.fr")]
    pairs += ["--test", str(files / "test.en"), str(files / "test.fr")]
    over = ["--over", "model.layers=1,2", "--steps-each", str(steps), "--metric", "bleu"]
    return ["tune", *pairs, *over, "--out", str(out), *QUICK, "--set", "train.validation_sentences=5"]


@pytest.fixture(scope="module")
def study(tmp_path_factory, files: Path) -> Path:
    folder = tmp_path_factory.mktemp("studies") / "tiny"
    main_ok(arguments(files, folder))
    return folder


def main_ok(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code in (0, None)


def refused(words: list[str], capsys) -> str:
    with pytest.raises(SystemExit) as stop:
        main(words)
    printed = capsys.readouterr()
    assert stop.value.code == 2 and "Traceback" not in printed.err and printed.out == ""
    return " ".join(printed.err.split())


def test_a_study_leaves_runs_and_a_page(study: Path):
    assert is_run(study / "trials" / "0001") and is_run(study / "trials" / "0002")
    for name in ("study.toml", "study.db", "report.html", "trials/0002/scores/test.sentences.tsv"):
        assert (study / name).exists()
    page = (study / "report.html").read_text(encoding="utf-8")
    assert (
        "Summary" in page and "not trained long enough" in page and "collapsed" not in page
    )  # three steps teach nothing, and the page says so
    assert "No trial has produced a working model" in page


def test_it_goes_on_and_reports_as_often_as_one_likes(study: Path, files: Path, capsys):
    main_ok(["tune", str(study)])
    assert "2 trials, 2 finished" in " ".join(capsys.readouterr().err.split())
    (study / "report.html").unlink()
    main_ok(["report", str(study)])
    assert capsys.readouterr().out.strip() == str(study / "report.html") and (study / "report.html").exists()
    main_ok(["tune", "--worker", f"sqlite:///{study / 'study.db'}"])  # there is nothing left to do
    assert "another each" in refused(arguments(files, study, steps=4), capsys)


def test_a_study_that_goes_on_changes_what_it_may_and_refuses_the_rest_by_name(study: Path, capsys):
    before = (study / "study.toml").read_text(encoding="utf-8")
    text = refused(["tune", str(study), "--trials", "5", "--seeds", "9", "--metric", "loss"], capsys)
    assert "holds a study with another metric, seeds" in text
    assert (study / "study.toml").read_text(encoding="utf-8") == before
    main_ok(["tune", str(study), "--trials", "5"])
    assert "2 trials, 2 finished" in " ".join(capsys.readouterr().err.split())
    assert open_study.load_study(study).study.trials == 5


def test_what_goes_by_steps_is_counted():
    over = ["model.dropout=0.1..0.4 by 0.1", "model.layers=1..3"]
    study = _study_from_options(StudyOptions([Path("a.en"), Path("a.fr")], dict(map(parse_over, over))))
    assert study.sampler == "grid" and study.num_trials() == 12
    continuous = dict([parse_over("model.dropout=0.1..0.4")])
    assert _study_from_options(StudyOptions([Path("a.en")], continuous)).sampler == "tpe"


def test_a_study_of_failures_alone_is_a_failure_with_a_page(files: Path, tmp_path: Path, capsys):
    words = arguments(files, tmp_path / "s")
    words[words.index("model.layers=1,2")] = "model.dim=32768,65536"
    text = refused(words, capsys)
    assert "trial 2 (2): failed: training would take about" in text and "every trial has failed" in text
    page = (tmp_path / "s" / "report.html").read_text(encoding="utf-8")
    assert "2 failed" in page and "Trial 1 failed: training would take about" in page


def test_runs_and_plain_files_are_compared(study: Path, files: Path, tmp_path: Path, capsys):
    (tmp_path / "other.txt").write_bytes((files / "test.fr").read_bytes())
    before = {path: path.read_bytes() for path in study.glob("trials/*/scores/*")}
    assert study / "trials" / "0001" / "scores" / "test.sentences.tsv" in before
    runs = [str(study / "trials" / "0001"), str(study / "trials" / "0002")]
    out = ["--on", str(files / "test.en"), str(files / "test.fr"), "--out", str(tmp_path / "c")]
    main_ok(["compare", *runs, str(tmp_path / "other.txt"), *out, "--beam", "1"])
    text = capsys.readouterr().out
    text = " ".join(text.split())
    for words in (
        "0002",
        "BLEU 100.0 ± ",
        "against 0001",
        "0001 was not trained long enough: its dev loss",
        "bootstrap p = 0.0020",
        "(Holm)",
    ):
        assert words in text
    page = (tmp_path / "c" / "report.html").read_text(encoding="utf-8")
    for words in (
        "Largest differences",
        "approximate randomization",
        "0001 was not trained long enough",
        "(Holm)",
        "sacreBLEU",
    ):
        assert words in page
    rows = (tmp_path / "c" / "sentences.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert len(rows) == 30 and len(rows[0].split("\t")) == 2 + 3 * 3
    plain = [str(tmp_path / "other.txt"), str(files / "test.en")]
    main_ok(["compare", *plain, *out, "--json"])
    scores = json.loads(capsys.readouterr().out)
    assert set(scores["test.en"]["bleu"]) == {"value", "low", "high", "signature", *P_VALUES}
    assert {path: path.read_bytes() for path in study.glob("trials/*/scores/*")} == before  # runs are left alone


def test_files_are_looked_at_before_anybody_translates(study: Path, files: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr("regard.tuning.compare.evaluate_translator", None)
    (tmp_path / "short.txt").write_text("one\n", encoding="utf-8")
    words = ["compare", str(study / "trials" / "0001"), str(tmp_path / "short.txt")]
    text = refused([*words, "--on", str(files / "test.en"), str(files / "test.fr")], capsys)
    assert "short.txt has 1 lines" in text


MISTAKES = {
    "nothing": (["tune"], "nothing varies"),
    "nothing varies": (["tune", "train.en", "train.fr"], "specify what to vary with --over"),
    "no files": (["tune", "--over", "model.layers=1,2"], "put the training files before --over"),
    "no such file": (["tune", "nowhere.toml"], "nowhere.toml: no such file"),
    "broken file": (["tune", "broken.toml"], "broken.toml: not valid TOML"),
    "empty study": (["tune", "empty.toml"], 'an empty study: sampler = "sets" needs at least one'),
    "unknown metric": (["tune", "metric.toml"], "metric='blue': no such metric; available: loss, bleu, chrf, accuracy"),
    "unknown metric as an option": (["tune", "fine.toml", "--metric", "blue"], "no such metric"),
    "misspelt setting": (["tune", "misspelt.toml"], "unknown setting 'model.layrs'; did you mean 'model.layers'?"),
    "misspelt option": (
        ["tune", "train.en", "train.fr", "--over", "model.drpout=0.1,0.2"],
        "did you mean 'model.dropout'?",
    ),
    "misspelt entry": (["tune", "entry.toml"], "unknown entry 'smapler'"),
    "no valid combination": (["tune", "nothing.toml"], "the space has no valid combination"),
    "no valid combination by condition": (["tune", "never.toml"], "the space has no valid combination"),
    "a condition that is code": (["tune", "code.toml"], "is not supported"),
    "absent storage": (["tune", "--worker", "sqlite:///nowhere/study.db"], "sqlite:///nowhere/study.db: no such file"),
    "absent server": (
        ["tune", "--worker", "postgresql://me:secret@127.0.0.1:1/x"],
        "postgresql://me@127.0.0.1:1/x: cannot be reached",
    ),
    "not a URL": (["tune", "--worker", "nonsense"], "not a URL"),
    "worker with files": (["tune", "fine.toml", "--worker", "sqlite:///x.db"], "leave out files and settings"),
    "no data": (["tune", "fine.toml"], "nothing to train on"),
    "data that is not there": (["tune", "fine.toml", "a.en", "a.fr", "--out", "s"], "a.en: no such file"),
    "dev that is not there": (
        ["tune", "fine.toml", "train.en", "train.fr", "--dev", "b.en", "--dev", "b.fr", "--out", "s"],
        "b.en: no such file",
    ),
    "bad range": (["tune", "train.en", "train.fr", "--over", "model.dropout=0.4..0.1"], "is not a valid range"),
    "no value": (["tune", "train.en", "train.fr", "--over", "model.dropout"], "expected name=values"),
    "a range without end": (
        ["tune", "train.en", "train.fr", "--over", "train.learning_rate=0.1..1e999"],
        "is not a valid range",
    ),
    "a step without end": (
        ["tune", "train.en", "train.fr", "--over", "model.layers=1..4 by 1e-320"],
        "is not a valid range",
    ),
    "a choice without end": (
        ["tune", "train.en", "train.fr", "--over", "train.learning_rate=0.1,inf"],
        "is not finite",
    ),
    "a condition that cannot be computed": (["tune", "odd.toml"], "cannot be computed"),
    "only without sets": (
        ["tune", "train.en", "train.fr", "--over", "model.layers=1,2", "--only", "x"],
        "only = ['x'] needs sampler",
    ),
    "a base that is no table": (["tune", "base.toml"], "base=3: "),
    "a port that is no number": (["tune", "--worker", "postgresql://me:secret@host:port/x"], "not a URL"),
    "no such set": (["tune", "fine.toml", "--only", "x*"], "no set matches"),
    "bad sampler": (["tune", "fine.toml", "--sampler", "luck"], "sampler='luck'"),
    "report of nothing": (["report", "nowhere"], "nowhere: no such study"),
    "report of no study": (["report", "."], "not a study folder"),
    "compare on nothing": (["compare", "train.fr"], "no test pairs: give them with --on"),
    "one line missing": (
        ["compare", "train.fr", "short.fr", "--on", "train.en", "train.fr"],
        "short.fr has 3 lines, train.fr has 4 pairs",
    ),
    "a system twice": (["compare", "train.fr", "./train.fr", "--on", "train.en", "train.fr"], "given twice"),
    "files that name no task": (
        ["tune", "odd.csv", "--over", "model.layers=1,2"],
        "odd.csv: does not say what to train",
    ),
    "files of another task": (
        ["tune", "labels.csv", "--task", "tag", "--over", "model.layers=1,2", "--out", "s"],
        "labels.csv: has texts with labels; expected words with tags",
    ),
    "a column that is not there": (
        ["tune", "labels.csv", "--text", "nowhere", "--over", "model.layers=1,2", "--out", "s"],
        "labels.csv: has no column 'nowhere'",
    ),
    "a column of another task": (
        ["tune", "labels.csv", "--task", "tag", "--label", "x", "--over", "model.layers=1,2"],
        "--label names a column of a table, which --task tag does not read",
    ),
    "no such task": (["tune", "labels.csv", "--task", "sing", "--over", "model.layers=1,2"], "task='sing'"),
    "a metric of another task": (
        ["tune", "labels.csv", "--over", "model.layers=1,2", "--metric", "bleu"],
        "metric='bleu': no such metric; available: accuracy, macro_f1, loss",
    ),
    "masks that differ": (
        ["tune", "train.en", "--task", "masked-lm", "--over", "masked_lm.mask_rate=0.1,0.2"],
        "masked tokens differ between trials, so their loss cannot be compared; no metric can rank them: leave it out",
    ),
    "tokens that differ": (
        ["tune", "train.en", "--task", "causal-lm", "--metric", "loss", "--over", "data.vocab_size=300,400"],
        "tokens differ between trials, so their loss cannot be compared; use bits_per_byte",
    ),
    "documents that differ": (
        ["tune", "train.en", "--task", "causal-lm", "--over", "causal_lm.documents=file,line"],
        "causal_lm.documents cannot vary",
    ),
    "tasks that differ": (["tune", "labels.csv", "--over", "task=tag,classify"], "task cannot vary"),
    "a test set that names no task": (
        ["compare", "train.en", "--on", "odd.csv"],
        "odd.csv: does not say what to train",
    ),
    "no such system": (["compare", "gone", "--on", "train.en", "train.fr"], "gone: no such run or file"),
}
FILES = {
    "broken.toml": "[space\n",
    "empty.toml": "",
    "fine.toml": '[sets."a"]\nmodel.layers = 1\n',
    "metric.toml": 'metric = "blue"\n[sets."a"]\nmodel.layers = 1\n',
    "misspelt.toml": 'sampler = "grid"\n[space]\nmodel.layrs = [1, 2]\n',
    "entry.toml": 'smapler = "grid"\n[space]\nmodel.layers = [1, 2]\n',
    "nothing.toml": 'sampler = "grid"\n[space]\nmodel.heads = [5, 7]\nmodel.dim = [16, 32]\n',
    "never.toml": 'sampler = "tpe"\nconditions = ["model.layers > 9"]\n[space]\nmodel.layers = [1, 2]\n',
    "code.toml": 'sampler = "grid"\nconditions = ["open(1)"]\n[space]\nmodel.layers = [1, 2]\n',
    "odd.toml": "sampler = \"grid\"\nconditions = [\"'%' % model.layers == 'a'\"]\n[space]\nmodel.layers = [1, 2]\n",
    "base.toml": 'base = 3\n[sets."a"]\nmodel.layers = 1\n',
    "train.en": "a\nb\nc\nd\n",
    "train.fr": "a\nb\nc\nd\n",
    "short.fr": "a\nb\nc\n",
    "odd.csv": "a,b\n1,2\n",
    "labels.csv": "text,label\ngood,yes\nbad,no\n",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_sentence(mistake: str, tmp_path: Path, capsys, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words, message = MISTAKES[mistake]
    text = refused(words, capsys)
    assert message in text and "secret" not in text
    assert not (tmp_path / "s").exists()  # a study that cannot be trained leaves nothing to stumble over


def test_a_study_may_be_of_files_with_any_name(tmp_path: Path):
    over = dict([parse_over("model.layers=1,2")])
    study = _study_from_options(StudyOptions([tmp_path / "données.en"], over))
    assert study.name == "donn-es"


KILLS = (("latest.json", 1), ("latest.json", 2), ("best.json", 1), ("report.html", 1), ("latest.json", 4))
"""When a study is killed, each time it runs: before a file gets this name for the nth time."""


@pytest.mark.slow
def test_a_study_killed_five_times_ends_with_every_trial_once(files: Path, tmp_path: Path):
    out = tmp_path / "s"
    argv = [*arguments(files, out, steps=40), "--set", "train.save_every=4", "--set", "train.patience=0"]
    for kill in KILLS:
        code = run_command(argv, tmp_path, tmp_path / "output", kill_before=kill)
        assert code == -signal.SIGKILL, (kill, (tmp_path / "output").read_text())
    assert run_command(argv, tmp_path, tmp_path / "output") == 0, (tmp_path / "output").read_text()
    study_worker = open_study.load_study(out)
    trials = study_worker.optuna_study.get_trials()
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 2
    assert {trial.params["model.layers"] for trial in trials} == {1, 2}
    assert [result.first_summary.steps for result in study_worker.results()] == [40, 40]
    assert [folder.name for folder in sorted((out / "trials").iterdir())] == ["0001", "0002"]
    study_worker.close()
