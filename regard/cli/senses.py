"""regard senses"""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.options import CPU_DEVICE, OUTPUT, RUN, argument, option
from regard.cli.output import write

if TYPE_CHECKING:
    from regard.jobs.look.senses import SenseAnalysis


LEGEND = """\
'{word}' in {count} sentences. SelfSim: mean cosine of its vectors; IntraSim: of the tokens of a sentence;
MEV: variance explained by one direction.
From each value, that of random words is subtracted (anisotropy: their mean cosine).
Left raw, right standardized: every dimension has deviation 1, so that no rogue dimension dominates.
Ethayarajh 2019; Timkey and van Schijndel 2021."""


def senses(
    run: Path = RUN,
    word: str = argument("WORD", "The word, as it occurs in the sentences."),
    file: Path = argument("FILE", "One sentence per line; or sense, tab, sentence."),
    svg: Path | None = option(OUTPUT, "FILE", "Write the scatter plots of all layers as SVG."),
    png: Path | None = option(OUTPUT, "FILE", "Write the scatter plots of all layers as PNG."),
    csv: Path | None = option(OUTPUT, "FILE", "Write the numbers of every layer as CSV."),
    points: Path | None = option(OUTPUT, "FILE", "Write the points of the scatter plots as CSV."),
    device: str = CPU_DEVICE,
) -> None:
    """Show one word in many sentences, layer by layer: how contextual its embedding is, and whether senses separate.

    Examples:
      regard senses runs/mine bank bank.tsv
      regard senses runs/mine bank bank.tsv --svg bank.svg --csv bank.csv

    Read more: docs/look_inside.md
    """
    from regard.api.inspecting import senses as analyze_senses
    from regard.report import to_csv

    analysis = analyze_senses(run, word, file, device=device)
    _print_summary(analysis)
    if svg is not None:
        write(svg, analysis.chart().to_svg().encode())
    if png is not None:
        write(png, analysis.chart().to_png())
    if csv is not None:
        write(csv, to_csv(analysis.as_table()).encode())
    if points is not None:
        write(points, to_csv(analysis.points).encode())


def _print_summary(analysis: "SenseAnalysis") -> None:
    has_senses = analysis.layers[0].sense_auc is not None
    print(LEGEND.format(word=analysis.word, count=len(analysis.occurrences)))
    names = ("SelfSim", "IntraSim", "MEV", "anisotropy")
    header = f"{'layer':14}" + 2 * (" │" + "".join(f" {name:>10}" for name in names))
    print(header + (f" │ {'sense AUC':>9} {'nearest':>7}" if has_senses else ""))
    for layer in analysis.layers:
        line = f"{layer.layer:14}"
        for similarity in (layer.raw, layer.standardized):
            numbers = (
                similarity.self_similarity,
                similarity.intra_sentence_similarity,
                similarity.max_explained_variance,
                similarity.anisotropy,
            )
            line += " │" + "".join(f" {number:10.2f}" for number in numbers)
        print(line + (f" │ {layer.sense_auc:9.2f} {layer.nearest_sense_accuracy:7.0%}" if has_senses else ""))
    print("nearest tokens in the embedding table: " + ", ".join(f"{token} {c:.2f}" for token, c in analysis.neighbors))
    print("nearest other sentence in the last layer:")
    for occurrence in analysis.occurrences[:8]:
        print(f"  {occurrence.sentence}\n    → {analysis.occurrences[occurrence.nearest].sentence}")
