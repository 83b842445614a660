"""Compare texts by their vectors."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import overload

from regard.api.arguments import AnyPath, Files, list_files
from regard.api.models import EncoderModel, Texts, load_encoder
from regard.api.tasks.models import require_float
from regard.api.terminal import showing
from regard.formats.related import read_related_texts
from regard.jobs.load import load_encoder as open_encoder
from regard.jobs.tasks.embedding.inputs import ComparedTexts, compare_lines, compare_rows


@overload
def similar(run: AnyPath, texts: str, others: str, *, device: str = "auto", progress: bool = False) -> float: ...


@overload
def similar(
    run: AnyPath, texts: str | Texts, others: Texts, *, device: str = "auto", progress: bool = False
) -> list[float]: ...


def similar(
    run: AnyPath, texts: str | Texts, others: str | Texts, *, device: str = "auto", progress: bool = False
) -> float | list[float]:
    """How similar texts are: the cosine of their vectors, from -1 to 1, by an encoder, trained or imported.

        regard.similar("runs/mine", "How do I pay?", "Which ways of payment are there?")

    Two texts have one similarity. A text and a list have one for each text of the list, two lists one for each pair.
    """
    with showing(progress):
        return load_encoder(run, device).similar(texts, others)


def similar_stream(
    run: AnyPath, lines: Iterable[str], *, device: str = "auto", name: str = "line"
) -> Iterator[ComparedTexts | None]:
    """The similarity of the two texts of each line, as lines arrive; None for a blank line.

        for pair in regard.similar_stream("runs/mine", open("pairs.txt")):
            print(pair.similarity if pair else "")

    The texts of a line are separated by a tab. `name` names the lines in error messages.
    """
    if isinstance(lines, str):
        raise TypeError("similar_stream() takes lines, as a file or a list of str, got one str")
    embedder = open_encoder(Path(run), device)
    texts = (line.removesuffix("\n") for line in lines)
    return compare_lines(embedder, texts, lambda number: f"{name}:{number}")


def similar_files(run: AnyPath, *files: Files, device: str = "auto") -> Iterator[ComparedTexts]:
    """The similarity of the two texts of each row of tables (.tsv, .csv, .jsonl).

    for pair in regard.similar_files("runs/mine", "pairs.tsv"):
        print(pair.similarity, pair.text, pair.text_pair)
    """
    return compare_rows(open_encoder(Path(run), device), read_related_texts(list_files(files)))


def load_model(run: AnyPath, device: str = "auto", quantize: str = "none") -> EncoderModel:
    """The encoder of a run."""
    require_float(quantize)
    return load_encoder(run, device)
