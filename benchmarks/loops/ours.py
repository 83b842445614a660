"""Regard as it trains, telling the tokens of each step: MATERIAL SCRATCH NAME=VALUE …"""

import sys
from pathlib import Path

from regard.config import override
from regard.jobs.train.events import TrainingProgress
from regard.jobs.train.fit import train_run
from regard.run import open_run


def main() -> None:
    material, scratch, *settings = sys.argv[1:]
    base = open_run(Path(material) / "run").load_config()
    fixed = ["model.dropout=0.1", "train.batch_tokens=4096", "train.guided_alignment=0", "train.steps=1000000"]
    rare = ["train.validate_every=1000000", "train.save_every=1000000", "train.validation_sentences=0"]
    config = override(base, [*fixed, *rare, *settings])
    for event in train_run(Path(scratch) / "run", config, True, lambda: False):
        if isinstance(event, TrainingProgress):
            print("tokens", event.step.tokens, flush=True)


if __name__ == "__main__":
    main()
