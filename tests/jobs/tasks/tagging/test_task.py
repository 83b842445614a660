"""Tagging as a whole: it learns, and leaves a folder that tags and can be read."""

import csv
import json
from pathlib import Path

import pytest

from regard import config as settings
from regard.config import Config
from regard.data.normalization import normalize_source
from regard.errors import DataError, RegardError
from regard.formats.labeled import TaggedSentence, read_tagged_sentences, write_tagged_sentences
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.tasks.registry import get_task
from regard.jobs.train.fit import train_run
from regard.run import Run
from regard.tasks.tag.examples import restore_sentence, store_sentence
from tests.jobs.tasks.conftest import SENTENCES, make_config

TASK = get_task("tag")


def with_files(config: Config, **files: Path | None) -> Config:
    return settings.with_values(config, {f"data.{name}": [str(path)] if path else [] for name, path in files.items()})


def never() -> bool:
    return False


def test_what_was_learned_is_predicted_scored_and_reported(tagger_run: Path, tagged: Path):
    run = Run(tagger_run)
    tagger = TASK.load_predictor(tagger_run, "cpu")
    sentences = list(read_tagged_sentences([tagged / "test.conll"]))
    assert tagger.tag([one.words for one in sentences]) == [list(one.tags) for one in sentences]
    evaluation = TASK.evaluate(run, tagger, [*map(store_sentence, sentences)], "test")
    saved = json.loads(run.scores("test").read_text(encoding="utf-8"))
    assert evaluation.scores["f1"].value == evaluation.scores["strict_f1"].value == 100
    assert "mode:conlleval" in saved["scores"]["f1"]["signature"]
    assert "mode:strict-BIO" in saved["scores"]["strict_f1"]["signature"]
    assert saved["scores"]["f1"]["value"] == 100 and saved["loss"] == pytest.approx(evaluation.loss)
    assert [one.name for one in evaluation.opponents] == [
        "most frequent tag of each word (in lower case)",
        "conditional random field (minimum frequency 1, penalties 0.1 and 0.1)",
    ]
    assert saved["opponents"].keys() == {one.name for one in evaluation.opponents}
    assert all("p_bootstrap" in one["f1"] for one in saved["opponents"].values())
    assert saved["types"]["PER"]["gold"] == saved["types"]["LOC"]["gold"] == saved["examples"] == len(sentences)
    with run.example_scores("test").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [row["sentence"] for row in rows] == [" ".join(one.words) for one in sentences]
    assert all(row["tags"] == row["prediction"] and row["errors"] == "0" for row in rows)
    page = run.report.read_text(encoding="utf-8")
    assert "strict F1" in page and "Sentences with most errors" in page and "conditional random field" in page


def test_words_beyond_the_maximum_length_are_no_targets(tagger_run: Path, tagged: Path):
    tagger = TASK.load_predictor(tagger_run, "cpu")
    sentence = TaggedSentence(SENTENCES[0].words * 5, SENTENCES[0].tags * 5)
    config = make_config(tagged, "data.max_length=13")
    ((ids, targets),) = TASK.encode([store_sentence(sentence)], tagger.tokenizer, tagger.tags, config)
    (encoded,) = tagger.tokenizer.encode_words([sentence.words], 13)
    inside = [n for n, position in enumerate(encoded.first_tokens) if position >= 0]
    assert len(ids) == len(targets) == 13 and len(inside) < len(sentence.words)
    numbers = [tagger.tags.tags[target - 1] for target in targets if target]
    assert numbers == [sentence.tags[n] for n in inside]


def test_a_sentence_is_held_out_with_all_that_reads_like_it(tagged: Path, tmp_path: Path):
    loud = [TaggedSentence(tuple(map(str.upper, one.words)), one.tags) for one in SENTENCES]
    write_tagged_sentences(tmp_path / "all.conll", [*SENTENCES, *loud])
    config = with_files(make_config(tagged, "train.seed=5"), train=tmp_path / "all.conll", dev=None, test=None)
    run = Run(tmp_path / "run")
    run.folder.mkdir()
    TASK.write_texts(run, config)
    sets = {name: read_stored_pairs(run, name) for name in ("train", "dev", "test")}
    texts = {name: {normalize_source(pair.source) for pair in pairs} for name, pairs in sets.items()}
    assert texts["dev"] and texts["test"]
    assert not texts["train"] & (texts["dev"] | texts["test"]) and not texts["dev"] & texts["test"]
    assert len(sets["train"]) == 2 * len(texts["train"])  # no training sentence is lost
    assert all(len(one.words) == len(one.tags) for pairs in sets.values() for one in map(restore_sentence, pairs))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Ann\tO\nsleeps\n", "expected a word and a tag"),
        ("", "has no text"),
        ("Ann\tO\n\nBob\tO\n\nCleo\tO\n", "have the tag 'O'"),
        ("Ann\tB-PER\nsleeps\tO\n", "too few to hold out dev; give a file for it, or more texts"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(content: str, message: str, tagged: Path, tmp_path: Path):
    (tmp_path / "bad.conll").write_text(content, encoding="utf-8")
    config = with_files(make_config(tagged, "train.steps=1"), train=tmp_path / "bad.conll", dev=None, test=None)
    with pytest.raises(RegardError) as refusal:
        list(train_run(tmp_path / "run", config, False, never))
    assert message in str(refusal.value) and "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()


def test_tags_that_training_lacks_are_named(tagged: Path, tmp_path: Path):
    write_tagged_sentences(tmp_path / "dev.conll", [TaggedSentence(("Ann", "sings"), ("B-PER", "B-ART"))])
    config = with_files(make_config(tagged, "train.steps=1"), dev=tmp_path / "dev.conll")
    with pytest.raises(DataError, match="ART"):
        list(train_run(tmp_path / "run", config, False, never))
