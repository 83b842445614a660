"""TMX 1.1 to 1.4: a translation memory, each unit in two languages or more.

- Inline tags: `bpt ept it ph ut` hold codes of another format and are dropped, with any `sub` inside; `hi` and unknown
  tags are dropped, but their text is kept. White space is preserved.
- With language codes: of the variants closest to a code (`fr` itself before `fr-CA`), the first is the source and every
  one is a target. Units that lack one of the two are skipped; a file without any of a language is refused.
- Without codes: every unit must have the same two languages; `srclang` says which is the source. A unit with fewer is
  skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import FormatError
from regard.formats import languages, markup
from regard.formats.pair import Pair

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


@dataclass(frozen=True, slots=True)
class Variant:
    """One language of a unit (`tuv`)."""

    language: str
    text: str
    line: int


@dataclass(slots=True)
class LanguageSelector:
    """The requested languages, and those that occur."""

    path: Path
    source: str
    target: str
    seen_languages: dict[str, str] = field(default_factory=dict)
    """Normalized codes, and their first spelling."""

    def pairs(self, unit: list[Variant], line: int, srclang: str) -> Iterator[Pair]:
        """The pairs of one unit."""
        for variant in unit:
            self.seen_languages.setdefault(languages.normalize_code(variant.language), variant.language)
        codes = (self.source, self.target)
        if not (self.source and self.target):
            if len({languages.normalize_code(variant.language) for variant in unit}) < 2:
                return
            codes = self._infer_direction(line, srclang)
        variant_codes = [variant.language for variant in unit]
        sources, targets = (languages.closest_matches(code, variant_codes) for code in codes)
        if sources:
            for index in targets:
                if index != sources[0]:
                    yield Pair(unit[sources[0]].text, unit[index].text, f"{self.path}:{unit[sources[0]].line}")

    def _infer_direction(self, line: int, srclang: str) -> tuple[str, str]:
        """Source and target of a file that has two languages."""
        codes = list(self.seen_languages.values())
        if len(codes) > 2:
            raise FormatError(
                f"{self.path}:{line}: a third language; the file holds {', '.join(codes)}. {languages.CODES_REMEDY}"
            )
        known_code = self.source or self.target or srclang
        matches = languages.closest_matches(known_code, codes)
        if len(matches) != 1:
            problem = f"srclang={srclang!r}" if known_code == srclang else repr(known_code)
            raise FormatError(
                f"{self.path}:{line}: {problem} does not match exactly one of {codes[0]} and {codes[1]}. "
                f"{languages.CODES_REMEDY}"
            )
        matched, other = codes[matches[0]], codes[1 - matches[0]]
        return (other, matched) if self.target and not self.source else (matched, other)

    def require_languages(self) -> None:
        """Raise if a requested language does not occur, unless the file has no units."""
        for code in (self.source, self.target):
            if code and self.seen_languages and not languages.closest_matches(code, list(self.seen_languages)):
                present = ", ".join(self.seen_languages.values())
                raise FormatError(f"{self.path}: has no {code!r}, only {present}. {languages.CODES_REMEDY}")


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of every unit, one after the other."""
    selector = LanguageSelector(path, source, target)
    srclang = ""
    for element in markup.iter_elements(path, "tmx", ("header", "tu")):
        if markup.local_name(element) == "header":
            srclang = element.get("srclang") or ""
        else:
            yield from selector.pairs(_variants(element, path), element.sourceline, element.get("srclang") or srclang)
    selector.require_languages()


def _variants(unit: Any, path: Path) -> list[Variant]:
    variants = []
    for tuv in markup.children(unit, "tuv"):
        language = " ".join((tuv.get(XML_LANG) or tuv.get("lang") or "").split())
        if not language:
            raise FormatError(f"{path}:{tuv.sourceline}: <tuv> has no xml:lang; TMX requires one. {markup.REPAIR_HINT}")
        seg = next(iter(markup.children(tuv, "seg")), None)
        if seg is None:
            raise FormatError(f"{path}:{tuv.sourceline}: <tuv> has no <seg>; TMX requires one. {markup.REPAIR_HINT}")
        variants.append(Variant(language, markup.text_of(seg, path), seg.sourceline))
    return variants
