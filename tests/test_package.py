"""The public face: light to import, every name callable, typed for the programs of others."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from tests.api.conftest import SMALL, trained

__all__ = ["trained"]
ROOT = Path(regard.__file__).parent.parent
API = [module.name for module in pkgutil.iter_modules([str(ROOT / "regard" / "api")], "regard.api.")]


def test_importing_regard_imports_nothing_heavy():
    code = (
        "import sys, regard, regard.cli; print([m for m in ('torch', 'numpy', 'altair', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_names_are_listed_and_unknown_ones_refused():
    assert dir(regard) == sorted(regard.__all__) and len(set(regard.__all__)) == len(regard.__all__)
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'trian'"):
        regard.trian  # noqa: B018


def import_every_submodule() -> None:
    for module in pkgutil.walk_packages(regard.__path__, "regard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def calls(out: Path) -> dict[str, Callable[[], object]]:
    """A call of every public name; the current folder has runs/mine, pairs.tsv and new.tsv."""
    post_norm = {**SMALL, "model.norm": "post", "model.positions.sinusoid_layout": "halves"}

    def marian() -> Path:
        run = regard.train("pairs.tsv", out=out / "post", steps=1, settings=post_norm, overwrite=True)
        return regard.export(run, to="marian", out=out / "marian")

    return {
        "__version__": lambda: regard.__version__.split("."),
        "Alarm": lambda: regard.Alarm("text"),
        "ArchitectureComparison": lambda: regard.ArchitectureComparison.as_dict,
        "Benchmark": lambda: regard.Benchmark.lines,
        "BeamSearch": lambda: regard.BeamSearch(3),
        "Comparison": lambda: regard.Comparison.as_table,
        "DemoResult": lambda: regard.DemoResult.__dataclass_fields__,
        "Diagnosis": lambda: regard.Diagnosis.as_table,
        "DocumentResult": lambda: regard.DocumentResult(5),
        "EncoderModel": lambda: regard.EncoderModel.embed,
        "Entity": lambda: regard.Entity("PER", 0, 4, "Alex", 0.5),
        "FileEstimate": lambda: regard.FileEstimate.lines,
        "FileEvaluation": lambda: regard.FileEvaluation.scores,
        "FillCandidate": lambda: regard.FillCandidate("▁dog", "dog", 0.5, "a dog"),
        "Generation": lambda: regard.Generation("text", -0.5, "eos"),
        "GenerationOptions": lambda: regard.GenerationOptions(top_k=3),
        "GreedySearch": lambda: regard.GreedySearch(),
        "HeadTable": lambda: regard.HeadTable.as_table,
        "LiveServer": lambda: regard.LiveServer.wait_for_end,
        "ComparedTexts": lambda: regard.ComparedTexts("a dog", "a cat", 0.5),
        "DecisionInspection": lambda: regard.DecisionInspection.write,
        "LabRun": lambda: regard.LabRun.sentence,
        "LabSession": lambda: regard.lab("attention_weights_sum_to_one"),
        "Index": lambda: refuse(lambda: regard.Index.open("runs/mine"), "no search index"),
        "Inspection": lambda: regard.Inspection.write,
        "Classification": lambda: regard.Classification(("pos",), 0.7, {"neg": 0.3, "pos": 0.7}),
        "ClassificationModel": lambda: regard.ClassificationModel.classify,
        "Note": lambda: regard.Note("text"),
        "Pair": lambda: regard.Pair("a dog", "un chien"),
        "PruneResult": lambda: regard.PruneResult.curve_table,
        "RegardError": lambda: regard.RegardError("text"),
        "ShortlistRecord": lambda: regard.ShortlistRecord.judge,
        "RegardWarning": lambda: regard.RegardWarning("text"),
        "RuntimeOptions": lambda: regard.RuntimeOptions(quantize="int8"),
        "SamplingSearch": lambda: regard.SamplingSearch(0.8),
        "Score": lambda: regard.Score("BLEU", 1.0, 0.5, 1.5, "signature"),
        "Search": lambda: regard.Search.search,
        "SearchEvaluation": lambda: regard.SearchEvaluation.as_table,
        "SearchHit": lambda: regard.SearchHit(1, "d7", 0.5, "title", "text"),
        "SearchResult": lambda: regard.SearchResult.as_table,
        "SenseAnalysis": lambda: regard.SenseAnalysis.as_table,
        "SentenceAttention": lambda: regard.load("runs/mine").attention("a dog"),
        "StudyResult": lambda: regard.StudyResult.as_table,
        "SuiteResult": lambda: regard.SuiteResult.sorted_outcomes,
        "SummaryModel": lambda: regard.SummaryModel.summarize,
        "TaggedText": lambda: regard.TaggedText("Alex", ("Alex",), ("B-PER",), ()),
        "TaskComparison": lambda: regard.TaskComparison.as_dict,
        "TaskFileEvaluation": lambda: regard.TaskFileEvaluation.scores,
        "TrainedRun": lambda: regard.TrainedRun(Path("runs/mine")).config,
        "TrainingFinished": lambda: regard.TrainingFinished.__dataclass_fields__,
        "TrainingInterrupted": lambda: regard.TrainingInterrupted.__dataclass_fields__,
        "TrainingPlan": lambda: regard.TrainingPlan.__dataclass_fields__,
        "TrainingProgress": lambda: regard.TrainingProgress.__dataclass_fields__,
        "TrainingStarted": lambda: regard.TrainingStarted(0, 7, 13),
        "Translation": lambda: regard.Translation("text", 0.5),
        "TranslationModel": lambda: regard.load("runs/mine"),
        "ValidationFinished": lambda: regard.ValidationFinished.__dataclass_fields__,
        "assignments": lambda: inspect_signature(regard.assignments),
        "blank_assignment": lambda: refuse(lambda: regard.blank_assignment("attend", out / "a.py", hints=3), "hints=3"),
        "check_assignment": lambda: inspect_signature(regard.check_assignment),
        "grade_assignments": lambda: inspect_signature(regard.grade_assignments),
        "copy_lab": lambda: regard.copy_lab("attention_weights_sum_to_one", out / "copied_lab.py"),
        "lab": lambda: regard.lab("attention_weights_sum_to_one").header,
        "lab_notebook": lambda: regard.lab_notebook("attention_weights_sum_to_one", out / "lab.ipynb"),
        "list_labs": lambda: regard.list_labs(),
        "new_lab": lambda: regard.new_lab("my_claim", out / "my_claim.py"),
        "run_labs": lambda: inspect_signature(regard.run_labs),
        "build_index": lambda: refuse(
            lambda: regard.build_index("runs/mine", "text.txt", out=out / "idx"), "cannot embed texts"
        ),
        "bench": lambda: regard.bench("runs/mine", seconds=0.01),
        "classify_stream": lambda: refuse(lambda: regard.classify_stream("runs/mine", []), "cannot classify texts"),
        "compare": lambda: regard.compare("runs/mine", on="new.tsv", beam=1),
        "compare_architectures": lambda: inspect_signature(regard.compare_architectures),
        "corpus": lambda: next(regard.corpus("copy", pairs=1)),
        "demo": lambda: inspect_signature(regard.demo),
        "DistilledPairs": lambda: regard.DistilledPairs.__dataclass_fields__,
        "distill": lambda: regard.distill("runs/mine", out=out / "distilled.jsonl"),
        "doctor": lambda: regard.doctor("pairs.tsv"),
        "document_pairs": lambda: refuse(lambda: regard.document_pairs("text.txt"), "no pairs of the kind"),
        "estimate": lambda: regard.estimate("pairs.tsv", steps=7),
        "evaluate": lambda: regard.evaluate("runs/mine", "new.tsv", beam=1),
        "export": lambda: regard.export("runs/mine", to="ctranslate2", out=out / "ct2"),
        "fill": lambda: refuse(lambda: regard.fill("runs/mine", "a [MASK]"), "cannot fill masks"),
        "fill_stream": lambda: refuse(lambda: regard.fill_stream("runs/mine", ["a [MASK]"]), "cannot fill masks"),
        "generate": lambda: refuse(lambda: regard.generate("runs/mine", "a"), "cannot generate text"),
        "generate_stream": lambda: refuse(lambda: regard.generate_stream("runs/mine", ["a"]), "cannot generate text"),
        "heads": lambda: regard.heads("runs/mine", sentences=5),
        "import_model": lambda: regard.import_model(marian(), out=out / "imported"),
        "load": lambda: regard.load("runs/mine"),
        "load_encoder": lambda: refuse(lambda: regard.load_encoder("runs/mine"), "cannot embed texts"),
        "look": lambda: regard.look("runs/mine", "a dog", measure=False),
        "open_run": lambda: regard.open_run("runs/mine"),
        "prune": lambda: regard.prune("runs/mine", out / "half", keep="3", dev="new.tsv", finetune_steps=0),
        "register_activation": lambda: regard.register_activation,
        "register_format": lambda: regard.register_format,
        "register_position_scheme": lambda: regard.register_position_scheme,
        "rouge": lambda: regard.rouge(["a dog"], ["a dog"]),
        "senses": lambda: refuse(lambda: regard.senses("runs/mine", "xyzzy", "new.tsv"), "occurs in no sentence"),
        "settings": lambda: regard.settings(),
        "similar": lambda: refuse(lambda: regard.similar("runs/mine", "a", "b"), "cannot embed texts"),
        "similar_files": lambda: refuse(lambda: regard.similar_files("runs/mine", "new.tsv"), "cannot embed texts"),
        "similar_stream": lambda: refuse(lambda: regard.similar_stream("runs/mine", ["a\tb"]), "cannot embed texts"),
        "summarize_stream": lambda: refuse(lambda: regard.summarize_stream("runs/mine", []), "cannot summarize"),
        "tag_stream": lambda: refuse(lambda: regard.tag_stream("runs/mine", ["a dog"]), "cannot tag words"),
        "train": lambda: regard.train("pairs.tsv", out=out / "x", steps=1, settings=SMALL),
        "training_events": lambda: list(regard.training_events("pairs.tsv", out=out / "y", steps=1, settings=SMALL)),
        "make_shortlist": lambda: regard.make_shortlist("runs/mine"),
        "translate_file": lambda: regard.translate_file("runs/mine", "text.txt", out / "text.fr"),
        "translate_stream": lambda: list(regard.translate_stream("runs/mine", ["a dog"])),
        "tune": lambda: regard.tune(
            "pairs.tsv", over={"model.dropout": [0.1, 0.2]}, each={"steps": 1}, settings=SMALL, out=out / "study"
        ),
        "watch": lambda: regard.watch("runs/mine"),
        "write_report": lambda: regard.write_report("runs/mine"),
    }


def refuse(call: Callable[[], object], sentence: str) -> object:
    """For what needs another kind of run or text, and has tests of its own."""
    with pytest.raises(regard.RegardError, match=sentence) as error:
        call()
    return error


def inspect_signature(function: Callable[..., object]) -> object:
    """For what takes minutes, and has slow tests of its own."""
    import inspect

    return inspect.signature(function)


@pytest.mark.filterwarnings("ignore::regard.RegardWarning")
def test_every_public_name_works_after_every_submodule_was_imported(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import_every_submodule()
    monkeypatch.chdir(trained)
    (trained / "text.txt").write_text("I love dogs.\n", encoding="utf-8")
    table = calls(tmp_path)
    assert sorted(table) == sorted(regard.__all__)
    for name, call in table.items():
        assert call() is not None, name


@pytest.mark.parametrize("name", ["regard", *API])
def test_examples_of_docstrings_run(name: str, trained: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(trained)
    names = {"regard": regard, "model": regard.load("runs/mine") if name == "regard.api.models" else None}
    failures, examples = doctest.testmod(importlib.import_module(name), extraglobs=names)
    assert failures == 0
    minimum = {"regard.api.models": 5, "regard.api.corpora": 3, "regard.api.planning": 2}
    assert examples >= minimum.get(name, 0)  # a docstring that lost its examples would pass in silence


# Large libraries that the types of the public face do not depend on are left out: they take most of the time.
MYPY_CONFIG = "[mypy]\n[mypy-torch.*,altair.*,pydantic.*,scipy.*,rich.*]\nfollow_imports = skip\n"
USER_PROGRAM = """
from pathlib import Path
from typing import assert_type

import regard

run = regard.train("train.en", "train.fr", dev=("dev.en", "dev.fr"), out="runs/ted", minutes=60, progress=True)
assert_type(run, regard.TrainedRun)
model = regard.load(run)
assert_type(model.translate("I love dogs."), str)
assert_type(model.translate(["I love dogs."]), list[str])
assert_type(model.translate("I love dogs.", scores=True), regard.Translation)
assert_type(model.translate(["I love dogs."], scores=True), list[regard.Translation])
assert_type(model.translate("I love dogs.", beam=5, nbest=3, scores=True), list[regard.Translation])
assert_type(model.translate(["I love dogs."], nbest=3), list[list[regard.Translation]])
assert_type(model.score("a", "b"), float)
assert_type(model.score(["a"], ["b"]), list[float])
assert_type(model.attention("I love dogs.").heads, list[str])
assert_type(regard.evaluate(run, Path("test.en"), Path("test.fr")).scores["bleu"], regard.Score)
assert_type(regard.tune("pairs.tsv", over={"model.layers": [2, 4]}).report, Path)
assert_type(regard.__version__, str)
for event in regard.training_events("pairs.tsv", steps=100):
    if isinstance(event, regard.ValidationFinished):
        assert_type(event.result.loss, float)
model.translate(7)  # wrong
regard.train("pairs.tsv", minuts=60)  # wrong
regard.evaluate(run, "test.en", "test.fr").score  # wrong
regard.trian  # wrong
"""


def test_a_program_of_a_user_is_type_checked(tmp_path: Path):
    (tmp_path / "program.py").write_text(USER_PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", tmp_path / "cache"]
    (tmp_path / "mypy.ini").write_text(MYPY_CONFIG, encoding="utf-8")
    options = ["--config-file", "mypy.ini", "--follow-imports", "silent", "program.py"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    checked = subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
    wrong = [n for n, line in enumerate(USER_PROGRAM.split("\n"), start=1) if line.endswith("# wrong")]
    errors = [line for line in checked.stdout.split("\n") if "error:" in line]
    assert sorted({int(line.split(":")[1]) for line in errors}) == wrong, checked.stdout + checked.stderr
