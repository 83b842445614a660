"""The program as people type it, and every mistake they make: one sentence, exit code 2, no traceback."""

import io
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from regard import __version__
from regard import config as settings
from regard.cli import main
from regard.cli.lines import decode_stdin
from regard.cli.usage import repeat_options
from tests.commands import regard
from tests.jobs.conftest import TINY

QUICK = [word for change in TINY for word in ("--set", change)]


@pytest.fixture(scope="session")
def run(tmp_path_factory, files: Path) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    out = regard(
        "train", files / "train.en", files / "train.fr", "--dev", files / "dev.en", files / "dev.fr",
        "--out", folder, "--steps", 20, *QUICK,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    assert out.stdout == ""
    for words in ("600 pairs to train on", "Training starts", "validation at step 20", "report:"):
        assert words in out.stderr
    return folder


@pytest.mark.parametrize(
    "changes",
    [("model.positions.kind=rotary",), ("model.encoder.positions.kind=t5", "model.decoder.positions.kind=none")],
    ids=["one", "a-side-each"],
)
def test_order_enters_as_asked(files: Path, tmp_path: Path, changes: tuple[str, ...]):
    sets = [word for change in changes for word in ("--set", change)]
    out = regard("train", files / "dev.en", files / "dev.fr", "--out", tmp_path / "run", "--steps", 2, *QUICK, *sets)
    assert out.returncode == 0, out.stderr
    table = settings.flatten(tomllib.loads((tmp_path / "run" / "config.toml").read_text(encoding="utf-8")))
    assert [f"{name}={table[name]}" for name in (change.partition("=")[0] for change in changes)] == list(changes)
    assert regard("translate", tmp_path / "run", stdin="The girl eats.\n").returncode == 0


def test_translate_keeps_lines_and_order(run: Path):
    text = "The girl eats.\n\n   \nThe boys sleep."
    out = regard("translate", run, stdin=text)
    assert out.returncode == 0
    progress = r"((loading|translating|writing)[^\n]*\n)*Translated by [^\n]*\.\n"  # stages where the machine is slow
    issues = r"(! \d of 4 lines may have lost something in translation:\n(  [^\n]*\n)+)?"  # the run is hardly trained
    assert re.fullmatch(progress + issues, out.stderr), out.stderr
    lines = out.stdout.split("\n")
    assert len(lines) == 5 and lines[1:3] == ["", "   "] and lines[4] == ""


def test_translate_gives_several_with_scores(run: Path):
    out = regard("translate", run, "--beam", 4, "--nbest", 3, "--scores", stdin="The girl eats.\nThe boys sleep.\n")
    rows = [line.split("\t") for line in out.stdout.strip("\n").split("\n")]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    assert [float(row[1]) for row in rows[:3]] == sorted((float(row[1]) for row in rows[:3]), reverse=True)
    assert len({row[2] for row in rows[:3]}) > 1 or rows[0][2] == ""


def test_sampling_repeats_with_its_seed(run: Path):
    text = "The girl eats.\n" * 3
    one, same, other = (regard("translate", run, "--sample", "--seed", seed, stdin=text).stdout for seed in (1, 1, 2))
    assert one == same != other


def test_translate_reads_and_writes_files(run: Path, files: Path, tmp_path: Path):
    out = regard("translate", run, files / "test.en", "--out", tmp_path / "x" / "out.fr", "--beam", 1)
    assert out.returncode == 0 and out.stdout == ""
    assert (tmp_path / "x" / "out.fr").read_text(encoding="utf-8").count("\n") == 29


def test_a_byte_order_mark_is_no_text():
    assert list(decode_stdin(io.BytesIO(b"\xef\xbb\xbfOne.\r\nTwo.\n"))) == ["One.", "Two."]


@pytest.mark.parametrize("how", [("--beam", 3), ("--sample", "--seed", 5)], ids=str)
def test_several_workers_translate_as_one_would(run: Path, files: Path, tmp_path: Path, how: tuple):
    text = (files / "train.en").read_text(encoding="utf-8")[:9000] + "\n\n"
    (tmp_path / "in.en").write_text(text, encoding="utf-8")
    for workers in (1, 2):
        out = regard("translate", run, tmp_path / "in.en", "--out", tmp_path / f"{workers}", "--workers", workers, *how)
        assert out.returncode == 0, out.stderr
    assert (tmp_path / "1").read_text(encoding="utf-8") == (tmp_path / "2").read_text(encoding="utf-8")
    assert (tmp_path / "1").read_text(encoding="utf-8").count("\n") == text.count("\n")


def test_another_engine_says_the_same(run: Path, files: Path, tmp_path: Path):
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")
    said = {}
    for name in ("torch", "ctranslate2", "ctranslate2"):  # the second time it is not written again
        out = regard("translate", run, files / "test.en", "--beam", 1, "--engine", name, "--workers", 1)
        assert out.returncode == 0, out.stderr
        said[name] = out.stdout.split("\n")
    alike = [one == other for one, other in zip(said["torch"], said["ctranslate2"], strict=True)]
    assert sum(alike) >= len(alike) - 1  # a tie may go either way
    out = regard("translate", run, files / "test.en", "--engine", "ctranslate2", "--sample")
    assert out.returncode == 2 and "leave out --engine" in out.stderr


def test_eight_bits_translate_every_line(run: Path, files: Path):
    out = regard("translate", run, files / "test.en", "--beam", 1, "--quantize", "int8", "--workers", 2)
    assert out.returncode == 0, out.stderr
    assert out.stdout.count("\n") == 29


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (("--quantize", "int4"), "expected one of auto, none, int8"),
        (("--engine", "onnx"), "expected one of auto, torch, native, ctranslate2"),
    ],
)
def test_what_nobody_can_do_is_refused(run: Path, files: Path, how: tuple, message: str):
    out = regard("translate", run, files / "test.en", *how)
    assert (out.returncode, out.stdout) == (2, "")
    assert message in out.stderr and "Traceback" not in out.stderr


def test_scores_of_other_files_are_never_written_over(run: Path, files: Path, tmp_path: Path):
    before = (run / "scores" / "dev.json").read_text()
    for name in ("dev.en", "dev.fr", "news.2016.en", "news.2016.fr"):
        lines = (files / f"train{name[-3:]}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / name).write_text("".join(lines[:7]), encoding="utf-8")
    for _ in range(2):
        out = regard("evaluate", run, tmp_path / "dev.en", tmp_path / "dev.fr", "--beam", "1")
        assert f"{run / 'scores' / 'dev-2.sentences.tsv'}" in "".join(out.stdout.split())
        assert "7 of 7 sources occur in the training text of this run" in " ".join(out.stdout.split())
    out = regard("evaluate", run, tmp_path / "dev.en", tmp_path / "dev.fr", "--beam", "1", "--json")
    warning = "! 7 of 7 sources occur in the training text of this run"
    assert warning in " ".join(out.stderr.split())
    assert (run / "scores" / "dev.json").read_text() == before
    regard("evaluate", run, tmp_path / "news.2016.en", tmp_path / "news.2016.fr", "--beam", "1")
    assert (run / "scores" / "news.2016.json").exists() and not (run / "scores" / "dev-3.json").exists()


def test_evaluate_prints_scores_that_sacrebleu_would_give(run: Path, files: Path, tmp_path: Path):
    out = regard("evaluate", run, files / "test.en", files / "test.fr", "--json")
    scores = json.loads(out.stdout)
    assert set(scores) == {"bleu", "chrf", "ter", "rouge", "accuracy"} and set(scores["bleu"]) == {
        "value",
        "low",
        "high",
        "signature",
    }
    regard("translate", run, files / "test.en", "--out", tmp_path / "hyp")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        files / "test.fr",
        "-i",
        tmp_path / "hyp",
        "-m",
        "bleu",
        "chrf",
        "-w",
        "6",
    ]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [scores["bleu"]["value"], scores["chrf"]["value"]] == pytest.approx(
        [row["score"] for row in theirs], abs=1e-5
    )
    plain = regard("evaluate", run, files / "test.en", files / "test.fr")
    assert "BLEU" in plain.stdout and "tok:13a" in plain.stdout and "chrF2" in plain.stdout
    assert (run / "scores" / "test.json").exists()
    habits = regard("evaluate", run, files / "test.en", files / "test.fr", "--lowercase", "--tokenize", "none")
    assert "BLEU[lowercased, not tokenized]" in habits.stdout or "BLEU[lowercased," in habits.stdout
    assert "case:lc|eff:no|tok:none" in "".join(habits.stdout.split())
    wrong = regard("evaluate", run, files / "test.en", files / "test.fr", "--tokenize", "moses")
    assert wrong.returncode == 2 and "13a" in wrong.stderr


def test_train_from_a_config_and_a_tsv_and_resume(files: Path, tmp_path: Path):
    english, french = ((files / f"train.{x}").read_text(encoding="utf-8").strip().split("\n") for x in ("en", "fr"))
    rows = [f"{a}\t{b}\n" for a, b in zip(english, french, strict=True)]
    (tmp_path / "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    config = '[data]\ntrain = ["pairs.tsv"]\nvocab_size = 400\n[model]\ndim = 32\nheads = 2\nlayers = 1\n'
    (tmp_path / "my.toml").write_text(config + "[train]\nsteps = 3\nbatch_tokens = 256\n", encoding="utf-8")
    first = regard("train", "my.toml", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert (tmp_path / "runs" / "my" / "report.html").exists()
    again = regard("train", "--resume", "runs/my", cwd=tmp_path)
    assert again.returncode == 0 and "already finished" in again.stderr
    more = regard("train", "--resume", "runs/my", "--steps", 5, cwd=tmp_path)
    assert more.returncode == 0 and "continues at step 3" in more.stderr


def test_a_built_in_corpus_can_be_written(tmp_path: Path):
    out = regard("corpus", "english-french", "--pairs", 7, "--out", tmp_path / "c.tsv")
    assert out.returncode == 0
    rows = [line.split("\t") for line in (tmp_path / "c.tsv").read_text(encoding="utf-8").strip().split("\n")]
    assert len(rows) == 7 and all(len(row) == 5 for row in rows)
    assert regard("corpus", "reverse", "--pairs", 3).stdout.count("\n") == 3


def test_help_lists_every_command():
    out = regard("--help")
    assert out.returncode == 0
    for command in ("train", "translate", "evaluate", "demo", "corpus", "import", "export", "settings"):
        assert f"  {command} " in out.stdout
    assert regard("train", "--help").returncode == 0


MISTAKES = {
    "unequal files": (
        ["train", "short.en", "train.fr", "--out", "r"],
        "short.en has 3 lines, train.fr has 600",
    ),
    "empty file": (["train", "empty.en", "empty.fr", "--out", "r"], "empty.en and empty.fr are empty"),
    "not UTF-8": (
        ["train", "latin.en", "short.en", "--out", "r"],
        "latin.en:2: not UTF-8: byte 2 of the line is 0xe9",
    ),
    "misspelt setting": (
        ["train", "train.en", "train.fr", "--set", "model.drpout=1"],
        "did you mean 'model.dropout'?",
    ),
    "wrong type": (["train", "train.en", "train.fr", "--set", "model.dim=wide"], "model.dim='wide'"),
    "heads do not divide": (
        ["train", "train.en", "train.fr", "--set", "model.heads=7"],
        "model.heads=7 does not divide",
    ),
    "broken TOML": (["train", "broken.toml"], "broken.toml: not valid TOML"),
    "missing file": (["train", "nowhere.en", "train.fr", "--out", "r"], "nowhere.en: no such file"),
    "missing config": (["train", "nowhere.toml"], "nowhere.toml: no such file"),
    "one text file": (["train", "train.en", "--out", "r"], "a text file without a partner does not say what to train"),
    "nothing": (["train", "--out", "r"], "nothing to train on"),
    "files after --dev": (["train", "--dev", "train.en", "train.fr"], "the training files come before --dev"),
    "unwritable folder": (["train", "train.en", "train.fr", "--out", "train.en/x"], "cannot be written"),
    "not a run": (["translate", "."], "not a run folder"),
    "issues instead of the input": (["translate", ".", "train.en", "--issues", "./train.en"], "is also the input"),
    "issues instead of the output": (["translate", ".", "--out", "short.en", "--issues", "short.en"], "is also --out"),
    "issues instead of a folder": (["translate", ".", "train.en", "--issues", "."], "a folder"),
    "no such run": (["translate", "nowhere"], "no such run"),
    "occupied": (["train", "train.en", "train.fr", "--out", "."], "is the current folder"),
    "resume nothing": (["train", "--resume", "nowhere"], "no such run"),
    "resume and files": (["train", "train.en", "train.fr", "--resume", "x"], "leave out files"),
    "unknown corpus": (["corpus", "klingon"], "expected one of: english-french, copy"),
    "unknown command": (["trian"], "there is no command 'trian'; did you mean 'train'?"),
    "unknown option": (["train", "--stepps", "3"], "regard train has no option --stepps; did you mean '--steps'?"),
    "no value": (["train", "train.en", "train.fr", "--dev"], "--dev needs a value: --dev FILE [FILE]"),
    "bad device": (
        ["train", "train.en", "train.fr", "--out", "r", "--set", "train.device=toaster"],
        "device 'toaster' is not available",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_sentence_and_lose_nothing(mistake: str, files: Path, tmp_path: Path, capsys, monkeypatch):
    for name in ("train.en", "train.fr"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    (tmp_path / "short.en").write_text("a\nb\nc\n")
    (tmp_path / "latin.en").write_bytes(b"a\nd\xe9j\xe0\nc\n")
    (tmp_path / "empty.en").touch()
    (tmp_path / "empty.fr").touch()
    (tmp_path / "broken.toml").write_text("[model\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    arguments, message = MISTAKES[mistake]
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert message in " ".join(printed.err.split()) and "Traceback" not in printed.err
    assert printed.out == ""
    assert all((tmp_path / name).read_bytes() == content for name, content in before.items())


def test_an_occupied_run_is_kept(run: Path, files: Path, capsys):
    with pytest.raises(SystemExit):
        main(["train", str(files / "train.en"), str(files / "train.fr"), "--out", str(run)])
    assert "already holds a run" in capsys.readouterr().err and (run / "best.json").exists()


def test_bad_searches_and_bad_bytes_are_refused(run: Path, tmp_path: Path):
    out = regard("translate", run, "--beam", 2, "--nbest", 3, stdin="a\n")
    assert out.returncode == 2 and "nbest=3: must be between 1 and the beam" in out.stderr
    (tmp_path / "latin").write_bytes(b"d\xe9j\xe0\n")
    command = [sys.executable, "-m", "regard", "translate", str(run)]
    raw = subprocess.run(command, input=b"fine\nd\xe9j\xe0\n", capture_output=True)
    assert raw.returncode == 2 and b"standard input:2: not UTF-8" in raw.stderr and b"Traceback" not in raw.stderr


def test_a_reader_that_leaves_ends_it_quietly(run: Path):
    command = f"yes 'The girl eats.' | head -3000 | {sys.executable} -m regard translate {run} --beam 1 | head -1"
    out = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    messages = [
        line for line in out.stderr.split("\n") if line and not line.startswith(("translating: ", "Translated by "))
    ]
    assert messages == [] and out.stdout.count("\n") == 1


def test_options_with_several_values_are_spread():
    assert repeat_options(["train", "a", "--dev", "b", "c", "--out", "r"]) == [
        "train",
        "a",
        "--dev",
        "b",
        "--dev",
        "c",
        "--out",
        "r",
    ]
    assert repeat_options(["--dev"]) == ["--dev"] and repeat_options(["--test", "x.tsv", "-h"]) == [
        "--test",
        "x.tsv",
        "-h",
    ]


def test_the_doctor_says_what_is_wrong_and_writes_a_clean_copy(files: Path, tmp_path: Path):
    english = (files / "train.en").read_text(encoding="utf-8").split("\n")
    (tmp_path / "a.en").write_text("\n".join(["<url>http</url>", *english[1:]]), encoding="utf-8")
    (tmp_path / "a.fr").write_bytes((files / "train.fr").read_bytes())
    out = regard("doctor", tmp_path / "a.en", tmp_path / "a.fr", "--fix", tmp_path / "clean")
    assert out.returncode == 0, out.stderr
    assert "train: 600 pairs read, 599 kept" in out.stdout and "a.en:1" in out.stdout
    assert (tmp_path / "clean" / "a.en").read_text(encoding="utf-8").count("\n") == 599
    found = json.loads(regard("doctor", tmp_path / "a.en", tmp_path / "a.fr", "--json").stdout)
    assert "metadata" in json.dumps(found)


def test_two_files_of_pairs_are_cleaned_into_one_of_pairs(tmp_path: Path):
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text(f"The {name[0]} cat sleeps.\tLe chat {name[0]} dort.\n\n", encoding="utf-8")
    regard("doctor", tmp_path / "a.tsv", tmp_path / "b.tsv", "--fix", tmp_path / "clean")
    assert [path.name for path in (tmp_path / "clean").iterdir()] == ["train.jsonl"]
    again = regard("doctor", tmp_path / "clean" / "train.jsonl")
    assert "train: 2 pairs read, 2 kept" in again.stdout


def test_the_version_is_told():
    out = regard("--version")
    assert (out.returncode, out.stdout.strip()) == (0, __version__)


def test_the_cost_is_told_before_anything_is_trained(files: Path, tmp_path: Path):
    config = tmp_path / "config.toml"
    config.write_text("[train]\nminutes = 5\n", encoding="utf-8")
    out = regard("--verbose", "estimate", config, files / "train.en", files / "train.fr")
    assert out.returncode == 0, out.stderr
    for word in ("576 pairs", "chosen: data.vocab_size=1000 (576 pairs)", "parameters: ", "memory: ", "5 minutes"):
        assert word in out.stdout


def test_a_po_file_is_translated_for_review(run: Path, tmp_path: Path):
    (tmp_path / "m.po").write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "The girl eats."\nmsgstr ""\n'
    )
    out = regard("translate", run, tmp_path / "m.po", "--out", tmp_path / "fr.po")
    assert out.returncode == 0 and "to be reviewed" in out.stderr and (tmp_path / "fr.po").exists()
    lost = regard("translate", run, tmp_path / "m.po")
    assert lost.returncode == 2 and "--out" in lost.stderr


def test_a_file_may_be_translated_onto_itself_and_is_whole_if_that_fails(run: Path, tmp_path: Path):
    (tmp_path / "t").write_text("The girl eats.\n\nThe boys sleep.\n")
    assert regard("translate", run, tmp_path / "t", "--out", tmp_path / "t").returncode == 0
    assert (tmp_path / "t").read_text(encoding="utf-8").count("\n") == 3
    (tmp_path / "bad").write_bytes(b"fine\nd\xe9j\xe0\n")
    (tmp_path / "out").write_text("old")
    assert regard("translate", run, tmp_path / "bad", "--out", tmp_path / "out").returncode == 2
    assert (tmp_path / "out").read_text() == "old"


def test_a_failed_training_replaces_nothing_and_blocks_nothing(run: Path, files: Path, tmp_path: Path, capsys):
    before = sorted(run.rglob("*"))
    for words in (["nowhere.tsv"], [str(files / "train.en"), str(files / "dev.fr")]):
        with pytest.raises(SystemExit):
            main(["train", *words, "--out", str(run), "--overwrite", *QUICK])
        with pytest.raises(SystemExit):
            main(["train", *words, "--out", str(tmp_path / "new"), *QUICK])
    assert sorted(run.rglob("*")) == before and not list(tmp_path.iterdir())


def test_the_doctor_never_writes_over_what_it_was_given(files: Path, tmp_path: Path, capsys):
    for name in ("train.en", "train.fr"):
        (tmp_path / name).write_bytes((files / name).read_bytes())
    pair = [str(tmp_path / "train.en"), str(tmp_path / "train.fr")]
    with pytest.raises(SystemExit):
        main(["doctor", *pair, "--fix", str(tmp_path)])
    assert "would be overwritten" in capsys.readouterr().err


def test_options_of_training_are_settings(files: Path, tmp_path: Path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed (the extra `track`)")
    options = [
        "--epochs",
        0.25,
        "--learning-rate",
        3e-3,
        "--batch-tokens",
        320,
        "--threads",
        1,
        "--track",
        "tensorboard",
    ]
    quick = [word for change in TINY if not change.startswith("train.") for word in ("--set", change)]
    out = regard("train", files / "train.en", files / "train.fr", "--out", tmp_path / "run", *options, *quick)
    assert out.returncode == 0, out.stderr
    train = settings.load(tmp_path / "run" / "config.toml").train
    assert (train.epochs, train.learning_rate, train.batch_tokens, train.threads) == (0.25, 0.003, 320, 1)
    assert train.track == ("tensorboard",) and list((tmp_path / "run" / "tensorboard").iterdir())


def test_a_tracking_service_is_refused_in_a_sentence(files: Path, tmp_path: Path):
    out = regard("train", files / "train.en", files / "train.fr", "--out", tmp_path / "run", "--track", "wandb")
    assert out.returncode == 2 and out.stderr.startswith("error: train.track=wandb: Regard has no tracking service")
