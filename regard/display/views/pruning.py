"""The effect of pruning: how much BLEU is kept with how many heads, the curve, and sizes."""

from regard.display.layout import Column, bind, format_table, wrap, wrap_all, wrap_command
from regard.display.numbers import format_score
from regard.display.views.scores import format_signatures
from regard.jobs.prune import PruneResult

CURVE_COLUMNS = (
    Column("heads kept", right=True),
    Column("dev loss", right=True),
    Column("BLEU", right=True),
    Column("95% interval"),
)
SIZE_COLUMNS = (Column(""), Column("before", right=True), Column("after", right=True))


def format_pruning(result: PruneResult, init_from: object, width: int, verbose: bool = False) -> list[str]:
    """What pruning has cost, in a sentence; then sizes, the curve, and how to compare on unseen pairs."""
    before, after = result.sizes
    rows = [
        ["heads", str(before.heads), str(after.heads)],
        ["parameters", f"{before.parameters:,}", f"{after.parameters:,}"],
        ["MFLOP per pair", f"{before.flops / 1e6:,.1f}", f"{after.flops / 1e6:,.1f}"],
        ["seconds to translate dev", f"{before.seconds:.2f}", f"{after.seconds:.2f}"],
        ["BLEU on dev, greedy", *(score.format_margin(2) for score in (result.before, result.after))],
    ]
    curve = [
        [str(point.num_heads), f"{point.loss:.3f}", f"{bleu.value:.2f}", bleu.format_interval()]
        for point in result.curve
        for bleu in (point.bleu,)
    ]
    lines = [*wrap(_describe_answer(result), width), "", *format_table(SIZE_COLUMNS, rows, width), ""]
    lines += wrap("With the other heads masked, before fine-tuning:", width)
    lines += [*format_table(CURVE_COLUMNS, curve, width), ""]
    facts = [f"removed: {', '.join(result.removed) or 'nothing'}", f"written: {result.run.folder}"]
    facts.append("seconds are one measurement; see benchmarks/")
    lines += wrap_all(facts, width, "", "  ")
    lines += format_signatures([result.before, *([result.difference] if verbose else [])], width)
    lines += wrap("The dev pairs chose the heads, so their scores are optimistic. Compare on unseen pairs:", width)
    return [*lines, *wrap_command(f"regard compare {init_from} {result.run.folder} --on test.en test.fr", width)]


def _describe_answer(result: PruneResult) -> str:
    before, after = result.sizes
    steps, difference = result.finetune_steps, result.difference
    recovery = f"after {steps:,} steps of fine-tuning" if steps else "without fine-tuning"
    share = result.after.value / result.before.value if result.before.value else 0.0
    interval = ""
    if difference.low is not None and difference.high is not None:
        interval = " " + bind(f"[{difference.low:+.1f}, {difference.high:+.1f}]")
    return (
        f"Keeps {share:.1%} of the BLEU with {after.heads} of {before.heads} heads, {recovery}: "
        f"{bind(format_score(result.after))} instead of {bind(f'{result.before.value:.1f}')} on dev, "
        f"a difference of {bind(f'{difference.value:+.1f}')}{interval}."
    )
