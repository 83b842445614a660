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
    from regard.api.inspecting import prune as prune_heads

    _print_summary(
        prune_heads(
            run,
            out,
            keep=keep,
            dev=dev,
            method=method,
            finetune_steps=finetune_steps,
            overwrite=overwrite,
            device=device,
            progress=True,
        )
    )
    print(
        f"dev was used to choose the heads, so its scores are optimistic; compare on unseen pairs: "
        f"regard compare {run} {out} --on test.en test.fr"
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
