"""regard embed-words"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.files import write
from regard.errors import DataError

if TYPE_CHECKING:
    from regard.jobs.words import WordStory


def embed_words(
    run: Path = typer.Argument(..., help="Run folder."),
    word: str = typer.Argument(..., help="The word, as it stands in the sentences."),
    file: Path = typer.Argument(..., help="A sentence a line; or sense, tab, sentence."),
    svg: Path | None = typer.Option(None, help="Write every layer's picture as SVG."),
    png: Path | None = typer.Option(None, help="Write every layer's picture as PNG."),
    csv: Path | None = typer.Option(None, help="Write the points of every layer."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """One word in many sentences, layer by layer: how much of its vector is the word's, and how much the sentence's."""
    from regard.jobs.load import use_threads
    from regard.jobs.subject import open_subject
    from regard.jobs.words import read_sentences, tell_word
    from regard.report import as_csv, layers_scatter

    use_threads(0)
    subject = open_subject(run, device)
    sentences, senses = read_sentences(file, word)
    if not sentences:
        raise DataError(f"{file}: the word '{word}' is in none of its sentences")
    story = tell_word(subject, word, sentences, senses)
    _tell(story)
    chart = layers_scatter(story.points, title=f"'{word}' in {len(story.occurrences)} sentences, layer by layer")
    for path, kind in ((svg, "svg"), (png, "png"), (csv, "csv")):
        if path is not None:
            content = as_csv(story.points) if kind == "csv" else chart.svg()
            write(path, chart.png() if kind == "png" else content.encode())


def _tell(story: "WordStory") -> None:
    senses = story.layers[0].senses is not None
    print(
        f"'{story.word}' in {len(story.occurrences)} sentences. Cosines less what unrelated words score (in brackets);"
    )
    print("standardised: every coordinate by its own deviation, so that no rogue one decides.")
    head = f"{'layer':14} {'itself':>14} {'standardised':>13} {'sentence':>9} {'explained':>10}"
    print(head + (f" {'senses (AUC)':>13} {'nearest':>8}" if senses else ""))
    for layer in story.layers:
        line = (
            f"{layer.layer:14} {layer.self_similarity:6.2f} ({layer.baseline:5.2f}) {layer.standard_similarity:13.2f} "
            f"{layer.intra_similarity:9.2f} {layer.explained:10.2f}"
        )
        print(line + (f" {layer.senses:13.2f} {layer.nearest:8.0%}" if senses else ""))
    print("nearest in the static table: " + ", ".join(f"{piece} {cosine:.2f}" for piece, cosine in story.neighbours))
    print("nearest other sentence in the last layer:")
    for one in story.occurrences[:8]:
        print(f"  {one.sentence}\n    → {story.occurrences[one.nearest].sentence}")
