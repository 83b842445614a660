"""Documents with their summaries as they are stored, and documents as sentences."""

from collections.abc import Iterable

from regard.data.sentences import SentenceRules, base_language, split_sentences
from regard.formats import Pair
from regard.formats.summaries import SummarizedDocument
from regard.languages import main_script
from regard.metrics.summaries import EnglishWords, UnicodeWords, WordSplitter
from regard.tasks.stored_parts import join_parts, split_parts

ENGLISH = "en"


def store_document(document: SummarizedDocument) -> Pair:
    """The sentences in one string; the labels of sentences, the title and all summaries in another."""
    labels = "" if document.labels is None else " ".join(map(str, document.labels))
    target = join_parts([labels, document.title, *document.references])
    return Pair(join_parts(document.sentences), target, document.location)


def restore_document(pair: Pair) -> SummarizedDocument:
    """The document that `store_document` has stored."""
    labels, title, *references = split_parts(pair.target)
    return SummarizedDocument(
        split_parts(pair.source) if pair.source else (),
        tuple(references),
        title,
        tuple(map(int, labels.split())) if labels else None,
        location=pair.location,
    )


def pair_with_summary(pair: Pair) -> Pair:
    """The text of a stored document, and its first summary."""
    document = restore_document(pair)
    return Pair(document.text, document.references[0], document.location)


def divide_text(text: str, rules: SentenceRules) -> tuple[str, ...]:
    """The sentences of a text; none reaches over the end of a line."""
    lines = (line.strip() for line in text.split("\n"))
    return tuple(sentence.text.strip() for line in lines if line for sentence in split_sentences(line, rules))


def choose_words(language: str, summaries: Iterable[str]) -> WordSplitter:
    """What ROUGE takes for words: those of rouge-score in English, or of any script in other languages."""
    is_english = base_language(language) == ENGLISH if language else main_script(summaries) in ("latin", "")
    return EnglishWords() if is_english else UnicodeWords()
