"""The page of a classifier's decisions: one text with its words and heads, or many texts."""

import math

from regard.inspection.decisions.attribution import Decision, WordMeasure
from regard.jobs.look.decisions import TEXT_NAMES, ExplainedText, MeasuredTexts, describe_input
from regard.jobs.look.positions import HEADS_PER_ROW
from regard.report import (
    Chart,
    ColoredWords,
    DefinitionList,
    Figure,
    MatrixPanel,
    PagePart,
    Paragraph,
    Section,
    Table,
    TableView,
    Value,
    ValueAxis,
    bar_chart,
    matrix_grid,
    render_page,
)

NATS_LIMIT, ATTENTION_LIMIT = 1.0, 0.5
"""The values of the deepest color on every page, so that two pages can be compared."""
MAX_TOKENS = 64
"""Tokens that the matrices of heads show."""
EXPLANATIONS = {
    "gradient x input": "effect on the label's log-probability, to first order, in nats; orange supports, blue opposes",
    "attention": "the share of all attention that a word receives, mean over heads and layers; it has no direction",
    "rollout": "the same through all layers, with half of each layer's residual stream",
    "erasure": "what the label's log-probability loses if the word is erased and the text is read again, in nats",
    "masking": "the same with the word replaced by [MASK], in nats",
}
RANK_NOTE = (
    "Spearman's rank correlation over the words; 1 is the same order, 0 is chance. Attention has no sign, so it is "
    "compared with the absolute value of the other measure."
)


def render_text(explained: ExplainedText, name: str) -> str:
    """The decision, the words by every measure, whether the measures agree, and all heads."""
    decision = explained.decision
    probabilities = decision.classification.probabilities
    ranked: dict[str, Value] = {
        label: f"{probabilities[label]:.1%}" for label in sorted(probabilities, key=lambda label: -probabilities[label])
    }
    colored = [part for measure in decision.measures for part in _color_words(decision, measure)]
    sections = [
        Section("Decision", [Paragraph(explained.describe()), DefinitionList(ranked)]),
        Section("Words", [*colored, TableView(_round_columns(explained.tabulate()))]),
        Section("Do the measures agree?", [Paragraph(RANK_NOTE), *_agreement_parts(explained)]),
        Section("Attention heads", _head_parts(explained)),
    ]
    return render_page(f"Decision of {name}", describe_input(decision.text), sections)


def _round_columns(table: Table) -> Table:
    """The table with three decimal places, as people read it; the CSV file has all."""
    rounded = {
        name: [round(value, 3) if isinstance(value, float) else value for value in values]
        for name, values in table.columns.items()
    }
    return Table(rounded)


def _color_words(decision: Decision, measure: WordMeasure) -> list[ColoredWords]:
    """The words of the text; of a pair, those of each text."""
    limit = NATS_LIMIT if measure.signed else ATTENTION_LIMIT
    title = f"{measure.name}: {EXPLANATIONS[measure.name]}"
    side, values = decision.text, decision.measures[measure].tolist()
    if side.text_pair is None:
        return [ColoredWords(title, side.words, values, limit)]
    n = side.num_first_words
    return [
        ColoredWords(f"{title}; {TEXT_NAMES[0]}", side.words[:n], values[:n], limit),
        ColoredWords(TEXT_NAMES[1], side.words[n:], values[n:], limit),
    ]


def _agreement_parts(explained: ExplainedText) -> list[PagePart]:
    rows: list[dict[str, Value]] = [
        {"measures": f"{a.name} and {b.name}", "rank correlation": None if math.isnan(value) else round(value, 2)}
        for (a, b), value in explained.agreements.items()
    ]
    return [TableView(Table.from_rows(rows), f"{len(explained.decision.text.words)} words")]


def _head_parts(explained: ExplainedText) -> list[PagePart]:
    tokens = explained.decision.text.tokens[:MAX_TOKENS]
    numbers = range(len(tokens))
    panels = [
        MatrixPanel(
            name,
            weights[: len(tokens), : len(tokens)].round(4).tolist(),
            numbers,
            numbers,
            "query",
            "key",
            1.0,
            "attention weight",
            signed=False,
        )
        for name, weights in explained.heads.items()
    ]
    rows = [panels[i : i + HEADS_PER_ROW] for i in range(0, len(panels), HEADS_PER_ROW)]
    note = "Rows are queries, columns are keys; the scale is from 0 to 1 for every head."
    truncated = len(explained.decision.text.tokens) - len(tokens)
    caption = f"{truncated} tokens more are not shown." if truncated else ""
    listing = ", ".join(f"{number} {token}" for number, token in enumerate(tokens))
    return [Figure(matrix_grid("Attention weights of all heads", rows, note), caption), Paragraph(f"Tokens: {listing}")]


def render_texts(measured: MeasuredTexts, name: str) -> str:
    """Agreement of the measures, listed words and keywords over many texts."""
    sections = [Section("Do the measures agree?", _mean_agreement_parts(measured))]
    if measured.listed is not None:
        listed = (
            f"{measured.listed.num_occurrences:,} occurrences of listed words in {measured.listed.num_texts:,} texts"
        )
        lines = [Paragraph(line) for line in measured.describe_listed()]
        sections.append(Section("Listed words", [Paragraph(f"{listed}."), *lines, Figure(_draw_lifts(measured))]))
    sections.append(Section("Keywords", _keyword_parts(measured)))
    return render_page(f"Decisions of {name}", f"{measured.num_texts:,} texts of {measured.name}", sections)


def _mean_agreement_parts(measured: MeasuredTexts) -> list[PagePart]:
    parts: list[PagePart] = [Paragraph(measured.describe_agreement()), Paragraph(RANK_NOTE)]
    if not measured.agreements:
        return parts
    table = Table.from_rows(
        {
            "measures": score.name,
            "mean rank correlation": round(score.value, 2),
            "low": None if score.low is None else round(score.low, 2),
            "high": None if score.high is None else round(score.high, 2),
        }
        for score in measured.agreements.values()
    )
    has_interval = all(score.low is not None for score in measured.agreements.values())
    chart = bar_chart(
        table,
        "measures",
        "mean rank correlation",
        interval=("low", "high") if has_interval else None,
        title="Rank agreement of measures",
        x_title="",
        y_title=ValueAxis("mean rank correlation", (-1.0, 1.0)),
    )
    return [*parts, Figure(chart, "Bars end at the mean over texts, lines at its 95% interval."), TableView(table)]


def _draw_lifts(measured: MeasuredTexts) -> Chart:
    assert measured.listed is not None
    rows: list[dict[str, Value]] = []
    for share in measured.listed.shares:
        rows.append({"measure": share.measure.name, "words": "listed", "lift": share.lift.value})
        rows.append({"measure": share.measure.name, "words": "random, same frequency", "lift": share.random_lift})
    return bar_chart(
        Table.from_rows(rows),
        "measure",
        "lift",
        series="words",
        title="Listed words beside random words",
        x_title="",
        y_title="times the average of a word",
    )


def _keyword_parts(measured: MeasuredTexts) -> list[PagePart]:
    note = (
        "Keywords are selected greedily on one half of the texts of a class, by what erasing them costs all of them "
        "together; their effect is measured on the other half. Decisions about texts without a keyword cannot change. "
        "Of classes that rely on no keyword, about one in 40 exceeds 95% of its random sets by chance."
    )
    verdict = Paragraph(measured.describe_reliance())
    if not measured.keywords:
        return [verdict, Paragraph(note)]
    rows: list[dict[str, Value]] = []
    for entry in measured.rank_keywords():
        rows.append({"class": entry.label, "words": "keywords", "changed": entry.flipped.value})
        rows.append({"class": entry.label, "words": "random, same frequency", "changed": entry.random_flipped})
    chart = bar_chart(
        Table.from_rows(rows),
        "class",
        "changed",
        series="words",
        title="Decisions that change without a few words",
        x_title="class",
        y_title=ValueAxis("% of the decisions for the class", (0.0, 100.0)),
    )
    return [verdict, TableView(_tabulate_keywords(measured)), Figure(chart), Paragraph(note)]


def _tabulate_keywords(measured: MeasuredTexts) -> Table:
    return Table.from_rows(
        {
            "class": entry.label,
            "keywords": ", ".join(entry.keywords),
            "decisions": entry.num_texts,
            "with a keyword": f"{entry.containing:.0f}%",
            "changed without them": f"{entry.flipped.value:.0f}%",
            "without random words": f"{entry.random_flipped:.0f}%",
            "95% of random sets": f"{entry.random_interval[0]:.0f} to {entry.random_interval[1]:.0f}%",
        }
        for entry in measured.rank_keywords()
    )
