"""The fastest engine that can do what is asked, with a reason where it is not the fastest that there is."""

import ctypes
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import regard
from regard.decode import BeamSearch, GreedySearch, SamplingSearch
from regard.errors import ConfigError, DataError, RegardError, RunError
from regard.jobs.evaluate import evaluate_files, read_set_scores
from regard.jobs.shortlist.make import make_shortlist
from regard.jobs.shortlist.record import (
    MAX_SHARE,
    ShortlistRecord,
    ShortlistTrial,
    decide,
    load_shortlist,
    read_record,
    save_record,
)
from regard.jobs.train import fit as job
from regard.jobs.translate import engine_choice
from regard.jobs.translate.engine import PROVENANCE_FILE, open_engine
from regard.jobs.translate.engine_choice import EXACT, open_chosen
from regard.jobs.translate.worker_pool import RuntimeOptions
from regard.model import weights
from regard.run import Run
from regard.runtime.native.library import load_library
from regard.tasks.translate.translator import Translator

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*pkg_resources:UserWarning")

TEXTS = ["The old queen saw the horses.", "I love dogs.", ""]


@pytest.fixture(autouse=True)
def no_native_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without a C++ compiler, unless a test takes native code."""
    if "native_library" not in request.fixturenames:
        monkeypatch.setattr(engine_choice, "load_library", lambda: None)


@pytest.fixture
def native_library() -> ctypes.CDLL:
    if (library := load_library()) is None:
        pytest.skip("native code was not compiled; `python -m regard.runtime.native.build` does that")
    return library


def train(folder: Path, config) -> Run:
    for _ in job.train_run(folder, config, False, lambda: False):
        pass
    return Run(folder)


@pytest.fixture
def run(tmp_path: Path, tiny) -> Run:
    return train(tmp_path / "run", tiny("train.steps=3"))


def chosen(run: Run, search=None, **options: object) -> engine_choice.ChosenEngine:
    with open_chosen(run.folder, RuntimeOptions(**options), search) as opened:
        assert len(opened.backend.candidates(TEXTS, search)) == len(TEXTS)
        return opened.choice


def test_native_code_is_taken_where_it_was_compiled(run: Run, native_library):
    fastest = chosen(run)
    assert (fastest.name, fastest.quantize, fastest.reasons) == ("native", "int8", ())
    assert fastest.describe().startswith("native code of Regard") and "by native" in fastest.signature
    assert chosen(run, GreedySearch(), workers=2).name == "native"
    sampling = chosen(run, SamplingSearch(seed=3))
    assert sampling.name == "torch" and "native code has no SamplingSearch" in sampling.describe()
    make_shortlist(run.folder)
    assert chosen(run, shortlist="on").name == "ctranslate2"
    with pytest.raises(ConfigError, match="--engine native --shortlist on"):
        chosen(run, engine="native", shortlist="on")


def test_norms_of_queries_and_keys_are_left_to_torch(tmp_path: Path, tiny, native_library):
    run = train(tmp_path / "normed", tiny("train.steps=2", "model.qk_norm=true"))
    choice = chosen(run)
    assert choice.name == "torch" and "it has not norms of queries and keys" in choice.describe()
    with pytest.raises(ConfigError, match=r"norms of queries and keys\. Leave out --engine native"):
        chosen(run, engine="native")


def test_the_fastest_engine_is_taken_and_what_it_cannot_do_is_done_by_torch(run: Run, monkeypatch):
    fastest = chosen(run)
    reason = "native code was not compiled for this machine"
    assert (fastest.name, fastest.quantize, fastest.reasons) == ("ctranslate2", "int8", (reason,))
    assert "CTranslate2 4" in fastest.describe() and "int8" in fastest.describe()
    sampling = chosen(run, SamplingSearch(seed=3))
    assert sampling.name == "torch" and "CTranslate2 has no SamplingSearch" in sampling.describe()
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None)
    missing = chosen(run, GreedySearch())
    assert (missing.name, missing.quantize) == ("torch", "int8")
    assert missing.reasons == (reason, "CTranslate2 is not installed")


def test_torch_alone_means_float32_and_says_nothing_in_a_signature(run: Run):
    plain = chosen(run, engine="torch")
    assert (plain.name, plain.quantize, plain.reasons, plain.signature) == ("torch", "none", (), "")
    assert chosen(run, engine="torch", quantize="int8").signature.endswith(", int8")
    assert "by ctranslate2" in chosen(run, quantize="none").signature


def test_a_model_that_the_engine_does_not_have_is_run_by_torch(tmp_path: Path, tiny):
    run = train(tmp_path / "argmax", tiny("train.steps=2", "model.attention=argmax"))
    choice = chosen(run)
    assert choice.name == "torch" and "CTranslate2 supports only softmax" in choice.describe()
    with pytest.raises(RegardError, match="supports only softmax"):
        chosen(run, engine="ctranslate2")


def test_names_that_do_not_exist_are_refused(run: Run):
    for options in ({"engine": "marian"}, {"shortlist": "maybe"}, {"quantize": "int4"}):
        (name, value), *_ = options.items()
        with pytest.raises(ConfigError, match=f"--{name} {value}: expected one of"):
            chosen(run, **options)


def test_a_conversion_of_other_weights_is_never_used(run: Run):
    with open_chosen(run.folder, RuntimeOptions(quantize="none")) as opened:
        before = opened.backend.candidates(TEXTS, GreedySearch())
    provenance = run.ctranslate2_model("none") / PROVENANCE_FILE
    first = json.loads(provenance.read_text())
    open_engine(run.folder, "none", 1)
    assert json.loads(provenance.read_text()) == first  # nothing has changed, so it stays
    tensors = {name: tensor * 1.7 for name, tensor in weights.read(run.best_weights()).items()}
    weights.write(tensors, run.best_weights())
    run.record_checksums(run.best_weights())
    after = open_engine(run.folder, "none", 1).candidates(TEXTS, GreedySearch())
    assert json.loads(provenance.read_text())["checksum"] != first["checksum"]
    with open_chosen(run.folder, EXACT) as opened:
        assert [one[0].text for one in after] == [
            one[0].text for one in opened.backend.candidates(TEXTS, GreedySearch())
        ]
    assert [one[0].score for one in after] != [one[0].score for one in before]


def test_scores_name_another_engine_and_keep_their_loss(run: Run, files: Path):
    pairs = [str(files / "test.en"), str(files / "test.fr")]
    exact = evaluate_files(run.folder, pairs, GreedySearch())
    other = evaluate_files(run.folder, pairs, GreedySearch(), runtime=RuntimeOptions())
    assert "ctranslate2" not in str(exact.as_dict())
    for name in ("bleu", "chrf", "ter", "rouge"):
        assert other.scores[name].signature.startswith(exact.scores[name].signature)
        assert "by ctranslate2 4" in other.scores[name].signature and "int8" in other.scores[name].signature
    assert other.evaluation.loss == exact.evaluation.loss
    assert other.scores["accuracy"] == exact.scores["accuracy"]
    assert "by ctranslate2" in read_set_scores(run, "test").scores["bleu"].signature


def test_a_shortlist_is_made_tried_and_used_where_it_is_asked_for(run: Run, files: Path):
    with pytest.raises(RunError, match="has no shortlist; make one with `regard shortlist"):
        chosen(run, shortlist="on")
    record = make_shortlist(run.folder)
    assert record == read_record(run)
    assert {trial.search for trial in record.trials} == {"greedy", "beam"}
    assert 0 < record.mean_tokens <= record.vocab_size
    for options in ({}, {"engine": "torch"}, {"engine": "torch", "quantize": "int8"}):
        choice = chosen(run, GreedySearch(), shortlist="on", **options)
        assert choice.uses_shortlist and choice.signature.endswith(", shortlist")
    assert (run.ctranslate2_model("int8") / "vmap.txt").exists()
    assert not chosen(run, shortlist="off").uses_shortlist
    assert make_shortlist(run.folder, [str(files / "train.en"), str(files / "train.fr")]).trials


def test_a_shortlist_is_used_by_default_only_where_it_changes_next_to_nothing(run: Run):
    make_shortlist(run.folder)
    record = read_record(run)
    good = ShortlistTrial("ctranslate2", "int8", "greedy", 97, 0.995, -0.05, 1.2)
    record = replace(record, trials=(good,), covered=0.991, mean_tokens=MAX_SHARE * record.vocab_size)
    cases: list[tuple[ShortlistRecord, bool, str]] = [
        (record, True, "99.5% of 97 translations stay, BLEU -0.05"),
        (replace(record, trials=(replace(good, unchanged=0.989),)), False, "98.9% of 97"),
        (replace(record, trials=(replace(good, bleu_change=0.11),)), False, r"\+0.11"),
        (replace(record, trials=(replace(good, search="beam"),)), False, "not tried with this engine"),
        (replace(record, covered=0.98), False, "98.0% of the translations stay where sentences come one at a time"),
        (replace(record, mean_tokens=0.9 * record.vocab_size), False, "90% of the vocabulary"),
        (replace(record, weights="other"), False, "other weights"),
    ]
    for case, is_used, reason in cases:
        save_record(run, case)
        decision = decide(run, "auto", "ctranslate2", "int8", GreedySearch())
        assert decision.is_used == is_used
        assert re.search(reason, decision.reason)
    save_record(run, record)
    assert not decide(run, "auto", "ctranslate2", "none", GreedySearch()).is_used  # float32 is exact
    choice = chosen(run, GreedySearch())
    assert choice.uses_shortlist and "shortlist: 99.5% of 97" in choice.describe()
    assert not chosen(run, BeamSearch()).uses_shortlist


def test_a_shortlist_that_was_changed_is_refused(run: Run):
    make_shortlist(run.folder)
    translator = regard.load(run.folder, engine="torch").translator
    raw = run.shortlist.read_bytes()
    run.shortlist.write_bytes(raw[:-4] + b"\x7f\x7f\x7f\x7f")
    with pytest.raises(RunError, match=r"shortlist\.safetensors: damaged: its checksum"):
        load_shortlist(run, translator.tokenizers)
    run.record_checksums(run.shortlist)
    with pytest.raises(DataError, match="damaged"):
        load_shortlist(run, translator.tokenizers)


def test_what_an_engine_cannot_do_is_done_by_torch_in_python(run: Run):
    model = regard.load(run.folder)
    assert model.engine.startswith("CTranslate2")
    assert not isinstance(model._backend, Translator)
    sampled = model.translate(TEXTS, search=regard.SamplingSearch(seed=5))
    assert sampled == regard.load(run.folder, engine="torch").translate(TEXTS, search=regard.SamplingSearch(seed=5))
    assert model.score("I love dogs.", "J'adore les chiens.") < 0
    assert model.translator.model.training is False
    with pytest.raises(ConfigError, match="expected one of"):
        regard.load(run.folder, engine="marian")


def test_training_with_alignments_makes_a_shortlist_of_a_large_vocabulary(tmp_path: Path, tiny, monkeypatch):
    config = tiny("train.steps=2", "train.guided_alignment=0.3")
    assert not train(tmp_path / "small", config).shortlist.exists()
    monkeypatch.setattr("regard.jobs.tasks.translation.task.MIN_SHORTLIST_VOCABULARY", 50)
    events = list(job.train_run(tmp_path / "large", config, False, lambda: False))
    assert Run(tmp_path / "large").shortlist_record.exists()
    notes = [event.text for event in events if isinstance(event, regard.Note)]
    assert sum(note.startswith("shortlist, ") for note in notes) == 2
    assert not train(tmp_path / "unaligned", tiny("train.steps=2", "train.guided_alignment=0")).shortlist.exists()
