"""What a run is, and which command fits it: for errors of commands that need another kind of run."""

from regard.config import Config
from regard.errors import RunError
from regard.run import Run

KINDS = {
    "translate": ("a translator", "regard translate {run} < text"),
    "classify": ("a classifier", "regard classify {run} < texts"),
    "tag": ("a tagger", "regard tag {run} < text"),
    "causal-lm": ("a causal language model", 'regard generate {run} "a prompt"'),
    "masked-lm": ("a masked language model", 'regard fill {run} "The film was [MASK]."'),
    "embed": ("an embedding model", 'regard similar {run} "a text" "another"'),
}
"""By task: what its runs are, and a command that uses one."""


def require_language_model(run: Run, config: Config) -> None:
    """Refuse a run that does not generate text."""
    if config.task != "causal-lm" and not is_imported_language_model(config):
        raise RunError(f"{_describe_kind(run, config)}, and generates no text; {_suggest_command(run, config)}")
    _require_weights(run, "generate")


def require_masked_language_model(run: Run, config: Config) -> None:
    """Refuse a run that does not fill masks."""
    if config.task != "masked-lm":
        raise RunError(f"{_describe_kind(run, config)}, and fills no masks; {_suggest_command(run, config)}")
    _require_weights(run, "fill masks")


def require_encoder(run: Run, config: Config) -> None:
    """Refuse a run that does not embed texts: an encoder that was trained for another task does not."""
    if config.task != "embed" and not is_imported_encoder(config):
        raise RunError(f"{_describe_kind(run, config)}, and embeds no text; {_suggest_command(run, config)}")
    _require_weights(run, "embed text")


def _describe_kind(run: Run, config: Config) -> str:
    if is_imported_encoder(config):
        return f"{run.folder}: is an imported encoder without an output projection to its vocabulary"
    if is_imported_language_model(config):
        return f"{run.folder}: is {KINDS['causal-lm'][0]}"
    return f"{run.folder}: is {KINDS[config.task][0]}"


def _suggest_command(run: Run, config: Config) -> str:
    if is_imported_encoder(config):
        return f"embed texts with it: regard.load_encoder({str(run.folder)!r}).embed([…])"
    task = "causal-lm" if is_imported_language_model(config) else config.task
    return f"use it with: {KINDS[task][1].format(run=run.folder)}"


def find_task(config: Config) -> str:
    """The task of a run; an encoder that was imported, without a task, embeds texts."""
    return "embed" if is_imported_encoder(config) else config.task


def is_imported_encoder(config: Config) -> bool:
    """Whether a run is an encoder that no task has trained."""
    return config.task == "translate" and config.model.architecture == "encoder"


def is_imported_language_model(config: Config) -> bool:
    """Whether a run is a decoder that no task has trained."""
    return config.task == "translate" and config.model.architecture == "decoder" and not config.data.train


def translates(config: Config) -> bool:
    """Whether a run turns a text into another text."""
    return translates_by_two_stacks(config) or config.joins_source_and_target


def translates_by_two_stacks(config: Config) -> bool:
    """Whether it does so with an encoder and a decoder, between which there is cross-attention."""
    return config.task == "translate" and config.model.architecture == "encoder-decoder"


def _require_weights(run: Run, ability: str) -> None:
    if not run.best.exists():
        raise RunError(
            f"{run.folder}: has no validated weights yet, so it cannot {ability}. "
            f"Continue training with `regard train --resume {run.folder}`."
        )
