"""What a run is, which command uses it, and the refusal of a run by a command that needs another kind.

`require_task` and `refuse` are asked by all commands, and by `regard.load` and its kin.
"""

from dataclasses import dataclass

from regard.config import TASK_ARCHITECTURES, Config, TaskName
from regard.errors import RunError
from regard.run import Run


@dataclass(frozen=True)
class RunKind:
    """What the runs of a task are."""

    task: TaskName
    """What they do; imported ones were trained for no task."""
    name: str
    ability: str
    """What they can do, after `can` and `cannot`."""
    command: str
    """The command that uses a run, with {run} for its folder."""


KINDS = {
    "translate": RunKind("translate", "a translator", "translate", "regard translate {run} < text"),
    "classify": RunKind("classify", "a classifier", "classify texts", "regard classify {run} < texts"),
    "tag": RunKind("tag", "a tagger", "tag words", "regard tag {run} < text"),
    "causal-lm": RunKind(
        "causal-lm", "a causal language model", "generate text", 'regard generate {run} "Once upon a time"'
    ),
    "masked-lm": RunKind(
        "masked-lm", "a masked language model", "fill masks", 'regard fill {run} "The film was [MASK]."'
    ),
    "denoise": RunKind("denoise", "a denoiser", "restore texts", "regard evaluate {run} text.fr"),
    "embed": RunKind("embed", "an embedding model", "embed texts", 'regard similar {run} "a text" "another"'),
    "summarize": RunKind(
        "summarize", "an abstractive summarizer", "write summaries", "regard summarize {run} < documents"
    ),
    "extract": RunKind(
        "extract", "an extractive summarizer", "extract sentences", "regard summarize {run} < documents"
    ),
}
"""By the task that trained them."""
IMPORTED = {
    "encoder": RunKind("embed", "an imported encoder", "embed texts", KINDS["embed"].command),
    "decoder": RunKind("causal-lm", "an imported language model", "generate text", KINDS["causal-lm"].command),
}
"""Models of a single stack that no task has trained, by their architecture: their config names none."""


def find_task(config: Config) -> str:
    """The task of a run; an encoder that was imported embeds texts, a decoder generates them."""
    return _find_kind(config).task


def describe(config: Config) -> str:
    """What a run is, such as `a classifier`."""
    return _find_kind(config).name


def is_imported(config: Config) -> bool:
    """Whether a run is a single stack that no task has trained; a decoder that translates was trained on files."""
    is_single = config.task == "translate" and config.model.architecture in IMPORTED
    return is_single and not config.joins_source_and_target


def has_cross_attention(config: Config) -> bool:
    """Whether a run writes a text for another with an encoder and a decoder, and not with a decoder alone."""
    return find_task(config) in ("translate", "summarize") and config.model.architecture == "encoder-decoder"


def use_command(task: str, folder: str) -> str:
    """The command that uses a run of a task."""
    return KINDS[task].command.format(run=folder)


def require_task(run: Run, config: Config, task: str) -> None:
    """Refuse a run of another task, or without weights."""
    if find_task(config) != task:
        raise refuse(run, config, KINDS[task].ability, task)
    require_weights(run, KINDS[task].ability)


def refuse(run: Run, config: Config, ability: str, task: str | None = None) -> RunError:
    """The error of a command whose ability a run lacks, such as `be exported`: what it is, and what uses it."""
    kind = _find_kind(config)
    advice = f"use it with `{kind.command.format(run=run.folder)}`"
    if not is_imported(config):
        return RunError(f"{run.folder}: is {kind.name} (--task {config.task}), and cannot {ability}; {advice}")
    if task is not None and config.model.architecture in TASK_ARCHITECTURES[KINDS[task].task]:
        advice += f", or fine-tune it with `regard train FILES --task {task} --from {run.folder}`"
    return RunError(f"{run.folder}: is {kind.name}, and cannot {ability}; {advice}")


def require_weights(run: Run, ability: str) -> None:
    """Refuse a run that has not been validated yet."""
    if not run.best.exists():
        raise RunError(
            f"{run.folder}: has no validated weights yet, so it cannot {ability}. "
            f"Continue training with `regard train --resume {run.folder}`."
        )


def _find_kind(config: Config) -> RunKind:
    return IMPORTED[config.model.architecture] if is_imported(config) else KINDS[config.task]
