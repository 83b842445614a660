"""Charts of sentence scores: their distribution, and BLEU by source length."""

from collections.abc import Mapping, Sequence

from regard.evaluation import SentenceResult
from regard.jobs.tasks.reporting.example_section import ExampleSection
from regard.languages import count_words
from regard.metrics import Tokenization, corpus_bleu
from regard.report import Chart, Table, Value, category_curves, stacked_histograms

LENGTH_BUCKETS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 10_000))
"""Source words, from and to."""
MIN_BUCKET_SENTENCES = 5  # a bucket with fewer sentences is not scored
_NOTE = (
    "Scores of single sentences serve inspection; their mean is not BLEU. BLEU by length is corpus BLEU over the "
    f"sentences of {LENGTH_BUCKETS[0][0]} to {LENGTH_BUCKETS[0][1]} words, and so on."
)


def show_sentences(
    sentences: Mapping[str, Sequence[SentenceResult]], set_name: str, tokenization: Tokenization
) -> ExampleSection:
    """The sentences of several runs, for a page."""
    return ExampleSection("Sentences", draw_sentence_charts(sentences, set_name, tokenization), note=_NOTE)


def draw_sentence_charts(
    sentences: Mapping[str, Sequence[SentenceResult]], set_name: str, tokenization: Tokenization
) -> list[Chart]:
    """The distribution of sentence BLEU of each system, and BLEU by length if there are several lengths."""
    table = Table.from_rows({"bleu": one.bleu, "system": name} for name, many in sentences.items() for one in many)
    histogram = stacked_histograms(
        table, "bleu", "system", title=f"Sentence BLEU on {set_name}", x_title="BLEU of the sentence"
    )
    charts = [histogram.with_name("sentence-bleu")]
    rows = [row for name, many in sentences.items() for row in bleu_by_length(name, many, tokenization)]
    if len({row["words"] for row in rows}) > 1:
        title = f"BLEU on {set_name} by source length"
        chart = category_curves(
            Table.from_rows(rows), "words", "bleu", "system", title=title, x_title="source words", y_title="BLEU"
        )
        charts.append(chart.with_name("length-bleu"))
    return charts


def bleu_by_length(
    name: str, sentences: Sequence[SentenceResult], tokenization: Tokenization
) -> list[dict[str, Value]]:
    """Corpus BLEU of the sentences in each length bucket that has enough of them."""
    rows: list[dict[str, Value]] = []
    for low, high in LENGTH_BUCKETS:
        bucket = [sentence for sentence in sentences if low <= count_words(sentence.source) <= high]
        if len(bucket) >= MIN_BUCKET_SENTENCES:
            score = corpus_bleu([s.translation for s in bucket], [s.reference for s in bucket], tokenization)
            words = f"{low}–{high}" if high < 10_000 else f"{low} and more"
            rows.append({"words": words, "bleu": score.value, "system": name})
    return rows
