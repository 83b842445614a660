"""regard prune"""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.options import DEVICE, FILES, MODEL, OUTPUT, OVERWRITE, PAIR, RUN, TRAINING, option

if TYPE_CHECKING:
    from regard.jobs.prune import PruneResult


PRUNE_PAIRS = option(FILES, PAIR, "Pairs to rank heads and score on: two aligned files, or one .tsv.", default=[])
METHOD = option(
    MODEL,
    "KIND",
    "How heads are chosen: importance (by gradients, iteratively) or gates (learned, L0).",
    default="importance",
)
FINETUNE_STEPS = option(
    TRAINING,
    "NUMBER",
    "Optimizer steps of fine-tuning after pruning, on the training pairs of the run; 0 is none.",
    default=600,
    min=0,
)


def prune(
    run: Path = RUN,
    dev: list[str] = PRUNE_PAIRS,
    keep: str = option(MODEL, "NUMBER", "Heads to keep: a percentage such as 50%, or a number.", default="50%"),
    method: str = METHOD,
    finetune_steps: int = FINETUNE_STEPS,
    out: Path = option(OUTPUT, "FOLDER", "Run folder to create.", default=...),
    overwrite: bool = OVERWRITE,
    device: str = DEVICE,
) -> None:
    """Prune the least important heads, and measure the effect on BLEU, parameters and time.

    Examples:
      regard prune runs/mine --out runs/half
      regard prune runs/mine --keep 12 --dev dev.en dev.fr --finetune-steps 0 --out runs/twelve

    Read more: docs/look_inside.md
    """
    from regard.display.training import show_progress
    from regard.formats import read_pairs
    from regard.hardware import configure_cpu
    from regard.jobs import prune as job
    from regard.run import open_run

    config = open_run(run).load_config()
    job.require_translator(config, run)
    configure_cpu(0)
    pairs = list(read_pairs(dev, config.data.source, config.data.target)) if dev else []
    last = show_progress(
        job.prune_run(run, out, pairs, job.PruneOptions(keep, method, finetune_steps, overwrite, device))
    )
    if isinstance(last, job.PruneResult):
        _print_summary(last)
        test = " ".join(config.data.test) or "test.en test.fr"
        print(
            f"dev was used to choose the heads, so its scores are optimistic; compare on unseen pairs: "
            f"regard compare {run} {out} --on {test}"
        )


def _print_summary(result: "PruneResult") -> None:
    before, after = result.sizes
    print("heads kept   loss   BLEU (greedy), the other heads masked, without fine-tuning")
    for point in result.curve:
        score = point.bleu
        print(f"{point.num_heads:10}  {point.loss:5.3f}   {score.value:5.2f} [{score.low:.2f}, {score.high:.2f}]")
    print(f"before: {result.before}   (dev, greedy)")
    steps = result.finetune_steps
    recovery = f"after {steps} steps of fine-tuning" if steps else "without fine-tuning"
    print(f"after:  {result.after}   (dev, greedy, {recovery})")
    print(f"{result.difference}")
    share = result.after.value / result.before.value if result.before.value else 0.0
    print(f"keeps {share:.1%} of the BLEU with {after.heads} of {before.heads} heads")
    print(f"parameters {before.parameters:,} → {after.parameters:,}")
    print(f"FLOPs per pair {before.flops:,.0f} → {after.flops:,.0f}")
    print(f"seconds to translate {before.seconds:.2f} → {after.seconds:.2f} (one measurement; see benchmarks/)")
    print(f"removed: {', '.join(result.removed) or 'nothing'}")
    print(f"written: {result.run.folder}")
