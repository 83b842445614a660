"""The error of `regard estimate`: seconds per step, estimated and measured, over sizes and batches.

    python benchmarks/estimate.py [--write]

A machine's speed varies, so that of matrix products is measured between the steps of the same run, and the
estimate is made for that rate. What is printed is truth / estimate: it should lie between 1/1.3 and 1.3.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from environment import described, write

from regard.config import Config, override
from regard.data.corpora import english_french
from regard.hardware import measure_matmul_flops
from regard.jobs.tasks.translation.data import open_training_data
from regard.jobs.train.estimate import estimate_corpus
from regard.jobs.train.events import TrainingProgress
from regard.jobs.train.fit import train_run
from regard.run import open_run

STEPS, WARM = 32, 6
SIZES = ((128, 3, 4, 256), (128, 4, 4, 512), (192, 4, 4, 768), (256, 4, 4, 1024), (256, 6, 4, 1024), (512, 6, 8, 2048))
BATCHES = (512, 1024, 4096)


def corpus(folder: Path) -> list[str]:
    """A corpus of the built-in language, long enough for every batch."""
    pairs = list(english_french.generate(20_000, seed=1))
    for side in ("source", "target"):
        lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
        (folder / f"train.{side}").write_text(lines, encoding="utf-8")
    return [str(folder / "train.source"), str(folder / "train.target")]


def measure(folder: Path, files: list[str], changes: list[str]) -> tuple[float, float, float]:
    """Seconds per step, measured and estimated, and the FLOPs per second of matrix products meanwhile."""
    settings = [f"data.train={files}".replace("'", '"'), f"train.steps={STEPS}", "train.validate_every=100000"]
    config = override(Config(), [*settings, "train.save_every=100000", *changes])
    seconds, rates = [], []
    for event in train_run(folder, config, True, lambda: False):
        if isinstance(event, TrainingProgress):
            if event.step.number > WARM:
                seconds.append(event.step.seconds)
                rates.append(measure_matmul_flops(tries=1))
            if event.step.number == STEPS - 1:
                break
    run = open_run(folder)
    data = open_training_data(run, run.load_config())
    expected = estimate_corpus(run.load_config(), data.train, data.tokenizers.target.vocab_size, statistics.mean(rates))
    return statistics.mean(seconds), expected.seconds_per_step, statistics.mean(rates)


def main() -> None:
    rows = ["| model | batch | GF/s | measured s | estimated s | truth / estimate |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        files = corpus(Path(name))
        for dim, layers, heads, ffn in SIZES:
            for batch in BATCHES:
                sizes = {"dim": dim, "layers": layers, "heads": heads, "ffn": ffn}
                changes = [*(f"model.{k}={v}" for k, v in sizes.items()), f"train.batch_tokens={batch}"]
                truth, estimated, flops = measure(Path(name) / "run", files, changes)
                cells = (f"{dim}x{layers}, {ffn}", batch, f"{flops / 1e9:.0f}", f"{truth:.3f}", f"{estimated:.3f}")
                row = "| " + " | ".join(map(str, (*cells, f"{truth / estimated:.2f}"))) + " |"
                print(row, flush=True)
                rows.append(row)
    if "--write" in sys.argv:
        write("estimate", [*described(), "", *rows])


if __name__ == "__main__":
    main()
