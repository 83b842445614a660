"""What is said of a run that a command cannot handle: what the run is, and which command fits it."""

from regard.config import TASK_ARCHITECTURES, Config
from regard.errors import RunError
from regard.jobs.tasks.registry import task_of
from regard.run import Run


def is_trained_for_task(config: Config) -> bool:
    """Whether the model is of a kind that its task trains; encoders and language models are also imported."""
    return config.model.architecture in TASK_ARCHITECTURES[config.task]


def refuse_run(run: Run, config: Config, ability: str) -> RunError:
    """The error of a command whose ability a run lacks, such as "translate"."""
    if is_trained_for_task(config):
        command = task_of(config).next_commands(str(run.folder))[0]
        return RunError(
            f"{run.folder}: was trained with --task {config.task}, and cannot {ability}; use it with `{command}`"
        )
    if config.model.architecture == "decoder":
        return RunError(f"{run.folder}: is a language model, which generates text and cannot {ability}.")
    return RunError(
        f"{run.folder}: is an encoder-only model, which cannot {ability}. Embed text with it: "
        f"regard.load_encoder({str(run.folder)!r}).embed([…])"
    )
