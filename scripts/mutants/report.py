"""Counts by room, in Markdown."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

MIN_SHARE, MIN_ROOM_SHARE, MAX_EQUIVALENT = 0.9, 0.8, 0.1  # of all faults, of a room's, of all faults
EQUIVALENT = Path(__file__).parent / "equivalent.toml"


@dataclass(frozen=True)
class Result:
    room: str
    file: str
    line: int
    before: str
    after: str
    outcome: str  # killed, timeout, survived; crash: no test said anything, so it counts as survived
    by: str

    @property
    def killed(self) -> bool:
        return self.outcome in ("killed", "timeout")


def equivalents(path: Path = EQUIVALENT) -> dict[tuple[str, str, str], str]:
    """Faults that change nothing that a test could see, each with its reason, by file, line before and line after."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


def reason(result: Result, known: dict[tuple[str, str, str], str]) -> str | None:
    """Why a survivor is equivalent; an asterisk stands for every change of a line."""
    if result.killed:
        return None
    keys = ((result.file, result.before, after) for after in (result.after, "*"))
    return next((known[key] for key in keys if key in known), None)


@dataclass(frozen=True)
class Count:
    room: str
    faults: int
    killed: int
    timeouts: int
    equivalent: int

    @property
    def share(self) -> float:
        return self.killed / max(1, self.faults - self.equivalent)

    def row(self) -> str:
        survived = self.faults - self.killed - self.equivalent
        numbers = f"{self.faults} | {self.killed} | {self.timeouts} | {survived} | {self.equivalent}"
        return f"| {self.room} | {numbers} | {self.share:.0%} |"


def count(room: str, results: list[Result], known: dict[tuple[str, str, str], str]) -> Count:
    killed = [result for result in results if result.killed]
    same = [result for result in results if reason(result, known)]
    timeouts = sum(result.outcome == "timeout" for result in killed)
    return Count(room, len(results), len(killed), timeouts, len(same))


def shortfalls(counts: list[Count]) -> list[str]:
    """What the counts of rooms, and at the end that of all, are short of."""
    least = [MIN_ROOM_SHARE] * (len(counts) - 1) + [MIN_SHARE]
    found = [
        f"{each.room}: {each.share:.0%} killed, not {x:.0%}"
        for each, x in zip(counts, least, strict=True)
        if each.share < x
    ]
    whole = counts[-1]
    if whole.equivalent > MAX_EQUIVALENT * whole.faults:
        found.append(f"{whole.equivalent} of {whole.faults} are said to be equivalent, more than {MAX_EQUIVALENT:.0%}")
    return found


def markdown(results: list[Result], head: list[str]) -> str:
    known = equivalents()
    rooms = list(dict.fromkeys(result.room for result in results))
    counts = [count(room, [r for r in results if r.room == room], known) for room in rooms]
    counts.append(count("**all**", results, known))
    survivors = [r for r in results if not r.killed and not reason(r, known)]
    same = [r for r in results if reason(r, known)]
    lines = ["# mutants", "", *(f"- {line}" for line in head), ""]
    lines += ["| room | faults | killed | of these by time | survived | equivalent | killed, without equivalent |"]
    lines += ["|---|---|---|---|---|---|---|", *(each.row() for each in counts), ""]
    short = shortfalls(counts)
    lines += ["## Not enough", "", *(f"- {line}" for line in short), ""] if short else []
    lines += ["## Survived", ""] if survivors else []
    for result in survivors:
        lines += [f"- `{result.file}:{result.line}`{' (' + result.by + ')' if result.by else ''}", "  ```diff"]
        lines += [f"  - {result.before}", f"  + {result.after}", "  ```"]
    lines += ["", "## Equivalent", ""] if same else []
    for result in same:
        lines.append(f"- `{result.file}:{result.line}`: `{result.before}` → `{result.after}`: {reason(result, known)}")
    return "\n".join(lines).rstrip() + "\n"
