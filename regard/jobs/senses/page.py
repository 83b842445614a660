"""The page of a word in many sentences: how far apart its senses are in each layer, static beside contextual."""

import math
from pathlib import Path

from regard.inspection.embeddings import Contextuality
from regard.inspection.word_states import POSITION, STATIC
from regard.jobs.look.senses import SenseAnalysis
from regard.report import Figure, PagePart, Paragraph, Section, Table, TableView, Value, render_page, write_page

STATIC_NOTE = (
    "A static vector is a row of the embedding table: the same in every sentence, so that its cosine with itself is 1 "
    "and no sense differs from another by it. A contextual vector is the state of a layer."
)
CAUSAL_NOTE = "The model reads from left to right: its vectors know the sentence up to the word, and nothing after it."
LAYER_NOTE = (
    "The nearer the two curves, the less a layer tells the senses apart. Cosines are as they are; compare the curves "
    "within a layer, not across layers, where all cosines may be higher."
)
SCATTER_NOTE = (
    "All layers are projected on the same two principal axes (PCA of the standardized vectors); each panel has a scale "
    "of its own, so that clusters matter, not distances."
)
AUC_NOTE = (
    "Sense AUC: how often two occurrences of the same sense are nearer than two of different senses; 0.5 is chance, 1 "
    "is perfect. It and the nearest occurrence are of standardized vectors, cosines of vectors as they are."
)
MEASURES_NOTE = (
    "SelfSim: mean cosine of the vectors of the word; IntraSim: of the tokens of a sentence with their mean; MEV: "
    "share of the variance that one direction explains. From each, that of random words is subtracted; their mean "
    "cosine is the anisotropy. Standardized: every dimension has mean 0 and deviation 1. Ethayarajh 2019; Timkey and "
    "van Schijndel 2021."
)
POSITION_NOTE = "The place of the word in its sentence tells them apart, and no other word."
LAYER_NAMES = {STATIC: "the embedding table", POSITION: "the embeddings with positions"}
FEW_SENTENCES = 12
"""Occurrences below which a separation may be missed."""


def write_senses_page(analysis: SenseAnalysis, path: Path) -> None:
    """Write the page, which works offline."""
    count = len(analysis.contextual_layers)
    subtitle = f"{len(analysis.occurrences)} sentences; {count} layer{'' if count == 1 else 's'} above the embeddings"
    write_page(path, render_page(f"Senses: {analysis.word}", subtitle, list_sections(analysis)))


def list_sections(analysis: SenseAnalysis) -> list[Section]:
    """Static beside contextual, the layers, the occurrences in each, and the sentences."""
    chart, has_senses = analysis.layer_chart(), analysis.best_layer is not None
    comparison: list[PagePart] = [Paragraph(describe_senses(analysis)), TableView(_compare(analysis))]
    notes = [AUC_NOTE] * has_senses + [STATIC_NOTE] + [CAUSAL_NOTE] * analysis.is_causal
    sections = [Section("Static beside contextual", [*comparison, *map(Paragraph, notes)])]
    if chart is not None:
        sections.append(Section("How far apart the senses are", [Figure(chart), Paragraph(LAYER_NOTE)]))
    measures: list[PagePart] = [
        TableView(_tabulate_similarities(analysis, kind), f"{kind.capitalize()}.") for kind in ("standardized", "raw")
    ]
    return [
        *sections,
        Section("Every occurrence in every layer", [Figure(analysis.chart()), Paragraph(SCATTER_NOTE)]),
        Section("How much the vectors depend on the sentence", [*measures, Paragraph(MEASURES_NOTE)]),
        Section("Sentences", [TableView(_tabulate_sentences(analysis))]),
    ]


def describe_senses(analysis: SenseAnalysis) -> str:
    """Whether context separates the senses, and where, in a sentence or two."""
    best, p = analysis.best_layer, analysis.sense_p_value
    if best is None or best.sense_auc is None or p is None or math.isnan(p):
        return "The sentences have no senses: give lines of sense, tab, sentence to see which layer tells them apart."
    count, place = len(analysis.occurrences), LAYER_NAMES.get(best.layer, best.layer)
    if p >= 0.05:
        few = " So few sentences could hide a separation." if count < FEW_SENTENCES else ""
        return (
            f"No layer separates the senses of these {count} occurrences: the highest AUC, {best.sense_auc:.2f} in "
            f"{place}, is no better than those of shuffled senses (p = {p:.2f}).{few}"
        )
    of_position = " The place of the word in its sentence tells them apart, and no other word." * (
        best.layer == POSITION
    )
    return (
        f"The senses are farthest apart in {place}: two occurrences of the same sense are nearer than two of "
        f"different senses in {100 * best.sense_auc:.0f} % of comparisons (50 % is chance; p = {p:.3f} against "
        f"shuffled senses, for the best of all layers).{of_position}"
    )


def _compare(analysis: SenseAnalysis) -> Table:
    """The embedding table beside the contextual layer that separates the senses best, or the last one."""
    layers = analysis.contextual_layers
    contextual = max(layers, key=lambda one: one.sense_auc or 0.0) if analysis.best_layer else layers[-1]
    return Table.from_rows(
        {
            "vectors": name,
            "layer": "embedding table" if layer.layer == STATIC else layer.layer,
            **(_describe_separation(layer) if analysis.best_layer else {}),
            "SelfSim": round(layer.standardized.self_similarity, 2),
        }
        for name, layer in (("static", analysis.layers[0]), ("contextual", contextual))
    )


def _describe_separation(layer: Contextuality) -> dict[str, Value]:
    nearest = layer.nearest_sense_accuracy
    return {
        "cosine, same sense": _round(layer.same_sense_cosine),
        "cosine, other sense": _round(layer.other_sense_cosine),
        "sense AUC": _round(layer.sense_auc),
        "nearest has the same sense": None if nearest is None else f"{nearest:.0%}",
    }


def _round(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, 2)


def _tabulate_similarities(analysis: SenseAnalysis, kind: str) -> Table:
    """SelfSim, IntraSim, MEV and anisotropy of every layer."""
    return Table.from_rows(
        {
            "layer": layer.layer,
            "SelfSim": _round(scores.self_similarity),
            "IntraSim": _round(scores.intra_sentence_similarity),
            "MEV": _round(scores.max_explained_variance),
            "anisotropy": _round(scores.anisotropy),
        }
        for layer in analysis.layers
        for scores in [layer.raw if kind == "raw" else layer.standardized]
    )


def _tabulate_sentences(analysis: SenseAnalysis) -> Table:
    """Every sentence beside the one whose word has the nearest vector; with senses, also whether they are the same."""
    rows: list[dict[str, Value]] = []
    for one in analysis.occurrences:
        nearest = analysis.occurrences[one.nearest]
        row: dict[str, Value] = {"sense": one.sense} if analysis.best_layer else {}
        row |= {"sentence": one.sentence, "nearest in the last layer": nearest.sentence}
        rows.append(row | ({"its sense": nearest.sense} if analysis.best_layer else {}))
    return Table.from_rows(rows)
