"""ROUGE of summaries equals that of the package rouge-score, with one reference and with several."""

import json
import random
from pathlib import Path

import pytest

import regard
from regard.data.corpora import english_french
from regard.errors import ConfigError, DataError
from regard.metrics.summaries import REFERENCE_RULES, EnglishWords, UnicodeWords, score_summaries
from regard.metrics.summaries.rouge import lcs_positions, rouge_lsum
from regard.metrics.summaries.scoring import NAMES, rouge_values

FOXES = ("A quick brown fox jumps over a lazy dog!", "The quick brown foxes jumped over the lazy dogs.")


def values(prediction: str, reference: str, stemmed: bool = False) -> list[float]:
    return [round(value, 6) for value in rouge_values(prediction, reference, EnglishWords(stemmed)).values()]


def test_golden_values():
    assert values(*FOXES) == [0.444444, 0.125, 0.444444, 0.444444]
    assert values(*FOXES, stemmed=True) == [0.777778, 0.625, 0.777778, 0.777778]
    police = ("police kill the gunman", "police killed the gunman")
    assert values(*police)[2] == 0.75 and values(*police, stemmed=True)[2] == 1
    assert values("c d\na b", "a b\nc d")[2:] == [0.5, 1] and values("c d a b", "a b c d")[2:] == [0.5, 0.5]
    assert values("", "") == values("a", "") == values("?", "a") == [0] * 4
    assert (
        values("cars", "car", stemmed=True)[0] == 1 and values("was", "wa", stemmed=True)[0] == 0
    )  # three letters stay


def test_other_scripts_have_words_of_their_own():
    for text in ("naïve idée", "κακό σκυλί", "हिन्दी भाषा"):
        assert values(text, text.split()[0])[0] != 2 / 3
        assert rouge_values(text, text.split()[0], UnicodeWords())["rouge1"] == pytest.approx(2 / 3)
    assert UnicodeWords().signature != EnglishWords(False).signature != EnglishWords(True).signature


def test_of_several_references_one_is_chosen_by_the_rule():
    best = score_summaries(["a b c"], [["a b c d", "a b x y"]])["rouge1"]
    assert best.value == pytest.approx(85.7143, abs=1e-4) and "refs:1-2,best-f1" in best.signature
    # The first reference shares more words, the second their order.
    references = ["d c b a", "a b x y z"]
    scores = {rule: score_summaries(["a b c d"], [references], rule=rule) for rule in REFERENCE_RULES}
    assert {rule: round(s["rouge1"].value, 3) for rule, s in scores.items()} == {"best-f1": 100.0, "best-rouge1": 100.0}
    assert scores["best-rouge1"]["rouge2"].value == 0 and scores["best-f1"]["rouge2"].value > 0
    single = score_summaries(["a b", "c"], [["a"], ["c"]])["rougeL"]
    assert "refs:1|" in single.signature and single.value == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_a_word_counts_no_more_often_than_either_text_has_it():
    assert rouge_lsum([["a", "b"]], [["a"], ["a"]]) == pytest.approx(2 / 4)
    assert lcs_positions("abcb", "bacb") == [3, 2, 0] and lcs_positions("ab", "ba") == [0]


def test_what_cannot_be_scored_is_refused():
    for arguments, sentence in (
        ((["a"], []), "1 summaries but 0 references"),
        (([], []), "nothing to score"),
        ((["a", "b"], [["a"], []]), "summary 2 has no reference"),
    ):
        with pytest.raises(DataError, match=sentence):
            score_summaries(*arguments)
    with pytest.raises(ConfigError, match="rule=first: expected one of best-f1, best-rouge1"):
        regard.rouge(["a"], ["a"], rule="first")


def test_the_public_function_takes_a_text_or_several_for_a_reference():
    predictions, references = ["The cats sleep.", "naïve"], ["A cat sleeps.", ["naïve", "naif"]]
    scores = regard.rouge(predictions, references)
    assert list(scores) == list(NAMES) and "stem:porter" in scores["rouge1"].signature
    assert regard.rouge(predictions, references, stem=False)["rouge1"].value < scores["rouge1"].value
    other = regard.rouge(predictions, references, language="fr")["rouge1"]
    assert other.signature.startswith(r"tok:\w+")


def require_equal(predictions: list[str], references: list[list[str]], stemmed: bool) -> None:
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
    scorer = package.RougeScorer(list(NAMES), use_stemmer=stemmed)
    for prediction, texts in zip(predictions, references, strict=True):
        theirs = scorer.score_multi(texts, prediction)
        ours = score_summaries([prediction], [texts], EnglishWords(stemmed))
        for name in NAMES:
            assert ours[name].value == pytest.approx(100 * theirs[name].fmeasure, abs=1e-9)


@pytest.mark.parametrize("stemmed", [False, True])
def test_sentences_of_a_corpus_have_the_scores_of_rouge_score(stemmed: bool):
    rng = random.Random(3)
    lines = [pair.source for pair in english_french.generate(60, 5)]
    predictions = ["\n".join(rng.sample(lines, 3)) for _ in range(40)]
    references = [["\n".join(rng.sample(lines, k)) for k in rng.sample((1, 2, 4), 2)] for _ in predictions]
    require_equal(predictions, references, stemmed)


@pytest.mark.corpora
def test_real_summaries_have_the_scores_of_rouge_score(corpora: Path):
    rows = list(map(json.loads, (corpora / "scitldr" / "test.jsonl").read_text(encoding="utf-8").split("\n")[:-1]))
    predictions, references = [row["source"][0] for row in rows], [row["target"] for row in rows]
    for stemmed in (False, True):
        require_equal(predictions[::20], references[::20], stemmed)
    scores = regard.rouge(predictions, references, rule="best-rouge1")
    assert [round(score.value, 1) for score in scores.values()][:3] == [31.3, 11.4, 24.1]
