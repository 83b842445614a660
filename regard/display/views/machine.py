"""What this machine can do: `regard bench`; and what makes it faster: `regard shortlist`."""

from pathlib import Path

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.jobs.bench import Benchmark
from regard.jobs.shortlist.record import ShortlistRecord, ShortlistTrial

COLUMNS = (Column("translation"), Column("numbers"), Column("tokens per second and core", right=True))
SHORTLIST_COLUMNS = (
    Column("search"),
    Column("unchanged", right=True),
    Column("BLEU", right=True),
    Column("faster", right=True),
    Column("used by default"),
)


def format_benchmark(benchmark: Benchmark, width: int) -> list[str]:
    """The speed of training and translation, a table of searches, and suggestions."""
    fastest = max(benchmark.decoding, key=lambda speed: speed.tokens_per_second)
    answer = (
        f"Trains on {benchmark.training_tokens_per_second:,.0f} target tokens per second, and translates up to "
        f"{fastest.tokens_per_second:,.0f} tokens per second on each core."
    )
    rows = [[speed.search, speed.dtype, f"{speed.tokens_per_second:,.0f}"] for speed in benchmark.decoding]
    facts = [
        f"training: batches of {benchmark.batch_tokens:,} tokens, {benchmark.utilization:.2f} of the speed of matrix "
        f"multiplication ({benchmark.matmul_flops / 1e9:,.0f} GFLOP/s in float32)",
        benchmark.model,
        benchmark.hardware,
        *benchmark.suggestions,
    ]
    return [*wrap(answer, width), "", *format_table(COLUMNS, rows, width), "", *wrap_all(facts, width, "", "  ")]


def format_shortlist(record: ShortlistRecord, run: Path, width: int) -> list[str]:
    """How long the lists are, what they change by each search, and whether they are used."""
    share = record.mean_tokens / record.vocab_size
    length = (
        f"A sentence has {record.mean_tokens:,.0f} of the {record.vocab_size:,} tokens to choose from ({share:.0%})."
    )
    covered = f"They allow {record.covered:.1%} of its translations of dev, one sentence at a time."
    rows = [
        [
            trial.search,
            f"{trial.unchanged:.1%}",
            f"{trial.bleu_change:+.2f}",
            f"{trial.speedup:.2f}×",
            _use(record, trial),
        ]
        for trial in record.trials
    ]
    trial = record.trials[0]
    engine = f"{trial.engine} in {trial.quantize}, {trial.sentences:,} sentences of dev, one measurement of time"
    lines = [*wrap(f"{length} {covered}", width), "", *format_table(SHORTLIST_COLUMNS, rows, width), ""]
    return [*lines, *wrap(engine, width), *wrap(f"written: {run}", width, "", "  ")]


def _use(record: ShortlistRecord, trial: ShortlistTrial) -> str:
    decision = record.judge(trial.engine, trial.quantize, trial.search)
    return "yes" if decision.is_used else f"no: {decision.reason}"
