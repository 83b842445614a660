"""A lab that can run: its module, with knobs that may be turned."""

import ast
import importlib.util
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from regard.errors import LabError, RegardError
from regard.labs.finding import Finding
from regard.labs.header import TEXTS, LabHeader, read_header
from regard.report.page import Figure, Paragraph, render_fragment
from regard.report.pictures import Picture

NOT_KNOBS = {*TEXTS, "CLAIMS", "TURN", "SENTENCES"}
DEFAULT_SEEDS = 5
MODULE_PREFIX = "regard_lab_"


@dataclass(frozen=True)
class Result:
    """A finding of a lab, with what it was measured with."""

    lab: "Lab"
    finding: Finding
    seeds: tuple[int, ...]
    cpu_seconds: float

    @property
    def conditions(self) -> str:
        """What the verdict is about: these sizes, this number of seeds."""
        knobs = ", ".join(f"{name} = {_format_value(value)}" for name, value in self.lab.knobs.items())
        seeds = f"{len(self.seeds)} seeds"
        return f"{knobs}; {seeds}" if knobs else seeds

    @property
    def sentence(self) -> str:
        return f"{self.finding.sentence} Here: {self.conditions}."

    def picture(self) -> Picture:
        """What the lab's draw(finding) shows."""
        return self.lab.draw(self.finding)

    def _repr_html_(self) -> str:
        chart = self.picture().chart(self.finding.headline)
        return render_fragment([Figure(chart), *self.finding.page_parts(), Paragraph(f"Here: {self.conditions}.")])


@dataclass(frozen=True)
class Lab:
    """A loaded lab."""

    header: LabHeader
    module: ModuleType

    @property
    def knobs(self) -> dict[str, Any]:
        """The values that can be changed, by their names in capitals, in the order of the file."""
        return {
            name: value
            for name, value in vars(self.module).items()
            if name.isupper() and name not in NOT_KNOBS and isinstance(value, int | float | str | tuple)
        }

    @property
    def num_seeds(self) -> int:
        return int(self.knobs.get("SEEDS", DEFAULT_SEEDS))

    def run(self, first_seed: int = 1, num_seeds: int | None = None, **parts: Any) -> Result:
        """Run the lab with its seeds, from `first_seed` on; `parts` replace mechanisms by name."""
        seeds = tuple(range(first_seed, first_seed + (num_seeds or self.num_seeds)))
        start = time.process_time()
        finding = self._call("run", seeds, **parts)
        return Result(self, finding, seeds, time.process_time() - start)

    def run_counterpart(self, first_seed: int = 1) -> Finding:
        """What the lab measures without the mechanism; where the claim fails, where the same measure says it holds."""
        name = "broken" if "broken" in self.header.functions else "control"
        if name not in self.header.functions:
            raise LabError(f"lab '{self.header.name}' has neither broken(seeds) nor control(seeds)")
        return self._call(name, tuple(range(first_seed, first_seed + self.num_seeds)))

    def draw(self, finding: Finding) -> Picture:
        """The picture of a finding of this lab."""
        if "draw" not in self.header.functions:
            raise LabError(f"lab '{self.header.name}' has no function draw(finding), which returns its picture")
        try:
            picture: Picture = self.module.draw(finding)
        except RegardError:
            raise
        except Exception as error:
            raise LabError(f"draw() of lab '{self.header.name}' failed: {_describe_error(error)}") from error
        return picture

    def _call(self, function: str, seeds: Sequence[int], **parts: Any) -> Finding:
        try:
            finding = getattr(self.module, function)(seeds, **parts)
        except RegardError:
            raise
        except Exception as error:
            raise LabError(f"{function}() of lab '{self.header.name}' failed: {_describe_error(error)}") from error
        if not isinstance(finding, Finding):
            kind = type(finding).__name__
            raise LabError(f"{function}() of lab '{self.header.name}' returned {kind}, but a Finding is expected")
        return finding


def load_lab(path: Path, settings: Mapping[str, str] | None = None) -> Lab:
    """The lab of this file, with these knobs. Every call runs the file again, so that no knob stays turned."""
    header = read_header(path)
    name = f"{MODULE_PREFIX}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except RegardError:
        raise
    except Exception as error:
        raise LabError(f"{path} cannot be loaded: {_describe_error(error)}") from error
    lab = Lab(header, module)
    for knob, text in (settings or {}).items():
        setattr(module, knob, _parse_knob(lab, knob, text))
    return lab


def _parse_knob(lab: Lab, knob: str, text: str) -> Any:
    """The value of a knob, of the type that the lab's own value has."""
    if knob not in lab.knobs:
        close = get_close_matches(knob.upper(), lab.knobs, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(lab.knobs) or 'none'}"
        raise LabError(f"lab '{lab.header.name}' has no knob '{knob}'; {hint}")
    default = lab.knobs[knob]
    if isinstance(default, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if isinstance(default, tuple) and isinstance(value, int | float):
        value = (value,)
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default) or (isinstance(default, tuple) and not _alike(value, default)):
        raise LabError(f"knob {knob} of lab '{lab.header.name}' cannot be {text!r}; expected one like {default!r}")
    return value


def _alike(values: tuple[Any, ...], default: tuple[Any, ...]) -> bool:
    return bool(values) and {type(value) for value in values} <= {type(value) for value in default}


def _format_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _describe_error(error: Exception) -> str:
    """The error, with the line of the lab's file in which it arose."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).suffix == ".py" and MODULE_PREFIX in trace.tb_frame.f_globals.get(
            "__name__", ""
        ):
            place = f" in line {trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(error, ValidationError):  # of a config: its own text has several lines
        reasons = (f"{'.'.join(map(str, one['loc']))}={one['input']}: {one['msg']}" for one in error.errors())
        return f"a setting is refused{place}: {'; '.join(reasons)}"
    return f"{type(error).__name__}{place}: {error}"
