"""What speedrun.py has measured: a table of recipes for every corpus and budget, a chart, and a section of the docs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from environment import described, write
from speed_curves import Point, bleu_at, minutes_to
from speed_recipes import BASE

from regard.metrics.intervals import mean_interval
from regard.report import Table, overlay_curves

DOCS = Path(__file__).parent.parent / "docs"
PAGE, IMAGES = DOCS / "results" / "recipes.md", DOCS / "images"
BEGIN, END = "<!-- speedrun: begin -->", "<!-- speedrun: end -->"
HIGHLIGHTED = 4
"""Recipes of a chart that are named, beside the default."""
SHARES = (1 / 3, 1.0)
"""Of the minutes of a budget, at which the greedy BLEU of all recipes is compared."""
Cell = Mapping[str, Any]


class Comparison(NamedTuple):
    """A recipe on a corpus within some minutes, over its seeds."""

    recipe: str
    seeds: list[int]
    milliseconds: float
    steps: int
    bleu: list[float]
    """Dev BLEU by beam search, of each seed."""
    difference: tuple[float, float, float] | None
    """From the default of the same seed, with the interval over sentences: the mean of that of each seed."""
    minutes: list[float | None]
    """Until the greedy BLEU that the default has at its end, of each seed."""
    greedy: list[float | None]
    """Greedy BLEU at shares of the minutes, mean over seeds."""


def curve(cell: Cell) -> list[Point]:
    """Minutes and greedy BLEU."""
    return [(minutes, bleu) for _, minutes, _, bleu in cell["curve"] if bleu is not None]


def compare(cells: Mapping[str, Cell], corpus: str, minutes: str, order: Sequence[str]) -> list[Comparison]:
    """All recipes of a corpus and a budget, in their order."""
    by_recipe: dict[str, dict[int, Cell]] = {}
    for name, cell in cells.items():
        own_corpus, own_minutes, recipe, seed = name.rsplit("/", 3)
        if (own_corpus, own_minutes) == (corpus, minutes):
            by_recipe.setdefault(recipe, {})[int(seed)] = cell
    if BASE not in by_recipe:
        return []
    goal = mean(curve(cell)[-1][1] for cell in by_recipe[BASE].values())
    names = [*(name for name in order if name in by_recipe), *(name for name in by_recipe if name not in order)]
    return [_compare(name, by_recipe[name], goal, float(minutes)) for name in names]


def _compare(recipe: str, seeds: Mapping[int, Cell], goal: float, minutes: float) -> Comparison:
    rows = [seeds[seed] for seed in sorted(seeds)]
    curves = [curve(cell) for cell in rows]
    differences = [cell["against"] for cell in rows if "against" in cell]
    at_shares = [[bleu_at(points, share * points[-1][0]) for points in curves] for share in SHARES]
    return Comparison(
        recipe=recipe,
        seeds=sorted(seeds),
        milliseconds=mean(mean(cell["milliseconds"]) for cell in rows),
        steps=rows[0]["steps"],
        bleu=[cell["bleu"] for cell in rows],
        difference=_mean_interval(differences) if len(differences) == len(rows) else None,
        minutes=[minutes_to(points, goal) for points in curves],
        greedy=[None if None in values else mean(values) for values in at_shares],  # type: ignore[arg-type]
    )


def _mean_interval(differences: Sequence[Mapping[str, float | None]]) -> tuple[float, float, float] | None:
    if not differences or any(one[key] is None for one in differences for key in ("value", "low", "high")):
        return None
    value, low, high = (mean(one[key] for one in differences) for key in ("value", "low", "high"))  # type: ignore[misc]
    return value, low, high


def table(rows: Sequence[Comparison], minutes: str) -> Iterator[str]:
    """The rows of a budget as Markdown."""
    shares = " | ".join(f"greedy at {share * float(minutes):.3g}" for share in SHARES)
    yield (
        f"| recipe | ms a step | steps | {shares} | dev BLEU, beam 5 | against the default "
        "| minutes to the default's BLEU | of its minutes |"
    )
    yield "|---" * (7 + len(SHARES)) + "|"
    base = _mean(rows[0].minutes)
    for row in rows:
        greedy = " | ".join("" if value is None else f"{value:.1f}" for value in row.greedy)
        needed = _mean(row.minutes)
        share = "" if needed is None or not base else f"{needed / base:.2f}"
        yield (
            f"| {row.recipe} | {row.milliseconds:.0f} | {row.steps:,} | {greedy} | {_format_mean(row.bleu)} "
            f"| {_format_difference(row.difference)} | {_format_minutes(row.minutes)} | {share} |"
        )


def _mean(values: Sequence[float | None]) -> float | None:
    """None where one of the values is missing: the others would flatter."""
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def _format_mean(values: Sequence[float]) -> str:
    """With the interval over seeds where there are three or more, else each of them."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    if len(values) == 2:
        return f"{mean(values):.2f} ({', '.join(f'{value:.2f}' for value in values)})"
    low, high = mean_interval(values)
    return f"{mean(values):.2f} [{low:.2f}, {high:.2f}]"


def _format_difference(difference: tuple[float, float, float] | None) -> str:
    if difference is None:
        return ""
    value, low, high = difference
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _format_minutes(minutes: Sequence[float | None]) -> str:
    known = [value for value in minutes if value is not None]
    if len(known) < len(minutes):
        return f"not reached ({len(known)} of {len(minutes)} seeds)" if known else "not reached"
    return _format_range(known) if len(known) > 1 else f"{known[0]:.1f}"


def _format_range(values: Sequence[float]) -> str:
    return f"{mean(values):.1f} ({min(values):.1f}-{max(values):.1f})"


def chart(cells: Mapping[str, Cell], groups: Sequence[tuple[str, str]], order: Sequence[str]) -> bytes:
    """A panel for each corpus and budget: greedy BLEU against minutes, the mean over seeds."""
    tables, named = {}, [BASE]
    for corpus, minutes in groups:
        rows = compare(cells, corpus, minutes, order)
        points = [
            (x, y, row.recipe)
            for row in rows
            for x, y in _mean_curve([curve(cells[f"{corpus}/{minutes}/{row.recipe}/{seed}"]) for seed in row.seeds])
        ]
        columns = dict(zip(("minutes", "bleu", "recipe"), map(list, zip(*points, strict=True)), strict=True))
        tables[f"{corpus}, {minutes} minutes"] = Table(columns)
        best = sorted(rows, key=lambda row: -mean(row.bleu))[:HIGHLIGHTED]
        named += [row.recipe for row in best if row.recipe not in named]
    return overlay_curves(
        tables,
        "minutes",
        "bleu",
        "recipe",
        title="Greedy dev BLEU against minutes of training steps",
        x_title="minutes",
        y_title="dev BLEU, greedy",
        highlighted=named[: HIGHLIGHTED + 1] if len(groups) == 1 else named[: 2 * HIGHLIGHTED],
    ).to_png()


def _mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The mean of the curves of several seeds, which have the same minutes."""
    return [(points[0][0], mean(y for _, y in points)) for points in zip(*curves, strict=False)]


def write_page(results: Mapping[str, Any], order: Sequence[str], source: Path) -> None:
    """results/speedrun.md, the chart, and the section of docs/results/recipes.md."""
    cells = results["cells"]
    groups = sorted({tuple(name.rsplit("/", 3)[:2]) for name in cells}, key=lambda group: (group[0], float(group[1])))
    groups = [group for group in groups if compare(cells, *group, order)]
    if not groups:
        raise SystemExit(f"{source}: no corpus has a finished training of {BASE!r} yet")
    lines = list(_sections(cells, groups, order))
    print("\n".join(lines))
    write("speedrun", [*described(), *_notes(results, groups), "", *lines])
    name = "speedrun.png"
    (IMAGES / name).write_bytes(chart(cells, groups, order))
    picture = f"![Greedy dev BLEU against minutes of training steps](../images/{name})"
    replace_section(PAGE, "\n".join([*_notes(results, groups), "", *lines, picture]))


def _sections(cells: Mapping[str, Cell], groups: Sequence[tuple[str, str]], order: Sequence[str]) -> Iterator[str]:
    for corpus, minutes in groups:
        rows = compare(cells, corpus, minutes, order)
        seeds = sorted({seed for row in rows for seed in row.seeds})
        yield from (f"### {corpus}, {minutes} minutes", "", f"Seeds {', '.join(map(str, seeds))}.", "")
        yield from (*table(rows, minutes), "")


def _notes(results: Mapping[str, Any], groups: Sequence[tuple[str, str]]) -> list[str]:
    """What the default is on each corpus, and when it was measured."""
    notes = []
    for corpus, minutes in groups:
        base = results["bases"].get(f"{corpus}/{minutes}", {})
        sizes = ", ".join(f"{name}={value}" for name, value in base.items())
        dates = sorted({c["date"] for name, c in results["cells"].items() if name.startswith(f"{corpus}/{minutes}/")})
        notes.append(f"- {corpus}, {minutes} minutes ({dates[0]} to {dates[-1]}): the default is {sizes}")
    return notes


def replace_section(page: Path, text: str) -> None:
    """Put text between the markers of a page."""
    content = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(content):
        raise SystemExit(f"{page}: has no {BEGIN} and {END}, between which the results go")
    page.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", content), encoding="utf-8")
