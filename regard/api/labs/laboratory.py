"""Run the labs: one, all of them on a page, as a notebook, as a file of one's own."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard import __version__
from regard.api.arguments import AnyPath, Files, list_files, optional_path
from regard.api.terminal import showing
from regard.atomic import check_output, open_output, write_text
from regard.errors import LabError, WriteError
from regard.hardware import describe_cpu
from regard.labs.catalog import Theme, all_labs, find_lab, read_folder, read_themes
from regard.labs.header import read_header
from regard.labs.suite.inputs import require_match, require_sentences
from regard.labs.suite.measurement import LabTask
from regard.labs.suite.new_files import write_copy, write_skeleton
from regard.labs.suite.notebook import write_notebook
from regard.labs.suite.page import LabPage, render_labs_page
from regard.labs.suite.predictions import read_predictions
from regard.labs.suite.records import append_records, state_folder
from regard.labs.suite.runner import DEFAULT_WORKERS
from regard.labs.suite.session import LabRun, LabSession, suite_records
from regard.labs.suite.suite import SuiteOptions, SuiteResult, choose_themes, run_suite
from regard.progress import report_note

PAGE_TITLE = LabPage.title


def list_labs(folder: AnyPath | None = None) -> tuple[Theme, ...]:
    """The labs by theme, in reading order; or those of a folder of yours. None of them is loaded.

    >>> [theme.title for theme in regard.list_labs()][0]
    'The equation'
    """
    return read_themes() if folder is None else (read_folder(Path(folder)),)


def lab(
    name: AnyPath,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    seeds: int | None = None,
    data: Files | None = None,
    parts: AnyPath | None = None,
) -> LabSession:
    """A lab, by its name or its file: predict a number, run it, and see how far off you were.

    >>> lab = regard.lab("attention_weights_sum_to_one", settings={"TOKENS": 7})
    >>> lab.predict(0.5)
    >>> str(lab.run().verdict)
    'holds'

    `settings` are knobs, `seed` is the first random seed, `seeds` their number. `data` are files whose sentences the
    lab is run on, if it takes any. `parts` is a file whose functions take the place of the lab's mechanisms.
    """
    path = find_lab(str(name))
    if seeds is not None and seeds < 1:
        raise LabError(f"seeds={seeds}: a lab needs at least one")
    files = tuple(list_files(data))
    if files:
        require_sentences(read_header(path), all_labs())
    session = LabSession(
        LabTask(
            path,
            tuple((knob, _format_setting(value)) for knob, value in (settings or {}).items()),
            first_seed=seed,
            num_seeds=seeds,
            data=files,
            parts_file=optional_path(parts),
        )
    )
    if parts is not None:
        require_match(session.lab, Path(parts))
    return session


def run_labs(
    folder: AnyPath | None = None,
    *,
    only: Sequence[str] = (),
    out: AnyPath | None = None,
    title: str = PAGE_TITLE,
    predictions: AnyPath | None = None,
    turns: bool = True,
    seed: int = 1,
    seeds: int | None = None,
    data: Files | None = None,
    parts: AnyPath | None = None,
    workers: int = DEFAULT_WORKERS,
    progress: bool = False,
) -> SuiteResult:
    """Run all labs, and those of a folder of yours; with `out`, write them as one offline page.

    `only` names themes and labs. `predictions` is a CSV file with the columns lab and prediction, drawn beside what was
    measured. Unless `turns` is False, a lab is also run with other values of one knob, for the page's sliders.
    """
    themes = choose_themes(optional_path(folder), only)
    page, answers = optional_path(out), {}
    if predictions is not None:
        answers = read_predictions(Path(predictions), {one.name for theme in themes for one in theme.labs})
    if page is not None:
        check_output(page)
    options = SuiteOptions(
        only, seed, seeds, turns and page is not None, workers, tuple(list_files(data)), optional_path(parts)
    )
    with showing(progress):
        suite = run_suite(themes, options)
    append_records(suite_records(suite))
    if page is not None:
        html = render_labs_page(suite, LabPage(title, answers, _describe_conditions(options)))
        with open_output(page) as file:
            file.write(html.encode())
    return suite


def write_picture(run: LabRun, out: AnyPath | None = None) -> Path | None:
    """Write the picture of a lab as SVG; returns its path.

    Without `out` it goes to the folder of this user's state, so that no current folder is littered; where that cannot
    be written, there is no file.
    """
    svg = run.result.picture().chart(run.result.finding.headline).to_svg()
    if out is not None:
        with open_output(Path(out)) as file:
            file.write(svg.encode())
        return Path(out)
    path = state_folder() / "labs" / f"{run.result.lab.header.name}.svg"
    try:
        write_text(path, svg)
    except WriteError as error:
        report_note(str(error))
        return None
    return path


def copy_lab(name: AnyPath, out: AnyPath | None = None) -> Path:
    """Copy the file of a lab into the current folder, or to `out`, where you may change it; returns its path."""
    return write_copy(find_lab(str(name)), optional_path(out))


def new_lab(name: str, out: AnyPath | None = None) -> Path:
    """Write the skeleton of a lab of yours, which runs as it is; returns its path."""
    return write_skeleton(name, optional_path(out))


def lab_notebook(name: AnyPath, out: AnyPath, settings: Mapping[str, Any] | None = None) -> Path:
    """Write a lab as a Jupyter notebook; returns its path. Knobs are changed in its cells."""
    if settings:
        raise LabError("a notebook has the knobs of the lab itself: change them in its cells, not with --set")
    with open_output(Path(out)) as file:
        file.write(write_notebook(LabSession(LabTask(find_lab(str(name)))).lab).encode())
    return Path(out)


def _format_setting(value: Any) -> str:
    """A knob's value as text: what a command line hands over is text already."""
    return value if isinstance(value, str) else repr(value)


def _describe_conditions(options: SuiteOptions) -> list[str]:
    from importlib.metadata import version

    seeds = f"{options.num_seeds}" if options.num_seeds else "as many as each lab asks for, 5 if it does not"
    return [
        f"Regard {__version__}, PyTorch {version('torch')}, Python {platform.python_version()}",
        f"Seeds: {seeds}, from {options.first_seed} on; the same seeds give the same numbers on the same machine",
        f"Processor: {describe_cpu()}; {options.workers} processes with one thread each",
        f"Date: {datetime.now(UTC):%Y-%m-%d}",
    ]
