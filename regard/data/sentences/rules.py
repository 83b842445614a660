"""The rules of one language, from the table of all."""

import functools
from dataclasses import dataclass

from regard.data.sentences.abbreviations import ALIASES, LANGUAGES
from regard.formats.languages import normalize_code


@dataclass(frozen=True)
class SentenceRules:
    """What tells a full stop that ends a sentence from one that does not, in one language."""

    continued: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    closing: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    first_words: frozenset[str] = frozenset()
    ordinals: bool = False
    marks: str = ""
    periods: bool = True

    def is_continued(self, before: str, after: str) -> bool:
        """Whether `before`, up to a full stop, ends in an abbreviation that `after` continues: "z" and "B. so"."""
        words, rest = before.split()[-3:], after.split(maxsplit=1)
        keys = [abbreviation_key("".join(words[-count:])) for count in range(1, len(words) + 1)]
        if any(key in self.continued or (self.suffixes and key.endswith(self.suffixes)) for key in keys):
            return True
        following = abbreviation_key(f"{words[-1]}.{rest[0]}") if words and rest else ""
        return "." in following and (following in self.continued or following in self.closing)

    def is_numbered(self, word: str) -> bool:
        return abbreviation_key(word) in self.numbered

    def is_closing(self, before: str) -> bool:
        words = before.split()[-3:]
        return any(abbreviation_key("".join(words[-count:])) in self.closing for count in range(1, len(words) + 1))


def abbreviation_key(text: str) -> str:
    """An abbreviation without case, brackets and quotes before it, and the last full stop: "(z.B." is "z.b"."""
    return text.casefold().lstrip("([{<\"'“”„«»‘’‚*_-–—/").removesuffix(".")


def base_language(code: str) -> str:
    """The language of a code in the spelling of the table: "en" for en-US, eng_Latn and EN; "" if it has no rules."""
    language = normalize_code(code).partition("-")[0]
    language = ALIASES.get(language, language)
    return language if language in LANGUAGES else ""


@functools.cache
def rules_for(code: str) -> SentenceRules:
    """The rules of a language. A language that is unknown has the abbreviations of all others."""
    language = base_language(code)
    if language:
        return _build_rules([language])
    # A code of a language without a table, or no code at all: what might be an abbreviation is taken for one.
    return _build_rules([name for name, entry in LANGUAGES.items() if not entry.get("marks") and "continued" in entry])


def _build_rules(languages: list[str]) -> SentenceRules:
    tables = [LANGUAGES[language] for language in languages]

    def words(name: str) -> frozenset[str]:
        return frozenset(abbreviation_key(word) for table in tables for word in table.get(name, "").split())

    return SentenceRules(
        continued=words("continued"),
        numbered=words("numbered"),
        closing=words("closing"),
        suffixes=tuple(words("suffixes")),
        first_words=frozenset(word for table in tables for word in table.get("first_words", "").split()),
        ordinals=any(table.get("ordinals", False) for table in tables),
        marks="".join(table.get("marks", "") for table in tables),
        periods=all(table.get("periods", True) for table in tables),
    )
