"""Long work is never silent: each job reports stages that end complete, and gives the same results when it does."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from regard import config as settings
from regard.data import ibm_model1
from regard.data.store import open_corpus
from regard.decode import BeamSearch, GreedySearch, SamplingSearch
from regard.formats import read_pairs
from regard.jobs.convert import export_run, import_folder
from regard.jobs.evaluate import evaluate_files, evaluate_translator
from regard.jobs.load import load
from regard.jobs.look.heads import HeadOptions, inspect_heads
from regard.jobs.look.inspected_run import open_inspected_run
from regard.jobs.look.inspections import LookOptions, inspect_run
from regard.jobs.look.senses import analyze_senses
from regard.jobs.prune import PruneOptions, prune_run
from regard.jobs.senses.open_reader import open_word_reader
from regard.jobs.tasks.translation.prepare import diagnose
from regard.jobs.train.estimate import estimate_files
from regard.jobs.train.fit import train_run
from regard.jobs.translate.worker_pool import WorkerPool
from regard.progress import Stage, report_progress_to
from regard.run import Run
from regard.tuning.compare import compare_files
from regard.tuning.pages.comparison import write_comparison

from .conftest import TINY


class CountedStage:
    def __init__(self, description: str, total: int | None, open_stages: list["CountedStage"]):
        self.description, self.total, self.done, self.open_stages = description, total, 0, open_stages
        open_stages.append(self)

    def advance(self, count: int = 1) -> None:
        assert self in self.open_stages and count >= 0
        self.done += count

    def finish(self) -> None:
        assert self.open_stages.pop() is self, "stages end in the order of their nesting"


class Recorder:
    def __init__(self) -> None:
        self.stages: list[CountedStage] = []
        self.open_stages: list[CountedStage] = []

    def start_stage(self, description: str, total: int | None) -> Stage:
        self.stages.append(CountedStage(description, total, self.open_stages))
        return self.stages[-1]

    def show_note(self, text: str) -> None:
        assert text

    def require(self, *descriptions: str) -> None:
        """All stages have ended and are complete, and these are among them."""
        assert self.open_stages == []
        assert [(s.description, s.done, s.total) for s in self.stages if s.total not in (None, s.done)] == []
        assert set(descriptions) - {s.description for s in self.stages} == set()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with report_progress_to(recorder):
        yield recorder


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory) -> tuple[Path, Recorder]:
    folder, recorder = tmp_path_factory.mktemp("runs") / "tiny", Recorder()
    data = {name: [str(files / f"{name}.en"), str(files / f"{name}.fr")] for name in ("train", "dev", "test")}
    changes = ("train.steps=8", "train.validate_every=4", "train.save_every=4", "train.guided_alignment=0.1")
    marian = ("model.norm=post", "model.positions.sinusoid_layout=halves")  # what its format can express
    config = settings.override(
        settings.build({"data": {**data, "source": "en", "target": "fr"}}), [*TINY, "model.heads=4", *changes, *marian]
    )
    with report_progress_to(recorder):
        list(train_run(folder, config, False, lambda: False))
    return folder, recorder


def test_training_reports_its_preparation_and_its_end(trained):
    _, recorder = trained
    recorder.require(
        "examining train",
        "storing train",
        "training the tokenizer",
        "encoding train.source",
        "encoding dev.target",
        "fitting IBM model 1",
        "validating",
        "averaging checkpoints",
        "loading tiny",
        "translating",
        "scoring",
        "computing the loss",
        "scoring sentences",
        "drawing charts",
        "writing the report",
    )


def test_evaluation_counts_every_sentence(trained, files, recorder):
    evaluate_files(trained[0], [str(files / "test.en"), str(files / "test.fr")], BeamSearch(2))
    recorder.require(
        "reading pairs", "loading tiny", "translating", "computing the loss", "scoring", "scoring baselines"
    )
    totals = {s.description: s.total for s in recorder.stages}
    assert totals["translating"] == totals["computing the loss"] == totals["scoring sentences"] == 29


def test_comparison_reports_each_system_its_tests_and_its_page(trained, files, recorder, tmp_path):
    paths = [str(files / "test.en"), str(files / "test.fr")]
    write_comparison(compare_files([trained[0], files / "test.fr"], paths, BeamSearch(1)), tmp_path / "page")
    recorder.require("evaluating systems", "translating", "testing significance", "drawing charts", "writing the page")


def test_inspection_reports_what_it_measures(trained, recorder):
    options = LookOptions(trained[0], ["The old queen sleeps."], sentences=12, outputs=("--out",))
    inspect_run(options).outputs["--out"]()
    recorder.require(
        "computing attention",
        "fitting patterns",
        "measuring copying",
        "scoring roles",
        "ablating heads",
        "measuring importance",
        "ranking alignment heads",
        "averaging positions and contents",
        "perturbing heads",
        "analyzing the flow",
        "rendering the page",
    )
    counts = Counter(s.description for s in recorder.stages)
    assert counts["fitting patterns"] == 4, "sentences and random tokens, of the model and of its random baseline"
    assert {s.total for s in recorder.stages if s.description == "ablating heads"} == {12}, "one unit for each head"


def test_senses_are_reported(trained, recorder):
    sentences = ["The old queen sleeps.", "My queen gave the horse.", "The queen sold a car."]
    analyze_senses(open_word_reader(trained[0]), "queen", sentences, ["", "", ""])
    recorder.require("embedding sentences", "projecting vectors", "measuring layers")


@pytest.mark.parametrize("method", ["importance", "gates"])
def test_pruning_counts_heads_and_steps(trained, files, recorder, tmp_path, monkeypatch, method):
    monkeypatch.setattr("regard.jobs.prune.GATE_STEPS", 3)
    pairs = list(read_pairs([str(files / "dev.en"), str(files / "dev.fr")], "en", "fr"))[:7]
    list(prune_run(trained[0], tmp_path / "half", pairs, PruneOptions("50%", method, 5)))
    recorder.require("pruning heads", "translating", "fine-tuning", "scoring")
    totals = {s.description: s.total for s in recorder.stages}
    assert (totals["pruning heads"], totals["fine-tuning"]) == (6, 5)
    assert ("learning gates" in totals) == (method == "gates")


def test_conversion_is_reported(trained, recorder, tmp_path):
    export_run(trained[0], "marian", tmp_path / "marian")
    import_folder(tmp_path / "marian", tmp_path / "imported")
    recorder.require("loading tiny", "writing marian", "reading marian", "writing imported")


def test_the_doctor_and_the_estimate_are_reported(tiny, recorder):
    diagnose(tiny())
    estimate_files(tiny("train.steps=5"))
    recorder.require("examining train", "finding duplicates in dev", "examining test", "reading pairs")


def test_workers_count_the_sentences_of_their_chunks(trained, files, recorder):
    texts = [pair.source for pair in read_pairs([str(files / "train.en"), str(files / "train.fr")], "en", "fr")][:70]
    with WorkerPool(trained[0], 2) as pool:
        candidates = pool.candidates(texts, GreedySearch())
    recorder.require("translating")
    assert [s.total for s in recorder.stages] == [70]
    assert [c[0].text for c in candidates] == load(trained[0]).translate(texts, GreedySearch())


@pytest.mark.parametrize("search", [GreedySearch(), BeamSearch(3, nbest=2), SamplingSearch(seed=5)])
def test_blank_lines_are_no_sentences_and_results_are_the_same(trained, search):
    translator, texts = load(trained[0]), ["The old queen sleeps.", " ", "", "My horse.", "Did she sell it?"]
    silent, recorder = translator.candidates(texts, search), Recorder()
    with report_progress_to(recorder):
        assert translator.candidates(texts, search) == silent
    recorder.require("translating")
    assert [s.total for s in recorder.stages] == [3]


def test_nothing_depends_on_whether_progress_is_reported(trained, files):
    pairs = list(read_pairs([str(files / "test.en"), str(files / "test.fr")], "en", "fr"))
    translator, inspected_run = load(trained[0]), open_inspected_run(trained[0])
    corpus = open_corpus(trained[0] / "store", "train", translator.tokenizers)

    def work() -> tuple[object, object, np.ndarray]:
        table = inspect_heads(inspected_run, HeadOptions(sentences=9)).as_table()
        table_of_words = ibm_model1.fit_corpus(corpus, translator.tokenizers.source.vocab_size)
        run = Run(trained[0])
        return evaluate_translator(run, translator, pairs, BeamSearch(2)), table, table_of_words.totals

    silent = work()
    with report_progress_to(Recorder()):
        reported = work()
    assert silent[0] == reported[0] and repr(silent[1]) == repr(reported[1])
    assert np.array_equal(silent[2], reported[2])
