"""A run of a lab as plain data: what a page shows, and what a worker process sends back."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.labs.effects import Effect
from regard.labs.header import LabHeader
from regard.labs.lab import Lab, Result, load_lab
from regard.labs.suite.inputs import load_parts, match_parts, read_sentences
from regard.labs.verdict import Verdict

COORDINATES = re.compile(r'(?<= )(?:d|transform|x|y|x1|x2|y1|y2)="(?![^"]*(?:scale|matrix))[^"]*"')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")


@dataclass(frozen=True)
class LabTask:
    """A lab to run, and how."""

    path: Path
    settings: tuple[tuple[str, str], ...] = ()
    """Knobs and their values, as they are typed."""
    first_seed: int = 1
    num_seeds: int | None = None
    data: tuple[str, ...] = ()
    """Files whose sentences are handed to labs that take any."""
    parts_file: Path | None = None
    """A file of functions that take the place of the mechanisms of the same name."""


@dataclass(frozen=True)
class MeasuredPart:
    """One part of a claim, measured."""

    name: str
    verdict: Verdict
    mean: float
    interval: tuple[float, float] | None
    measured: str
    claimed: str


@dataclass(frozen=True)
class Measurement:
    """What one run of a lab found."""

    verdict: Verdict
    headline: str
    sentence: str
    conditions: str
    parts: tuple[MeasuredPart, ...]
    needs: tuple[str, ...]
    predicted: MeasuredPart
    """The part that the lab's question asks for."""
    seeds: tuple[int, ...]
    cpu_seconds: float
    svg: str

    def as_dict(self) -> dict[str, Any]:
        """As plain data for JSON, without the picture."""
        return {name: value for name, value in asdict(self).items() if name != "svg"}


@dataclass(frozen=True)
class LabOutcome:
    """A lab, and what it found: with its own knobs, and with other values of one knob; or why it failed."""

    header: LabHeader
    measurement: Measurement | None
    error: str = ""
    knob: str = ""
    """The knob that was turned; "" for none."""
    turned: Mapping[str, Measurement] | None = None
    """By the value of the knob, in the order of the lab's TURN, its own value included."""
    default: str = ""
    """The lab's own value of that knob."""

    @property
    def theme(self) -> str:
        return self.header.theme


def open_lab(task: LabTask) -> Lab:
    """The lab of a task, with its knobs."""
    return load_lab(task.path, dict(task.settings))


def run_lab(task: LabTask, lab: Lab) -> Result:
    """Run the lab of a task with the sentences and the parts that it takes."""
    inputs: dict[str, Any] = {}
    if task.data and "sentences" in lab.header.parameters:
        inputs["sentences"] = read_sentences(task.data)
    if task.parts_file is not None:
        inputs |= match_parts(lab, load_parts(task.parts_file))
    return lab.run(task.first_seed, task.num_seeds, **inputs)


def measure(result: Result) -> Measurement:
    """A result as plain data."""
    finding = result.finding
    parts = {id(part): _plain_part(part) for part in finding.parts}
    return Measurement(
        verdict=finding.verdict,
        headline=finding.headline,
        sentence=result.sentence,
        conditions=result.conditions,
        parts=tuple(parts.values()),
        needs=tuple(need.sentence for need in finding.needs),
        predicted=parts[id(finding.predicted_part)],
        seeds=result.seeds,
        cpu_seconds=result.cpu_seconds,
        svg=compact_svg(result.picture().chart(finding.headline).to_svg()),
    )


def run_task(task: LabTask) -> Measurement:
    """What a worker does."""
    return measure(run_lab(task, open_lab(task)))


def compact_svg(svg: str) -> str:
    """A drawing whose coordinates have two decimals: less than a hundredth of a pixel is not to be seen."""
    return COORDINATES.sub(lambda match: LONG_NUMBER.sub(_round_number, match[0]), svg)


def _round_number(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _plain_part(part: Any) -> MeasuredPart:
    interval = part.interval if isinstance(part, Effect) else None
    return MeasuredPart(part.name, part.verdict, part.mean, interval, part.measured, part.claimed)
