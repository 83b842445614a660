"""Fine-tuning: a new run that begins with the tokeniser, the sizes and the weights of another."""

import shutil

from regard import config as settings
from regard.config import Config
from regard.errors import ConfigError, RunError
from regard.run import Run, atomic_write
from regard.training.planning.sizing import default_learning_rate

INHERITED = ("data.vocabulary", "data.tokenizer", "data.joint", "data.source", "data.target")
FREE = ("model.dropout", "model.attention_dropout", "model.activation_dropout", "model.word_dropout")
"""Of the model, what weights do not depend on: a fine-tuned run may have its own."""
GENTLE = 0.25  # of the usual rate: what was learnt is to be changed, not overwritten


def inherit(origin: Run, config: Config) -> Config:
    """The config with whatever must be as in the run it begins from."""
    old, given = origin.load_config(), settings.explicit_settings(config)
    table = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    theirs = settings.flatten(old.model_dump(mode="json", exclude_none=True))
    for name, value in theirs.items():
        if not (name in INHERITED or (name.startswith("model.") and name not in FREE)):
            continue
        mine = settings.flatten(table).get(name, value)
        if name in given and value == "":  # a language that nobody had named contradicts nothing
            continue
        if name in given and mine != value:
            raise ConfigError(
                f"{name}={mine} contradicts --from {origin.folder}, whose weights have {name}={value}; leave it out"
            )
        settings.set_nested(table, name, value)
    for name in FREE:
        if name not in given:
            settings.set_nested(table, name, theirs[name])
    settings.set_nested(table, "train.origin", str(origin.folder))
    if "train.rate" not in given:
        gentle = round(
            GENTLE * default_learning_rate(old.model.dim), 6
        )  # of a fresh run's, so that a third run is no gentler
        settings.set_nested(table, "train.rate", min(old.train.learning_rate, gentle))
    return settings.build(table)


def take(origin: Run, run: Run) -> list[str]:
    """Copy the tokenisers and the best weights of one run into another; what was taken."""
    if not origin.best.exists():
        raise RunError(f"{origin.folder}: has no checked weights yet, so nothing can begin from it")
    best = origin.folder / str(origin.read_json(origin.best)["weights"])
    tokenizers = origin.tokenizer_files()
    copies = {path: run.folder / path.name for path in tokenizers} | {best: run.initial_weights}
    for source, copy in copies.items():
        origin.verify(source)
        with atomic_write(copy) as temporary:
            shutil.copyfile(source, temporary)
    run.record_checksums(*copies.values())
    names = ", ".join(path.name for path in tokenizers)
    return [f"from {origin.folder}: {names}, sizes of the model, and its weights {best.relative_to(origin.folder)}"]
