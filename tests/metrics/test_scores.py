"""Scores equal those of the sacrebleu command, signature included."""

import json
import subprocess
import sys

import pytest

from regard.baselines import score_bz2
from regard.errors import DataError
from regard.evaluation import TeacherForcingResult, evaluate, score_with_pads
from regard.formats import Pair
from regard.metrics import (
    corpus_bleu,
    corpus_chrf,
    corpus_rouge_l,
    corpus_ter,
    make_bleu_metric,
    sentence_bleu,
    sentence_rouge_l,
    token_accuracy,
)
from regard.metrics.labels import expected_calibration_error
from regard.metrics.rouge import lcs_length
from regard.metrics.score import Score

REFERENCES = [f"Le chat numéro {i} dort sur le tapis rouge , n'est-ce pas?" for i in range(37)]
HYPOTHESES = [r.replace("dort", "mange") if i % 3 else r.replace("rouge", "") for i, r in enumerate(REFERENCES)]


def test_sacrebleus_scores_are_those_of_its_command(tmp_path):
    (tmp_path / "ref").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    (tmp_path / "hyp").write_text("\n".join(HYPOTHESES) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sacrebleu",
        "ref",
        "-i",
        "hyp",
        "-m",
        "bleu",
        "chrf",
        "ter",
        "-w",
        "8",
    ]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    theirs = {row["name"]: row for row in json.loads(out.stdout)}
    for metric in (corpus_bleu, corpus_chrf, corpus_ter):
        ours = metric(HYPOTHESES, REFERENCES)
        row = theirs[ours.name]
        assert ours.value == pytest.approx(row["score"], abs=1e-5)
        assert ours.low < ours.value < ours.high
        *parts, interval = ours.signature.split("|")
        assert interval.startswith("ci:jackknife-t,")
        for part in parts:
            key, value = part.split(":", 1)
            assert str(row[{"bs": "bs", "eff": "eff"}.get(key, key)]) == value


@pytest.mark.parametrize(("lowercase", "tokenize"), [(True, "none"), (False, "none"), (True, "13a"), (False, "intl")])
def test_bleu_of_other_habits_is_the_commands_and_is_not_called_bleu(tmp_path, lowercase: bool, tokenize: str):
    hypotheses = [h.upper() if i % 5 == 0 else h for i, h in enumerate(HYPOTHESES)]
    (tmp_path / "ref").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    (tmp_path / "hyp").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    options = ["-tok", tokenize, "--force", *(["-lc"] if lowercase else [])]
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-w", "8", *options]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    ours, plain = make_bleu_metric(lowercase, tokenize)(hypotheses, REFERENCES), corpus_bleu(hypotheses, REFERENCES)
    assert ours.value == pytest.approx(json.loads(out.stdout)["score"], abs=1e-5)
    assert ours.value != pytest.approx(plain.value, abs=0.01)
    assert ours.name != "BLEU" and tokenize in ours.name and f"tok:{tokenize}" in ours.signature


def test_a_tokenisation_that_does_not_exist_is_refused():
    with pytest.raises(DataError, match="13a, none"):
        make_bleu_metric(False, "moses")


def test_translations_that_share_nothing_with_their_references_score_zero():
    hypotheses = ["" if i % 2 else "x" for i in range(11)]
    for metric in (corpus_bleu, corpus_chrf):
        assert metric(hypotheses, REFERENCES[:11]).value == pytest.approx(0, abs=1)
    assert corpus_bleu([""] * 3, REFERENCES[:3]).value == 0


def test_unequal_lists_are_refused():
    with pytest.raises(DataError, match="2 translations but 1 references"):
        corpus_bleu(["a", "b"], ["a"])
    with pytest.raises(DataError, match="no sentences"):
        corpus_chrf([], [])


def test_a_score_never_travels_without_its_signature():
    text = str(corpus_bleu(HYPOTHESES, REFERENCES))
    assert text.startswith("BLEU ") and "tok:13a" in text and "case:mixed" in text and "±" in text


def test_any_function_can_be_evaluated():
    pairs = [Pair(h, r) for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    evaluation = evaluate(lambda texts: texts, pairs)
    assert evaluation.scores["bleu"] == corpus_bleu(HYPOTHESES, REFERENCES)
    assert evaluation.scores["chrf"] == corpus_chrf(HYPOTHESES, REFERENCES)
    assert set(evaluation.scores) == {"bleu", "chrf", "ter", "rouge"} and evaluation.loss is None
    assert evaluation.baselines.copied_source == evaluation.scores["bleu"]  # this system copies
    assert evaluation.baselines.shuffled_translations.value < evaluation.scores["bleu"].value
    assert evaluation.baselines.length_ratio == pytest.approx(sum(map(len, HYPOTHESES)) / sum(map(len, REFERENCES)))
    assert [s.translation for s in evaluation.sentences] == HYPOTHESES
    assert evaluation.sentences[0].bleu == sentence_bleu(HYPOTHESES[0], REFERENCES[0])


def test_rouge_is_the_longest_common_subsequence():
    assert lcs_length(["a", "b", "c", "d"], ["b", "x", "d", "a"]) == 2
    assert sentence_rouge_l("The cat sat!", "the cat slept") == pytest.approx(200 * 2 / 6)
    assert sentence_rouge_l("", "") == 100 and sentence_rouge_l("", "x") == 0
    score = corpus_rouge_l(HYPOTHESES, REFERENCES)
    mean = sum(sentence_rouge_l(h, r) for h, r in zip(HYPOTHESES, REFERENCES, strict=True)) / 37
    assert score.value == pytest.approx(mean) and score.low < score.value < score.high


def test_pads_flatter_only_where_there_are_some():
    even = score_with_pads([TeacherForcingResult(7, 3, 11.0), TeacherForcingResult(7, 2, 13.0)])
    assert (even.accuracy, even.loss, even.positions, even.pad_percent) == pytest.approx((500 / 14, 24 / 14, 7, 0))
    uneven = score_with_pads([TeacherForcingResult(7, 3, 11.0), TeacherForcingResult(2, 0, 13.0)])
    assert (uneven.accuracy, uneven.loss, uneven.positions, uneven.pad_percent) == pytest.approx(
        (800 / 14, 24 / 14, 7, 500 / 14)
    )


def test_accuracy_is_a_ratio_of_sums():
    score = token_accuracy([1, 9], [2, 18])
    assert score.value == 50 and score.low is score.high is None and "pads:never|ci:none,n<10" in score.signature
    even = token_accuracy([1, 9] * 5, [2, 18] * 5)
    assert even.low < 50 < even.high  # sentences that are all alike are no proof that others are, too
    uneven = token_accuracy([1] * 11 + [0] * 7, [2] * 18)
    assert uneven.value == pytest.approx(1100 / 36) and uneven.low < uneven.value < uneven.high
    with pytest.raises(DataError, match="2 counts of correct tokens for 1 sentences"):
        token_accuracy([1, 2], [3])


def test_an_interval_needs_both_of_its_bounds():
    for low, high in ((None, 31.0), (28.0, None), (None, None)):
        score = Score("BLEU", 30.0, low, high, "s")
        assert str(score) == "BLEU 30.00  s" and score.format_interval() == "none: not computed"
        assert "no interval: not computed" in score._repr_html_()


def test_a_score_without_an_interval_has_its_true_reason():
    ece = expected_calibration_error([0.9] * 211, [True] * 211)
    bz2 = score_bz2(["to be or not to be"], ["that is the question"] * 211)
    assert ece.format_interval() == "none: above 0 by chance alone"
    assert bz2.format_interval() == "none: all texts are compressed together"
    for score in (ece, bz2):
        assert (
            "too few" not in score._repr_html_()
            and f"no interval: {score.format_interval()[6:]}" in score._repr_html_()
        )


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf, corpus_ter, corpus_rouge_l])
def test_every_translation_needs_a_reference(metric):
    for hypotheses, references in ((["a", "b"], ["a"]), (["a"], ["a", "b"])):
        with pytest.raises(DataError) as error:
            metric(hypotheses, references)
        assert str(error.value) == (
            f"{len(hypotheses)} translations but {len(references)} references; every translation needs one"
        )
    with pytest.raises(DataError, match="nothing to score: no sentences"):
        metric([], [])
