"""Fine-tuning: a new run that is initialized with the tokenizers, the sizes and the weights of another."""

import shutil
from collections.abc import Mapping, Sequence

from torch import nn

from regard import config as settings
from regard.config import SOURCE_TARGET_TASKS, TASK_ARCHITECTURES, Config, TaskName
from regard.errors import ConfigError, RunError
from regard.model import weights
from regard.run import Run, atomic_write
from regard.training.planning.sizing import default_learning_rate

INHERITED_SETTINGS = ("data.vocab_size", "data.tokenizer", "data.joint_vocab", "data.source", "data.target")
TASK_SETTINGS = ("data.both_directions",)
"""Settings that are inherited by a run of the same task alone."""
OVERRIDABLE_SETTINGS = ("model.dropout", "model.attention_dropout", "model.activation_dropout", "model.word_dropout")
"""Settings of the model that weights do not depend on: a fine-tuned run may change them."""
STACK_SETTINGS = ("model.architecture", "model.encoder_layers", "model.decoder_layers", "model.pooler", "model.pruned")
"""Settings of the model that differ between one with both stacks and one with a single stack."""
FINETUNE_LR_FACTOR = 0.25  # of the default learning rate of a new run


def inherit_settings(init_run: Run, config: Config) -> Config:
    """The config with all settings that must equal those of the initial run."""
    init_config, explicit_names = init_run.load_config(), settings.explicit_settings(config)
    architecture = choose_architecture(init_run, init_config, config)
    keeps_stacks = architecture == init_config.model.architecture
    table = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    init_values = settings.flatten(init_config.model_dump(mode="json", exclude_none=True))
    for name, value in init_values.items():
        continues = name in TASK_SETTINGS and is_same_task(init_config, config)
        if not continues and not _is_inherited(name, keeps_stacks):
            continue
        requested_value = settings.flatten(table).get(name, value)
        if name in explicit_names and value == "":  # a language that was not set contradicts nothing
            continue
        if name in explicit_names:
            _require_same(init_run, name, requested_value, value)
        settings.set_nested(table, name, value)
    if not keeps_stacks:
        depth = init_config.model.depth(architecture)
        for name in {"model.layers", f"model.{architecture}_layers"} & explicit_names:
            _require_same(init_run, name, settings.flatten(table)[name], depth)
        settings.set_nested(table, "model.layers", depth)
    settings.set_nested(table, "model.architecture", architecture)
    for name in OVERRIDABLE_SETTINGS:
        if name not in explicit_names:
            settings.set_nested(table, name, init_values[name])
    settings.set_nested(table, "train.init_from", str(init_run.folder))
    continues = is_same_task(init_config, config)  # another task is learned anew, at the speed of a new run
    if "train.learning_rate" not in explicit_names and architecture == "encoder-decoder" and continues:
        # Of the default, not of the initial run's, so that a third run does not learn more slowly than a second.
        finetune_lr = round(FINETUNE_LR_FACTOR * default_learning_rate(init_config.model.dim), 6)
        settings.set_nested(table, "train.learning_rate", min(init_config.train.learning_rate, finetune_lr))
    return settings.build(table)


def _require_same(init_run: Run, name: str, requested: object, value: object) -> None:
    if requested != value:
        raise ConfigError(
            f"{name}={requested} contradicts --from {init_run.folder}, whose weights have {name}={value}; leave it out"
        )


def is_same_task(init_config: Config, config: Config) -> bool:
    """Whether a run goes on with what the initial run has learned: fine-tuning, not pretraining."""
    return init_config.task == config.task


def _is_inherited(name: str, keeps_stacks: bool) -> bool:
    if not keeps_stacks and (name in STACK_SETTINGS or name == "model.layers"):
        return False
    return name in INHERITED_SETTINGS or (name.startswith("model.") and name not in OVERRIDABLE_SETTINGS)


def choose_architecture(init_run: Run, init_config: Config, config: Config) -> str:
    """The architecture of a run of this task that begins with the weights of another: the same, or a part of it."""
    stacks = init_config.model.architecture
    fitting = {task: _fitting_architectures(init_config, task) for task in TASK_ARCHITECTURES}
    if candidates := fitting[config.task]:
        if "model.architecture" not in settings.explicit_settings(config):
            return candidates[0]
        if config.model.architecture not in candidates:
            _require_same(init_run, "model.architecture", config.model.architecture, stacks)
        return config.model.architecture
    needed = " or ".join(_needed_architectures(init_config, config.task))
    raise ConfigError(
        f"{init_run.folder}: has the architecture {stacks}, but --task {config.task} needs {needed}; leave out --from, "
        f"or give a run that has such a part. It fits --task "
        f"{', '.join(task for task, architectures in fitting.items() if architectures)}"
    )


def _fitting_architectures(init_config: Config, task: TaskName) -> list[str]:
    """The architectures of a task that another run has, or has a part of."""
    stacks = init_config.model.architecture
    needed = _needed_architectures(init_config, task)
    return [architecture for architecture in needed if architecture in (stacks, *stacks.split("-"))]


def _needed_architectures(init_config: Config, task: TaskName) -> tuple[str, ...]:
    needed = TASK_ARCHITECTURES[task]
    if task in SOURCE_TARGET_TASKS and not init_config.joins_source_and_target:
        return needed[:1]  # other decoders have read no source, nor the mark after it
    return needed


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


def load_initial_weights(model: nn.Module, run: Run) -> None:
    """Load what fits of the weights that a run is initialized from; the rest of the model stays random."""
    tensors = weights.read(run.verify(run.initial_weights))
    matching = _matching_names(model, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
    if not matching:
        raise ConfigError(
            f"{run.initial_weights}: no tensor has the name and the shape of one of this model, which has "
            f"{', '.join(_name_parts([name for name, _ in model.named_parameters()]))}; choose another --from"
        )
    full = weights.tensors_of(model)
    weights.load_into(model, {**full, **{name: tensors[name] for name in matching}}, str(run.initial_weights))


def describe_initial_weights(model: nn.Module, run: Run) -> list[str]:
    """Which parts of a model are taken from another run, which are new, and why what has the same name is not taken."""
    shapes = weights.read_shapes(run.verify(run.initial_weights))
    matching = _matching_names(model, shapes)
    fresh = [name for name, _ in model.named_parameters() if name not in matching]
    unused = [name for name in shapes if name not in matching]
    notes = []
    if fresh:
        notes.append(f"taken: {', '.join(_name_parts(matching))}; new: {', '.join(_name_parts(fresh))}")
    else:
        notes.append(f"taken: {', '.join(_name_parts(matching))}, all of the model")
    if unused:
        notes.append(f"not used of the initial weights: {', '.join(_name_parts(unused))}")
    own = {name: tuple(p.shape) for name, p in model.named_parameters()}
    notes += [
        f"{name} is new: it has {_format_shape(own[name])} numbers here, and {_format_shape(shapes[name])} there"
        for name in fresh
        if name in shapes
    ]
    return notes


def _format_shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _matching_names(model: nn.Module, shapes: Mapping[str, Sequence[int]]) -> list[str]:
    return [name for name, p in model.named_parameters() if tuple(shapes.get(name, ())) == tuple(p.shape)]


def _name_parts(names: Sequence[str]) -> list[str]:
    """The parts of a model that tensors belong to: its embeddings, the layers of a stack, the output."""
    parts = dict.fromkeys(".".join(name.split(".")[: 2 if name.count(".") > 1 else 1]) for name in names)
    return list(parts)
