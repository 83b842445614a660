"""Documents as they are stored, cut and written about."""

import pytest

from regard.data.sentences import rules_for
from regard.formats.summaries import SummarizedDocument
from regard.jobs.load import load_tokenizers
from regard.jobs.tasks.registry import get_task
from regard.metrics.summaries import EnglishWords, UnicodeWords
from regard.run import Run
from regard.tasks.summarize.documents import (
    choose_words,
    divide_text,
    pair_with_summary,
    restore_document,
    store_document,
)
from regard.tasks.summarize.summarizer import cut_texts

DOCUMENTS = [
    SummarizedDocument(("One.", "Two."), ("a", "b"), "T", (0, 1), location="f:1"),
    SummarizedDocument(("One.",), ("a",), location="f:2"),
    SummarizedDocument((), ("a",), location="f:3"),
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_stored_is_restored(document: SummarizedDocument):
    assert restore_document(store_document(document)) == document
    pair = pair_with_summary(store_document(document))
    assert (pair.source, pair.target) == (document.text, document.references[0])


def test_lines_and_rules_divide_a_text():
    assert divide_text("One is here. Two is there.\n\n three\n", rules_for("en")) == (
        "One is here.",
        "Two is there.",
        "three",
    )
    assert divide_text(" \n", rules_for("")) == ()


def test_words_follow_the_language_or_the_script():
    for language, texts, kind in (
        ("", ["a cat"], EnglishWords),
        ("en-US", ["кот"], EnglishWords),
        ("", ["кот спит"], UnicodeWords),
        ("fr", ["un chat"], UnicodeWords),
    ):
        assert type(choose_words(language, texts)) is kind


@pytest.mark.parametrize("max_tokens", [1, 3, 7, 11, 97])
def test_texts_are_cut_between_words(summarizer_run, max_tokens: int):
    tokenizer = load_tokenizers(Run(summarizer_run), Run(summarizer_run).load_config()).source
    text = "Here we see that the red cat runs. Many people walk extraordinarily there."
    (cut,) = cut_texts([text], tokenizer, max_tokens)
    (ids,), (whole,) = tokenizer.encode([cut]), tokenizer.encode([text])
    assert ids == whole[: len(ids)] and len(ids) <= max_tokens and cut
    assert (cut == text) == (len(whole) <= max_tokens)
    assert cut_texts([text], tokenizer, len(whole)) == [text]
    assert len(cut) == len(text) or text[len(cut)] == " " or " " not in cut


def test_no_summary_is_longer_than_the_longest_of_training(summarizer_run):
    summarizer = get_task("summarize").load_predictor(summarizer_run, "cpu")
    tokenizer = summarizer.translator.tokenizers.target
    texts = [["the house " * 40], ["Here we see that the red cat runs."], []]
    summaries = summarizer.summarize(texts)
    assert summaries[2] == "" and all(len(ids) <= summarizer.max_summary_tokens for ids in tokenizer.encode(summaries))
    assert summarizer.summarize([["the house " * 40]]) == summaries[:1]
