"""regard senses"""

from pathlib import Path

from regard.cli.options import CPU_DEVICE, OUTPUT, RUN, argument, option
from regard.cli.output import check, write


def senses(
    run: Path = RUN,
    word: str = argument("WORD", "The word, as it occurs in the sentences."),
    file: Path = argument("FILE", "One sentence per line; or sense, tab, sentence."),
    out: Path | None = option(
        OUTPUT, "FILE", "Write a page (HTML): static beside contextual vectors, and how far apart senses are by layer."
    ),
    svg: Path | None = option(OUTPUT, "FILE", "Write the scatter plots of all layers as SVG."),
    png: Path | None = option(OUTPUT, "FILE", "Write the scatter plots of all layers as PNG."),
    csv: Path | None = option(OUTPUT, "FILE", "Write the numbers of every layer as CSV."),
    points: Path | None = option(OUTPUT, "FILE", "Write the points of the scatter plots as CSV."),
    device: str = CPU_DEVICE,
) -> None:
    """Show one word in many sentences, layer by layer: how contextual its embedding is, and whether senses separate.

    A run of any kind: of an encoder and a decoder, the encoder is shown; a decoder alone has read a sentence up to the
    word only.

    Examples:
      regard senses runs/mine bank bank.tsv --out bank.html
      regard senses runs/mine bank bank.tsv --svg bank.svg --csv bank.csv

    Read more: docs/explanation/attention.md
    """
    from regard.api.inspecting import senses as analyze_senses
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.senses import format_senses
    from regard.jobs.senses.page import write_senses_page
    from regard.report import to_csv

    check(out, svg, png, csv, points)
    analysis = analyze_senses(run, word, file, device=device)
    print("\n".join(format_senses(analysis, terminal_width(), is_verbose())))
    if out is not None:
        write_senses_page(analysis, out)
    if svg is not None:
        write(svg, analysis.chart().to_svg().encode())
    if png is not None:
        write(png, analysis.chart().to_png())
    if csv is not None:
        write(csv, to_csv(analysis.as_table()).encode())
    if points is not None:
        write(points, to_csv(analysis.points).encode())
