"""What this machine can do: `regard bench`."""

from regard.display.layout import Column, format_table, wrap, wrap_all
from regard.jobs.bench import Benchmark

COLUMNS = (Column("translation"), Column("numbers"), Column("tokens per second and core", right=True))


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
