"""What it costs a training to write previews.jsonl for those who watch it, as a share of its CPU time.

    python benchmarks/previews.py

A translator and a causal language model, each validated far more often than usual, so that the share is an upper bound.
The time of recording is measured within the training itself: two trainings differ by more than what it takes.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environment import described, write

sys.path.insert(0, str(Path(__file__).parent.parent))
from regard import config as settings
from regard.data.corpora import english_french
from regard.jobs.live.previews import PreviewRecorder
from regard.jobs.tasks.language.samples import ContinuedDev
from regard.jobs.train.fit import train_run
from regard.training.log import Log

STEPS, VALIDATE_EVERY = 60, 20
SETTINGS = [
    f"train.steps={STEPS}", f"train.validate_every={VALIDATE_EVERY}", "train.threads=1", "train.batch_tokens=2048",
    "model.dim=128", "model.heads=4", "model.ffn=512", "model.layers=2", "data.vocab_size=2000",
]  # fmt: skip


class Stopwatch:
    """The CPU time of functions that are called within another program."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self, owner: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.process_time() - start

        setattr(owner, name, timed)


def train(folder: Path, task: str, files: dict[str, list[str]], watch: Stopwatch) -> float:
    """The share of recording in a training."""
    config = settings.override(settings.build({"task": task, "data": files}), SETTINGS)
    events = train_run(folder, config, False, lambda: False)
    watch.seconds, start = 0.0, None
    for event in events:
        if start is None and type(event).__name__ == "TrainingStarted":
            watch.seconds, start = 0.0, time.process_time()
        if type(event).__name__ == "TrainingProgress" and event.step.number == STEPS:
            assert start is not None
            return watch.seconds / (time.process_time() - start)
    raise SystemExit("the training took no step")


def main() -> None:
    watch = Stopwatch()
    watch.time(PreviewRecorder, "record")
    watch.time(ContinuedDev, "__call__")
    watch.time(Log, "flush")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        splits = english_french.split(4_000, 200, 5, 5, seed=3)
        for part in ("train", "dev"):
            for side, language in (("source", "en"), ("target", "fr")):
                lines = [getattr(pair, side) + "\n" for pair in getattr(splits, part)]
                (folder / f"{part}.{language}").write_text("".join(lines), encoding="utf-8")
        pairs = {part: [str(folder / f"{part}.{language}") for language in ("en", "fr")] for part in ("train", "dev")}
        texts = {part: [str(folder / f"{part}.en")] for part in ("train", "dev")}
        shares = {"translate": train(folder / "a", "translate", pairs, watch)}
        shares["causal-lm"] = train(folder / "b", "causal-lm", texts, watch)
    lines = [f"| {task} | {share:.2%} |" for task, share in shares.items()]
    table = ["| task | share of CPU time |", "|---|--:|", *lines]
    note = f"Validated every {VALIDATE_EVERY} steps of 2,048 tokens; 100 is usual, at which the share is a fifth."
    print("\n".join([*table, "", note]))
    write("previews", [*described(), "", *table, "", note])


if __name__ == "__main__":
    main()
