"""regard prune"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.jobs.prune import PruneResult


def prune(
    run: Path = typer.Argument(..., help="Run folder."),
    keep: str = typer.Option("50%", help="Heads to keep: a percentage such as 50%, or a number."),
    dev: list[str] = typer.Option([], help="Pairs to rank heads and score on: two aligned files, or one .tsv."),
    out: Path = typer.Option(..., help="Run folder to create."),
    method: str = typer.Option("importance", help="importance (by gradients, iteratively) or gates (learned, L0)."),
    finetune_steps: int = typer.Option(
        600, min=0, help="Optimizer steps of fine-tuning after pruning, on the run's training pairs; 0: none."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing run."),
    device: str = typer.Option("auto", help="auto, cpu, cuda …"),
) -> None:
    """Prune the least important heads, and measure the effect on BLEU, parameters and time."""
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
