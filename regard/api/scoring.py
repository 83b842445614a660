"""Score a run, and compare several systems."""

from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files
from regard.api.terminal import showing
from regard.decode import BeamSearch
from regard.errors import ConfigError
from regard.exchange import check_folder
from regard.jobs.evaluate import FileEvaluation, evaluate_files, select_metrics
from regard.tuning.compare import Comparison, compare_files
from regard.tuning.pages.comparison import write_comparison


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
) -> FileEvaluation:
    """Score a run on pairs: BLEU, chrF, TER, ROUGE-L and accuracy, with signatures and 95% intervals.

    >>> result = regard.evaluate("runs/mine", "new.tsv", beam=1)
    >>> sorted(result.scores)
    ['accuracy', 'bleu', 'chrf', 'rouge', 'ter']

    `files` are two aligned text files, or one file of pairs. The scores are also written into the run. `lowercase` and
    `tokenize` add BLEU as some papers compute it. Lines are translated as `translate_file` does it, `split_sentences`
    included.
    """
    metrics = select_metrics(lowercase, tokenize)
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
