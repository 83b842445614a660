"""Score a run, and compare several systems."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files
from regard.api.terminal import showing
from regard.api.training import name_columns
from regard.config import Config, with_values
from regard.decode import BeamSearch
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.exchange import check_folder
from regard.hardware import configure_cpu
from regard.jobs.evaluate import FileEvaluation, evaluate_files, select_metrics
from regard.jobs.tasks.comparison import TaskComparison, name_systems, require_systems
from regard.jobs.tasks.file_evaluation import TaskFileEvaluation, evaluate_task_files
from regard.jobs.tasks.registry import complete_task, task_of
from regard.jobs.tasks.single_text import SingleTextTask
from regard.run import open_run
from regard.tuning.compare import Comparison, compare_files
from regard.tuning.pages.comparison import write_comparison
from regard.tuning.pages.task_comparison import write_task_comparison


def evaluate(
    run: AnyPath,
    *files: Files,
    beam: int = 5,
    alpha: float = 1.0,
    lowercase: bool = False,
    tokenize: str | None = None,
    split_sentences: str = "auto",
    device: str = "auto",
    progress: bool = False,
) -> FileEvaluation | TaskFileEvaluation:
    """Score a run on files: the scores of its task, with signatures and 95% intervals.

    >>> result = regard.evaluate("runs/mine", "new.tsv", beam=1)
    >>> sorted(result.scores)
    ['accuracy', 'bleu', 'chrf', 'rouge', 'ter']

    `files` are two aligned text files, one file of pairs, or what else the run was trained on, as texts with labels:
    then the scores of cheap opponents and the worst mistakes are beside those of the model. The scores are also written
    into the run. `lowercase` and `tokenize` add BLEU as some papers compute it. Lines are translated as
    `translate_file` does it, `split_sentences` included.
    """
    metrics = select_metrics(lowercase, tokenize)
    if isinstance(task_of(open_run(Path(run)).load_config()), SingleTextTask):
        if metrics is not METRICS:
            raise ConfigError(f"{run}: has no BLEU, which --lowercase and --tokenize are for; leave them out")
        with showing(progress):
            return evaluate_task_files(Path(run), list_files(files), device)
    with showing(progress):
        return evaluate_files(Path(run), list_files(files), BeamSearch(beam, alpha), metrics, device, split_sentences)


def compare(
    *systems: AnyPath,
    on: Files,
    task: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    out: AnyPath | None = None,
    device: str = "auto",
    progress: bool = False,
) -> Comparison | TaskComparison:
    """Compare runs and files of predictions on one test set: scores, significance, differing examples.

        comparison = regard.compare("runs/a", "runs/b", "other.txt", on=("test.en", "test.fr"))
        comparison = regard.compare("runs/reviews", "labels.txt", on="test.csv")

    A file has the translation or the label of each text on a line, or in a column of a table; with `task="tag"` it has
    the words of the test set with predicted tags. Language models are compared by their runs alone: `causal-lm` by bits
    per byte, with any tokenizers, `masked-lm` by the loss of the same masked tokens. A `task` that is not named is that
    of the runs, or what the files of `on` are for. `text`, `text_pair` and `label` name columns of `on`.

    Every test is against the first system, the baseline. With `out`, a page with charts is written to that folder.
    Nothing is written into the runs.
    """
    paths, files = list(map(Path, systems)), list_files(on)
    if not paths:
        raise ConfigError("nothing to compare: give run folders, or files of predictions")
    require_systems(paths)
    config = _find_config(paths, files, {"task": task, **name_columns(text, text_pair, label)})
    compared_task = task_of(config)
    if not files:
        raise DataError(f"no test {compared_task.example}s: give them with --on")
    if out is not None:
        check_folder(Path(out))
    with showing(progress):
        if not isinstance(compared_task, SingleTextTask):
            return _compare_translations(paths, files, BeamSearch(beam, alpha), device, out)
        configure_cpu(0)
        systems_by_name = dict(zip(name_systems(paths), paths, strict=True))
        comparison = compared_task.compare(systems_by_name, files, config, device)
        if out is not None:
            write_task_comparison(comparison, Path(out))
    return comparison


def _compare_translations(
    paths: Sequence[Path], files: Sequence[str], search: BeamSearch, device: str, out: AnyPath | None
) -> Comparison:
    comparison = compare_files(paths, files, search, device)
    if out is not None:
        write_comparison(comparison, Path(out))
    return comparison


def _find_config(paths: Sequence[Path], files: Sequence[str], options: Mapping[str, object]) -> Config:
    """How the test set is read: as by the first run, with other columns; without runs, by the task of its files."""
    configs = {path: open_run(path).load_config() for path in paths if path.is_dir()}
    named = {name: value for name, value in options.items() if value is not None}
    first = next(iter(configs), None)
    for path, config in configs.items():
        if first is not None and config.task != configs[first].task:
            raise ConfigError(
                f"{first} was trained with --task {configs[first].task}, {path} with --task {config.task}: only runs "
                f"of one task can be compared"
            )
    if first is None:
        return complete_task(with_values(Config(), {"data.train": list(files), **named}))
    base = configs[first]
    if named.get("task", base.task) != base.task:
        raise ConfigError(f"{first} was trained with --task {base.task}, not --task {named['task']}")
    return complete_task(with_values(base, {**named, "task": base.task}))
