"""Arguments of ICU MessageFormat that have a type: `{count, plural, one {# file} other {# files}}`.

The words inside the branches are translated, and a language has its own plural categories; the name and the type of the
argument, the keys of a `select` and the branch `other` stay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BRANCH_TYPES = ("plural", "select", "selectordinal")
START = re.compile(
    r"\{\s*(?P<name>[\w.-]+)\s*,\s*"
    r"(?P<type>plural|selectordinal|select|choice|number|date|time|duration|spellout|ordinal)\s*(?P<end>[,}])"
)
BRANCH = re.compile(r"\s*(?:offset:\d+\s*)?(?P<key>=\d+|[\w-]+)\s*\{")
MAX_DEPTH = 20


@dataclass(frozen=True)
class MessageArgument:
    """A typed argument: where it is in the text, and the texts of its branches."""

    start: int
    end: int
    name: str
    type: str
    branches: Mapping[str, str]

    @property
    def label(self) -> str:
        return f"{{{self.name}, {self.type}{', …' if self.branches else ''}}}"


def iter_arguments(text: str) -> Iterator[MessageArgument]:
    """The outermost typed arguments; what is not well formed is none."""
    position = 0
    while match := START.search(text, position):
        argument = _parse(text, match)
        if argument is not None:
            yield argument
        position = argument.end if argument else match.start() + 1


def _parse(text: str, match: re.Match[str]) -> MessageArgument | None:
    end = _find_end(text, match.start())
    if end is None:
        return None
    branches = dict[str, str]()
    if match["type"] in BRANCH_TYPES:
        position = match.end()
        while branch := BRANCH.match(text, position, end):
            branch_end = _find_end(text, branch.end() - 1)
            if branch_end is None:
                return None
            branches[branch["key"]] = text[branch.end() : branch_end - 1]
            position = branch_end
        if not branches or text[position : end - 1].strip():
            return None
    return MessageArgument(match.start(), end, match["name"], match["type"], branches)


def _find_end(text: str, start: int) -> int | None:
    """The index after the brace that closes the one at `start`; None if there is none, or too many are open."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return start + brace.end()
        if depth > MAX_DEPTH:
            return None
    return None
