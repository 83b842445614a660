"""What `regard look` prints for a classifier: one decision word by word, or what many decisions rest on."""

import math

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.jobs.look.decisions import DecisionInspection, ExplainedText, MeasuredTexts
from regard.report.text import isolate

DROPPED = {"masking": 1, "rollout": 2}
"""Columns that a narrow terminal leaves out; the largest number first."""
MAX_LABELS = 7
MAX_CLASSES = 8
"""Classes whose keywords are shown."""


def format_decisions(inspection: DecisionInspection, width: int, verbose: bool = False) -> list[str]:
    """One decision, or those about many texts, and notes on files."""
    lines = format_text(inspection.text, width) if inspection.text else []
    lines += format_texts(inspection.texts, width) if inspection.texts else []
    return [*lines, *wrap_all(inspection.notes, width, "", "  ")]


def format_text(explained: ExplainedText, width: int) -> list[str]:
    """The decision with its probabilities, a row for each word, and whether the measures agree."""
    decision = explained.decision
    probabilities = decision.classification.probabilities
    ranked = sorted(probabilities, key=lambda label: -probabilities[label])
    more = len(ranked) - MAX_LABELS
    listing = ", ".join(f"{label} {probabilities[label]:.1%}" for label in ranked[:MAX_LABELS])
    side = decision.text
    shown = [side.text] if side.text_pair is None else [f"1: {side.text}", f"2: {side.text_pair}"]
    lines = [*(line for text in shown for line in wrap(isolate(text), width)), *wrap(explained.describe(), width)]
    lines += [*wrap(listing + (f" and {more} more" if more > 0 else ""), width, "", "  "), ""]
    is_pair = side.text_pair is not None
    columns = [Column("word"), *([Column("text", right=True)] if is_pair else [])]
    columns += [Column(measure.name, right=True, drops=DROPPED.get(measure.name, 0)) for measure in decision.measures]
    rows = [
        [
            isolate(word),
            *([str(1 + (n >= side.num_first_words))] if is_pair else []),
            *(f"{values[n]:+.3f}" if m.signed else f"{values[n]:.3f}" for m, values in decision.measures.items()),
        ]
        for n, word in enumerate(decision.text.words)
    ]
    facts = [f"for {decision.label}, above 0 supports it, in nats; attention is a share without direction"]
    facts.append(f"attention on tokens that are no words, such as eos: {decision.special_attention:.0%}")
    facts.append(_describe_agreements(explained))
    return [*lines, *format_table(columns, rows, width), "", *wrap_all(facts, width, "", "  ")]


def _describe_agreements(explained: ExplainedText) -> str:
    num_words = len(explained.decision.text.words)
    known = {pair: value for pair, value in explained.agreements.items() if not math.isnan(value)}
    if not known:
        return f"rank agreement: {num_words} words are too few to compare"
    listing = "; ".join(f"{a.name} and {b.name} {value:.2f}" for (a, b), value in known.items())
    return f"rank agreement over {num_words} words (Spearman, 0 is chance): {listing}"


def format_texts(measured: MeasuredTexts, width: int) -> list[str]:
    """Agreement of the measures, listed words, and keywords."""
    lines = [*wrap(f"{measured.num_texts:,} texts of {measured.name}", width), ""]
    lines += wrap(measured.describe_agreement(), width)
    rows = [[score.name, f"{score.value:.2f}", score.format_interval()] for score in measured.agreements.values()]
    columns = (Column("measures", wraps=True), Column("mean rank correlation", right=True), Column("95% interval"))
    lines += [*format_table(columns, rows, width), ""] if rows else [""]
    if listed := measured.describe_listed():
        lines += [*wrap_all(listed, width, "", "  "), ""]
    keywords = measured.describe_keywords()
    shown, more = keywords[:MAX_CLASSES], len(keywords) - MAX_CLASSES
    rest = [f"and {more} classes more: write a page with --out, or use --json"] if more > 0 else []
    return [*lines, *wrap(measured.describe_reliance(), width), *wrap_all([*shown, *rest], width, "", "  ")]
