"""All labs of some themes, run in worker processes: each as it is, and with the values of its knob for the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.errors import LabError
from regard.labs.catalog import Theme, read_folder, read_themes
from regard.labs.header import LabHeader
from regard.labs.suite.inputs import SENTENCES, load_parts
from regard.labs.suite.measurement import LabOutcome, LabTask, Measurement
from regard.labs.suite.runner import DEFAULT_WORKERS, run_tasks
from regard.labs.verdict import Verdict
from regard.progress import stage


@dataclass(frozen=True)
class SuiteOptions:
    """How the labs are run."""

    only: Sequence[str] = ()
    """Names of themes and of labs; all if there are none."""
    first_seed: int = 1
    num_seeds: int | None = None
    turns: bool = True
    """Whether each lab is also run with the other values of its knob."""
    workers: int = DEFAULT_WORKERS
    data: tuple[str, ...] = ()
    parts_file: Path | None = None


@dataclass(frozen=True)
class LabPlan:
    """The tasks of one lab."""

    header: LabHeader
    task: LabTask
    knob: str = ""
    turned: dict[str, LabTask] = field(default_factory=dict)

    def tasks(self) -> Iterator[LabTask]:
        yield self.task
        yield from self.turned.values()


@dataclass(frozen=True)
class SuiteResult:
    """What the labs of some themes found."""

    themes: tuple[Theme, ...]
    outcomes: tuple[LabOutcome, ...]
    options: SuiteOptions

    def sorted_outcomes(self) -> list[LabOutcome]:
        """Failed ones first, then what goes against a claim, in reading order otherwise."""
        order = list(Verdict)
        return sorted(
            self.outcomes, key=lambda one: -1 if one.measurement is None else order.index(one.measurement.verdict)
        )

    def of_theme(self, theme: Theme) -> list[LabOutcome]:
        paths = {lab.path for lab in theme.labs}
        return [outcome for outcome in self.outcomes if outcome.header.path in paths]


def choose_themes(folder: Path | None, only: Sequence[str]) -> tuple[Theme, ...]:
    """All themes and that of a folder, or those that are named and themes of the labs that are."""
    themes = (*read_themes(), *([read_folder(folder)] if folder is not None else []))
    themes = tuple(theme for theme in themes if theme.labs)
    if not only:
        return themes
    names = {theme.name for theme in themes} | {lab.name for theme in themes for lab in theme.labs}
    if unknown := [name for name in only if name not in names]:
        known = ", ".join(theme.name for theme in themes)
        raise LabError(f"there is no theme and no lab '{unknown[0]}'; the themes are {known}")
    chosen_labs = [
        replace(theme, labs=tuple(lab for lab in theme.labs if theme.name in only or lab.name in only))
        for theme in themes
    ]
    return tuple(theme for theme in chosen_labs if theme.labs)


def run_suite(themes: Sequence[Theme], options: SuiteOptions) -> SuiteResult:
    """Run all labs of the themes; a lab that fails is an outcome with the reason."""
    if options.parts_file is not None:
        load_parts(options.parts_file)  # refused before anything runs
    plans = [plan_lab(lab, options) for theme in themes for lab in theme.labs]
    _require_takers(plans, options)
    tasks = [task for plan in plans for task in plan.tasks()]
    results: dict[int, Measurement | str] = {}
    with stage("running labs", len(tasks)) as current:
        for number, result in run_tasks(tasks, options.workers):
            results[number] = result
            current.advance()
    by_task = {tasks[number]: result for number, result in results.items()}
    return SuiteResult(tuple(themes), tuple(_collect(plan, by_task) for plan in plans), options)


def plan_lab(lab: LabHeader, options: SuiteOptions) -> LabPlan:
    """The lab as it is, and once for each other value of its knob."""
    own = LabTask(
        lab.path,
        first_seed=options.first_seed,
        num_seeds=options.num_seeds,
        data=options.data if SENTENCES in lab.parameters else (),
        parts_file=options.parts_file,
    )
    if not options.turns or not lab.turn:
        return LabPlan(lab, own)
    knob, values = next(iter(lab.turn.items()))
    default = format_knob(lab.knobs.get(knob))
    texts = [text for text in map(format_knob, values) if text != default]
    return LabPlan(lab, own, knob, {text: replace(own, settings=((knob, text),)) for text in texts})


def format_knob(value: Any) -> str:
    """The value of a knob as it is typed."""
    return value if isinstance(value, str) else repr(value)


def _require_takers(plans: Sequence[LabPlan], options: SuiteOptions) -> None:
    if options.data and not any(plan.task.data for plan in plans):
        raise LabError("none of these labs takes sentences, so --data changes nothing")


def _collect(plan: LabPlan, results: dict[LabTask, Measurement | str]) -> LabOutcome:
    own = results[plan.task]
    if isinstance(own, str):
        return LabOutcome(plan.header, None, error=own)
    if not plan.turned:
        return LabOutcome(plan.header, own)
    default = format_knob(plan.header.knobs.get(plan.knob))
    turned: dict[str, Measurement] = {}
    for text in map(format_knob, plan.header.turn[plan.knob]):
        result = own if text == default else results[plan.turned[text]]
        if isinstance(result, Measurement):  # a value with which the lab cannot run is left out
            turned[text] = result
    if default not in turned:
        turned = {default: own, **turned}
    return LabOutcome(plan.header, own, knob=plan.knob, turned=turned, default=default)
