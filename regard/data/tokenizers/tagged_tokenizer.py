"""Sources that begin with the tag of the language to translate into: one model for both directions.

Johnson et al. 2017 (Google's multilingual system). A tag is a token that no text is encoded with, such as >>fr<<, as
multilingual models of OPUS-MT have it. A text may begin with a tag; all others get the default one.
"""

from collections.abc import Sequence

from regard.data.tokenizers.remapped_sentencepiece import LANGUAGE_TAG
from regard.data.tokenizers.tokenizer import Tokenizer
from regard.errors import DataError


def tag_of(language: str) -> str:
    """The tag of a language, by its code."""
    return f">>{language}<<"


class TaggedTokenizer(Tokenizer):
    """Text <-> token ids, of which the first is the tag of the language to translate into."""

    def __init__(self, tokenizer: Tokenizer, language: str):
        """The tokenizer of both sides, and the language where a text does not name one."""
        super().__init__(tokenizer.model)
        self._tokenizer = tokenizer
        self._default_id = self.tag_id(language)

    @property
    def vocabulary(self) -> object:
        return self._tokenizer.vocabulary

    def tag_id(self, language: str) -> int:
        """The id of the tag of a language."""
        tag_id = self.find_control_symbol(tag_of(language))
        if tag_id is None:
            raise DataError(
                f"the vocabulary has no tag {tag_of(language)}, which data.both_directions=true needs; train a new run "
                f"without --from"
            )
        return tag_id

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        cut = [self._cut_tag(text) for text in texts]
        rows = super().encode([text[begin:] for text, (begin, _) in zip(texts, cut, strict=True)])
        return [[tag_id, *row] for (_, tag_id), row in zip(cut, rows, strict=True)]

    def spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        begin, _ = self._cut_tag(text)
        spans = super().spans(text[begin:], ids[1:])
        return [(0, begin), *((begin + first, begin + last) for first, last in spans)]

    def _cut_tag(self, text: str) -> tuple[int, int]:
        """Where a text begins behind its tag and a space, and the id of its tag."""
        match = LANGUAGE_TAG.match(text)
        tag_id = self.find_control_symbol(match[0]) if match else None
        if match is None or tag_id is None:
            return 0, self._default_id
        return match.end() + text.startswith(" ", match.end()), tag_id
