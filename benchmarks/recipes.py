"""What each setting of the small-data recipe brings: one run for each, all else equal, in the same number of steps.

    python benchmarks/recipes.py FOLDER --train train.en train.fr --dev val.en val.fr --steps 3000 [--write NAME]

Steps and not minutes, so that whatever else runs on the machine changes nothing; what a step costs stands beside them.
FOLDER holds one run a cell. What is finished there is not trained again, so that an evening's work can be done in
several: call it again and it goes on. Scores are of the dev set, by beam search, and the settings are never chosen on
test. One seed: differences below the interval of BLEU say little, and differences of loss of 0.02 are noise.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environment import described, write

from regard.config import Config, override
from regard.jobs.evaluate import read_scores
from regard.jobs.train.fit import resume_run, train_run
from regard.run import Run, open_run
from regard.training import log

CELLS: dict[str, tuple[str, ...]] = {
    "as chosen": (),
    "dropout 0.1": ("model.dropout=0.1",),
    "dropout 0.3": ("model.dropout=0.3",),
    "subword regularization 0.1": ("data.subword_regularization=0.1",),
    "word dropout 0.1": ("model.word_dropout=0.1",),
    "R-Drop 1": ("train.rdrop=1",),
    "R-Drop 5": ("train.rdrop=5",),
    "sentences joined 0.2": ("data.concat_augment=0.2",),
    "EMA 0.999": ("train.ema=0.999",),
    "no averaging": ("train.average_checkpoints=1",),
    "embeddings not tied": ("model.tie_embeddings=false",),
    "no guided alignment": ("train.guided_alignment=0",),
    "label smoothing 0": ("train.label_smoothing=0",),
    "label smoothing 0.2": ("train.label_smoothing=0.2",),
    "Muon": ("train.optimizer=muon",),
    "batch 512": ("train.batch_tokens=512",),
    "batch 2048": ("train.batch_tokens=2048",),
    "learning rate halved": ("train.learning_rate=0.002",),
    "learning rate doubled": ("train.learning_rate=0.008",),
}


@dataclass(frozen=True)
class Row:
    name: str
    loss: float
    accuracy: float
    bleu: float
    half: float
    milliseconds: float


def train(folder: Path, config: Config) -> Run:
    """A finished run, trained now or earlier."""
    run = Run(folder)
    if not run.config.exists():
        events = train_run(folder, config, True, lambda: False)
    elif run.scores("dev").exists():
        return open_run(folder)
    else:
        events = resume_run(folder, {}, lambda: False)
    for _ in events:
        pass
    return open_run(folder)


def row(name: str, run: Run) -> Row:
    saved = read_scores(run, "dev")
    bleu, accuracy = saved.scores["bleu"], saved.scores["accuracy"]
    seconds = statistics.median(step.seconds for step in log.read_steps(run.log))
    return Row(name, saved.loss or 0.0, accuracy.value, bleu.value, (bleu.high - bleu.low) / 2, 1000 * seconds)


def lines(rows: list[Row]) -> Iterator[str]:
    base = rows[0]
    yield "| setting | dev loss | accuracy | dev BLEU | ms a step | loss against as chosen | BLEU against as chosen |"
    yield "|---|---|---|---|---|---|---|"
    for r in rows:
        against = ("", "") if r is base else (f"{r.loss - base.loss:+.3f}", f"{r.bleu - base.bleu:+.2f}")
        cells = (
            r.name,
            f"{r.loss:.3f}",
            f"{r.accuracy:.1f}",
            f"{r.bleu:.2f} ± {r.half:.2f}",
            f"{r.milliseconds:.0f}",
            *against,
        )
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", nargs="+", required=True)
    parser.add_argument("--dev", nargs="+", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting for every cell")
    parser.add_argument("--cells", nargs="*", help="only these")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    given = parser.parse_args()
    common = [f"data.train={json.dumps(given.train)}", f"data.dev={json.dumps(given.dev)}"]
    rows: list[Row] = []
    for name, changes in CELLS.items():
        if given.cells and name not in given.cells:
            continue
        config = override(Config(), [*common, f"train.steps={given.steps}", *given.set, *changes])
        rows.append(row(name, train(given.folder / name.replace(" ", "-"), config)))
        print("\n".join(lines(rows)) if len(rows) == 1 else list(lines(rows))[-1], flush=True)
        if given.write:
            head = [
                *described(),
                f"- {given.steps:,} steps each, seed 1; {', '.join(given.set) or 'all else as chosen'}",
            ]
            write(given.write, [*head, "", *lines(rows)])


if __name__ == "__main__":
    main()
