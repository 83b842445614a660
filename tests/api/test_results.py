"""What the functions return: frozen, and able to show itself."""

import dataclasses
import math
from pathlib import Path

import pytest

import regard
from regard.errors import ConfigError
from regard.run import Run
from tests.api.conftest import SMALL


def fields_are_frozen(result: object) -> bool:
    return dataclasses.is_dataclass(result) and result.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_results_are_frozen_and_short_in_a_terminal(folder: Path, tmp_path: Path):
    (tmp_path / "dog.txt").write_text("The dog sings.\nMy dog sleeps.\n", encoding="utf-8")
    results = [
        regard.evaluate("runs/mine", "new.tsv", beam=1),
        regard.compare("runs/mine", on="new.tsv", beam=1),
        regard.doctor("new.tsv"),
        regard.heads("runs/mine", sentences=5),
        regard.senses("runs/mine", "dog", tmp_path / "dog.txt"),
        regard.estimate("pairs.tsv", steps=7),
        regard.look("runs/mine", "a dog", measure=False),
        regard.translate_file("runs/mine", tmp_path / "dog.txt", tmp_path / "dog.fr"),
    ]
    for result in results:
        assert fields_are_frozen(result), result
        assert len(repr(result)) < 3200 and "object at 0x" not in str(result), type(result)
    heads = str(results[3]).split("\n")
    assert len(heads) == 7 and heads[1].startswith("encoder.0.self.0") and "importance" in heads[0]


def test_an_evaluation_shows_every_score_with_its_signature(folder: Path):
    result = regard.evaluate("runs/mine", "new.tsv", beam=1)
    assert fields_are_frozen(result) and result.sentence_scores.exists() and len(result.evaluation.sentences) == 13
    html = result._repr_html_()
    assert all(score.signature.split("|")[0] in html for score in result.scores.values()) and "copied" in html
    assert str(result).count("\n") == len(result.scores) - 1
    score = result.scores["bleu"]
    assert score.signature in score._repr_html_() and f"{score.value:.2f}" in score._repr_html_()


def test_an_evaluation_warns_of_sentences_that_were_trained_on(folder: Path):
    result = regard.evaluate("runs/mine", "pairs.tsv", beam=1)
    assert 0 < result.num_contaminated < 300 and result.describe_contamination() in result._repr_html_()


def test_systems_are_compared_without_writing_into_them(folder: Path, tmp_path: Path):
    (tmp_path / "other.txt").write_text("un\n" * 13, encoding="utf-8")
    before = sorted(folder.rglob("*"))
    comparison = regard.compare("runs/mine", tmp_path / "other.txt", on="new.tsv", beam=1, out=tmp_path / "page")
    assert sorted(folder.rglob("*")) == before and (tmp_path / "page" / "report.html").exists()
    rows = list(comparison.as_table().rows())
    assert {row["system"] for row in rows} == {"mine", "other.txt"} and rows[0]["p_bootstrap"] is None
    assert "against mine" in comparison._repr_html_()


def test_the_doctor_shows_its_findings(folder: Path, tmp_path: Path):
    lines = (folder / "pairs.tsv").read_text(encoding="utf-8").split("\n")[:40]
    (tmp_path / "some.tsv").write_text("\n".join([*lines, "a dog\t", lines[0]]) + "\n", encoding="utf-8")
    diagnosis = regard.doctor(tmp_path / "some.tsv", source="en", target="fr", fix=tmp_path / "clean")
    table = diagnosis.as_table()
    assert "blank" in table["finding"] and diagnosis.pairs_read == 42
    assert "blank" in diagnosis._repr_html_() and str(diagnosis).startswith("train: 42 pairs read")
    assert regard.doctor(next((tmp_path / "clean").iterdir())).pairs_read == diagnosis.pairs_kept
    assert "No findings." in regard.doctor(folder / "new.tsv", source="en", target="fr")._repr_html_()


def test_a_corpus_is_the_same_from_a_file_and_from_memory(tmp_path: Path):
    pairs = list(regard.corpus("reverse", pairs=5, seed=3, out=tmp_path / "r.tsv"))
    lines = (tmp_path / "r.tsv").read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert [line.split("\t")[:2] for line in lines] == [[pair.source, pair.target] for pair in pairs]
    with pytest.raises(ConfigError, match="no built-in corpus 'klingon'; expected one of: english-french"):
        regard.corpus("klingon")
    with pytest.raises(ConfigError, match="at least one pair"):
        regard.corpus("copy", pairs=0)


def test_heads_are_a_table(folder: Path):
    table = regard.heads("runs/mine", sentences=5)
    assert len(table.as_table()) == 6 and "decoder.0.cross.1" in table._repr_html_()


def test_an_inspection_writes_what_is_asked_for(folder: Path, tmp_path: Path):
    head = "decoder.0.cross.0"
    files = {name: tmp_path / f"x.{name}" for name in ("svg", "png", "csv", "npz")}
    inspection = regard.look("runs/mine", "I love dogs.", head=head, measure=False, out=tmp_path / "x.html", **files)
    assert all(path.stat().st_size for path in (tmp_path / "x.html", *files.values()))
    assert "I love dogs." in str(inspection) and "<pre>" in inspection._repr_html_()
    with pytest.raises(ConfigError, match="nothing to inspect"):
        regard.look("runs/mine")


def test_pruning_returns_a_run_that_works(folder: Path, tmp_path: Path):
    result = regard.prune("runs/mine", tmp_path / "half", keep=3, finetune_steps=1)
    assert result.sizes[1].heads == 3 and len(regard.load(result.run).attention("I love dogs.").heads) == 3
    assert "6 → 3" in result._repr_html_() and regard.open_run(tmp_path / "half").finished


def test_a_word_is_followed_through_the_layers(folder: Path, tmp_path: Path):
    (tmp_path / "dog.txt").write_text("The dog sings.\nMy dog sleeps.\nA dog sees a dog.\n", encoding="utf-8")
    analysis = regard.senses("runs/mine", "dog", tmp_path / "dog.txt")
    assert len(analysis.occurrences) == 3 and "<svg" in analysis._repr_html_()
    with pytest.raises(regard.RegardError, match="'cat' occurs in no sentence"):
        regard.senses("runs/mine", "cat", tmp_path / "dog.txt")


def test_an_estimate_has_numbers_and_reasons(folder: Path):
    estimate = regard.estimate("pairs.tsv", steps=100)
    assert estimate.pairs == 288 and estimate.cost.steps == 100 and all(choice.reason for choice in estimate.choices)
    assert any(line.startswith("parameters: ") for line in estimate.lines())


def test_a_benchmark_has_numbers_and_suggestions():
    tiny = {"model.dim": 16, "model.layers": 1, "model.heads": 2, "model.ffn": 32, "train.batch_tokens": 64}
    benchmark = regard.bench(seconds=0.01, settings=tiny)
    assert benchmark.matmul_flops > 0 and len(benchmark.decoding) == 4 and benchmark.suggestions
    assert any(line.startswith("training: ") for line in benchmark.lines())


def test_a_study_ranks_its_trials(folder: Path, tmp_path: Path):
    study = regard.tune(
        "pairs.tsv", over={"model.dropout": [0.0, 0.3]}, each={"steps": 2}, settings=SMALL, out=tmp_path / "study"
    )
    assert fields_are_frozen(study) and study.report.exists() and len(study.trials) == 2
    assert {trial.params["model.dropout"] for trial in study.trials} == {0.0, 0.3}
    assert study.best is None or study.best.value == min(trial.value for trial in study.ranking)
    assert "2 trials" in str(study) and "model.dropout" in study._repr_html_().replace("dropout=", "model.dropout=")
    again = regard.tune(tmp_path / "study")
    assert again.trials == study.trials and regard.write_report(tmp_path / "study") == study.report


def test_files_may_be_a_list(folder: Path):
    assert regard.doctor(["new.tsv"]).pairs_read == 13
    assert regard.estimate(["pairs.tsv"], steps=7).pairs == 288


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: regard.doctor(), "nothing to check"),
        (lambda: regard.compare(on="new.tsv"), "nothing to compare"),
        (lambda: regard.look("runs/mine", Path("nothing.tsv")), "nothing.tsv: no such file"),
        (lambda: regard.RuntimeOptions(workers=-1), "workers=-1: expected 0 or more"),
        (lambda: regard.prune("runs/mine", "runs/x", finetune_steps=-1), "finetune_steps=-1: must be between 0 and"),
    ],
)
def test_calls_that_make_no_sense_are_answered(folder: Path, call, sentence: str):
    with pytest.raises(regard.RegardError, match=sentence):
        call()


def test_one_text_is_no_stream(folder: Path):
    with pytest.raises(TypeError, match="takes lines, as a file or a list of str, got one str"):
        regard.translate_stream("runs/mine", "I love dogs.")


def test_a_run_beside_the_current_folder_is_exported_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder / "runs" / "mine")
    out = regard.export(".", to="ctranslate2")
    assert out.name == "mine-ctranslate2" and out.parent == folder / "runs"


def test_a_run_is_accepted_wherever_its_path_is(folder: Path):
    run = regard.open_run("runs/mine")
    assert regard.look(run, "a dog", measure=False, compare_with=run).sentence is not None
    assert isinstance(regard.load(Run(folder / "runs" / "mine")), regard.TranslationModel)


def test_a_study_needs_something_that_varies(folder: Path):
    with pytest.raises(ConfigError, match="nothing varies"):
        regard.tune("pairs.tsv", each={"steps": 2})


def test_a_file_is_translated_as_a_stream_of_its_lines(folder: Path, tmp_path: Path):
    lines = ["I love dogs.", "", "The queen sings."]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = regard.translate_file("runs/mine", tmp_path / "x.txt", tmp_path / "y.txt")
    texts = (tmp_path / "y.txt").read_text(encoding="utf-8").split("\n")[:-1]
    with (tmp_path / "x.txt").open(encoding="utf-8") as file:
        stream = [candidates[0].text for candidates in regard.translate_stream("runs/mine", file)]
    assert stream == regard.load("runs/mine").translate(lines) and len(texts) == 3
    assert texts == stream and result.num_translated == 2  # placeholders are for documents
    with pytest.raises(ConfigError, match="expected split or refuse"):
        regard.translate_stream("runs/mine", lines, long="cut")


def test_a_run_is_exported_and_imported(folder: Path, tmp_path: Path):
    post_norm = {"model.norm": "post", "model.positions.sinusoid_layout": "halves"}
    run = regard.train("pairs.tsv", out=tmp_path / "post", steps=1, settings={**SMALL, **post_norm})
    imported = regard.import_model(regard.export(run, to="marian"), out=tmp_path / "back")
    pair = ("The old queen sings.", "La vieille reine chante.")
    assert imported.finished and math.isclose(imported.load().score(*pair), run.load().score(*pair), rel_tol=0.01)
