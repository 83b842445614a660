"""Embedding as a whole: it learns, resumes bit for bit, is judged by retrieval or similarities, refuses nonsense."""

import csv
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError, DataError, RegardError
from regard.formats.related import RelatedTexts
from regard.jobs.load import load_encoder
from regard.jobs.tasks.embedding.opponents import STATIC_VECTORS, read_opponent_values, read_training_texts
from regard.jobs.tasks.embedding.prepare import find_maximum, split_halves
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.events import Note
from regard.jobs.train.fit import resume_run
from regard.metrics.vectors import rank
from regard.model import weights
from regard.run import Run
from regard.tasks.embed.objectives import InBatchSoftmax, SimilarityRanking
from regard.training import log
from tests.jobs.tasks.embedding.conftest import make_config, train

TASK = get_task("embed")
FEW = ("train.steps=4", "train.validate_every=2", "train.save_every=2")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TASK), "write_report", lambda *arguments: None)


def notes_of(events: list) -> str:
    return " | ".join(event.text for event in events if isinstance(event, Note))


def prepare_texts(folder: Path, config: Config) -> Run:
    folder.mkdir()
    TASK.write_texts(Run(folder), config)
    return Run(folder)


def test_texts_find_their_positives_better_than_bags_of_words(embedder_run: Path):
    run = Run(embedder_run)
    scores = json.loads(run.scores("test").read_text(encoding="utf-8"))
    assert scores["scores"]["mrr"]["value"] > 70 and scores["examples"] == 29
    opponents = {name: one["mrr"] for name, one in scores["opponents"].items()}
    assert list(opponents) == ["words in common", "TF-IDF cosine, known words only", "TF-IDF cosine", STATIC_VECTORS]
    assert all(one["value"] < scores["scores"]["mrr"]["value"] and "p_bootstrap" in one for one in opponents.values())
    assert {len(values) for values in read_opponent_values(run, "dev").values()} == {31}
    assert run.read_json(run.opponents).keys() == {"dev", "test"}
    texts = [
        text for line in (run.folder.parents[1] / "train.tsv").read_text().splitlines() for text in line.split("\t")
    ]
    assert sorted(read_training_texts(run)) == sorted(texts)
    validations = log.read_validations(run.log)
    assert {one.score.name for one in validations} == {"MRR"} and run.read_best().metric == "mrr"
    assert validations[-1].loss < TASK.baseline_loss(run.load_config(), TASK.open_data(run, run.load_config()))
    assert validations[-1].shuffled_input_loss > 2 * validations[-1].loss
    assert TASK.count_stored(run, "test", "mrr").value == pytest.approx(scores["scores"]["mrr"]["value"])
    assert TASK.count_stored(run, "test", "loss") is None and TASK.count_stored(run, "other", "mrr") is None
    assert (embedder_run / "charts" / "recall.svg").exists() and "recall@10" in run.report.read_text(encoding="utf-8")


def test_the_objectives_and_the_order_of_batches_are_those_of_the_settings(embedder_run: Path):
    config = Run(embedder_run).load_config()
    data = TASK.open_data(Run(embedder_run), config)
    changed = settings.override(config, ["embed.temperature=0.7", "embed.both_directions=true", "train.seed=7"])
    for one, objectives in (
        (config, (InBatchSoftmax(), SimilarityRanking())),
        (changed, (InBatchSoftmax(0.7, both_directions=True), SimilarityRanking(0.7))),
    ):
        module = TASK.build_loss(TASK.build_model(one, data), one, data, padding_free=False)
        assert (module.pairs, module.similarities) == objectives
    orders = [next(TASK.build_batches(one, data).plan_epoch(0)).tolist() for one in (config, changed)]
    assert orders[0] != orders[1]


def test_the_baseline_is_the_logarithm_of_the_rows(embedder_run: Path):
    config = Run(embedder_run).load_config()
    data = TASK.open_data(Run(embedder_run), config)
    expected = (24 * math.log(24) + 7 * math.log(7)) / 31  # 31 dev pairs in batches of at most 24
    assert TASK.baseline_loss(config, data) == pytest.approx(expected, abs=1e-6)


def test_five_steps_and_five_are_ten(related: Path, tmp_path: Path, undrawn: None):
    changes = ("train.validate_every=5", "train.save_every=5", "train.schedule=constant", "model.dropout=0.2")
    for name, steps in (("whole", 10), ("parts", 5)):
        train(tmp_path / name, make_config(related, f"train.steps={steps}", *changes))
    list(resume_run(tmp_path / "parts", {"train.steps": 10}, lambda: False))
    whole, parts = (weights.read(Run(tmp_path / name).weights(10)) for name in ("whole", "parts"))
    assert whole.keys() == parts.keys() and all(torch.equal(whole[name], parts[name]) for name in whole)
    assert Run(tmp_path / "whole").read_best() == Run(tmp_path / "parts").read_best()


def test_pairs_with_similarities_are_judged_by_their_order(related: Path, tmp_path: Path):
    train(tmp_path / "run", make_config(related, "train.steps=40", "train.learning_rate=0.005", suffix="csv"))
    run = Run(tmp_path / "run")
    scores = json.loads(run.scores("test").read_text(encoding="utf-8"))
    assert list(scores["scores"]) == ["spearman", "pearson"] and scores["scores"]["spearman"]["value"] > 50
    assert run.read_best().metric == "spearman" and log.read_validations(run.log)[0].score.name == "Spearman"
    rows = run.example_scores("test").read_text(encoding="utf-8").splitlines()
    assert rows[0].split("\t") == ["text", "text_pair", "similarity", "cosine"] and len(rows) == 30
    counted = TASK.count_stored(run, "test", "spearman")
    assert counted.value == pytest.approx(scores["scores"]["spearman"]["value"], abs=0.1)  # of rounded cosines
    assert (tmp_path / "run" / "charts" / "cosines.svg").exists()
    model = load_encoder(tmp_path / "run", "cpu")
    cells = rows[7].split("\t")
    assert model.similarities([(cells[0], cells[1])])[0] == pytest.approx(float(cells[3]), abs=1e-5)


def test_single_texts_are_their_own_positives_and_halves_judge_them(related: Path, tmp_path: Path, undrawn: None):
    events = train(tmp_path / "run", make_config(related, *FEW, "model.dropout=0.2", suffix="txt", held_out=True))
    notes = notes_of(events)
    assert "train has single texts" in notes and "the first half of each must find its second half" in notes
    run = Run(tmp_path / "run")
    pairs = TASK.open_data(run, run.load_config()).dev.pairs()
    first, second = pairs[0].source.split("\x1e")
    assert abs(len(first.split()) - len(second.split())) <= 1 and run.read_best().metric == "mrr"
    with pytest.raises(ConfigError, match=r"model\.dropout=0: single texts are learned from by two views of each"):
        train(tmp_path / "other", make_config(related, "model.dropout=0", suffix="txt", held_out=True))


def test_hard_negatives_are_further_columns(related: Path, tmp_path: Path, undrawn: None):
    lines = (related / "train.tsv").read_text().splitlines()
    rows = [f"{line}\t{other.split(chr(9))[1]}\n" for line, other in zip(lines, lines[1:] + lines[:1], strict=True)]
    (tmp_path / "train.tsv").write_text("".join(rows))
    train(tmp_path / "run", make_config(tmp_path, *FEW, "embed.both_directions=true", held_out=True))
    config = Run(tmp_path / "run").load_config()
    batches = TASK.build_batches(config, TASK.open_data(Run(tmp_path / "run"), config))
    batch = batches.make_batch(next(batches.plan_epoch(0)), 0, 0)
    assert len(batch.ids) == 3 * batch.num_targets == 3 * 24


def test_what_the_user_should_know_is_said(related: Path, tmp_path: Path, undrawn: None):
    dev = (related / "dev.tsv").read_text()
    swapped = ("\t".join(reversed(line.split("\t"))) + "\n" for line in dev.upper().splitlines())
    (tmp_path / "train.tsv").write_text("".join([(related / "train.tsv").read_text(), *swapped]))
    for name in ("dev", "test"):
        shutil.copy(related / f"{name}.tsv", tmp_path)
    changes = (*FEW, "train.accumulate_batches=3", "train.batch_tokens=200", "model.dropout=0.01")
    notes = notes_of(train(tmp_path / "run", make_config(tmp_path, *changes)))
    assert "31 training pairs are also in dev or test, and are left out" in notes
    assert len(read_stored_pairs(Run(tmp_path / "run"), "train")) == 251
    assert "two views" not in notes
    kept = prepare_texts(tmp_path / "kept", make_config(tmp_path, 'data.keep=["overlap"]'))
    assert len(read_stored_pairs(kept, "train")) == 282
    assert "train.accumulate_batches=3 adds no negatives" in notes and "raise train.batch_tokens (now 200)" in notes


@pytest.mark.filterwarnings("ignore::regard.RegardWarning")  # it has hardly begun
def test_an_encoder_of_another_run_is_fine_tuned(embedder_run: Path, related: Path, tmp_path: Path, undrawn: None):
    sets = {name: related / f"{name}.csv" for name in ("dev", "test")}
    options = {"task": "embed", "init_from": embedder_run, "steps": 2, "settings": {"train.validate_every": 1}}
    run = regard.train(
        related / "train.csv", **sets, **options, out=tmp_path / "run", text="1", text_pair="2", label="3"
    )
    assert run.config.embed.similarity == "3" and run.config.train.metric == "spearman"
    assert run.config.train.label_smoothing == 0 and run.config.train.output_lr_factor == 1
    assert isinstance(run.load(), regard.EncoderModel) and run.load().embed("a").shape == (32,)


def test_regard_load_gives_vectors_and_similarities(embedder_run: Path):
    model = regard.load(embedder_run)
    texts, others = (
        ["the red cat runs", "the blue dog sings"],
        ["some cat that is red races", "some dog that is blue hums"],
    )
    vectors = model.embed([*texts, *others])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert model.similar(texts, others) == pytest.approx([float(vectors[i] @ vectors[2 + i]) for i in (0, 1)], abs=1e-6)
    assert model.similar(texts[0], others) == pytest.approx((vectors[0] @ vectors[2:].T).tolist(), abs=1e-6)
    one = model.similar(texts[0], others[0])
    assert isinstance(one, float) and one == pytest.approx(regard.similar(embedder_run, texts[0], others[0]), abs=1e-6)
    assert regard.load_encoder(embedder_run).embed("a").tolist() == model.embed("a").tolist()
    attention = model.attention("the red cat")
    assert attention["encoder.0.self.0"].shape == (len(attention.source_tokens),) * 2
    for call in (lambda: model.similar(texts, others[:1]), lambda: model.similar(7, others)):
        with pytest.raises(TypeError, match="similar"):
            call()
    with pytest.raises(RegardError, match=r"\(--task embed\), and cannot classify"):
        regard.load(embedder_run, task="classify")


def read_cosines(folder: Path) -> list[dict]:
    """The rows of pairs with similarities, which were evaluated last."""
    path = max(folder.glob("scores/*.examples.tsv"), key=lambda path: path.stat().st_mtime_ns)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [{**row, "similarity": float(row["similarity"]), "cosine": float(row["cosine"])} for row in rows]


def test_files_are_evaluated_beside_bags_of_words(embedder_run: Path, related: Path, tmp_path: Path):
    copy = shutil.copytree(embedder_run, tmp_path / "run")
    stored = json.loads(Run(copy).scores("test").read_text(encoding="utf-8"))
    result = regard.evaluate(copy, related / "test.tsv", task="embed")
    assert result.scores["mrr"].value == pytest.approx(stored["scores"]["mrr"]["value"])
    assert result.as_dict()["opponents"] == stored["opponents"]
    ranks = [row["rank"] for row in result.mistakes.rows()]
    assert ranks == sorted(ranks, reverse=True) and all(rank > 1 for rank in ranks)
    with pytest.raises(RegardError, match=r"one\.tsv:1: is the only pair; expected several"):
        (tmp_path / "one.tsv").write_text("a b\tc d\n")
        regard.evaluate(copy, tmp_path / "one.tsv")
    with pytest.raises(RegardError, match=r"same\.tsv:1: this pair and all others have the same second text; expected"):
        (tmp_path / "same.tsv").write_text("a b\tc d\ne f\tc d\n")
        regard.evaluate(copy, tmp_path / "same.tsv")
    with pytest.raises(RegardError, match=r"flat\.csv:1: this pair and all others have the similarity 1; expected"):
        (tmp_path / "flat.csv").write_text("a b,c d,1\na,b,1\ne,f,1\n")
        regard.evaluate(copy, tmp_path / "flat.csv")
    with pytest.raises(RegardError, match=r"low\.csv:2: the similarity is -1; expected 0 to 100"):
        (tmp_path / "low.csv").write_text("a b,c d,1\na,b,-1\ne,f,2\n")
        regard.evaluate(copy, tmp_path / "low.csv")
    graded = regard.evaluate(copy, related / "test.csv")
    ranks = [[row[name] for row in read_cosines(copy)] for name in ("similarity", "cosine")]
    distances = dict(zip((row["text"] for row in read_cosines(copy)), abs(np.subtract(*map(rank, ranks))), strict=True))
    worst = [distances[row["text"]] for row in graded.mistakes.rows()]
    assert worst == sorted(worst, reverse=True) and worst[0] == max(distances.values())
    assert "Spearman" in graded.describe_verdict() and len(list(graded.mistakes.rows())) == 20
    with pytest.raises(RegardError, match=r"\(--task embed\), and cannot tag"):
        regard.evaluate(copy, related / "test.csv", task="tag")


def test_runs_and_files_of_similarities_are_compared(embedder_run: Path, related: Path, tmp_path: Path):
    rows = [line.rsplit(",", 1)[1] for line in (related / "test.csv").read_text().splitlines()]
    (tmp_path / "gold.txt").write_text("\n".join(rows) + "\n")
    out = tmp_path / "page"
    comparison = regard.compare(tmp_path / "gold.txt", embedder_run, on=related / "test.csv", task="embed", out=out)
    assert comparison.best.name == "gold.txt" and comparison.best.scores["spearman"].value == pytest.approx(100)
    test = comparison.tests["spearman"]["encoder"]
    model = comparison.systems[1].scores["spearman"].value
    assert test.difference == pytest.approx(model - 100) and test.verdict == "significant by both tests"
    assert "Errors" not in (out / "report.html").read_text(encoding="utf-8")
    assert not comparison.has_errors
    found = regard.compare(embedder_run, on=related / "test.tsv", task="embed")
    assert found.decisive == "mrr" and found.has_errors and {gold for (gold,) in found.gold} == {"1"}
    (tmp_path / "gold.txt").write_text("1\n")
    with pytest.raises(RegardError, match="has 1 similarities for 29 pairs; expected one for each"):
        regard.compare(tmp_path / "gold.txt", on=related / "test.csv", task="embed")
    with pytest.raises(RegardError, match=r"gold\.txt: is a file; the pairs have no similarities"):
        regard.compare(tmp_path / "gold.txt", on=related / "test.tsv", task="embed")


@pytest.mark.parametrize(
    ("train_text", "changes", "message"),
    [
        ("a b\tc d\n", (), r"train has 1 pair; a text is compared with others: expected 2 at least"),
        ("a b\tc d\nc d\te\n", (), "1 group of texts is too few to hold out dev"),
        ("a\tb\nc\td\n", ("data.dev={dev}",), None),
        ("a\tb\n", ("data.dev={dev}",), r"train has 1 pair; a text is compared with others: expected 2 at least"),
        ("a\tb\n", ("data.dev={short}",), r"train has 1 pair"),
        ("a\tb\nc\td\n", ("data.dev={short}",), r"dev has 1 pair; a text is compared with others"),
        ("a\tb\t7\nc\td\t8\n", ("embed.max_similarity=5",), r"train\.tsv:1: the similarity is 7; expected 0 to 5"),
        ("a\tb\t7\nc\td\t101\n", (), r"train\.tsv:2: the similarity is 101; expected 0 to 100; set embed"),
        ("a\tb\t7\nc\td\t101\n", ("embed.max_similarity=200",), r"embed\.max_similarity=200.*100"),
        ("a\tb\t-1\nc\td\t8\n", (), r"train\.tsv:1: the similarity is -1; expected 0 to 10"),
        ("a\tb\t3\nc\td\t4\n", ("data.dev={wide}",), r"wide\.tsv:3: the similarity is 7; expected 0 to 5"),
        ("a\tb\t3\nc\td\t4\n", ("data.dev={dev}",), r"dev\.tsv:1: has no similarity, as the training pairs have"),
        ("a\tb\te\nc\td\tf\n", ("data.train={both}",), r"short\.tsv:1: has 2 texts in a row, but .*train\.tsv:1 has 3"),
        ("a\tb\nc\tb\n", ("data.dev={dev}",), r"train\.tsv:1: this pair and all others have the same second text"),
        ("a\tb\t3\nc\td\t3\n", ("data.dev={wide}",), r"train\.tsv:1: this pair and all others have the similarity 3"),
        ("a\tb\nc\td\n", ("train.rdrop=1",), r"train\.rdrop=1: vectors have no classes"),
        ("a\tb\nc\td\n", ("train.label_smoothing=0.2",), r"train\.label_smoothing=0\.2: vectors have no classes"),
        ("a\tb\nc\td\n", ('data.drop=["duplicate"]',), r"of pairs of texts, only those that dev or test have"),
        (
            "a\tb\nc\td\n",
            ("train.metric=spearman", "data.dev={dev}"),
            r"train\.metric=spearman: dev has no similarities",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(
    related: Path, tmp_path: Path, train_text: str, changes: tuple[str, ...], message: str | None, undrawn: None
):
    (tmp_path / "train.tsv").write_text(train_text)
    (tmp_path / "short.tsv").write_text("x\ty\n")
    (tmp_path / "wide.tsv").write_text("m\tn\t1\no\tp\t2\nq\tr\t7\n")
    files = {"dev": related / "dev.tsv", "short": tmp_path / "short.tsv", "wide": tmp_path / "wide.tsv"}
    lists = {name: f'["{path}"]' for name, path in files.items()}
    lists["both"] = f'["{tmp_path / "train.tsv"}", "{tmp_path / "short.tsv"}"]'
    texts = [change.format(**lists) for change in changes]

    def run() -> None:
        train(tmp_path / "run", make_config(tmp_path, "train.steps=1", "data.vocab_size=300", *texts, held_out=True))

    if message is None:
        run()
        return
    with pytest.raises((DataError, ConfigError), match=message):
        run()
    assert not (tmp_path / "run").exists()


def test_the_largest_similarity_is_the_first_usual_one_that_none_exceeds():
    for values, expected in (((0.3, 1), 1), ((0, 5), 5), ((1.1,), 5), ((10, 3), 10), ((10.5,), 100), ((), 1)):
        assert find_maximum([RelatedTexts("a", "b", similarity=value) for value in values], None) == expected
    assert find_maximum([RelatedTexts("a", "b", similarity=3.0)], 7.0) == 7


def test_pairs_may_be_judged_by_similarities_and_texts_of_a_word_have_no_halves(related: Path, tmp_path: Path):
    sets = [f'data.{name}=["{related / f"{name}.csv"}"]' for name in ("dev", "test")]
    run = prepare_texts(tmp_path / "run", make_config(related, *sets, "train.metric=spearman"))
    assert read_stored_pairs(run, "dev")[0].target and not read_stored_pairs(run, "train")[0].target
    assert list(split_halves(RelatedTexts("word"))) == []
    (halves,) = split_halves(RelatedTexts("one  two three", location="x:1"))
    assert (halves.text, halves.positive, halves.location) == ("one", "two three", "x:1")


@pytest.mark.slow
@pytest.mark.corpora
def test_minilm_has_its_published_correlation_on_sts(corpora: Path, tmp_path: Path):
    from tests.interchange.test_bert import minilm

    regard.import_model(minilm(), out=tmp_path / "run")
    result = regard.evaluate(tmp_path / "run", corpora / "stsb_en" / "test.csv", task="embed")
    assert result.scores["spearman"].value == pytest.approx(82.0, abs=0.1)
    opponents = {name: one["spearman"]["value"] for name, one in result.as_dict()["opponents"].items()}
    assert list(opponents) == ["words in common", "TF-IDF cosine, fitted on these pairs", STATIC_VECTORS]
    assert opponents["words in common"] == pytest.approx(56.5, abs=0.1) and opponents[STATIC_VECTORS] < 60
    assert result.scores["spearman"].low < 82 < result.scores["spearman"].high


@pytest.mark.slow
@pytest.mark.corpora
def test_tfidf_has_its_known_correlation_on_sts(corpora: Path, tmp_path: Path, undrawn: None):
    files = {"data.train": "train", "data.dev": "dev", "data.test": "test"}
    changes = [f'{name}=["{corpora / "stsb_en" / file}.csv"]' for name, file in files.items()]
    train(tmp_path / "run", make_config(tmp_path, *changes, "train.steps=1", held_out=True))
    table = Run(tmp_path / "run").read_json(Run(tmp_path / "run").scores("test"))
    values = {name: one["spearman"]["value"] for name, one in table["opponents"].items()}
    assert values["TF-IDF cosine, known words only"] == pytest.approx(64.7, abs=0.1)
    assert values["TF-IDF cosine"] == pytest.approx(68.4, abs=0.1)
