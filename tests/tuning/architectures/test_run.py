"""A comparison of architectures from files to page: resumed, refused, and equal in what must be equal."""

import json
import signal
from pathlib import Path

import pytest

import regard
from regard.errors import ConfigError
from regard.run import Run
from regard.tuning.architectures.page import PAGE
from regard.tuning.architectures.plan import build_study, open_comparison
from regard.tuning.architectures.sizes import TOLERANCE
from regard.tuning.study import dump
from tests.commands import run_command
from tests.jobs.conftest import TINY, files

__all__ = ["files"]
VALUES = {
    "model.dim": 32,
    "model.heads": 2,
    "model.layers": 2,
    "model.ffn": 64,
    "data.vocab_size": 400,
    "train.batch_tokens": 256,
    "train.threads": 1,
    "train.validate_every": 2,
    "train.save_every": 1,
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    words = {"good": ("superb", "lovely"), "bad": ("dull", "weak")}
    lines = [f"the {w} film number {n} was {w},{label}" for n in range(67) for label in words for w in words[label]]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_killed_and_resumed_a_comparison_repeats_no_finished_run(reviews: Path, tmp_path: Path):
    output, sets = tmp_path / "output.txt", [f"--set={name}={value}" for name, value in VALUES.items()]
    argv = ["architectures", str(reviews), "--steps-each", "3", "--seeds", "2", "--out", "x", *sets]
    kill = ("scores/test.json", 2)  # while the second run is scored
    assert run_command(argv, tmp_path, output, kill_before=kill) == -signal.SIGKILL, output.read_text()
    first = tmp_path / "x" / "trials" / "0001"
    assert Run(first).finished()
    before = (first / "log.jsonl").stat().st_mtime_ns
    assert run_command(["architectures", "x", "--json"], tmp_path, output) == 0, output.read_text()
    assert (first / "log.jsonl").stat().st_mtime_ns == before
    result = regard.compare_architectures(tmp_path / "x")  # nothing is left to train
    assert [one.name for one in result.results] == ["encoder", "decoder", "encoder-decoder"]
    assert all(len(one.scores) == 2 for one in result.results) and len(result.tests) == 3
    weights = [one.weights for one in result.results]
    assert max(weights) <= (1 + TOLERANCE) * min(weights)
    runs = [Run(folder) for one in result.results for folder in one.folders]
    assert len({run.tokenizer().read_bytes() for run in runs}) == 1
    texts = {
        tuple(row.partition("\t")[0] for row in run.example_scores("test").read_text().split("\n")) for run in runs
    }
    assert len(texts) == 1  # the same ones are held out
    assert len({run.load_config().train.seed for run in runs}) == 2
    assert (tmp_path / "x" / PAGE).read_text().count("<svg") >= 2
    assert json.loads(json.dumps(result.as_dict()))["task"] == "classify"
    for changed in ({"each": {"steps": 5}}, {"seeds": 3}, {"settings": VALUES | {"model.dim": 64}}):
        options = {"each": {"steps": 3}, "seeds": 2, "settings": VALUES} | changed
        with pytest.raises(ConfigError, match="holds a comparison with another"):
            regard.compare_architectures(reviews, out=tmp_path / "x", **options)


def test_what_cannot_be_compared_is_refused_with_its_reason(reviews: Path, files: Path, tmp_path: Path):
    for task, reason in (
        ("causal-lm", "a text that is continued has no source"),
        ("masked-lm", "nothing after a mask"),
    ):
        with pytest.raises(ConfigError, match=f"--task {task} is done by one architecture .*{reason}"):
            open_comparison([files / "train.en"], {"task": task}, {}, None, tmp_path / "x")
    with pytest.raises(ConfigError, match=r"model\.architecture: is what the comparison varies"):
        open_comparison([reviews], {"model.architecture": "decoder"}, {}, None, tmp_path / "x")
    with pytest.raises(ConfigError, match="compared on a test set, which is not held out where there are dev files"):
        open_comparison([reviews], {"task": "classify", "data.dev": [str(reviews)]}, {}, None, tmp_path / "x")
    with pytest.raises(ConfigError, match=r"seeds.*0|0.*seeds"):
        open_comparison([reviews], {"task": "classify", **VALUES}, {"steps": 1}, 0, tmp_path / "x")
    with pytest.raises(ConfigError, match="nothing to train on"):
        open_comparison([], {}, {}, None, None)
    assert not (tmp_path / "x").exists()


def test_translation_is_compared_in_two_architectures_and_embedding_in_three(files: Path, tmp_path: Path):
    values = regard_values({"data.train": [str(files / "train.en"), str(files / "train.fr")]})
    study = build_study(values, {"steps": 2}, 2, "pairs")
    assert list(study.sets) == ["encoder-decoder", "decoder"] and study.base.data.split_seed == 1
    assert study.base.train.guided_alignment == 0 and study.metric == "bleu"
    assert "model.architecture" not in dump(study).partition("[base")[2]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"question {n} is here\tanswer {n} is there\n" for n in range(97)), encoding="utf-8")
    study = build_study(regard_values({"task": "embed", "data.train": [str(pairs)]}), {"steps": 2}, 2, "pairs")
    assert list(study.sets) == ["encoder", "decoder", "encoder-decoder"]
    assert study.sets["encoder-decoder"]["model.architecture"] == "encoder"  # whose decoder has no part


def regard_values(values: dict[str, object]):
    from regard import config as settings

    tiny = settings.parse_assignments([one for one in TINY if not one.startswith("model.layers")])
    return settings.with_values(settings.build({}), tiny | {"model.layers": 2} | values)
