"""What a translation must keep unchanged: a translated %(name)s crashes the program that formats it.

Supported are printf (`%s`, `%1$s`, `%(name)s`, `%-5.2f`, `%%`, `%{name}`), braces (`{}`, `{0:.2f}`, `{name}`),
templates (`{{ name }}`, `{% tag %}`, `${name}`), XML and HTML tags, and reST roles with their targets (`:func:`len``,
of `:ref:`words <target>`` the target only, since the words are translated). In doubt a text counts as a placeholder:
the worst consequence is an entry that stays untranslated.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence

PLACEHOLDER = re.compile(
    r"""
    (?P<template> \{\{[^{}]*\}\} | \{%[^{}]*%\} | \$\{[^{}\s]*\} | %\{[^{}\s]*\} )
  | (?P<tag>      </?[A-Za-z](?:[^<>"'`]|"[^"<>]*"|'[^'<>]*')*> )
  | (?P<role>     :[A-Za-z][A-Za-z:+_-]*:`[^`]+` )
  | (?P<brace>    \{[^{}\s,]*\} )
  | (?P<printf>   %(?:\([^()\s]*\)|\d+\$)?[-+\#0']*(?P<space>[ ][-+\#0' ]*)?(?:\d+|\*)?(?:\.(?:\d+|\*)?)?
                  (?:hh?|ll?|[Lqjzt])?[@A-Za-z] )
  | (?P<percent>  %% )
    """,
    re.VERBOSE,
)
PRINTF_FLAG = re.compile(
    r"(?:c|objc|c\+\+|python|php|perl|ruby|lua|awk|go|javascript|object-pascal|ycp|boost|gcc-internal)-format"
)
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufffd-\uffff\ud800-\udfff]")
ROLE = re.compile(r"(:[^`]*:)`(?:[^`<]*<([^`<>]*)>|(.*))`\Z", re.DOTALL)
TAG_NAME = re.compile(r"<(/?)([^\s/>]+)")


def check_translation(source: str, translation: str, flags: Sequence[str] = ()) -> str:
    """Why a translation must not replace its source; empty if it may."""
    if not translation.strip():
        return "it is empty" if source.strip() else ""
    return (
        _check_line_feeds(source, translation)
        or _check_control_characters(source, translation)
        or _check_placeholders(source, translation, flags)
        or _check_nesting(source, translation, flags)
        or _check_format_syntax(source, translation, flags)
    )


def iter_placeholders(text: str, flags: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Kind and text of each placeholder, in order. Flags are those of PO: python-format, no-c-format, …"""
    disabled = any(flag.startswith("no-") and flag.endswith("-format") for flag in flags)
    strict = _is_printf(flags)
    for match in PLACEHOLDER.finditer(text):
        kind = str(match.lastgroup if match.lastgroup != "space" else "printf")
        # "100 % de" parses as a % with the flag " " and the conversion d: accepted only where a flag says printf.
        if kind in ("printf", "percent") and not strict and (disabled or match["space"] is not None):
            continue
        yield kind, _role_target(match[0]) if kind == "role" else match[0]


def _role_target(role: str) -> str:
    match = ROLE.match(role)
    return f"{match[1]}`{match[2] or match[3]}`" if match else role


def _is_printf(flags: Sequence[str]) -> bool:
    return any(PRINTF_FLAG.fullmatch(flag) for flag in flags)


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


def _check_placeholders(source: str, translation: str, flags: Sequence[str]) -> str:
    expected, actual = (list(iter_placeholders(text, flags)) for text in (source, translation))
    missing = Counter(expected) - Counter(actual)
    extra = Counter(actual) - Counter(expected)
    if missing:
        return f"it lacks {' '.join(token for _, token in missing.elements())}"
    if extra:
        return f"it adds {' '.join(token for _, token in extra.elements())}"
    order = [[token for kind, token in tokens if _is_anonymous(kind, token)] for tokens in (expected, actual)]
    return f"its {' '.join(order[1])} come in another order" if order[0] != order[1] else ""


def _is_anonymous(kind: str, token: str) -> bool:
    """Whether a placeholder takes the next argument."""
    if kind == "brace":
        return token[1] in "}:!"
    return kind == "printf" and "$" not in token and "(" not in token


def _check_nesting(source: str, translation: str, flags: Sequence[str]) -> str:
    """Tags may move, but not cross; checked if the source itself is well nested."""
    sides = [
        _first_crossing_tag(token for kind, token in iter_placeholders(text, flags) if kind == "tag")
        for text in (source, translation)
    ]
    return f"it closes {sides[1]} in the wrong place" if sides[1] and not sides[0] else ""


def _first_crossing_tag(tags: Iterator[str]) -> str:
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
    if _is_printf(flags):
        has_bare_percent = ["%" in PLACEHOLDER.sub("", text) for text in (source, translation)]
        if has_bare_percent[1] and not has_bare_percent[0]:
            return "it has a % that is not written %%"
    if any("brace-format" in flag and not flag.startswith("no-") for flag in flags):
        try:
            list(string.Formatter().parse(translation))
        except ValueError as error:
            return f"its braces do not match ({error})"
    return ""
