"""The report of a run, report.html: training curves, scores, translations and attention."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.config import Config, Head
from regard.errors import RunError
from regard.evaluation import Evaluation, SentenceResult
from regard.jobs.evaluate import tabulate_evaluation
from regard.jobs.look.cross_attention import CrossAttentionMatrix, compute_cross_attention
from regard.jobs.look.heads import find_trained_aligners
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.reporting.curves import time_of_training
from regard.jobs.tasks.reporting.headline import Rival, ScoredSet, write_headline
from regard.jobs.tasks.reporting.run_sections import RunRecord, join_sections
from regard.jobs.train.epochs import count_epochs
from regard.languages import split_words
from regard.model.modules import count_parameters
from regard.model.transformer import EncoderDecoder
from regard.progress import stage, track
from regard.report import (
    Chart,
    DefinitionList,
    Figure,
    Headline,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    TranslationCard,
    TranslationCards,
    Value,
    heatmap_chart,
    histogram,
    line_chart,
    render_page,
    write_page,
)
from regard.run import Run
from regard.tasks.translate.translator import Translator
from regard.training import log
from regard.training.loop import Step
from regard.training.validate import Validation

SHOWN_SENTENCES = 10
EXTREME_SENTENCES = 5
READABLE_LENGTHS = range(5, 16)  # words of a sentence whose heat map is easy to read


def find_report(run: Run) -> Path:
    """The report of a run, which is written when its training ends."""
    if run.report.exists():
        return run.report
    if not run.log.exists():
        raise RunError(
            f"{run.folder}: has no report, because it was imported or pruned, not trained. "
            f"Measure it with `regard evaluate` and `regard heads`."
        )
    raise RunError(
        f"{run.folder}: has no report yet, because its training has not ended. "
        f"Continue it with `regard train --resume {run.folder}`."
    )


def redraw_report(run: Run, device: str = "auto") -> Path:
    """Draw the report of a finished run again, with the scores of all sets that it was evaluated on since.

    What is stored of the scores is read; what is not is predicted again. The report of a run that is being trained, or
    whose data is no longer there, stays as it is.
    """
    path = find_report(run)
    if not (run.finished() and run.best.exists() and run.tokens_manifest.exists()):
        return path
    config = run.load_config()
    task = task_of(config)
    data = task.open_data(run, config)
    set_name, corpus = ("dev", data.dev) if data.test is None else ("test", data.test)
    predictor = task.load_predictor(run.folder, device)
    evaluation = task.restore_evaluation(run, set_name)
    if evaluation is None:
        evaluation = task.evaluate(run, predictor, corpus.pairs(), set_name)
    task.write_report(run, predictor, evaluation, set_name, count_epochs(run, log.read_steps(run.log)))
    return path


def write_report(
    run: Run, config: Config, translator: Translator, evaluation: Evaluation, set_name: str, epochs: float
) -> None:
    """Draw every chart into charts/, and all of them into one offline page; `epochs` is how long the run trained."""
    record = RunRecord(run, task_of(config), epochs)
    charts = [*draw_curves(record.records), *record.learning_rate()]
    chrf_histogram = histogram(
        Table({"chrF2": [s.chrf for s in evaluation.sentences]}),
        "chrF2",
        title="Sentences by their chrF2",
        x_title="chrF2 of the sentence",
        y_title="sentences",
        bins=20,
        limits=(0, 100),
    ).with_name("sentences")
    trained_aligners, has_cross_attention = find_trained_aligners(run), isinstance(translator.model, EncoderDecoder)
    shown = _select_attention(translator, evaluation.sentences) if has_cross_attention else []
    attention_charts = [draw_mean_attention(matrix, trained_aligners) for matrix in shown]
    for chart in track([*charts, chrf_histogram, *attention_charts], "drawing charts"):
        chart.save(run.charts)
    scores = Section(
        "Scores",
        [
            Paragraph(describe_verdict(evaluation)),
            TableView(tabulate_evaluation(evaluation)),
            *_describe_test_set(set_name, evaluation),
            *record.other_sets(set_name),
        ],
    )
    own = [
        Section(
            "Translations",
            [Paragraph(_FIRST_CAPTION), _translation_cards(evaluation.sentences[:SHOWN_SENTENCES], config)],
        ),
        Section("Best and worst", _show_extremes(evaluation.sentences, config, chrf_histogram)),
        Section(
            "Attention",
            [Figure(attention_chart, _ATTENTION_CAPTION) for attention_chart in attention_charts]
            or [Paragraph(_NO_ATTENTION if has_cross_attention else _NO_CROSS_ATTENTION)],
        ),
    ]
    training: list[PagePart] = [DefinitionList(_training_facts(record.steps, epochs, translator)), *map(Figure, charts)]
    sections = join_sections(record, scores, own, training)
    title = f"{config.data.source or 'source'} → {config.data.target or 'target'}: {run.folder.name}"
    headline = build_headline(record, evaluation, set_name)
    with stage("writing the report"):
        write_page(run.report, render_page(title, f"Scored on {set_name}", sections, headline=headline))


def build_headline(record: RunRecord, evaluation: Evaluation, set_name: str) -> Headline:
    """BLEU beside that of the source itself as its translation, or why nothing was learned."""
    rival = Rival("copying the source", evaluation.baselines.copied_source)
    scored_set = ScoredSet(set_name, len(evaluation.sentences))
    outcome = record.judge(evaluation)
    return write_headline(record.task.report_words, evaluation.scores["bleu"], scored_set, rival, outcome)


_NO_ATTENTION = "No sentence contains a word."
_NO_CROSS_ATTENTION = "The model is a decoder that reads source and target as one sequence: it has no cross-attention."
_FIRST_CAPTION = f"The first {SHOWN_SENTENCES} sentences, not cherry-picked."
_ATTENTION_CAPTION = (
    "Cross-attention, averaged over all layers and heads: each row is a target word, each column a source word that it "
    "attends to. Tokens are merged into words, attention to EOS is left out, and rows sum to 1."
)


def tabulate_curves(records: Sequence[Step | Validation]) -> Table:
    """Loss and accuracy of training and dev, and dev BLEU, one row for each step and each validation."""
    rows: list[dict[str, Value]] = [
        {
            "step": record.number if isinstance(record, Step) else record.step,
            "set": "train" if isinstance(record, Step) else "dev",
            "loss": record.loss,
            "accuracy": record.accuracy,
            "BLEU": None if isinstance(record, Step) or record.score is None else record.score.value,
        }
        for record in records
    ]
    return Table.from_rows(rows)


def draw_curves(records: Sequence[Step | Validation]) -> list[Chart]:
    """Loss and accuracy of training and dev on common axes, and dev BLEU."""
    table = tabulate_curves(records)
    charts = [
        line_chart(
            table, "step", "loss", "set", title="Loss", x_title="step", y_title="nats per target token"
        ).with_name("loss"),
        line_chart(
            Table({**table.columns, "accuracy": [100 * record.accuracy for record in records]}),
            "step",
            "accuracy",
            "set",
            title="Accuracy",
            x_title="step",
            y_title="% of target tokens",
        ).with_name("accuracy"),
    ]
    scores: list[dict[str, Value]] = [
        {"step": row["step"], "BLEU": row["BLEU"]} for row in table.rows() if row["BLEU"] is not None
    ]
    if scores:
        bleu = Table.from_rows(scores)
        title = "BLEU on dev, greedy decoding"
        charts.append(line_chart(bleu, "step", "BLEU", title=title, x_title="step", y_title="BLEU").with_name("bleu"))
    return charts


def describe_verdict(evaluation: Evaluation) -> str:
    """BLEU beside that of systems that do not translate, in one sentence."""
    bleu, baselines = evaluation.scores["bleu"], evaluation.baselines
    chance = f"{baselines.shuffled_translations.value:.1f}"
    score = f"BLEU {bleu.format_margin(bleu.digits)}"
    if not baselines.is_below(bleu):
        return f"Does not translate: {score} is no better than the {chance} of the translations of other sentences."
    copied = f"{baselines.copied_source.value:.1f}"
    return f"{score}, against {copied} of copying the source and {chance} of the translations of other sentences."


def _describe_test_set(set_name: str, evaluation: Evaluation) -> list[Paragraph]:
    baselines = evaluation.baselines
    length_ratio = f"{baselines.length_ratio:.2f} characters of translation per character of reference"
    count = f"{len(evaluation.sentences):,} sentences; {length_ratio}."
    if set_name == "dev":
        return [Paragraph(f"{count} They also selected the best checkpoint, so scores on other text may be lower.")]
    return [Paragraph(f"{count} None of them was used for training or for selecting the checkpoint.")]


def _training_facts(steps: Sequence[Step], epochs: float, translator: Translator) -> dict[str, Value]:
    seconds = sum(step.seconds for step in steps)
    tokens = sum(step.tokens for step in steps)
    return {
        "parameters": count_parameters(translator.model),
        "vocabulary": translator.tokenizers.target.vocab_size,
        "steps": len(steps),
        "epochs": round(epochs, 2),
        **time_of_training(seconds),
        "target tokens per second": round(tokens / seconds) if seconds else None,
    }


def _show_extremes(sentences: list[SentenceResult], config: Config, chrf_histogram: Chart) -> list[Any]:
    sorted_sentences = sorted(sentences, key=lambda s: s.chrf)
    return [
        Figure(chrf_histogram),
        Paragraph(f"The {EXTREME_SENTENCES} worst by chrF2."),
        _translation_cards(sorted_sentences[:EXTREME_SENTENCES], config, legend=False),
        Paragraph(f"The {EXTREME_SENTENCES} best."),
        _translation_cards(sorted_sentences[-EXTREME_SENTENCES:][::-1], config, legend=False),
    ]


def _translation_cards(sentences: list[SentenceResult], config: Config, legend: bool = True) -> TranslationCards:
    cards = [
        TranslationCard(s.source, s.translation, s.reference, f"chrF2 {s.chrf:.1f}, sentence BLEU {s.bleu:.1f}")
        for s in sentences
    ]
    return TranslationCards(cards, config.data.source, config.data.target, marked=True, legend=legend)


def _select_attention(translator: Translator, sentences: list[SentenceResult]) -> list[CrossAttentionMatrix]:
    """The attention of the first sentence of readable length; of its reference if the translation is empty."""
    readable_sentences = [s for s in sentences if len(split_words(s.source)) in READABLE_LENGTHS]
    for sentence in readable_sentences + sentences:
        target = sentence.translation if split_words(sentence.translation) else sentence.reference
        if split_words(sentence.source) and split_words(target):
            return compute_cross_attention(translator, [sentence.source], [target])
    return []


def draw_mean_attention(cross_attention: CrossAttentionMatrix, trained_aligners: Sequence[Head]) -> Chart:
    chart = heatmap_chart(
        cross_attention.word_weights.tolist(),
        cross_attention.target_words,
        cross_attention.source_words,
        title="Cross-attention, mean of all layers and heads",
        row_title="target word",
        column_title="source word",
    )
    # Some heads attend where they were trained to: their part of the mean is no finding.
    verb = "were" if len(trained_aligners) > 1 else "was"
    names = ", ".join(map(str, trained_aligners))
    note = f"{names} {verb} trained to align (guided alignment)" if names else ""
    return chart.with_note(note).with_name("attention")
