"""One word in many sentences: whether its senses separate, a row for each layer, and its nearest neighbors."""

import math
from collections.abc import Sequence
from itertools import zip_longest

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.inspection.embeddings import SimilarityScores
from regard.jobs.look.senses import Occurrence, SenseAnalysis

SHOWN_SENTENCES = 8
FEW_SENTENCES = 12
SIGNIFICANT = 0.05
PLACES = {"static": "the embedding table", "with position": "the embeddings with positions"}
MEASURES = ("SelfSim", "IntraSim", "MEV", "anisotropy")
LEGEND = """\
SelfSim: mean cosine of the word's vectors; IntraSim: of the tokens of a sentence; MEV: variance explained by one \
direction. From each, that of random words is subtracted; their mean cosine is the anisotropy.
Standardized: every dimension has deviation 1, so that no rogue dimension dominates.
Ethayarajh 2019; Timkey and van Schijndel 2021."""


def format_senses(analysis: SenseAnalysis, width: int, verbose: bool = False) -> list[str]:
    """How contextual the word is and whether its senses separate; then the layers, raw and standardized."""
    has_senses = analysis.layers[0].sense_auc is not None
    lines = wrap(_describe_answer(analysis), width)
    for kind in ("standardized", "raw") if verbose else ("standardized",):
        columns = [Column(f"layer, {kind}"), *(Column(name, right=True) for name in MEASURES)]
        columns += [Column("sense AUC", right=True), Column("nearest", right=True)] if has_senses else []
        rows = []
        for layer in analysis.layers:
            cells = [layer.layer, *_format_similarities(layer.raw if kind == "raw" else layer.standardized)]
            if layer.sense_auc is not None and layer.nearest_sense_accuracy is not None:
                cells += [f"{layer.sense_auc:.2f}", f"{layer.nearest_sense_accuracy:.0%}"]
            rows.append(cells)
        lines += ["", *format_table(columns, rows, width)]
    tokens = ", ".join(f"{token} {cosine:.2f}" for token, cosine in analysis.neighbors)
    lines += ["", *wrap(f"nearest tokens in the embedding table: {tokens}", width, "", "  ")]
    shown = select_occurrences(analysis.occurrences)
    of_all = "" if len(shown) == len(analysis.occurrences) else f", {len(shown)} of {len(analysis.occurrences)}"
    lines.append(f"nearest other sentence in the last layer{of_all}:")
    for occurrence in shown:
        lines += wrap(_format_occurrence(occurrence), width, "  ", "    ")
        lines += wrap(_format_occurrence(analysis.occurrences[occurrence.nearest]), width, "    → ", "      ")
    more = "" if verbose else "\nAdd --verbose for the raw numbers as well."
    return [*lines, "", *wrap_all((LEGEND + more).split("\n"), width, "", "  ")]


def select_occurrences(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """As many sentences of every sense as can be shown, in their order."""
    by_sense: dict[str, list[Occurrence]] = {}
    for one in occurrences:
        by_sense.setdefault(one.sense, []).append(one)
    in_turn = [one for turn in zip_longest(*by_sense.values()) for one in turn if one is not None]
    chosen = in_turn[:SHOWN_SENTENCES]
    return [one for one in occurrences if any(one is other for other in chosen)]


def _format_occurrence(occurrence: Occurrence) -> str:
    return f"{occurrence.sense}: {occurrence.sentence}" if occurrence.sense else occurrence.sentence


def _describe_answer(analysis: SenseAnalysis) -> str:
    count = len(analysis.occurrences)
    aucs = [(layer.sense_auc, layer.layer) for layer in analysis.layers if layer.sense_auc is not None]
    first, last = analysis.layers[0], analysis.layers[-1]
    change = (
        f"SelfSim {bind(f'{last.standardized.self_similarity:.2f}')} in the last layer, "
        f"{bind(f'{first.standardized.self_similarity:.2f}')} in the embedding table"
    )
    p = analysis.sense_p_value
    if not aucs or p is None or math.isnan(p):
        scale = "(1: the same vector in every sentence, 0: as different as random words)"
        return f"'{analysis.word}' in {count} sentences: {change} {scale}."
    auc, layer_name = max(aucs, key=lambda item: item[0])
    if p >= SIGNIFICANT:
        few = " So few sentences could hide a separation." if count < FEW_SENTENCES else ""
        return (
            f"'{analysis.word}' in {count} sentences: no layer separates the senses (best AUC {bind(f'{auc:.2f}')}, no "
            f"better than shuffled labels, {bind(f'p = {p:.2f}')}).{few}"
        )
    return (
        f"'{analysis.word}' in {count} sentences: its senses separate best in {PLACES.get(layer_name, layer_name)}, "
        f"with an AUC of {auc:.2f} (0.5 is chance, 1 is perfect; {bind(f'p = {p:.3f}')} against shuffled labels, for "
        f"the best of {len(aucs)} layers)."
    )


def _format_similarities(similarity: SimilarityScores) -> list[str]:
    numbers = (
        similarity.self_similarity,
        similarity.intra_sentence_similarity,
        similarity.max_explained_variance,
        similarity.anisotropy,
    )
    return [f"{round(number, 2) + 0.0:.2f}" for number in numbers]  # without a minus before 0
