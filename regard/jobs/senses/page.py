"""The page of a word in many sentences: how far apart its senses are in each layer, static beside contextual."""

import math
from pathlib import Path

from regard.inspection.embeddings import Contextuality
from regard.jobs.look.senses import SenseAnalysis
from regard.report import Figure, PagePart, Paragraph, Section, Table, TableView, render_page, write_page

STATIC_NOTE = (
    "A static vector is a row of the embedding table: the same in every sentence, so that its cosine with itself is 1 "
    "and no sense differs from another by it. A contextual vector is the state of a layer."
)
CAUSAL_NOTE = "The model reads from left to right: its vectors know the sentence up to the word, and nothing after it."
LAYER_NOTE = (
    "The nearer the two curves, the less a layer tells the senses apart. Cosines are as they are; compare the curves "
    "within a layer, not across layers, where all cosines may be higher."
)
SCATTER_NOTE = "Each layer has axes of its own: clusters matter, not distances."


def write_senses_page(analysis: SenseAnalysis, path: Path) -> None:
    """Write the page, which works offline."""
    subtitle = f"{len(analysis.occurrences)} sentences, {len(analysis.layers)} layers"
    write_page(path, render_page(f"Senses: {analysis.word}", subtitle, list_sections(analysis)))


def list_sections(analysis: SenseAnalysis) -> list[Section]:
    """Static beside contextual, the layers, the occurrences in each, and the sentences."""
    chart = analysis.layer_chart()
    comparison: list[PagePart] = [Paragraph(_describe(analysis)), TableView(_compare(analysis)), Paragraph(STATIC_NOTE)]
    comparison += [Paragraph(CAUSAL_NOTE)] if analysis.is_causal else []
    sections = [Section("Static beside contextual", comparison)]
    if chart is not None:
        sections.append(Section("How far apart the senses are", [Figure(chart), Paragraph(LAYER_NOTE)]))
    return [
        *sections,
        Section("Every occurrence in every layer", [Figure(analysis.chart()), Paragraph(SCATTER_NOTE)]),
        Section("Numbers", [TableView(analysis.as_table())]),
        Section("Sentences", [TableView(_tabulate_sentences(analysis))]),
    ]


def _describe(analysis: SenseAnalysis) -> str:
    """Whether context separates the senses, and where, in a sentence or two."""
    best = _find_best(analysis)
    if best is None or best.sense_auc is None or analysis.sense_p_value is None:
        return "The sentences have no senses: give lines of sense, tab, sentence to see which layer tells them apart."
    count, p = len(analysis.occurrences), analysis.sense_p_value
    if p >= 0.05:
        return f"No layer separates the senses of these {count} occurrences (p = {p:.2f} against shuffled senses)."
    return (
        f"The senses are farthest apart in {best.layer}: two occurrences of the same sense are nearer than two of "
        f"different senses in {100 * best.sense_auc:.0f} % of comparisons (50 % is chance; p = {p:.3f} against "
        f"shuffled senses, for the best of all layers)."
    )


def _find_best(analysis: SenseAnalysis) -> Contextuality | None:
    """The contextual layer with the highest AUC; None without senses."""
    scored = [one for one in analysis.layers[1:] if one.sense_auc is not None and not math.isnan(one.sense_auc)]
    return max(scored, key=lambda one: one.sense_auc or 0.0, default=None)


def _compare(analysis: SenseAnalysis) -> Table:
    """The embedding table beside the layer that separates the senses best, or the last one."""
    best = _find_best(analysis) or analysis.layers[-1]
    return Table.from_rows(
        {
            "vectors": name,
            "layer": layer.layer,
            "cosine, same sense": layer.same_sense_cosine,
            "cosine, other sense": layer.other_sense_cosine,
            "sense AUC": layer.sense_auc,
            "nearest has the same sense": layer.nearest_sense_accuracy,
            "SelfSim": layer.raw.self_similarity,
        }
        for name, layer in (("static", analysis.layers[0]), ("contextual", best))
    )


def _tabulate_sentences(analysis: SenseAnalysis) -> Table:
    return Table.from_rows(
        {
            "sense": one.sense,
            "sentence": one.sentence,
            "nearest in the last layer": analysis.occurrences[one.nearest].sentence,
        }
        for one in analysis.occurrences
    )
