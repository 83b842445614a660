"""What is written of an evaluation is what is read."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RunError
from regard.evaluation import Baselines, Evaluation, PadInclusiveScores, SentenceResult
from regard.jobs.evaluate import read_scores, read_sentences, select_metrics, unused_name, write_scores
from regard.jobs.report import find_report
from regard.metrics import Score
from regard.run import Run, write_text

BLEU = Score("BLEU", 23.456, 20.1, 26.9, "nrefs:1|case:mixed|tok:13a")
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NASTY = SentenceResult("a\tb", "\\t \\\\n\n\r", "\0 \\", 12.34, 56.78)


def evaluation(*sentences: SentenceResult) -> Evaluation:
    scores = {"bleu": BLEU, "chrf": replace(BLEU, name="chrF2", value=50.0)}
    return Evaluation(
        scores, list(sentences), Baselines(BLEU, BLEU, 0.97), 2.5, PadInclusiveScores(80.0, 1.0, 59, 61.8)
    )


def test_scores_are_read_as_they_were_written(tmp_path: Path):
    run, written = Run(tmp_path), evaluation(NASTY, NASTY)
    write_scores(run, "test", written, ["/a/test.en", "/a/test.fr"])
    saved = read_scores(run, "test")
    assert (saved.scores, saved.baselines, saved.loss) == (written.scores, written.baselines, written.loss)
    assert saved.pads_counted == written.pads_counted
    assert (saved.num_sentences, saved.files) == (2, ("/a/test.en", "/a/test.fr"))
    write_scores(run, "dev", replace(written, loss=None, pads_counted=None))
    assert (read_scores(run, "dev").loss, read_scores(run, "dev").pads_counted) == (None, None)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(SentenceResult, TEXT, TEXT, TEXT, st.just(1.25), st.just(99.5)), max_size=5))
def test_sentences_are_read_as_they_were_written(tmp_path_factory, sentences: list[SentenceResult]):
    run = Run(tmp_path_factory.mktemp("run"))
    write_scores(run, "test", evaluation(NASTY, *sentences))
    assert read_sentences(run, "test") == [NASTY, *sentences]


def test_another_file_is_refused_by_name(tmp_path: Path):
    run = Run(tmp_path)
    run.write_json(run.scores("test"), {"scores": {"bleu": {"value": 1.0}}})
    with pytest.raises(RunError, match=r"test.json: not the scores of a set .* evaluate the run again"):
        read_scores(run, "test")
    write_text(run.sentence_scores("test"), "source\ttarget\n")
    with pytest.raises(
        RunError, match=r"test.sentences.tsv: .*expected the columns source, reference.*evaluate the run again"
    ):
        read_sentences(run, "test")


def test_bleu_is_reported_in_a_second_way_only_if_asked():
    assert "bleu_variant" not in select_metrics()
    assert select_metrics(lowercase=True)["bleu_variant"](["A b c d"], ["a B c d"]).value == pytest.approx(100)
    assert "tok:none" in select_metrics(tokenize="none")["bleu_variant"](["a b"], ["a b"]).signature


def test_a_run_without_a_report_has_a_reason(tmp_path: Path):
    run = Run(tmp_path)
    with pytest.raises(RunError, match="imported or pruned, not trained"):
        find_report(run)
    write_text(run.log, "")
    with pytest.raises(RunError, match=r"training has not ended. Continue it with `regard train --resume"):
        find_report(run)
    write_text(run.report, "")
    assert find_report(run) == run.report


def test_scores_that_cannot_be_read_do_not_block_an_evaluation(tmp_path: Path):
    run = Run(tmp_path)
    write_scores(run, "new", evaluation(NASTY), ["/data/new.tsv"])
    assert unused_name(run, "new", ("/data/new.tsv",)) == "new"
    write_text(run.scores("new"), "{}")
    assert unused_name(run, "new", ("/data/new.tsv",)) == "new-2"
