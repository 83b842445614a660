"""Self-distillation: references and translations, each once, and the same bytes after a kill."""

import json
import shutil
from pathlib import Path

import pytest

from regard.data.store import Texts
from regard.decode import BeamSearch, GreedySearch
from regard.errors import ConfigError, DataError, RunError
from regard.formats import Pair, read_pairs
from regard.jobs.load import load
from regard.jobs.train.fit import train_run
from regard.jobs.translate import distill as job
from regard.jobs.translate.distill import DistilledPairs, distill
from regard.jobs.translate.engine_choice import EXACT
from regard.jobs.translate.worker_pool import RuntimeOptions
from regard.run import Run
from tests.jobs.conftest import TINY

WORDS = ("ba", "be", "bi", "bo", "bu", "da", "de")
SEARCH = BeamSearch(2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    """Two runs on the same 91 pairs, of which some sources are repeated; dev and test are held out."""
    from regard import config as settings

    folder = tmp_path_factory.mktemp("runs")
    sources = [" ".join(WORDS[(i + j) % 7] for j in range(1 + i % 5)) + f" {i % 61}" for i in range(91)]
    rows = [f"{source}\t{source.upper()}\n" for source in sources]
    (folder / "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    config = settings.override(
        settings.build({"data": {"train": [str(folder / "pairs.tsv")]}}),
        [*TINY, "data.vocab_size=320", "train.steps=60", "train.learning_rate=0.02"],
    )
    for seed in (1, 2):
        changed = settings.override(config, [f"train.seed={seed}", "data.split_seed=1"])
        assert list(train_run(folder / str(seed), changed, False, lambda: False))
    return [folder / "1", folder / "2"]


def stored(run: Path, name: str = "train") -> list[Pair]:
    sides = (Texts(Run(run).store, f"{name}.{side}") for side in ("source", "target"))
    return [Pair(*texts) for texts in zip(*sides, strict=True)]


def read(path: Path) -> list[Pair]:
    return [Pair(pair.source, pair.target) for pair in read_pairs([path])]


@pytest.mark.parametrize("suffix", [".jsonl", ".tsv"])
def test_translations_stand_beside_the_references(runs, tmp_path: Path, suffix: str):
    result = distill(runs[:1], tmp_path / f"pairs{suffix}", SEARCH, EXACT)
    references, pairs = stored(runs[0]), read(result.path)
    assert pairs[: len(references)] == references and result.references == len(references)
    added = pairs[len(references) :]
    assert result.translations == len(added) > 0
    assert result.translations + result.repeated + result.failed == len(references)
    candidates = load(runs[0]).candidates([pair.source for pair in references], SEARCH)
    expected = {
        (pair.source, best.text)
        for pair, (best, *_) in zip(references, candidates, strict=True)
        if best.text and not best.truncated
    } - {(pair.source, pair.target) for pair in references}
    assert sorted((pair.source, pair.target) for pair in added) == sorted(expected)
    assert {name: read(path) for name, path in result.held_out.items()} == {
        name: stored(runs[0], name) for name in ("dev", "test")
    }
    written = {f"pairs{name}{suffix}" for name in ("", ".dev", ".test")}
    assert {path.name for path in tmp_path.iterdir()} == written


class Killed(BaseException):
    """As a signal ends a program."""


def count_translated(monkeypatch, limit: int | None) -> list[int]:
    """Record the sizes of all chunks that are translated, and end at the call of this number."""
    sizes: list[int] = []
    translate = job._translate

    def count(translator, chunk, search, max_length):
        if len(sizes) == limit:
            raise Killed
        sizes.append(len(chunk))
        return translate(translator, chunk, search, max_length)

    monkeypatch.setattr(job, "_translate", count)
    return sizes


def test_a_killed_command_goes_on_and_writes_the_same_bytes(runs, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(job, "CHUNK", 17)
    out, whole = tmp_path / "pairs.jsonl", tmp_path / "whole.jsonl"
    expected = distill(runs, whole, SEARCH, RuntimeOptions())
    with monkeypatch.context() as context, pytest.raises(Killed):
        first = count_translated(context, 8)
        distill(runs, out, SEARCH, RuntimeOptions())
    assert not out.exists() and first == [17] * 5 + [4] + [17] * 2
    partial = tmp_path / "pairs.jsonl.2.partial"
    partial.write_bytes(partial.read_bytes() + b"cut sho")
    with monkeypatch.context() as context:
        rest = count_translated(context, None)
        result = distill(runs, out, SEARCH, RuntimeOptions())
    assert sum(first) + sum(rest) == 2 * len(stored(runs[0])) and len(rest) == 4
    assert out.read_bytes() == whole.read_bytes()
    assert result == DistilledPairs(out, *list(vars(expected).values())[1:5], result.held_out)
    assert result.translations > distill(runs[:1], whole, SEARCH, RuntimeOptions()).translations


def test_translations_of_another_search_are_made_again(runs, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(job, "CHUNK", 17)
    with monkeypatch.context() as context, pytest.raises(Killed):
        count_translated(context, 2)
        distill(runs[:1], tmp_path / "pairs.jsonl", SEARCH, RuntimeOptions())
    head = json.loads((tmp_path / "pairs.jsonl.1.partial").read_text(encoding="utf-8").split("\n")[0])
    assert head["search"] == repr(SEARCH)
    sizes = count_translated(monkeypatch, None)
    distill(runs[:1], tmp_path / "pairs.jsonl", GreedySearch(), RuntimeOptions())
    assert sum(sizes) == len(stored(runs[0]))


def test_what_cannot_be_distilled_is_refused(runs, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"pairs.txt: expected a file whose name ends in .jsonl or .tsv"):
        distill(runs[:1], tmp_path / "pairs.txt", SEARCH, RuntimeOptions())
    with pytest.raises(DataError, match=r"a.tsv: a text has a tab or a line break, .* name a .jsonl file"):
        job._write(tmp_path / "a.tsv", iter([Pair("one\ttwo", "un")]))
    assert not list(tmp_path.iterdir())
    imported = shutil.copytree(runs[0], tmp_path / "imported")
    Run(imported).texts_manifest.unlink()
    with pytest.raises(RunError, match=r"imported: has no training pairs, as an imported run; name a run that was"):
        distill([imported], tmp_path / "pairs.jsonl", SEARCH, RuntimeOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["imported"]
