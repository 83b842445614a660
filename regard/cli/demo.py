"""regard demo"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.options import OUTPUT, OVERWRITE, TIME, TRAINING, flag, option

if TYPE_CHECKING:
    from regard.jobs.demo import DemoResult

NEXT_STEPS = """
What to try next
  echo "The old queen never gave the white horses to my brother." | regard translate {run}
  echo "Did the young doctor sell his red car?" | regard translate {run} --nbest 3 --scores
  regard look {run} "The old queen gave the white horses to my brother." --out look.html
  regard heads {run} {corpus}/test.tsv
  regard evaluate {run} {corpus}/compositional.tsv
  regard train your.en your.fr --out runs/mine       two aligned text files of your own
  regard settings                                    all settings, to be changed with --set name=value
Open {report} in a browser."""


def demo(
    quick: bool = flag(TIME, "Run every part in about a minute; the model learns almost nothing.", "--quick"),
    seed: int = option(TRAINING, "NUMBER", "Random seed of the corpus and of training.", default=1),
    out: Path = option(OUTPUT, "FOLDER", "Run folder to create.", default=Path("runs/demo")),
    overwrite: bool = OVERWRITE,
) -> None:
    """Train a small translator on the built-in corpus, score it, and show its attention.

    Examples:
      regard demo
      regard demo --quick --out runs/quick --overwrite

    Read more: README.md
    """
    from regard.api.training import demo as run_demo

    typer.echo("English → French, from a built-in grammar.", err=True)
    _print_summary(run_demo(out, quick=quick, seed=seed, overwrite=overwrite, progress=True))


def _print_summary(result: "DemoResult") -> None:
    from regard.report import format_alignment

    for example in result.translations:
        is_equal = example.translation == example.reference
        verdict = "equal to the reference" if is_equal else f"reference: {example.reference}"
        print(f"\n{example.translation}   ({verdict})")
        print(format_alignment(example.source_words, example.target_words, weights=example.weights))
    print("\nScores")
    print(f"  unseen sentences:     {result.test.scores['bleu']}")
    print(f"  unseen combinations:  {result.compositional.scores['bleu']}")
    (head, best), mean = result.aligners.best, result.aligners.average
    print(
        f"  alignment error rate of the cross-attention ({mean.counts.sure_links:,} gold links): best head "
        f"{head} {best.counts.aer:.3f}, all heads averaged {mean.counts.aer:.3f}"
    )
    folder = result.run.folder
    print(NEXT_STEPS.format(run=folder, corpus=f"{folder}-corpus", report=result.run.report))
