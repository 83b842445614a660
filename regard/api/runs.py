"""A run folder as a value: its settings, its scores and its curves; runs from other programs, and for them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import run as runs
from regard.api.arguments import AnyPath
from regard.api.terminal import showing
from regard.config import Config
from regard.errors import ConfigError
from regard.files import resolve

# A run is opened wherever a model is, so what reads, draws and describes it is imported when that is asked for.
if TYPE_CHECKING:
    from regard.api.models import EncoderModel
    from regard.metrics import Score
    from regard.report import Chart, PagePart, Table, Value
    from regard.training.loop import Step
    from regard.training.validate import Validation


@dataclass(frozen=True, repr=False)
class TrainedRun(os.PathLike[str]):
    """A run folder. It is accepted wherever the path of a run is: `regard.load(run)`, `regard.evaluate(run, …)`."""

    folder: Path

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def config(self) -> Config:
        """All settings, as in `run.config.model.dim`."""
        return self._run.load_config()

    @property
    def step(self) -> int:
        """The step of the last checkpoint; 0 for an imported or pruned run."""
        return self._run.read_latest().step if self._run.latest.exists() else 0

    @property
    def parameters(self) -> int:
        """The number of parameters of the model."""
        from regard.tuning.measure import count_parameters

        return count_parameters(self._run)

    @property
    def finished(self) -> bool:
        """Whether training has ended; an imported or pruned run has nothing left to do."""
        return self._run.finished() or not self._run.log.exists()

    @property
    def scores(self) -> "dict[str, dict[str, Score]]":
        """The scores of every set that was evaluated: {"test": {"bleu": Score, …}}."""
        from regard.jobs.evaluate import read_set_scores, scored_sets

        return {name: read_set_scores(self._run, name).scores for name in scored_sets(self._run)}

    @property
    def curves(self) -> "Table":
        """Loss, accuracy and BLEU of training and dev, step by step."""
        from regard.jobs.report import tabulate_curves

        return tabulate_curves(self._records())

    @property
    def charts(self) -> "tuple[Chart, ...]":
        """The curves, drawn; none for an imported or pruned run."""
        from regard.jobs.report import draw_curves

        records = self._records()
        return tuple(draw_curves(records)) if records else ()

    @property
    def report(self) -> Path:
        """report.html, which exists once training has ended."""
        return self._run.report

    def load(self, device: str = "auto", quantize: str = "none") -> Any:
        """The trained model; see `regard.load`."""
        from regard.api.models import load

        return load(self, device, quantize)

    def load_encoder(self, device: str = "auto") -> "EncoderModel":
        """The model of an encoder-only run; see `regard.load_encoder`."""
        from regard.api.models import load_encoder

        return load_encoder(self, device)

    def describe(self) -> str:
        """The folder, what it was trained for, the step, and whether training has ended."""
        from regard.jobs.tasks.registry import task_of

        state = "finished" if self.finished else "not finished"
        return f"{self.folder}: {task_of(self.config).describe_data(self.config)}, step {self.step:,}, {state}"

    def __str__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"<TrainedRun {self.describe()}>"

    def _repr_html_(self) -> str:
        from regard.jobs.evaluate import tabulate_scores
        from regard.report import DefinitionList, Figure, Paragraph, TableView, render_fragment

        parts: list[PagePart] = [Paragraph(self.describe()), DefinitionList(self._facts())]
        parts += [
            TableView(tabulate_scores({score.name: score for score in scores.values()}), caption=name)
            for name, scores in self.scores.items()
        ]
        parts += [Figure(chart) for chart in self.charts]
        return render_fragment(parts)

    def _facts(self) -> "dict[str, Value]":
        m, data = self.config.model, self.config.data
        return {
            "layers": f"{m.depth('encoder')} + {m.depth('decoder')}",
            "width": m.dim,
            "heads": m.heads,
            "positions": m.positions.kind,
            "vocabulary": data.vocab_size,
            "training files": ", ".join(data.train) or None,
        }

    def _records(self) -> "list[Step | Validation]":
        from regard.training import log

        return list(log.read(self._run.log)) if self._run.log.exists() else []

    @property
    def _run(self) -> runs.Run:
        return runs.Run(self.folder)


def open_run(folder: AnyPath) -> TrainedRun:
    """The run of a folder, trained, imported or pruned.

    >>> run = regard.open_run("runs/mine")
    >>> run.finished
    True
    """
    return TrainedRun(runs.open_run(Path(folder)).folder)


def import_model(
    folder: AnyPath, out: AnyPath | None = None, *, overwrite: bool = False, progress: bool = False
) -> TrainedRun:
    """Import a model folder of the transformers library (OPUS-MT, BERT, GPT-2) as a run.

        run = regard.import_model("opus-mt-en-fr", out="runs/opus")

    The run is runs/<name of the folder> if `out` is unset.
    """
    from regard.jobs.convert import import_folder

    run_folder = Path(out) if out is not None else Path("runs") / resolve(folder).name
    with showing(progress):
        import_folder(Path(folder), run_folder, overwrite)
    return open_run(run_folder)


def export(
    run: AnyPath,
    to: str,
    out: AnyPath | None = None,
    *,
    quantize: str | None = None,
    title: str = "",
    note: str = "",
    max_mb: float | None = None,
    progress: bool = False,
) -> Path:
    """Export a run in the format of another program, or as a page; <run>-<format> or <run>.html if `out` is unset.

        regard.export("runs/mine", to="ctranslate2", quantize="int8")
        regard.export("runs/mine", to="html", title="Our minutes, German to English")

    `to` is marian (for the transformers library), ctranslate2, or html: a translator as one file for a browser, with a
    `title`, a `note` and at most `max_mb` megabytes (30 if unset). `quantize` is none or int8; unset, a page has
    int8, a folder none.
    """
    from regard.jobs.convert import export_run
    from regard.jobs.export_page import MAX_MB, export_page

    run_folder = Path(os.path.normpath(Path.cwd() / run)) if Path(run).name in ("", "..") else Path(run)
    if to == "html":
        page = Path(out) if out is not None else run_folder.with_name(f"{run_folder.name}.html")
        with showing(progress):
            export_page(run_folder, page, title, note, MAX_MB if max_mb is None else max_mb, quantize or "int8")
        return page
    if title or note:
        raise ConfigError(f"--title and --note are for --to html, not {to}")
    folder = Path(out) if out is not None else run_folder.with_name(f"{run_folder.name}-{to}")
    with showing(progress):
        export_run(run_folder, to, folder, quantize or "none")
    return folder
