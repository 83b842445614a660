"""A run of any task evaluated on files, beside cheap opponents that were fitted on its training examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from regard.errors import DataError
from regard.files import resolve
from regard.formats.files import strip_gzip_suffix
from regard.hardware import configure_cpu
from regard.jobs.contamination import describe_contamination, load_trained_sources
from regard.jobs.evaluate import tabulate_scores, unused_name
from regard.jobs.tasks.reporting.verdict import describe_opponents
from regard.jobs.tasks.single_text import SingleTextTask
from regard.metrics import Score
from regard.progress import track
from regard.report import Paragraph, Table, TableView, render_fragment
from regard.run import open_run


class ScoredTask(Protocol):
    """What a page or a terminal says of examples and their main score."""

    @property
    def example(self) -> str: ...
    @property
    def file_example(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def main_score(self) -> str: ...

    def tabulate_mistakes(self, evaluation: Any) -> Table: ...


@dataclass(frozen=True, repr=False)
class TaskFileEvaluation:
    """A run evaluated on the examples of files."""

    evaluation: Any
    """What the task evaluates: scores, loss, opponents, and every example with its prediction."""
    task: ScoredTask
    num_examples: int
    example_scores: Path
    """Where a row for each example was written."""
    num_contaminated: int
    """Inputs that also occur in the text that the run was trained on."""

    @property
    def scores(self) -> dict[str, Score]:
        """The scores by the name of their measure."""
        scores: dict[str, Score] = self.evaluation.scores
        return scores

    @property
    def mistakes(self) -> Table:
        """The worst mistakes; what is wrong although the model was sure comes first."""
        return self.task.tabulate_mistakes(self.evaluation)

    def describe_verdict(self) -> str:
        """The main score beside the best opponent, in one sentence."""
        return describe_opponents(self.scores, self.evaluation.opponents, self.task.main_score)

    def describe_contamination(self) -> str:
        """How many of the inputs were trained on, in one sentence; empty if none were."""
        return describe_contamination(self.num_contaminated, self.num_examples, noun=f"{self.task.file_example}s")

    def as_dict(self) -> dict[str, Any]:
        """Measure -> value, interval and signature; and the same of every opponent."""
        scores = {name: score.as_dict() for name, score in self.scores.items()}
        return {**scores, "opponents": {one.name: one.as_dict() for one in self.evaluation.opponents}}

    def __str__(self) -> str:
        return "\n".join(map(str, self.scores.values()))

    def __repr__(self) -> str:
        main = self.scores.get(self.task.main_score) or next(iter(self.scores.values()))
        return f"<TaskFileEvaluation on {self.num_examples:,} {self.task.file_example}s: {main}>"

    def _repr_html_(self) -> str:
        sentences = " ".join(filter(None, [self.describe_verdict(), self.describe_contamination()]))
        scores = tabulate_scores({score.name: score for score in self.scores.values()})
        return render_fragment([Paragraph(sentences), TableView(scores), TableView(self.mistakes)])


def evaluate_task_files(
    folder: Path, task: SingleTextTask, files: Sequence[str], device: str = "auto"
) -> TaskFileEvaluation:
    """Predict and score the examples of files, and write the scores into the run under the name of the first file."""
    configure_cpu(0)
    run = open_run(folder)
    config = run.load_config()
    predictor = task.load_predictor(folder, device)
    pairs = list(track(task.read_examples(files, config), f"reading {task.file_example}s"))
    if not pairs:
        raise DataError(f"{' '.join(files)}: has no {task.file_example}s to evaluate on")
    test_files = [str(resolve(file)) for file in files]
    name = unused_name(run, strip_gzip_suffix(Path(files[0])).stem, tuple(test_files))
    evaluation = task.evaluate_new(run, predictor, pairs)
    task.write_scores(run, name, evaluation, test_files)
    trained_sources = load_trained_sources(folder)
    num_contaminated = sum(pair.source in trained_sources for pair in pairs)
    return TaskFileEvaluation(evaluation, task, len(pairs), run.example_scores(name), num_contaminated)
