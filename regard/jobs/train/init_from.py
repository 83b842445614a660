"""Fine-tuning: a new run that is initialized with the tokenizers, the sizes and the weights of another."""

import shutil

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError, RunError
from regard.run import Run, atomic_write
from regard.training.planning.sizing import default_learning_rate

INHERITED_SETTINGS = ("data.vocab_size", "data.tokenizer", "data.joint_vocab", "data.source", "data.target")
OVERRIDABLE_SETTINGS = ("model.dropout", "model.attention_dropout", "model.activation_dropout", "model.word_dropout")
"""Settings of the model that weights do not depend on: a fine-tuned run may change them."""
FINETUNE_LR_FACTOR = 0.25  # of the default learning rate of a new run


def inherit_settings(init_run: Run, config: Config) -> Config:
    """The config with all settings that must equal those of the initial run."""
    init_config, explicit_names = init_run.load_config(), settings.explicit_settings(config)
    table = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    init_values = settings.flatten(init_config.model_dump(mode="json", exclude_none=True))
    for name, value in init_values.items():
        if not (name in INHERITED_SETTINGS or (name.startswith("model.") and name not in OVERRIDABLE_SETTINGS)):
            continue
        requested_value = settings.flatten(table).get(name, value)
        if name in explicit_names and value == "":  # a language that was not set contradicts nothing
            continue
        if name in explicit_names and requested_value != value:
            raise ConfigError(
                f"{name}={requested_value} contradicts --from {init_run.folder}, whose weights have {name}={value}; "
                f"leave it out"
            )
        settings.set_nested(table, name, value)
    for name in OVERRIDABLE_SETTINGS:
        if name not in explicit_names:
            settings.set_nested(table, name, init_values[name])
    settings.set_nested(table, "train.init_from", str(init_run.folder))
    if "train.learning_rate" not in explicit_names:
        # Of the default, not of the initial run's, so that a third run does not learn more slowly than a second.
        finetune_lr = round(FINETUNE_LR_FACTOR * default_learning_rate(init_config.model.dim), 6)
        settings.set_nested(table, "train.learning_rate", min(init_config.train.learning_rate, finetune_lr))
    return settings.build(table)


def copy_init_files(init_run: Run, run: Run) -> list[str]:
    """Copy the tokenizers and the best weights of one run into another, and describe them."""
    if not init_run.best.exists():
        raise RunError(f"{init_run.folder}: has no validated weights yet, so no run can be initialized from it")
    best_weights = init_run.best_weights()
    tokenizers = init_run.tokenizer_files()
    copies = {path: run.folder / path.name for path in tokenizers} | {best_weights: run.initial_weights}
    for source, copy in copies.items():
        init_run.verify(source)
        with atomic_write(copy) as temporary:
            shutil.copyfile(source, temporary)
    run.record_checksums(*copies.values())
    names = ", ".join(path.name for path in tokenizers)
    file = best_weights.relative_to(init_run.folder)
    return [f"initialized from {init_run.folder}: {names}, the model sizes, and the weights {file}"]
