"""Whether a translation may replace its source in a file: it keeps line feeds, placeholders and the format's syntax."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

from regard.formats import message_format
from regard.formats.message_format import BRANCH_TYPES
from regard.formats.placeholders import PLACEHOLDER, WEAK_KINDS, Placeholder, is_printf, iter_placeholders

CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufffd-\uffff\ud800-\udfff]")
TAG_NAME = re.compile(r"<(/?)([^\s/>]+)")
Side = tuple[Placeholder, ...]


def check_translation(source: str, translation: str, flags: Sequence[str] = ()) -> str:
    """Why a translation must not replace its source; empty if it may."""
    if not translation.strip():
        return "it is empty" if source.strip() else ""
    sides = tuple(iter_placeholders(source, flags)), tuple(iter_placeholders(translation, flags))
    return (
        _check_line_feeds(source, translation)
        or _check_control_characters(source, translation)
        or _check_placeholders(*sides)
        or _check_messages(source, translation)
        or _check_nesting(*sides)
        or _check_format_syntax(source, translation, flags)
    )


def compare_placeholders(source: Side, translation: Side) -> tuple[list[str], list[str]]:
    """The placeholders that the translation lacks, and those that it adds.

    A weak kind counts in the translation only if the source has it, and of accelerators one must be left.
    """
    kinds = {placeholder.kind for placeholder in source if placeholder.is_weak}
    relevant = [p for p in translation if not p.is_weak or p.kind in kinds]
    texts = {placeholder.key: placeholder.text for placeholder in (*relevant, *source)}
    expected, actual = (Counter(p.key for p in side if p.kind != "accelerator") for side in (source, relevant))
    missing, extra = ([texts[key] for key in counts.elements()] for counts in (expected - actual, actual - expected))
    accelerators = [[p.text for p in side if p.kind == "accelerator"] for side in (source, relevant)]
    if len(accelerators[0]) == 1 and not accelerators[1]:
        missing += accelerators[0]
    return missing, extra


def _check_line_feeds(source: str, translation: str) -> str:
    for side, predicate in (("begin", str.startswith), ("end", str.endswith)):
        if predicate(source, "\n") != predicate(translation, "\n"):
            return f"only one of the two {side}s with a line feed"
    source_count, translation_count = source.count("\n"), translation.count("\n")
    return (
        f"it has {translation_count} line feeds instead of {source_count}" if source_count != translation_count else ""
    )


def _check_control_characters(source: str, translation: str) -> str:
    unexpected = [char for char in CONTROL_CHARACTERS.findall(translation) if char not in source]
    return f"it has the control character U+{ord(unexpected[0]):04X}" if unexpected else ""


def _check_placeholders(source: Side, translation: Side) -> str:
    for kind in ("printf", "brace"):
        is_unnumbered = {p.is_unnumbered for p in translation if p.kind == kind and p.key[-1] != ")"}
        if len(is_unnumbered) == 2 and len({p.is_unnumbered for p in source if p.kind == kind}) == 1:
            return "it mixes placeholders with and without numbers"
    missing, extra = compare_placeholders(source, translation)
    if not missing and not extra:
        return ""
    order = [[p.text for p in side if p.is_unnumbered] for side in (source, translation)]
    if order[0] != order[1] and sorted(order[0]) == sorted(order[1]):
        return f"its {' '.join(order[1])} come in another order"
    return f"it lacks {' '.join(missing)}" if missing else f"it adds {' '.join(extra)}"


def _check_messages(source: str, translation: str) -> str:
    """The branches of MessageFormat: `other` is required, and those of a select are names that the program uses."""
    keys = {argument.name: set(argument.branches) for argument in message_format.iter_arguments(source)}
    for argument in message_format.iter_arguments(translation):
        if argument.type in BRANCH_TYPES and "other" not in argument.branches:
            return f"its {argument.label} has no branch 'other'"
        if argument.type == "select" and (different := keys.get(argument.name, set()) ^ set(argument.branches)):
            return f"its {argument.label} has other branches than the source: {' '.join(sorted(different))}"
    return ""


def _check_nesting(source: Side, translation: Side) -> str:
    """Tags may move, but not cross; checked if the source itself is well nested."""
    sides = [_first_crossing_tag(p.text for p in side if p.kind == "tag") for side in (source, translation)]
    return f"it closes {sides[1]} in the wrong place" if sides[1] and not sides[0] else ""


def _first_crossing_tag(tags: Iterable[str]) -> str:
    open_tags: list[str] = []
    for tag in tags:
        match = TAG_NAME.match(tag)
        closing, name = (match[1], match[2]) if match else ("", "")
        if not closing and not tag.endswith("/>"):
            open_tags.append(name)
        elif closing and name in open_tags:
            if open_tags.pop() != name:
                return tag
        elif closing:
            return tag
    return ""


def _check_format_syntax(source: str, translation: str, flags: Sequence[str]) -> str:
    """That no % or { } outside of placeholders would be parsed as one."""
    if is_printf(flags):
        has_bare_percent = ["%" in PLACEHOLDER.sub(_remove_unless_weak, text) for text in (source, translation)]
        if has_bare_percent[1] and not has_bare_percent[0]:
            return "it has a % that is not written %%"
    if any("brace-format" in flag and not flag.startswith("no-") for flag in flags):
        try:
            list(string.Formatter().parse(translation))
        except ValueError as error:
            return f"its braces do not match ({error})"
    return ""


def _remove_unless_weak(match: re.Match[str]) -> str:
    return match[0] if any(match[kind] is not None for kind in WEAK_KINDS) else ""
