"""regard demo"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.jobs.demo import DemoResult

NEXT = """
What to try next
  echo "The old queen never gave the white horses to my brother." | regard translate {run}
  echo "Did the young doctor sell his red car?" | regard translate {run} --nbest 3 --scores
  regard look {run} "The old queen gave the white horses to my brother." --out look.html
  regard heads {run} {corpus}/test.tsv
  regard evaluate {run} {corpus}/compositional.tsv
  regard train your.en your.fr --out runs/mine       two files of your own, line by line
  regard settings                                    all that can be changed, with --set name=value
Open {report} in a browser."""


def demo(
    out: Path = typer.Option(Path("runs/demo"), help="Run folder to make."),
    quick: bool = typer.Option(False, "--quick", help="A minute's walk through every part; it learns next to nothing."),
    seed: int = typer.Option(1, help="Same seed, same machine, same corpus."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the run that is there."),
) -> None:
    """Train a small translator on the built-in corpus, score it, and show where it looks."""
    from regard.cli.progress import show
    from regard.cli.train import INTERRUPTED, stopper
    from regard.jobs import demo as job
    from regard.jobs.train.events import TrainingInterrupted

    size = job.QUICK_PRESET if quick else job.FULL_PRESET
    typer.echo(f"English → French from a grammar built in: {size.train_pairs:,} pairs to learn from.", err=True)
    last = show(job.run_demo(out, size, seed, overwrite, stopper()))
    if isinstance(last, TrainingInterrupted):
        raise typer.Exit(INTERRUPTED)
    if isinstance(last, job.DemoResult):
        _tell(last)


def _tell(found: "DemoResult") -> None:
    from regard.report import alignment

    for shown in found.translations:
        verdict = "as the reference" if shown.translation == shown.reference else f"reference: {shown.reference}"
        print(f"\n{shown.translation}   ({verdict})")
        print(alignment(shown.source_words, shown.target_words, weights=shown.weights))
    print("\nScores")
    print(f"  sentences never seen:     {found.test.scores['bleu']}")
    print(f"  combinations never seen:  {found.compositional.scores['bleu']}")
    (head, best), mean = found.aligners.best, found.aligners.average
    print(
        f"  alignment error rate of the cross-attention against gold ({mean.counts.sure_links:,} links): best head "
        f"{head} {best.counts.aer:.3f}, all heads averaged {mean.counts.aer:.3f}"
    )
    folder = found.run.folder
    print(NEXT.format(run=folder, corpus=f"{folder}-corpus", report=found.run.report))
