"""regard lab"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.options import (
    FILES,
    GENERAL,
    MAX_SEED,
    MAX_WORKERS,
    MEASUREMENT,
    MODEL,
    OUTPUT,
    TRAINING,
    argument,
    flag,
    option,
)
from regard.cli.output import check
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.labs.suite.session import LabSession

MAX_SEEDS = 1000


LAB = argument("LAB", "Name of a lab, its file, or a folder of labs; all are listed if unset.", None)
SEEDS = option(TRAINING, "NUMBER", "Number of random seeds; that of the lab if unset.", min=1, max=MAX_SEEDS)
TURNS = "Run labs with other values of a knob, for sliders on the page."
WORKERS = option(MEASUREMENT, "NUMBER", "Number of processes of --all.", default=2, min=1, max=MAX_WORKERS)
HINTS = option(OUTPUT, "NUMBER", "Hints of --blank: 0 none, 1 shapes, 2 the equation.", default=0, min=0, max=2)


def lab(
    name: str | None = LAB,
    set_: list[str] | None = option(MODEL, "NAME=VALUE", "Change a knob of the lab. May be repeated.", "--set"),
    with_: Path | None = option(MODEL, "FILE", "Functions that take the place of the lab's mechanisms.", "--with"),
    data: list[str] | None = option(FILES, "FILE", "Pairs or text whose sentences the lab is run on. May be repeated."),
    seed: int = option(TRAINING, "NUMBER", "First random seed.", default=1, min=0, max=MAX_SEED),
    seeds: int | None = SEEDS,
    ask: bool = flag(GENERAL, "Ask for a prediction first, in a terminal.", "--ask/--no-ask", default=True),
    all_: bool = flag(MEASUREMENT, "Run all labs; with --out, write them as one page.", "--all"),
    only: str | None = option(MEASUREMENT, "NAME", "Themes or labs of --all, as in order,depth."),
    turns: bool = flag(MEASUREMENT, TURNS, "--turns/--no-turns", default=True),
    workers: int = WORKERS,
    title: str | None = option(OUTPUT, "TEXT", "Title of the page."),
    predictions: Path | None = option(FILES, "FILE", "CSV of what a class predicted: the columns lab and prediction."),
    out: Path | None = option(OUTPUT, "FILE", "File to write: the page, the picture as SVG, or the copy."),
    notebook: Path | None = option(OUTPUT, "FILE", "Write the lab as a Jupyter notebook, and do not run it."),
    copy: str | None = option(OUTPUT, "NAME", "Copy the file of this lab, to be changed and run."),
    new: str | None = option(OUTPUT, "NAME", "Write the skeleton of a lab of this name, which runs."),
    blank: str | None = option(OUTPUT, "NAME", "Write this function without its body, as an assignment, to --out."),
    hints: int = HINTS,
    check_: Path | None = option(MEASUREMENT, "FILE", "Check the functions of a student's file.", "--check"),
    grade: Path | None = option(MEASUREMENT, "FOLDER", "Check all files of a folder."),
    csv: Path | None = option(OUTPUT, "FILE", "Write the grades of --grade."),
    as_json: bool = flag(OUTPUT, "Print as JSON.", "--json"),
) -> None:
    """Measure a claim about Transformers: predict, run, and read the verdict. Without a name, list the labs.

    Examples:
      regard lab attention_scaling_sqrt_dk
      regard lab --all --out labs.html
      regard lab --copy attention_scaling_sqrt_dk
      regard lab --blank attend --out mine.py

    Read more: docs/howto/write_a_lab.md, docs/howto/teach.md and docs/labs.md
    """
    jobs = {"--all": all_, "--notebook": notebook, "--copy": copy, "--new": new}
    _require_one({**jobs, "--blank": blank, "--check": check_, "--grade": grade}, name)
    check(*((csv, notebook) if copy or new or blank else (out, csv, notebook)))
    options = {"seed": seed, "seeds": seeds, "data": data or None, "parts": with_}
    if blank is not None or check_ is not None or grade is not None:
        _assign(blank, check_, grade, {"out": out, "hints": hints, "csv": csv, "seed": seed, "as_json": as_json})
    elif copy is not None or new is not None:
        _write_file(copy, new, out)
    elif all_:
        page = {"only": _split(only), "out": out, "title": title, "predictions": predictions}
        _run_all(name, {**page, **options, "turns": turns, "workers": workers}, set_, as_json)
    elif name is None or Path(name).is_dir():
        _list(name, as_json)
    elif notebook is not None:
        _write_notebook(name, notebook, set_)
    else:
        _run_one(name, {**options, "settings": _parse_knobs(set_)}, out, ask, as_json)


def _assign(blank: str | None, file: Path | None, folder: Path | None, options: dict[str, Any]) -> None:
    """What has to do with functions that students write."""
    if blank is not None:
        _write_blank(blank, options["out"], options["hints"])
    elif file is not None:
        _check(file, options["seed"], options["as_json"])
    elif folder is not None:
        _grade(folder, options["csv"], options["seed"])


def _require_one(used: dict[str, Any], name: str | None) -> None:
    """Refuse two jobs in one command, and a name where none is taken."""
    options = [option for option, value in used.items() if value not in (None, False)]
    if len(options) > 1:
        raise ConfigError(f"{options[0]} and {options[1]} are two jobs; give one of them")
    if name is not None and options and options[0] not in ("--all", "--notebook"):
        raise ConfigError(f"{options[0]} takes no lab beside it; left over: {name}")
    if name is None and options == ["--notebook"]:
        raise ConfigError("--notebook needs a lab, as in `regard lab attention_scaling_sqrt_dk --notebook x.ipynb`")


def _split(names: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (names or "").split(",") if part.strip())


def _parse_knobs(assignments: list[str] | None) -> dict[str, str]:
    knobs = {}
    for assignment in assignments or ():
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {assignment}: expected KNOB=VALUE, as in KEYS=128")
        knobs[name] = value
    return knobs


def _list(folder: str | None, as_json: bool) -> None:
    from regard.api.labs.laboratory import list_labs
    from regard.labs.suite.records import last_records

    themes, records = list_labs(folder), last_records()
    if as_json:
        rows = [
            {
                "theme": theme.name,
                "name": lab.name,
                "title": lab.title,
                "claim": lab.claim,
                "source": lab.source,
                "last_verdict": records[lab.name].verdict if lab.name in records else None,
                "last_run": records[lab.name].date if lab.name in records else None,
            }
            for theme in themes
            for lab in theme.labs
        ]
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    from regard.display.console import terminal_width
    from regard.display.labs import format_lab_list

    print("\n".join(format_lab_list(themes, records, terminal_width())))


def _run_one(name: str, options: dict[str, Any], out: Path | None, ask: bool, as_json: bool) -> None:
    from regard.api.labs.laboratory import lab as open_lab
    from regard.api.labs.laboratory import write_picture
    from regard.display.console import terminal_width
    from regard.display.labs import format_lab_run
    from regard.labs.suite.measurement import measure
    from regard.labs.suite.records import append_records

    session = open_lab(name, **options)
    if ask and not as_json and sys.stdin.isatty():
        _ask(session)
    run = session.run()
    append_records([session.record(run)])
    if as_json:
        answer = {"lab": session.header.name, "prediction": run.prediction, **measure(run.result).as_dict()}
        print(json.dumps(answer, ensure_ascii=False, indent=1))
    else:
        print("\n".join(format_lab_run(run, terminal_width())))
    path = write_picture(run, out)
    if path is not None:
        typer.echo(f"picture: {path}", err=True)


def _ask(session: "LabSession") -> None:
    """Ask for a prediction until there is a number, or Enter alone."""
    from regard.display.console import terminal_width
    from regard.display.labs import format_lab_question
    from regard.errors import FormatError
    from regard.labs.suite.predictions import parse_number

    typer.echo("\n".join(format_lab_question(session.header, terminal_width())), err=True)
    while True:
        typer.echo("Your number (Enter skips): ", err=True, nl=False)
        text = sys.stdin.readline().strip()
        if not text:
            return
        try:
            session.predict(parse_number(text, "your prediction"))
            return
        except FormatError as error:
            typer.echo(str(error), err=True)


def _run_all(name: str | None, options: dict[str, Any], knobs: list[str] | None, as_json: bool) -> None:
    from regard.api.labs.laboratory import PAGE_TITLE, run_labs
    from regard.display.console import terminal_width
    from regard.display.labs import format_suite

    if knobs:
        raise ConfigError("--set changes one lab, not all of them: name the lab, or copy it and change its file")
    if name is not None and not Path(name).is_dir():
        raise ConfigError(f"--all takes a folder of labs beside it; {name} is none. Choose labs with --only {name}")
    options["title"] = PAGE_TITLE if options["title"] is None else options["title"]
    suite = run_labs(name, **options, progress=True)
    if as_json:
        rows = [
            {"lab": one.header.name, "theme": one.theme, "error": one.error or None}
            | (one.measurement.as_dict() if one.measurement is not None else {})
            for one in suite.outcomes
        ]
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    else:
        print("\n".join(format_suite(suite, terminal_width())))
    if options["out"] is not None:
        typer.echo(f"written: {options['out']}", err=True)
    if any(one.measurement is None for one in suite.outcomes):
        raise typer.Exit(1)


def _write_file(copy: str | None, new: str | None, out: Path | None) -> None:
    from regard.api.labs.laboratory import copy_lab, new_lab

    path = copy_lab(copy, out) if copy is not None else new_lab(new or "", out)
    typer.echo(f"written: {path}", err=True)
    typer.echo(f"Run it: regard lab {path}", err=True)


def _write_notebook(name: str, notebook: Path, knobs: list[str] | None) -> None:
    from regard.api.labs.laboratory import lab_notebook

    typer.echo(f"written: {lab_notebook(name, notebook, _parse_knobs(knobs))}", err=True)


def _write_blank(name: str, out: Path | None, hints: int) -> None:
    from regard.api.labs.assignments import blank_assignment

    if out is None:
        raise ConfigError(f"--blank {name} needs a file to write: --out mine.py")
    path = blank_assignment(name, out, hints)
    typer.echo(f"written: {path}\nCheck it: regard lab --check {path}", err=True)


def _check(file: Path, seed: int, as_json: bool) -> None:
    from regard.api.labs.assignments import check_assignment

    results = check_assignment(file, seed)
    if as_json:
        print(json.dumps([result.as_dict() for result in results], ensure_ascii=False, indent=1))
    else:
        print("\n".join(line for result in results for line in result.lines()))
    if not all(result.is_correct for result in results):
        raise typer.Exit(1)


def _grade(folder: Path, csv: Path | None, seed: int) -> None:
    from regard.api.labs.assignments import grade_assignments
    from regard.display.console import terminal_width
    from regard.display.labs import format_grades

    rows = [grade.as_dict() for grade in grade_assignments(folder, csv, seed)]
    print("\n".join(format_grades(rows, terminal_width())))
    if csv is not None:
        typer.echo(f"written: {csv}", err=True)
