"""One lab in a program, a notebook or a terminal: predict, run, compare."""

from dataclasses import dataclass
from datetime import UTC, datetime

from regard import __version__
from regard.labs.header import LabHeader
from regard.labs.lab import Lab, Result
from regard.labs.suite.measurement import LabTask, open_lab, run_lab
from regard.labs.suite.records import LabRecord
from regard.labs.suite.suite import SuiteResult
from regard.labs.verdict import Verdict
from regard.report.page import Paragraph, render_fragment


@dataclass(frozen=True)
class LabRun:
    """A result of a lab beside what was predicted."""

    result: Result
    prediction: float | None = None

    @property
    def verdict(self) -> Verdict:
        return self.result.finding.verdict

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, and the sizes that it was measured with."""
        return self.result.sentence

    @property
    def comparison(self) -> str:
        """How far off the prediction was; "" if there was none."""
        measured = self.result.finding.predicted_part.measured
        return "" if self.prediction is None else f"predicted {self.prediction:g}, measured {measured}"

    def _repr_html_(self) -> str:
        comparison = render_fragment([Paragraph(f"You {self.comparison}.")]) if self.prediction is not None else ""
        return comparison + self.result._repr_html_()


class LabSession:
    """A lab that asks for a prediction before it runs.

    lab = regard.lab("attention_scaling_sqrt_dk")
    lab.predict(0.3)
    lab.run()
    """

    def __init__(self, task: LabTask):
        self._task = task
        self._lab = open_lab(task)
        self.prediction: float | None = None

    @property
    def lab(self) -> Lab:
        """The lab with its knobs."""
        return self._lab

    @property
    def header(self) -> LabHeader:
        """The texts of the lab."""
        return self._lab.header

    def predict(self, value: float) -> None:
        """Remember what you expect, before you run the lab."""
        self.prediction = float(value)

    def run(self) -> LabRun:
        """Measure."""
        return LabRun(run_lab(self._task, self._lab), self.prediction)

    def record(self, run: LabRun) -> LabRecord:
        """What is remembered of a run."""
        finding = run.result.finding
        is_own = self._task == LabTask(self._task.path)
        return _make_record(
            self.header.name, finding.verdict, finding.headline, finding.predicted_part.measured, run.prediction, is_own
        )

    def _repr_html_(self) -> str:
        header = self.header
        return render_fragment(
            [Paragraph(f"{header.title}. {header.claim} ({header.source})"), Paragraph(header.predict)]
        )


def suite_records(suite: SuiteResult) -> list[LabRecord]:
    """What is remembered of a run of many labs."""
    options = suite.options
    is_own = (options.first_seed, options.num_seeds, options.data, options.parts_file) == (1, None, (), None)
    return [
        _make_record(outcome.header.name, one.verdict, one.headline, one.predicted.measured, None, is_own)
        for outcome in suite.outcomes
        if (one := outcome.measurement) is not None
    ]


def _make_record(
    lab: str, verdict: Verdict, headline: str, measured: str, prediction: float | None, is_own: bool
) -> LabRecord:
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return LabRecord(lab, str(verdict), headline, measured, prediction, is_own, date, __version__)
