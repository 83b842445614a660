"""Parts of a document that belong together: its title and its body, a heading and its section, a sentence and the rest.

From them an encoder learns what a search needs: short texts near to the long ones that they are about.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from regard.data.sentences import rules_for, split_sentences
from regard.formats import Pair
from regard.formats.document_texts import DocumentText

MAX_HEADING_CHARACTERS = 120
MIN_WORDS = 4
"""Of a body: less is hardly a text."""
SENTENCE_ENDS = (".", "!", "?", ":", ";", ",", "…", "。", "！", "？", "।")
MARKED_HEADING = re.compile(r"#{1,6}[ \t]+(?P<heading>.*?)[ \t#]*$")
UNDERLINE = re.compile(r"(=+|-+|~+)[ \t]*$")
FENCE = re.compile(r"[ \t]*(```|~~~)")


@dataclass(frozen=True)
class DocumentSection:
    """A heading, "" where there is none, and the paragraphs up to the next one."""

    heading: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        return " ".join(self.paragraphs)


def split_sections(text: str) -> list[DocumentSection]:
    """The sections of a document. Headings are those of Markdown and reST, or short lines between blank lines."""
    sections: list[DocumentSection] = []
    heading, paragraphs = "", list[str]()
    for block, is_heading in _split_blocks(text):
        if not is_heading:
            paragraphs.append(" ".join(block.split()))
            continue
        if heading or paragraphs:
            sections.append(DocumentSection(heading, tuple(paragraphs)))
        heading, paragraphs = block, []
    return [*sections, DocumentSection(heading, tuple(paragraphs))]


def _split_blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs and headings in their order; code between fences is left out."""
    block: list[str] = []
    is_code = False
    for line in [*text.split("\n"), ""]:
        is_fence = FENCE.match(line) is not None
        is_code ^= is_fence
        if is_code or is_fence:
            continue
        marked = MARKED_HEADING.match(line)
        if line.strip() and not marked:
            block.append(line)
            continue
        yield from _recognize(block)
        block = []
        if marked and marked["heading"]:
            yield marked["heading"], True


def _recognize(block: list[str]) -> Iterator[tuple[str, bool]]:
    """A block of lines as a heading, a paragraph, or both."""
    if len(block) > 1 and UNDERLINE.match(block[1]):
        yield block[0].strip(), True
        block = block[2:]
    if block:
        first = block[0].strip()
        is_short = len(block) == 1 and len(first) <= MAX_HEADING_CHARACTERS
        yield "\n".join(block).strip(), is_short and not first.endswith(SENTENCE_ENDS)


Relate = Callable[[list[DocumentSection], str], Iterator[tuple[str, str]]]
"""The sections of a document, and its language -> texts with their positives."""


def relate_title(sections: list[DocumentSection], language: str) -> Iterator[tuple[str, str]]:
    """The first heading, and all of the text, where the document begins with a heading."""
    yield sections[0].heading, " ".join(filter(None, (section.body for section in sections)))


def relate_headings(sections: list[DocumentSection], language: str) -> Iterator[tuple[str, str]]:
    """Each heading after the first, and the text below it."""
    return ((section.heading, section.body) for section in sections[1:])


def relate_sentences(sections: list[DocumentSection], language: str) -> Iterator[tuple[str, str]]:
    """The first sentence of each paragraph, and the other ones.  The inverse cloze task of Lee et al. 2019."""
    for section in sections:
        for paragraph in section.paragraphs:
            first, *rest = split_sentences(paragraph, rules_for(language))
            yield first.text, "".join(one.text + one.blank for one in rest)


RELATIONS: Mapping[str, Relate] = {"title": relate_title, "heading": relate_headings, "sentence": relate_sentences}


def relate_parts(documents: Iterable[DocumentText], kinds: Iterable[str], language: str = "") -> Iterator[Pair]:
    """The pairs of documents, each once; those with an empty text or a body of few words are left out.

    A body that begins with a title of some words again, as many abstracts do, loses this beginning: the pair would be
    found by it. One that begins with a single word of the title says something about it.
    """
    seen_pairs: set[tuple[str, str]] = set()
    relations = [RELATIONS[kind] for kind in kinds]
    for document in documents:
        sections = split_sections(document.text)
        for relate in relations:
            for parts in relate(sections, language):
                text, positive = (" ".join(part.split()) for part in parts)
                positive = without_beginning(positive, text) if len(text.split()) >= MIN_WORDS else positive
                if text and len(positive.split()) >= MIN_WORDS and (text, positive) not in seen_pairs:
                    seen_pairs.add((text, positive))
                    yield Pair(text, positive, document.location)


def without_beginning(text: str, beginning: str) -> str:
    """The words of a text after those of a beginning; all of them where it begins in another way. Case is ignored."""
    words, first = text.split(), beginning.split()
    repeats = [word.lower() for word in words[: len(first)]] == [word.lower() for word in first]
    return " ".join(words[len(first) :]) if repeats else text
