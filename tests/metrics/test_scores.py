"""Scores equal those of the sacrebleu command, signature included."""

import json
import subprocess
import sys

import pytest

from regard.errors import DataError
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.metrics import bleu, chrf, sentence_bleu

REFERENCES = [f"Le chat numéro {i} dort sur le tapis rouge , n'est-ce pas ?" for i in range(37)]
HYPOTHESES = [r.replace("dort", "mange") if i % 3 else r.replace("rouge", "") for i, r in enumerate(REFERENCES)]


def test_bleu_and_chrf_are_those_of_the_command(tmp_path):
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
        "--confidence",
        "-w",
        "8",
    ]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    theirs = {row["name"]: row for row in json.loads(out.stdout)}
    for ours in (bleu(HYPOTHESES, REFERENCES), chrf(HYPOTHESES, REFERENCES)):
        row = theirs[ours.name]
        assert ours.value == pytest.approx(row["score"], abs=1e-5)
        assert ours.low == pytest.approx(row["confidence_mean"] - row["confidence_var"], abs=1e-4)
        assert ours.high == pytest.approx(row["confidence_mean"] + row["confidence_var"], abs=1e-4)
        for part in ours.signature.split("|"):
            key, value = part.split(":", 1)
            assert str(row[{"bs": "bs", "eff": "eff"}.get(key, key)]) == value


def test_translations_that_share_nothing_with_their_references_score_zero():
    hypotheses = ["" if i % 2 else "x" for i in range(11)]
    for metric in (bleu, chrf):
        assert metric(hypotheses, REFERENCES[:11]).value == pytest.approx(0, abs=1)
    assert bleu([""] * 3, REFERENCES[:3]).value == 0


def test_unequal_lists_are_refused():
    with pytest.raises(DataError, match="2 translations but 1 references"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(DataError, match="no sentences"):
        chrf([], [])


def test_a_score_never_travels_without_its_signature():
    text = str(bleu(HYPOTHESES, REFERENCES))
    assert text.startswith("BLEU ") and "tok:13a" in text and "case:mixed" in text and "±" in text


def test_any_function_can_be_evaluated():
    pairs = [Pair(h, r) for h, r in zip(HYPOTHESES, REFERENCES, strict=True)]
    found = evaluate(lambda texts: texts, pairs)
    assert found.scores == {"bleu": bleu(HYPOTHESES, REFERENCES), "chrf": chrf(HYPOTHESES, REFERENCES)}
    assert [s.translation for s in found.sentences] == HYPOTHESES
    assert found.sentences[0].bleu == sentence_bleu(HYPOTHESES[0], REFERENCES[0])
