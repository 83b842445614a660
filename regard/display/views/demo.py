"""The end of the demo: scores, translations with their alignment, and what to try next."""

from regard.display.console import is_plain
from regard.display.layout import bind, wrap, wrap_all, wrap_command
from regard.display.numbers import format_score
from regard.display.views.heads import TRAINED
from regard.display.views.scores import format_signatures
from regard.jobs.demo import DemoResult
from regard.report import format_alignment

NEXT_STEPS = (
    'echo "The old queen never gave the white horses to my brother." | regard translate {run}',
    'echo "Did the young doctor sell his red car?" | regard translate {run} --nbest 3 --scores',
    'regard look {run} "The old queen gave the white horses to my brother." --out look.html',
    "regard heads {run} {corpus}/test.tsv",
    "regard evaluate {run} {corpus}/compositional.tsv",
    "regard train your.en your.fr --out runs/mine",
    "regard settings",
)


def format_demo(result: DemoResult, width: int) -> list[str]:
    """BLEU on unseen sentences and combinations, examples, and commands."""
    test, compositional = result.test.scores["bleu"], result.compositional.scores["bleu"]
    lines = wrap(
        f"{bind(format_score(test))} on unseen sentences, {bind(format_score(compositional))} on unseen combinations "
        f"of words.",
        width,
    )
    for example in result.translations:
        is_equal = example.translation == example.reference
        verdict = "equal to the reference" if is_equal else f"reference: {example.reference}"
        lines += ["", *wrap(f"{example.translation} ({verdict})", width, "", "  ")]
        words = (example.source_words, example.target_words)
        lines += format_alignment(*words, weights=example.weights, width=width, plain=is_plain()).split("\n")
    lines += ["", *wrap_all([_describe_aligners(result), f"report: {result.run.report}"], width, "", "  ")]
    lines += [*format_signatures([test], width), "", "What to try next:"]
    folder = result.run.folder
    commands = [command.format(run=folder, corpus=f"{folder}-corpus") for command in NEXT_STEPS]
    return [*lines, *(line for command in commands for line in wrap_command(command, width))]


def _describe_aligners(result: DemoResult) -> str:
    (head, best), mean = result.aligners.best, result.aligners.average
    other = result.aligners.best_without(result.trained_aligners) if head in result.trained_aligners else None
    trained = f" ({TRAINED}), best that was not: {other[0]} {other[1].counts.aer:.3f}" if other else ""
    return (
        f"alignment error rate (AER) of the cross-attention, {mean.counts.sure_links:,} gold links: best head {head} "
        f"{best.counts.aer:.3f}{trained}, all heads averaged {mean.counts.aer:.3f}"
    )
