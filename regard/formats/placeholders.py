"""What a translation must keep unchanged: a translated %(name)s crashes the program that formats it.

Supported are printf (`%s`, `%1$s`, `%(name)s`, `%-5.2f`, `%%`, `%{name}`), braces (`{}`, `{0:.2f}`, `{name}`), ICU
MessageFormat (`{count, plural, …}`), templates (`{{ name }}`, `{% tag %}`, `${name}`, `<%= name %>`), the styles of
frameworks (`%name%`, `:name`, `@name`, `$name`, `%1`), accelerators (`&File`), XML and HTML tags, URLs, and reST roles
with their targets (`:func:`len``, of `:ref:`words <target>`` the target only, since the words are translated).

Strong kinds are never prose: in doubt a text counts as a placeholder, and the worst consequence is an entry that stays
untranslated. Weak kinds occur in prose, too, so they count in a translation only if its source has that kind.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.formats import message_format
from regard.formats.message_format import MessageArgument

PRINTF_PARTS = frozenset({"name", "position", "flags", "space", "width", "precision", "length", "conversion"})
PLACEHOLDER = re.compile(
    r"""
    (?P<template>     \{\{[^{}`]*\}\} | \{%[^{}]*%\} | \$\{[^{}\s]*\} | %\{[^{}\s]*\}
                      | <%[^<>%]*%> )
  | (?P<tag>          </?[A-Za-z](?:[^<>"'`]|"[^"<>]*"|'[^'<>]*')*> )
  | (?P<url>          (?<![A-Za-z])(?:https?|ftp)://[!\#-&(-;=?-Z_a-z~]*[\#-&(*+/-9=@-Z_a-z~] )
  | (?P<role>         :[A-Za-z][A-Za-z:+_-]*:`[^`]+` )
  | (?P<brace>        \{[^{}\s,]*\} )
  | (?P<percent_name> (?<![\w%])%[A-Za-z_][\w.-]+%(?![\w%]) )
  | (?P<number>       (?<![\w%])%L?[1-9]\d?(?![\w$%]|[.,]\d) )
  | (?P<printf>       %(?:\((?P<name>[^()\s]*)\)|(?P<position>\d+)\$)?(?P<flags>[-+\#0']*)(?P<space>[ ][-+\#0' ]*)?
                      (?P<width>\d+|\*)?(?P<precision>\.(?:\d+|\*)?)?(?P<length>hh?|ll?|[Lqjzt])?
                      (?P<conversion>[@A-Za-z]) )
  | (?P<percent>      %% )
  | (?P<colon>        (?<![\w:)\]}'"`\\/.-]):[A-Za-z_]\w*(?![\w:`(]) )
  | (?P<at>           (?<![\w@.%+/`-])@[A-Za-z_][\w-]*(?![\w-]|\.\w|@) )
  | (?P<dollar>       (?<![\w$\\])\$[A-Za-z_]\w*(?![\w(]) )
  | (?P<accelerator>  (?<![\w&])&(?!\#?\w{1,31};)[^\W_] )
    """,
    re.VERBOSE,
)
KINDS = tuple(name for name in PLACEHOLDER.groupindex if name not in PRINTF_PARTS)
WEAK_KINDS = frozenset({"percent_name", "number", "colon", "at", "dollar", "accelerator"})
PRINTF_FLAG = re.compile(
    r"(?:c|objc|c\+\+|python|php|perl|ruby|lua|awk|go|javascript|object-pascal|ycp|boost|gcc-internal)-format"
)
UNNUMBERED_FLAGS = frozenset({"python-format", "lua-format", "javascript-format"})
"""Languages whose printf does not know `%1$s`."""
CONVERSIONS = frozenset("diouxXeEfFgGaAcCsSpnr@")
COMMON_CONVERSIONS = frozenset("sdiu")
ROLE = re.compile(r"(:[^`]*:)`(?:[^`<]*<([^`<>]*)>|(.*))`\Z", re.DOTALL)
TYPOGRAPHIC_ROLES = frozenset({":sup:", ":sub:", ":superscript:", ":subscript:"})
TRANSLATED_ROLES = frozenset(
    {":dfn:", ":abbr:", ":emphasis:", ":strong:", ":title:", ":guilabel:", ":menuselection:", ":term:", ":kbd:"}
)
"""Those whose text is translated: the glossary has its own terms in each language."""
SCHEME = re.compile(r"(?:https?|ftp)://", re.IGNORECASE)
WIKI_PAGE = re.compile(r"//(?:[a-z-]+\.)?(?:m\.)?(wikipedia|wiktionary|wikibooks|wikisource)\.org/.*")
LANGUAGE_PART = re.compile(
    r"(?<=//)[a-z]{2}(?:[-_][a-z]{2,4})?\.|/[a-z]{2}(?:[-_][a-z]{2,4})?(?=/|$)|\.[a-z]{2}(?=\.html?)"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A part of a text that stays unchanged."""

    kind: str
    text: str
    """As people know it; of a role its target."""
    key: str
    """What must be the same: the argument and its type, or the text."""
    is_unnumbered: bool = False
    """Whether it takes the next argument."""

    @property
    def is_weak(self) -> bool:
        return self.kind in WEAK_KINDS


def iter_placeholders(text: str, flags: Sequence[str] = ()) -> Iterator[Placeholder]:
    """The placeholders of a text, in order. Flags are those of PO: python-format, no-c-format, …

    A typed argument of MessageFormat is followed by the different placeholders of its branches.
    """
    arguments = _ArgumentCounter(text, flags)
    position = 0
    for argument in message_format.iter_arguments(text) if "{" in text else ():
        yield from _iter_simple(text, position, argument.start, arguments, flags)
        yield from _iter_message(argument, flags)
        position = argument.end
    yield from _iter_simple(text, position, len(text), arguments, flags)


def is_printf(flags: Sequence[str]) -> bool:
    """Whether a flag says that a text is a format string of printf."""
    return any(PRINTF_FLAG.fullmatch(flag) for flag in flags)


def normalize_url(url: str) -> str:
    """A URL without what translators localize: scheme, language, the title of a page of Wikipedia."""
    rest = SCHEME.sub("//", url).rstrip("/").replace("//www.", "//")
    wiki = WIKI_PAGE.fullmatch(rest)
    return wiki[1] if wiki else LANGUAGE_PART.sub("", rest)


class _ArgumentCounter:
    """Numbers the placeholders that take the next argument, as `%1$s` and `{0}` number them."""

    def __init__(self, text: str, flags: Sequence[str]) -> None:
        self.printf, self.brace = 0, -1
        self.is_numbered = not UNNUMBERED_FLAGS & set(flags)
        conversions = {match["conversion"] for match in PLACEHOLDER.finditer(text) if match["conversion"]}
        # A date, %Y-%m-%d, has no arguments; its parts may come in any order.
        self.is_date = not conversions <= CONVERSIONS and not is_printf(flags)


def _iter_simple(
    text: str, start: int, end: int, arguments: _ArgumentCounter, flags: Sequence[str]
) -> Iterator[Placeholder]:
    disabled = any(flag.startswith("no-") and flag.endswith("-format") for flag in flags)
    strict = is_printf(flags)
    for match in PLACEHOLDER.finditer(text, start, end):
        kind = next(name for name in KINDS if match[name] is not None)
        token = match[0]
        if kind == "printf":
            if strict or not (disabled or _is_prose(match)):
                yield _make_printf(match, arguments)
        elif kind == "percent":
            if strict or not disabled:
                yield Placeholder(kind, token, token)
        elif kind == "percent_name" and strict:
            continue
        elif kind == "brace":
            yield _make_brace(token, arguments)
        elif kind == "role":
            role = _make_role(token)
            if role is not None:
                yield role
        elif kind == "tag":
            is_url = bool(SCHEME.match(token, 1))
            key = normalize_url(token[1:-1]) if is_url else re.sub(r"https?://[^\s\"'>]+", _normalize_match, token)
            yield Placeholder("url" if is_url else kind, token, key)
        else:
            key = normalize_url(token) if kind == "url" else "&" if kind == "accelerator" else token
            yield Placeholder(kind, token, key)


def _iter_message(argument: MessageArgument, flags: Sequence[str]) -> Iterator[Placeholder]:
    yield Placeholder("message", argument.label, f"{{{argument.name}, {argument.type}}}")
    nested = {
        placeholder.key: placeholder
        for branch in argument.branches.values()
        for placeholder in iter_placeholders(branch, flags)
    }
    yield from nested.values()


def _is_prose(match: re.Match[str]) -> bool:
    """Whether a % is probably that of a percentage: "100 % de", "50%discount", "%-formatting"."""
    if match["space"] is not None:
        return True
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if not after.isalpha() or match["name"] is not None or match["position"] is not None:
        return False
    has_width = match["width"] or match["precision"]
    return before.isdigit() or match["conversion"] not in COMMON_CONVERSIONS or bool(match["flags"] and not has_width)


def _make_printf(match: re.Match[str], arguments: _ArgumentCounter) -> Placeholder:
    token, conversion = match[0], f"{match['length'] or ''}{match['conversion']}"
    if match["name"] is not None:
        return Placeholder("printf", token, f"%({match['name']}){conversion}")
    if match["position"] is not None:
        return Placeholder("printf", token, f"%{match['position']}${conversion}")
    if arguments.is_date:
        return Placeholder("printf", token, token)
    arguments.printf += 1 + token.count("*")
    key = f"%{arguments.printf}${conversion}" if arguments.is_numbered else f"%{arguments.printf}{conversion}"
    return Placeholder("printf", token, key, is_unnumbered=True)


def _make_brace(token: str, arguments: _ArgumentCounter) -> Placeholder:
    if token[1] not in "}:!":
        return Placeholder("brace", token, token)
    arguments.brace += 1
    return Placeholder("brace", token, f"{{{arguments.brace}{token[1:]}", is_unnumbered=True)


def _make_role(token: str) -> Placeholder | None:
    """The target of a role; None where the role is typography: French writes 1:sup:`er`."""
    match = ROLE.match(token)
    if match is None:
        return Placeholder("role", token, token)
    if match[1] in TYPOGRAPHIC_ROLES:
        return None
    if match[1] in TRANSLATED_ROLES:
        return Placeholder("role", token, match[1])
    target = match[2] or match[3]
    return Placeholder("role", f"{match[1]}`{target}`", f"{match[1]}`{target.lstrip('!~.')}`")


def _normalize_match(match: re.Match[str]) -> str:
    return normalize_url(match[0])
