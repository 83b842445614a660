"""Tag the words of lines of text."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.api.arguments import AnyPath
from regard.jobs.tasks.registry import open_predictor
from regard.jobs.translate.stream import read_chunks
from regard.languages.words import word_spans
from regard.tasks.tag.tagger import TaggedText, Tagger, spaced_words

CHUNK_LINES = 512


def tag_stream(
    run: AnyPath, lines: Iterable[str], *, words: bool = False, device: str = "auto"
) -> Iterator[TaggedText]:
    """The words, tags and entities of each line, as lines arrive; memory does not grow with their number.

        for line in regard.tag_stream("runs/mine", ["Alex Smith lives in Paris."]):
            for entity in line.entities:
                print(entity.type, entity.text, entity.probability)

    An entity has the characters from `start` to `end` of the text: text[start:end] is its own text. With `words`, what
    stands between blanks is a word; otherwise punctuation is separated. Where tags mark no spans, as parts of speech,
    every word is an entity.
    """
    if isinstance(lines, str):
        raise TypeError("tag_stream() takes lines, as a file or a list of str, got one str")
    tagger: Tagger = open_predictor(Path(run), "tag", device)
    texts = (line.removesuffix("\n") for line in lines)
    find_words = spaced_words if words else word_spans
    return (result for chunk in read_chunks(texts, CHUNK_LINES) for result in tagger.tag_texts(chunk, find_words))
