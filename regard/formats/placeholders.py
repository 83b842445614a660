"""What a translation must carry over unchanged: a translated %(name)s crashes somebody's program.

Known are printf (`%s`, `%1$s`, `%(name)s`, `%-5.2f`, `%%`, `%{name}`), braces (`{}`, `{0:.2f}`, `{name}`), templates
(`{{ name }}`, `{% tag %}`, `${name}`), XML and HTML tags, and reST roles with their targets (`:func:`len``, of
`:ref:`words <target>`` the target only, for the words are translated). In doubt a text counts as a placeholder: the
worst that follows is an entry left for a person.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence

PATTERN = re.compile(
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
PRINTF = re.compile(
    r"(?:c|objc|c\+\+|python|php|perl|ruby|lua|awk|go|javascript|object-pascal|ycp|boost|gcc-internal)-format"
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ufffd-\uffff\ud800-\udfff]")
ROLE = re.compile(r"(:[^`]*:)`(?:[^`<]*<([^`<>]*)>|(.*))`\Z", re.DOTALL)
TAG_NAME = re.compile(r"<(/?)([^\s/>]+)")


def placeholders(text: str, flags: Sequence[str] = ()) -> Counter[str]:
    """How often each placeholder occurs. Flags are those of PO: python-format, no-c-format, …"""
    return Counter(token for _, token in _tokens(text, flags))


def broken(source: str, translation: str, flags: Sequence[str] = ()) -> str:
    """Why a translation must not be put in the place of its source; empty if it may."""
    if not translation.strip():
        return "it is empty" if source.strip() else ""
    return (
        _lines(source, translation)
        or _characters(source, translation)
        or _carried(source, translation, flags)
        or _nested(source, translation, flags)
        or _formatted(source, translation, flags)
    )


def _tokens(text: str, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Kind and text of each placeholder, in order."""
    refused = any(flag.startswith("no-") and flag.endswith("-format") for flag in flags)
    strict = _is_printf(flags)
    for match in PATTERN.finditer(text):
        kind = str(match.lastgroup if match.lastgroup != "space" else "printf")
        # "100 % de" is a % with the flag " " and the conversion d: believed only where somebody says it is one.
        if kind in ("printf", "percent") and not strict and (refused or match["space"] is not None):
            continue
        yield kind, _target(match[0]) if kind == "role" else match[0]


def _target(role: str) -> str:
    found = ROLE.match(role)
    return f"{found[1]}`{found[2] or found[3]}`" if found else role


def _is_printf(flags: Sequence[str]) -> bool:
    return any(PRINTF.fullmatch(flag) for flag in flags)


def _lines(source: str, translation: str) -> str:
    for side, has in (("begin", str.startswith), ("end", str.endswith)):
        if has(source, "\n") != has(translation, "\n"):
            return f"only one of the two {side}s with a line feed"
    left, right = source.count("\n"), translation.count("\n")
    return f"it has {right} line feeds instead of {left}" if left != right else ""


def _characters(source: str, translation: str) -> str:
    strange = [char for char in CONTROL.findall(translation) if char not in source]
    return f"it has the control character U+{ord(strange[0]):04X}" if strange else ""


def _carried(source: str, translation: str, flags: Sequence[str]) -> str:
    wanted, found = (list(_tokens(text, flags)) for text in (source, translation))
    missing = Counter(wanted) - Counter(found)
    extra = Counter(found) - Counter(wanted)
    if missing:
        return f"it lacks {' '.join(token for _, token in missing.elements())}"
    if extra:
        return f"it adds {' '.join(token for _, token in extra.elements())}"
    order = [[token for kind, token in tokens if _is_anonymous(kind, token)] for tokens in (wanted, found)]
    return f"its {' '.join(order[1])} come in another order" if order[0] != order[1] else ""


def _is_anonymous(kind: str, token: str) -> bool:
    """Whether a placeholder takes whatever argument is next."""
    if kind == "brace":
        return token[1] in "}:!"
    return kind == "printf" and "$" not in token and "(" not in token


def _nested(source: str, translation: str, flags: Sequence[str]) -> str:
    """Tags may move, but not cross: checked where the source itself is well nested."""
    sides = [
        _crossing(token for kind, token in _tokens(text, flags) if kind == "tag") for text in (source, translation)
    ]
    return f"it closes {sides[1]} in the wrong place" if sides[1] and not sides[0] else ""


def _crossing(tags: Iterator[str]) -> str:
    still_open: list[str] = []
    for tag in tags:
        found = TAG_NAME.match(tag)
        closing, name = (found[1], found[2]) if found else ("", "")
        if not closing and not tag.endswith("/>"):
            still_open.append(name)
        elif closing and name in still_open:
            if still_open.pop() != name:
                return tag
        elif closing:
            return tag
    return ""


def _formatted(source: str, translation: str, flags: Sequence[str]) -> str:
    """That what is left of % and { } once placeholders are out would not be taken for one."""
    if _is_printf(flags):
        lone = ["%" in PATTERN.sub("", text) for text in (source, translation)]
        if lone[1] and not lone[0]:
            return "it has a % that is not written %%"
    if any("brace-format" in flag and not flag.startswith("no-") for flag in flags):
        try:
            list(string.Formatter().parse(translation))
        except ValueError as error:
            return f"its braces do not match ({error})"
    return ""
