"""What is only true of summaries: files, opponents, the upper bound, and what a user reads of them."""

import json
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.config import Config
from regard.errors import RegardError
from regard.jobs.tasks.opponents import read_opponents, read_stored_pairs
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.training_data import read_notes, read_texts_manifest
from regard.metrics.summaries import NAMES
from regard.progress import report_progress_to
from regard.run import Run
from regard.tasks.summarize.documents import restore_document
from tests.jobs.tasks.summarization.conftest import make_config
from tests.notes import NoteListener

TASKS = ("summarize", "extract")
OPPONENTS = ["first sentence", 'first sentence with "we"', "title", "the 4 most frequent words"]
EMPTY = {"source": [], "target": "two"}
ROW = {"source": ["One thing is here.", "Two things are there."], "target": "two things"}


def evaluate_test(folder: Path):
    run = Run(folder)
    config = run.load_config()
    task = get_task(config.task)
    pairs = task.open_data(run, config).test.pairs()
    return task.evaluate(run, task.load_predictor(folder, "cpu"), pairs, "test")


def test_an_extract_beats_the_first_sentence_and_no_extract_the_oracle(extractor_run: Path):
    evaluation = evaluate_test(extractor_run)
    assert [one.name for one in evaluation.opponents] == OPPONENTS
    lead = evaluation.opponents[0]
    assert evaluation.scores["rouge2"].value > lead.scores["rouge2"].value and lead.tests["rouge2"].p_bootstrap < 0.05
    for name in NAMES:
        assert evaluation.scores[name].value <= evaluation.oracle[name].value + 1e-9
        assert "refs:1-2,best-rouge1" in evaluation.scores[name].signature
    key = next(one for one in evaluation.opponents if "we" in one.name)
    assert key.scores["rouge1"].value == pytest.approx(evaluation.oracle["rouge1"].value)  # as the files are made


def prepare(folder: Path, task: str, *changes: str, **files: Path) -> Run:
    config = make_config(folder, task, *changes)
    config = config.model_copy(update={"data": config.data.model_copy(update={k: (str(v),) for k, v in files.items()})})
    run = Run(folder / f"prepared-{task}")
    run.folder.mkdir()
    get_task(task).write_texts(run, config)
    return run


def write(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("task", TASKS)
def test_what_looks_wrong_is_counted(task: str, summaries: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (summaries / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    dev = json.loads((summaries / "dev.jsonl").read_text(encoding="utf-8").splitlines()[0])
    odd = [{"source": [], "target": "a"}, {"source": ["short"], "target": "a longer one"}, dev]
    train = write(tmp_path / "train.jsonl", *rows, *odd)
    sets = {"dev": summaries / "dev.jsonl", "test": summaries / "test.jsonl"}
    run = prepare(tmp_path, task, train=train, **sets)
    notes = "\n".join(read_texts_manifest(run).notes)
    assert "1 training documents are also in dev or test, and are left out" in notes
    assert "train: 1 documents are empty, and are left out" in notes
    assert "train: 1 summaries are longer than their document (data.drop=longer leaves them out)" in notes
    stored = get_task(task).measure_texts(run, Config()).examples
    assert stored == len(rows) + 1


def test_several_references_of_a_training_document_are_an_example_each(summaries: Path, tmp_path: Path):
    rows = [ROW | {"source": [*ROW["source"], str(n)], "target": ["two things", "one"]} for n in range(13)]
    files = {"train": write(tmp_path / "a.jsonl", *rows), "dev": summaries / "dev.jsonl"}
    files["test"] = files["dev"]
    assert get_task("summarize").measure_texts(prepare(tmp_path, "summarize", **files), Config()).examples == 26
    assert get_task("extract").measure_texts(prepare(tmp_path, "extract", **files), Config()).examples == 13


@pytest.mark.parametrize(
    ("change", "labels"), [("extract.sentences=1", (0, 1, 0)), ("extract.labels=marks", (1, 0, 0))]
)
def test_labels_of_the_file_are_learned_from_only_where_they_are_named(change, labels, tmp_path: Path):
    rows = [ROW | {"source": [*ROW["source"], str(n)], "marks": [1, 0, 0]} for n in range(31)]
    sets = {name: write(tmp_path / f"{name}.jsonl", *rows[n::3]) for n, name in enumerate(("train", "dev", "test"))}
    run = prepare(tmp_path, "extract", change, **sets)
    assert {restore_document(pair).labels for pair in read_stored_pairs(run, "train")} == {labels}


def test_long_documents_are_cut_and_counted(summaries: Path, tmp_path: Path):
    run = tmp_path / "run"
    settings = {"data.max_length": 17, "model.dim": 16, "model.heads": 2, "model.layers": 1, "data.vocab_size": 330}
    files = {name: summaries / f"{name}.jsonl" for name in ("dev", "test")}
    regard.train(summaries / "train.jsonl", task="summarize", out=run, steps=2, settings=settings, **files)
    notes = "\n".join(read_notes(Run(run)))
    assert "train: 251 documents" in notes and "are longer than data.max_length=17, and cut there" in notes
    long = "It rains. " * 50
    said: list[str] = []
    with report_progress_to(NoteListener(said)):
        assert len(list(regard.summarize_stream(run, [long, "It rains.", long]))) == 3
        list(regard.summarize_stream(run, ["It rains.", ""]))
    assert said == ["2 documents are longer than the model reads: the rest is not summarized (data.max_length=17)"]
    only_empty, some = (write(tmp_path / f"{n}.jsonl", *[EMPTY] * 2, *[ROW] * n) for n in (0, 3))
    with pytest.raises(RegardError, match=r"0\.jsonl:1: this document and all others are empty; expected texts"):
        regard.evaluate(run, only_empty)
    with report_progress_to(NoteListener(said)):
        regard.evaluate(run, some)
    assert said[1:] == ["2 of 5 documents are empty, and have an empty summary"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "is empty"),
        ([ROW], {}, "too few to hold out dev"),
        ([ROW | {"target": []}], {}, "has no summary"),
        ([ROW] * 40, {"settings": {"data.drop": ["blank"]}}, "data.drop=longer drops"),
        ([ROW] * 40, {"label": "x"}, None),
        (
            [{"source": [f"one {n}"], "target": f"this is longer than {n}"} for n in range(40)],
            {"settings": {"data.drop": ["longer"]}},
            "train has no document (train: 3",
        ),
        ([{"source": "a b c", "target": "d"}] * 40, {"text": "no"}, "has no column 'no'"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(task, rows, options, message, tmp_path: Path):
    file = write(tmp_path / "a.jsonl", *rows)
    with pytest.raises(RegardError) as error:
        regard.train(file, task=task, out=tmp_path / "run", steps=2, **options)
    assert "\n" not in str(error.value) and (
        message or {"summarize": "--label names", "extract": "has no column 'x'"}[task]
    ) in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", TASKS)
def test_a_summarizer_in_python(task: str, summarizer_run: Path, extractor_run: Path):
    folder = {"summarize": summarizer_run, "extract": extractor_run}[task]
    model = regard.load(folder, task=task)
    text = "It rains in the town. Here we see that the red cat runs. A train has come."
    (line,) = regard.summarize_stream(folder, [text + "\n"])
    assert model.summarize(text) == model.summarize([text, ""])[0] == line.summary and line.text == text
    assert model.summarize([text, ""])[1] == "" and "SummaryModel" in repr(model)
    for wrong in (7, [7]):
        with pytest.raises(TypeError):
            model.summarize(wrong)
    with pytest.raises(TypeError, match="got one str"):
        regard.summarize_stream(folder, text)
    if task == "extract":
        assert model.summarize(text, sentences=2) in text.replace("town. Here", "town. Here") or "train" in text
        with pytest.raises(RegardError, match="an extract has one sentence at least"):
            model.summarize(text, sentences=0)
    else:
        with pytest.raises(RegardError, match="decides itself how long they are"):
            model.summarize(text, sentences=2)


def test_the_command_prints_one_line_for_each(extractor_run: Path, tmp_path: Path, capfd):
    lines = tmp_path / "texts.txt"
    lines.write_text(
        "It rains in the town. Here we see that the red cat runs.\n\nA train has come.\n", encoding="utf-8"
    )
    outputs = []
    for options in ([], ["--json"], ["--sentences", "2"]):
        with pytest.raises(SystemExit) as end:
            main(["summarize", str(extractor_run), str(lines), *options])
        assert end.value.code == 0
        outputs.append(capfd.readouterr().out.splitlines())
    assert outputs[0] == ["Here we see that the red cat runs.", "", "A train has come."]
    assert [json.loads(line)["summary"] for line in outputs[1]] == outputs[0]
    assert outputs[2][0].startswith("It rains in the town. Here")


def test_runs_and_files_of_summaries_are_compared(extractor_run: Path, summaries: Path, tmp_path: Path):
    rows = [json.loads(line) for line in (summaries / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    leads = tmp_path / "leads.txt"
    leads.write_text("".join(f"{row['source'][0]}\n" for row in rows), encoding="utf-8")
    comparison = regard.compare(extractor_run, leads, on=summaries / "test.jsonl", out=tmp_path / "page")
    assert comparison.best.name == "extract" and comparison.tests["rouge2"]["leads.txt"].p_bootstrap < 0.05
    evaluation = regard.evaluate(extractor_run, summaries / "test.jsonl")
    assert evaluation.scores["rouge2"].value == pytest.approx(comparison.baseline.scores["rouge2"].value)
    stored = read_opponents(Run(extractor_run), "test").answers["first sentence"]
    assert [text for (text,) in stored] == [row["source"][0] for row in rows]
    leads.write_text("one\n", encoding="utf-8")
    with pytest.raises(RegardError, match="has 1 predictions, but the test set has 29 documents"):
        regard.compare(extractor_run, leads, on=summaries / "test.jsonl")


def test_both_kinds_of_summaries_are_compared(extractor_run: Path, summarizer_run: Path, summaries: Path):
    comparison = regard.compare(summarizer_run, extractor_run, on=summaries / "test.jsonl")
    assert comparison.best.name == "extract" and list(comparison.tests["rouge2"]) == ["extract"]


def test_other_commands_name_the_one_that_fits(summarizer_run: Path, extractor_run: Path, translator_run: Path):
    with pytest.raises(RegardError, match="cannot summarize documents; use it with `regard translate"):
        regard.summarize_stream(translator_run, [])
    for folder in (summarizer_run, extractor_run):
        with pytest.raises(RegardError, match="cannot translate; use it with `regard summarize"):
            list(regard.translate_stream(folder, ["a"]))


@pytest.mark.corpora
def test_opponents_have_their_known_scores_on_scitldr(corpora: Path):
    from regard.jobs.tasks.summarization import evaluation, prepare
    from tests.jobs.tasks.summarization.conftest import make_config

    config = make_config(Path(), "extract")
    train, test = (
        list(prepare.read_files([str(corpora / "scitldr" / f"{name}.jsonl")], config)) for name in ("train", "test")
    )
    scoring = evaluation.SummaryScoring.of(test, "", "")
    answers = evaluation.predict_opponents(train, test, scoring.words).answers
    scores = {
        name: [round(one.value, 1) for one in scoring.score(scoring.measure([text for (text,) in texts])).values()][:3]
        for name, texts in answers.items()
    }
    assert scores["first sentence"] == [31.3, 11.4, 24.1] and scores["title"] == [40.4, 20.3, 33.7]
    assert scores['first sentence with "we"'] == [41.1, 19.6, 33.2]
    assert scores["the 20 most frequent words"][:2] == [35.0, 0.2]
