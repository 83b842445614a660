"""Same sense or not: read by offsets, judged with thresholds that were chosen elsewhere, by runs of every kind."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.baselines.word2vec import Word2Vec
from regard.display.views.senses import select_occurrences
from regard.errors import ConfigError, FormatError, RegardError
from regard.formats.word_pairs import WordInSentence, WordPair, read_word_pairs
from regard.inspection.word_states import WordReader, name_layers
from regard.jobs.look.senses import Occurrence
from regard.jobs.senses.evaluation import _evaluate
from regard.jobs.senses.open_reader import open_word_reader
from regard.jobs.senses.page import describe_senses, list_sections, write_senses_page
from regard.jobs.senses.thresholds import FittedThresholds, Threshold
from regard.run import Run

SENTENCES = [
    "the cat sees a dog",
    "a small dog hears the old cat",
    "under the tree the cat and the dog",
    "old dog on house",
]


def make_row(first: str, second: str, word: str, other: str, label: object, as_text: bool = False) -> dict[str, object]:
    row: dict[str, object] = {"id": "x", "lemma": word, "label": label}
    for number, (sentence, name) in enumerate(((first, word), (second, other)), start=1):
        begin = sentence.index(name)
        offsets = {f"start{number}": begin, f"end{number}": begin + len(name)}
        row |= {f"sentence{number}": sentence} | {k: str(v) if as_text else v for k, v in offsets.items()}
    return row


def write_pairs(path: Path, count: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(count):
        first, second = (SENTENCES[i] for i in rng.integers(0, 4, 2))
        rows.append(make_row(first, second, "dog", "dog", str(bool(rng.integers(0, 2))), n % 2 == 0))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_offsets_and_labels_are_numbers_or_texts(tmp_path: Path):
    rows = [make_row(SENTENCES[0], SENTENCES[1], "cat", "dog", label, True) for label in ("F", "T", True, "False", 1)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    pairs = read_word_pairs(tmp_path / "pairs.jsonl")
    assert [pair.same_sense for pair in pairs] == [False, True, True, False, True]
    assert {(pair.first.word, pair.second.word) for pair in pairs} == {("cat", "dog")}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"label": "maybe"}, "the label is 'maybe'; expected true or false"),
        ({"end1": 99}, r"start1=4 and end1=99 hold no word of sentence1, which has 18 characters"),
        ({"start2": -1}, "start2 is '-1'; expected a number of characters"),
        ({"start1": 3, "end1": 4}, "hold no word"),
        ({"sentence2": None}, "has no sentence2; expected sentence1, start1, end1"),
    ],
)
def test_bad_pairs_are_refused_by_their_line(change: dict[str, object], sentence: str, tmp_path: Path):
    row = make_row(SENTENCES[0], SENTENCES[0], "cat", "cat", "T") | change
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(FormatError, match=rf"pairs.jsonl:1: .*{sentence}"):
        read_word_pairs(tmp_path / "pairs.jsonl")


@pytest.fixture
def readers(run_of: Callable[[str], Run], denoiser_run: Run, tagger_run: Path) -> dict[str, WordReader]:
    folders = {"masked-lm": run_of("masked-lm").folder, "causal-lm": run_of("causal-lm").folder}
    folders |= {"denoise": denoiser_run.folder, "tag": tagger_run}
    return {name: open_word_reader(folder) for name, folder in folders.items()}


def find(sentence: str, word: str) -> WordInSentence:
    begin = sentence.index(word)
    return WordInSentence(sentence, begin, begin + len(word))


def test_vectors_of_words_do_not_depend_on_their_batch_in_runs_of_every_kind(readers):
    words = [find(SENTENCES[0], "cat"), find(SENTENCES[2], "dog"), find(SENTENCES[1], "old"), find(SENTENCES[3], "dog")]
    for reader in readers.values():
        together = reader.embed(words)
        assert list(together) == name_layers(reader.model)
        for i, word in enumerate(words):
            for name, rows in reader.embed([word]).items():
                torch.testing.assert_close(torch.tensor(rows[0]), torch.tensor(together[name][i]), rtol=0, atol=1e-5)
        assert np.allclose(together["static"][1], together["static"][3])


def test_a_decoder_alone_has_read_the_sentence_up_to_the_word(readers):
    words = [find("the dog sees a cat", "dog"), find("the dog and the tree", "dog")]
    for name, reader in readers.items():
        last = list(reader.embed(words).values())[-1]
        assert reader.is_causal == (name == "causal-lm")
        assert np.allclose(last[0], last[1], atol=1e-5) == reader.is_causal


def test_a_threshold_is_chosen_beside_the_file_or_where_it_is_named_and_kept(run_of, tmp_path: Path):
    folder = run_of("masked-lm").folder
    (tmp_path / "alone").mkdir()
    alone = write_pairs(tmp_path / "alone" / "dev.jsonl", 31, 3)
    Run(folder).senses.unlink(missing_ok=True)
    with pytest.raises(ConfigError, match=r"there is no train.jsonl beside it, and .* with --fit"):
        regard.evaluate(folder, alone, task="senses")
    fit = write_pairs(tmp_path / "train.jsonl", 53, 5)
    dev = write_pairs(tmp_path / "dev.jsonl", 31, 3)
    result = regard.evaluate(folder, dev, task="senses")
    assert [one.name for one in result.evaluation.opponents] == ["static vectors", "more frequent answer", "word2vec"]
    main, (static, majority, _) = result.scores["accuracy"], result.evaluation.opponents
    assert main.low <= main.value <= main.high and "fit:53" in main.signature and "pairs:31" in main.signature
    assert static.scores["accuracy"].value == majority.scores["accuracy"].value  # one word form: cosine 1
    assert static.tests["accuracy"].difference == pytest.approx(main.value - static.scores["accuracy"].value)
    rows = result.example_scores.read_text(encoding="utf-8").splitlines()
    assert len(rows) == 32 and rows[0].split("\t")[0] == "word"
    assert regard.evaluate(folder, alone, task="senses", fit=fit).scores["accuracy"].value == main.value
    again = regard.evaluate(folder, alone, task="senses")  # by what the run has kept
    assert again.scores["accuracy"].value == main.value and all(one.reason for one in again.evaluation.opponents[1:])
    with pytest.raises(ConfigError, match="chosen on the pairs that it is judged on proves nothing"):
        regard.evaluate(folder, dev, task="senses", fit=dev)
    with pytest.raises(ConfigError, match="--fit names pairs for --task senses"):
        regard.evaluate(folder, dev, fit=fit)


def test_a_word_behind_the_end_of_what_is_read_is_refused(run_of, tmp_path: Path):
    reader = open_word_reader(run_of("masked-lm").folder)
    with pytest.raises(RegardError, match="'dog' is not among the 29 tokens that the model reads"):
        reader.embed([find("cat " * 60 + "dog", "dog")])


def test_word2vec_has_one_vector_for_each_form_and_the_same_in_every_run():
    pytest.importorskip("gensim", reason="needs gensim: pip install 'regard[word2vec]'")
    one, other = (Word2Vec(SENTENCES * 5) for _ in range(2))
    rows = one.embed(["dog", "Dog", "cat", "unseen"])
    assert np.array_equal(rows[0], rows[1]) and not np.array_equal(rows[0], rows[2]) and not rows[3].any()
    assert np.array_equal(rows, other.embed(["dog", "Dog", "cat", "unseen"]))


def test_the_page_puts_static_beside_contextual_vectors(readers, run_of, tmp_path: Path):
    lines = [f"{sense}\t{SENTENCES[i]}" for i, sense in enumerate("abba")]
    (tmp_path / "dog.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for task in ("causal-lm", "masked-lm"):
        analysis = regard.senses(run_of(task).folder, "dog", tmp_path / "dog.tsv")
        static = analysis.layers[0]
        assert static.same_sense_cosine == pytest.approx(1) and static.other_sense_cosine == pytest.approx(1)
        assert analysis.layers[-1].same_sense_cosine < 1
        write_senses_page(analysis, tmp_path / "dog.html")
        page = (tmp_path / "dog.html").read_text(encoding="utf-8")
        assert all(name not in page for name in ("self_similarity", "nan", "None")), "names of the code"
        assert list(list_sections(analysis)[-1].parts[0].table["sense"]) == list("abba")
        assert "Static beside contextual" in page and "How far apart the senses are" in page
        assert ("reads from left to right" in page) == (task == "causal-lm")


def test_the_verdict_is_about_the_layer_that_the_p_value_is_about(readers, run_of, tmp_path: Path):
    """The embeddings with positions are not contextual, and yet they may separate senses best."""
    lines = [f"{sense}\t{SENTENCES[i]}" for i, sense in enumerate("abba")]
    (tmp_path / "dog.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    analysis = regard.senses(run_of("masked-lm").folder, "dog", tmp_path / "dog.tsv")
    assert all(one.layer.startswith("layer") for one in analysis.contextual_layers)
    aucs = {"with position": 0.9}
    layers = [dataclasses.replace(one, sense_auc=aucs.get(one.layer, 0.6)) for one in analysis.layers]
    found, not_found = (
        describe_senses(dataclasses.replace(analysis, layers=layers, sense_p_value=p)) for p in (0.01, 0.4)
    )
    assert "farthest apart in the embeddings with positions" in found and "and no other word" in found
    assert "0.90 in the embeddings with positions" in not_found


def test_the_sentences_of_every_sense_are_shown():
    occurrences = [Occurrence(f"s{n}", "ab"[n >= 10], 0) for n in range(20)]
    shown = select_occurrences(occurrences)
    assert [one.sense for one in shown] == ["a"] * 4 + ["b"] * 4 and [one.sentence for one in shown][:2] == ["s0", "s1"]


class TwoLayers:
    """A reader whose first layer separates no pair, and whose second one separates them all."""

    is_causal = False

    def embed(self, words: list[WordInSentence]) -> dict[str, np.ndarray]:
        second = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        return {"static": np.ones((4, 2)), "layer 0": np.ones((4, 2)), "layer 1": np.array(second)}


def test_the_layer_is_chosen_where_thresholds_are_and_not_by_what_is_judged(tmp_path: Path):
    word = WordInSentence("the cat", 4, 7)
    pairs = [WordPair(word, word, True), WordPair(word, word, False)]
    thresholds = FittedThresholds(
        {"static": Threshold(0.5, 0.4), "layer 0": Threshold(0.5, 0.9), "layer 1": Threshold(0.5, 0.6)}
    )
    scores = _evaluate(Run(tmp_path), TwoLayers(), pairs, [], thresholds).scores
    assert [(one.name, one.value) for one in scores.values()] == [("accuracy, layer 0", 50), ("accuracy, layer 1", 100)]
