"""A worker that trains nothing: each trial is a pause and a folder, so that many run in seconds.

Started as a process of its own: python -m tests.tuning.workers URL FOLDER SECONDS. Everything but the training is real:
the storage, the claims, the outcomes.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from regard.jobs.train import fit as job
from regard.run import Run, write_text
from regard.tuning import open_study, worker
from regard.tuning.measure import RunSummary


def pretend(seconds: float) -> None:
    """Replace training by a pause, and record the process."""

    def fit(folder: Path, config: object, overwrite: bool, stop: object) -> Iterator[object]:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "taken.txt").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(seconds)
        write_text(folder / "trained.txt", "")
        with (folder / "finished.txt").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        yield from ()

    def measure(run: Run, sentences: int, device: str = "auto") -> RunSummary:
        return RunSummary(1000, 1, 1.0, 1.0, 1.0, float(run.folder.name))

    job.train_run = fit
    worker.evaluate_trial_run = measure


def main() -> None:
    url, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    pretend(seconds)
    for _ in worker.run_trials(open_study.join_study(url, None, folder), lambda: False):
        pass


if __name__ == "__main__":
    main()
