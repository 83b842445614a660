"""Score a run, and compare several systems."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files, optional_path
from regard.api.terminal import showing
from regard.api.training import merge_values, name_columns
from regard.config import Config, with_values
from regard.decode import BeamSearch
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS
from regard.exchange import check_folder
from regard.hardware import configure_cpu
from regard.jobs.evaluate import FileEvaluation, evaluate_files, select_metrics
from regard.jobs.run_kind import find_task, require_task
from regard.jobs.senses.evaluation import evaluate_senses
from regard.jobs.tasks.comparison import TaskComparison, name_systems, require_systems
from regard.jobs.tasks.file_evaluation import TaskFileEvaluation, evaluate_task_files
from regard.jobs.tasks.registry import complete_task, get_task, task_of
from regard.jobs.tasks.task import ComparableTask
from regard.jobs.translate.engine_choice import EXACT
from regard.jobs.translate.worker_pool import RuntimeOptions
from regard.metrics import Score
from regard.metrics.summaries import REFERENCE_RULES, EnglishWords, UnicodeWords, score_summaries
from regard.retrieval.index_folder import is_index
from regard.run import Run, open_run
from regard.tuning.compare import Comparison, compare_files
from regard.tuning.pages.comparison import write_comparison
from regard.tuning.pages.task_comparison import write_task_comparison

SAME_ANSWERS = {"extract": "summarize"}
"""Tasks whose runs can be compared with those of another one: both make summaries."""


def evaluate(
    run: AnyPath,
    *files: Files,
    beam: int = 5,
    alpha: float = 1.0,
    lowercase: bool = False,
    tokenize: str | None = None,
    split_sentences: str = "auto",
    task: str | None = None,
    fit: AnyPath | None = None,
    device: str = "auto",
    quantize: str = "none",
    engine: str = "torch",
    shortlist: str = "off",
    progress: bool = False,
) -> FileEvaluation | TaskFileEvaluation:
    """Score a run on files: the scores of its task, with signatures and 95% intervals.

    >>> result = regard.evaluate("runs/mine", "new.tsv", beam=1)
    >>> sorted(result.scores)
    ['accuracy', 'bleu', 'chrf', 'rouge', 'ter']

    `files` are two aligned text files, one file of pairs, or what else the run was trained on, as texts with labels:
    then the scores of cheap opponents and the worst mistakes are beside those of the model. The scores are also written
    into the run. `lowercase` and `tokenize` add BLEU as some papers compute it. Lines are translated as
    `translate_file` does it, `split_sentences` included. `task` is that of the run; an imported encoder, which has
    none, is scored as one of the task embed: on pairs of texts, with or without similarities.

    The task `senses` is one of any run: whether a word has the same sense in two sentences (.jsonl), by the cosine of
    its vectors in each layer. The thresholds are chosen on the pairs of `fit`; if unset, of a train.jsonl beside the
    file.

    Translations are computed by PyTorch in float32. `engine`, `quantize` and `shortlist`, as in `regard.load`, score
    those of another engine, which the signatures name; loss and accuracy are still those of float32.
    """
    if is_index(Path(run)):
        raise ConfigError(f"{run}: is a search index; evaluate it with `regard search {run} --queries … --judgments …`")
    metrics = select_metrics(lowercase, tokenize)
    if task == "senses":
        with showing(progress):
            return evaluate_senses(Path(run), list_files(files), optional_path(fit), device)
    if fit is not None:
        raise ConfigError("--fit names pairs for --task senses; leave it out")
    name = _require_own_task(open_run(Path(run)), task)
    run_task = get_task(name)
    runtime = RuntimeOptions(device, quantize=quantize, engine=engine, shortlist=shortlist)
    if isinstance(run_task, ComparableTask):
        if runtime != replace(EXACT, device=device):
            raise ConfigError(f"{run}: --engine, --quantize and --shortlist are for translators; leave them out")
        if metrics is not METRICS:
            raise ConfigError(f"{run}: has no BLEU, which --lowercase and --tokenize are for; leave them out")
        with showing(progress):
            return evaluate_task_files(Path(run), run_task, list_files(files), device)
    with showing(progress):
        return evaluate_files(Path(run), list_files(files), BeamSearch(beam, alpha), metrics, split_sentences, runtime)


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
    the words of the test set with predicted tags, with `task="embed"` the similarity of each pair on a line. Language
    models are compared by their runs alone: `causal-lm` by bits per byte, with any tokenizers, `masked-lm` by the loss
    of the same masked tokens. A `task` that is not named is that of the runs, or what the files of `on` are for.
    `text`, `text_pair` and `label` name columns of `on`.

    Every test is against the first system, the baseline. With `out`, a page with charts is written to that folder.
    Nothing is written into the runs.
    """
    paths, files = list(map(Path, systems)), list_files(on)
    if not paths:
        raise ConfigError("nothing to compare: give run folders, or files of predictions")
    require_systems(paths)
    config = _find_config(paths, files, task, (text, text_pair, label))
    compared_task = task_of(config)
    if not files:
        raise DataError(f"no test {compared_task.example}s: give them with --on")
    if out is not None:
        check_folder(Path(out))
    with showing(progress):
        if not isinstance(compared_task, ComparableTask):
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


def _find_config(
    paths: Sequence[Path], files: Sequence[str], task: str | None, columns: tuple[str | None, str | None, str | None]
) -> Config:
    """How the test set is read: as by the first run, with other columns; without runs, by the task of its files."""
    configs = {path: open_run(path).load_config() for path in paths if path.is_dir()}
    tasks = {path: find_task(config) for path, config in configs.items()}
    first = next(iter(configs), None)
    if first is None:
        values = merge_values({"task": task, **name_columns(task, *columns)}, {"data.train": list(files)})
        return complete_task(with_values(Config(), values))
    for path, other in tasks.items():
        if SAME_ANSWERS.get(other, other) != SAME_ANSWERS.get(tasks[first], tasks[first]):
            raise ConfigError(
                f"{first} was trained with --task {tasks[first]}, {path} with --task {other}: only runs of one task "
                f"can be compared"
            )
    name = _require_own_task(Run(first), task)
    return complete_task(with_values(configs[first], merge_values(name_columns(name, *columns), {"task": name})))


def _require_own_task(run: Run, task: str | None) -> str:
    """The task of a run; a run of another task than the one that is named is refused."""
    config = run.load_config()
    name = task or find_task(config)
    require_task(run, config, name)
    return name


def rouge(
    predictions: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    stem: bool = True,
    language: str = "en",
    rule: str = "best-f1",
) -> dict[str, Score]:
    """ROUGE-1, -2, -L and -Lsum of summaries: the F1 of the package rouge-score, in percent, with 95% intervals.

    >>> scores = regard.rouge(["police kill the gunman"], ["police killed the gunman"])
    >>> round(scores["rougeL"].value, 1)
    100.0

    A summary may have several references, as a list. The rule "best-f1" takes the best value of each measure, as
    rouge-score does it, "best-rouge1" all values of the reference with the best ROUGE-1, as SciTLDR does it. Words are
    those of rouge-score, stemmed unless `stem` is false; of other languages than English, those of any script, without
    stems. ROUGE-Lsum takes lines for sentences.
    """
    if rule not in REFERENCE_RULES:
        raise ConfigError(f"rule={rule}: expected one of {', '.join(REFERENCE_RULES)}")
    words = EnglishWords(stem) if language.partition("-")[0] == "en" else UnicodeWords()
    texts = [[one] if isinstance(one, str) else list(one) for one in references]
    return score_summaries(predictions, texts, words, rule)
