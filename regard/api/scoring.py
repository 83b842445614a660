"""Score a run, and compare several systems."""

from collections.abc import Sequence
from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files
from regard.api.terminal import showing
from regard.decode import BeamSearch
from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.exchange import check_folder
from regard.formats.labeled import ColumnNames
from regard.jobs.evaluate import FileEvaluation, evaluate_files, select_metrics
from regard.jobs.label_comparison import LabelComparison, compare_label_files
from regard.jobs.run_kind import find_task
from regard.jobs.tasks.file_evaluation import TaskFileEvaluation, evaluate_task_files
from regard.jobs.tasks.open_predictor import require_task
from regard.jobs.tasks.registry import MODULES, get_task
from regard.jobs.tasks.single_text import SingleTextTask
from regard.metrics import Score
from regard.metrics.summaries import REFERENCE_RULES, EnglishWords, UnicodeWords, score_summaries
from regard.run import is_run, open_run
from regard.tuning.compare import Comparison, compare_files
from regard.tuning.pages.comparison import write_comparison
from regard.tuning.pages.label_comparison import write_label_comparison


def evaluate(
    run: AnyPath,
    *files: Files,
    beam: int = 5,
    alpha: float = 1.0,
    lowercase: bool = False,
    tokenize: str | None = None,
    split_sentences: str = "auto",
    task: str | None = None,
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
    `translate_file` does it, `split_sentences` included. `task` is that of the run; an imported encoder, which has
    none, is scored as one of the task embed: on pairs of texts, with or without similarities.
    """
    metrics = select_metrics(lowercase, tokenize)
    name = require_task(Path(run), open_run(Path(run)).load_config(), task)
    if isinstance(get_task(name), SingleTextTask):
        if metrics is not METRICS:
            raise ConfigError(f"{run}: has no BLEU, which --lowercase and --tokenize are for; leave them out")
        with showing(progress):
            return evaluate_task_files(Path(run), name, list_files(files), device)
    with showing(progress):
        return evaluate_files(Path(run), list_files(files), BeamSearch(beam, alpha), metrics, device, split_sentences)


def compare(
    *systems: AnyPath,
    on: Files,
    beam: int = 5,
    alpha: float = 1.0,
    out: AnyPath | None = None,
    device: str = "auto",
    progress: bool = False,
) -> Comparison:
    """Compare runs and files of translations on one test set: scores, significance, differing sentences.

        comparison = regard.compare("runs/a", "runs/b", "other.txt", on=("test.en", "test.fr"))

    Every test is against the first system, the baseline. With `out`, a page with charts is written to that folder.
    Nothing is written into the runs.
    """
    if not systems:
        raise ConfigError("nothing to compare: give run folders, or files of translations")
    if out is not None:
        check_folder(Path(out))
    with showing(progress):
        comparison = compare_files(list(map(Path, systems)), list_files(on), BeamSearch(beam, alpha), device)
        if out is not None:
            write_comparison(comparison, Path(out))
    return comparison


def find_label_task(systems: Sequence[AnyPath], task: str | None = None) -> str | None:
    """The task whose labels are compared: the one that is named, or that of the first run; None: translations."""
    runs = [path for path in map(Path, systems) if is_run(path)]
    name = task or (find_task(open_run(runs[0]).load_config()) if runs else None)
    is_translation = name in MODULES and not isinstance(get_task(name), SingleTextTask)
    return None if is_translation else name


def compare_predictions(
    *systems: AnyPath,
    on: Files,
    task: str,
    text_column: str = "",
    label_column: str = "",
    out: AnyPath | None = None,
    progress: bool = False,
) -> LabelComparison:
    """Compare runs and files of predicted labels, tags or similarities on one test set: scores, paired tests.

        comparison = regard.compare_predictions("a.txt", "b.txt", on="test.csv", task="classify")

    With `task="classify"` a file has the label of each text on a line, or in a column of a table; with `task="tag"` it
    has the words of the test set with predicted tags; with `task="embed"` the similarity of each pair. Every test is
    against the first system, the baseline. With `out`, a page with confusion matrices is written to that folder.
    """
    if not systems:
        raise ConfigError("nothing to compare: give files of predictions")
    if out is not None:
        check_folder(Path(out))
    columns = ColumnNames(text=text_column, label=label_column)
    with showing(progress):
        comparison = compare_label_files(list(map(Path, systems)), task, list_files(on), columns)
        if out is not None:
            write_label_comparison(comparison, Path(out))
    return comparison


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
