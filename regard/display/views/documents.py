"""A translated document: how many entries were filled, and which were left empty and why."""

from collections.abc import Sequence
from pathlib import Path

from regard.display.layout import bind, wrap
from regard.jobs.translate.issue_log import IssueLog
from regard.jobs.translate.text import DocumentResult

SHOWN_SEGMENTS = 10
TITLES = {
    "omission": "far too short, or cut",
    "numbers": "numbers lost or changed",
    "characters": "characters that the model has never seen",
}


def format_document(result: DocumentResult, out: Path, list_path: Path | None, width: int) -> list[str]:
    """The counts, then the first entries that were left empty, by reason; `list_path` has all of them."""
    skipped = result.skipped_segments
    empty = f"; {len(skipped):,} left empty" if skipped else ""
    lines = wrap(f"{out}: {result.num_translated:,} translated, to be reviewed{empty}", width)
    groups: dict[str, list[tuple[str, str]]] = {}
    for location, reason in skipped:
        groups.setdefault(" ".join(reason.split()[:2]), []).append((location, reason))
    room = SHOWN_SEGMENTS
    for start, segments in sorted(groups.items(), key=lambda item: -len(item[1])):
        if not room:
            break
        shown, room = segments[:room], max(0, room - len(segments))
        lines += wrap(f"{_count(len(segments))}: {_describe_group(start, segments)}", width, "  ", "    ")
        texts = [f"{location} ({reason.removeprefix(start).strip()})" for location, reason in shown]
        if len({reason for _, reason in segments}) == 1:
            texts = [location for location, _ in shown]
        more = f" and {len(segments) - len(shown):,} more" if len(shown) < len(segments) else ""
        lines += wrap(f"{', '.join(map(bind, texts))}{more}", width, "    ", "      ")
    if list_path is not None:
        lines += wrap(f"all {len(skipped):,} with their reasons: {list_path}", width, "  ", "    ")
    return lines


def format_issues(log: IssueLog, total: int, units: str, width: int) -> list[str]:
    """The counts by kind with the first locations; `units` are what is counted: lines or entries."""
    if not log.num_locations:
        return []
    title = f"! {log.num_locations:,} of {total:,} {units} may have lost something in translation:"
    lines = wrap(title, width, "", "  ")
    for kind, count in log.counts.most_common():
        first = log.first[kind]
        lines += wrap(f"{count:,}: {TITLES.get(kind, kind)}", width, "  ", "    ")
        shown = ", ".join(bind(f"{location} ({message})") for location, message in first)
        more = f" and {count - len(first):,} more" if count > len(first) else ""
        lines += wrap(f"{shown}{more}", width, "    ", "      ")
    if log.path is not None:
        lines += wrap(f"all of them: {log.path}", width, "  ", "    ")
    return lines


def _describe_group(start: str, segments: Sequence[tuple[str, str]]) -> str:
    """The reason of all segments, or its first words where the rest differs."""
    reasons = {reason for _, reason in segments}
    return reasons.pop() if len(reasons) == 1 else f"{start} …"


def _count(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"
