"""The claims that courses make about Transformers, and where each is answered."""

from dataclasses import dataclass
from pathlib import Path

from regard.errors import LabError

CLAIMS_FILE = Path(__file__).with_name("claims.tsv")
COLUMNS = ("number", "section", "claim", "answer")
NOT_TESTABLE = "not testable: "


@dataclass(frozen=True)
class StatedClaim:
    """A claim as it is taught, in one sentence."""

    number: int
    section: str
    """What it is about."""
    claim: str
    answer: str
    """Empty where labs answer it; otherwise the page of the documentation that has the measurement, or why there is
    none."""

    @property
    def link(self) -> str | None:
        """The page with the measurement, relative to the repository, with its heading."""
        return self.answer if self.answer and self.reason is None else None

    @property
    def reason(self) -> str | None:
        """Why it is not testable here."""
        return self.answer.removeprefix(NOT_TESTABLE) if self.answer.startswith(NOT_TESTABLE) else None


def read_claims(path: Path = CLAIMS_FILE) -> tuple[StatedClaim, ...]:
    """All claims, in the order of their numbers."""
    header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if tuple(header.split("\t")) != COLUMNS:
        raise LabError(f"{path} begins with {header!r}; expected the columns {', '.join(COLUMNS)}")
    return tuple(_parse_line(line, number) for number, line in enumerate(lines, 2))


def _parse_line(line: str, number: int) -> StatedClaim:
    fields = line.split("\t")
    if len(fields) != len(COLUMNS) or not fields[0].isdecimal():
        raise LabError(f"{CLAIMS_FILE.name}, line {number}: expected a number, a section, a claim and an answer")
    return StatedClaim(int(fields[0]), *fields[1:])
