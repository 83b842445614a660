"""regard prune"""

from pathlib import Path

from regard.cli.options import DEVICE, FILES, MAX_FINETUNE_STEPS, MODEL, OUTPUT, OVERWRITE, PAIR, RUN, TRAINING, option

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
    max=MAX_FINETUNE_STEPS,
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

    Read more: docs/howto/prune.md
    """
    from regard.api.inspecting import prune as prune_heads
    from regard.display.console import is_verbose, terminal_width
    from regard.display.views.pruning import format_pruning

    result = prune_heads(
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
    print("\n".join(format_pruning(result, run, terminal_width(), is_verbose())))
