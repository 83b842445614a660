"""The plan of a training, and the estimate of one: data, model, time; every detail if asked for."""

from regard.config import Config
from regard.display.layout import wrap, wrap_all, wrap_fields
from regard.display.numbers import format_bytes, format_rounded, name_size, pluralize
from regard.display.views.doctor import format_dropped
from regard.jobs.tasks.registry import task_of
from regard.jobs.train.estimate import FileEstimate, describe_choices
from regard.jobs.train.events import DataPlan, TrainingPlan
from regard.training.planning.estimate import TrainingEstimate, format_epochs, format_minutes

NAME_WIDTH = 7
SET_USES = {"train": "to train on", "dev": "for validation", "test": "for the test"}


def format_plan(plan: TrainingPlan, width: int, verbose: bool = False) -> list[str]:
    """Data, model and time in a few lines; `verbose` adds every chosen setting with its reason, and the compute."""
    time = f"{describe_time(plan.config, plan.estimate)}, {_describe_speed(plan)}"
    lines = _format_field("data", _describe_data(plan.data, task_of(plan.config).example), width)
    if plan.data.diagnosis is not None:
        lines += format_dropped(plan.data.diagnosis, width, " " * NAME_WIDTH)
    lines += _format_field("model", describe_model(plan.config, plan.estimate, plan.vocab_size), width)
    lines += _format_field("time", time, width)
    return [*lines, *(_format_details(plan, width) if verbose else [])]


def format_estimate(estimate: FileEstimate, width: int, verbose: bool = False) -> list[str]:
    """What training would take: time and memory first, then the model; `verbose` adds the chosen settings."""
    config, cost = estimate.config, estimate.cost
    answer = (
        f"Training would take {describe_time(config, cost)}, and about {format_bytes(cost.memory_bytes)} of memory."
    )
    model = describe_model(config, cost, config.data.vocab_size)
    speed = f"about {cost.tokens_per_second:,.0f} target tokens per second, {cost.seconds_per_step:.2f} s per step"
    fields = [("data", f"{pluralize(estimate.pairs, 'pair')} to train on"), ("model", model), ("speed", speed)]
    lines = [*wrap(answer, width), "", *wrap_fields(fields, width)]
    if not verbose:
        return [*lines, "", *wrap("Add --verbose for every chosen setting with its reason.", width)]
    return [*lines, "", *wrap_all(estimate.lines()[1:], width, "", "  ")]


def describe_model(config: Config, estimate: TrainingEstimate, vocab_size: int) -> str:
    """The model in a sentence: size, layers, heads, vocabulary."""
    m, total = config.model, estimate.parameter_counts.total
    depths = " + ".join(str(m.depth(stack)) for stack in m.architecture.split("-"))
    layers = f"{depths} {'layer' if depths == '1' else 'layers'} of width {m.dim}"
    origin = f", initialized from {config.train.init_from}" if config.train.init_from else ""
    return (
        f"{name_size(total)}, {format_rounded(total)} parameters: {layers}, {pluralize(m.heads, 'head')}, "
        f"vocabulary of {vocab_size:,} tokens{origin}"
    )


def describe_time(config: Config, estimate: TrainingEstimate) -> str:
    """How long training takes: what was asked for first, then what follows from it."""
    steps, epochs = pluralize(max(1, round(estimate.steps)), "step"), f"{format_epochs(estimate.epochs)} epochs"
    if config.train.minutes and estimate.minutes >= config.train.minutes * 0.999:
        return f"{config.train.minutes:,.10g} minutes for about {steps} ({epochs})"
    return f"{format_minutes(estimate.minutes)} for {steps} ({epochs})"


def _format_field(name: str, text: str, width: int) -> list[str]:
    return wrap(text, width, name.ljust(NAME_WIDTH), " " * NAME_WIDTH)


def _describe_data(data: DataPlan, example: str) -> str:
    sets = [f"{pluralize(count, example)} {SET_USES[name]}" for name, count in data.pairs.items()]
    held_out = f" ({' and '.join(data.held_out)} held out of the training files)" if data.held_out else ""
    summary = data.diagnosis.splits[0] if data.diagnosis else None
    source = data.source or (summary.source if summary else "")
    target = data.target or (summary.target if summary else "")
    languages = f"; {source or 'unknown'} to {target or 'unknown'}" if source or target else ""
    too_long = f"; {pluralize(data.too_long, example)} skipped as too long" if data.too_long else ""
    return f"{', '.join(sets)}{held_out}{languages}{too_long}"


def _describe_speed(plan: TrainingPlan) -> str:
    unit = task_of(plan.config).unit.split()[-1]
    return (
        f"at about {plan.estimate.tokens_per_second:,.0f} {unit}s per second on {plan.compute.device}, "
        f"with {format_bytes(plan.estimate.memory_bytes)} of memory"
    )


def _format_details(plan: TrainingPlan, width: int) -> list[str]:
    compute, example = plan.compute, task_of(plan.config).example
    count = f"{compute.processes} processes on " if compute.processes > 1 else "on "
    details = [
        *describe_choices(plan.choices),
        *plan.estimate.lines(),
        f"{count}{compute.device} with {pluralize(compute.threads, 'thread')} ({compute.thread_reason}), "
        f"{compute.precision}, train.padding_free={str(compute.padding_free).lower()}",
    ]
    if compute.available_memory:
        details.append(f"free memory: {format_bytes(compute.available_memory)}")
    if plan.preparation_seconds >= 1:
        speed = plan.data.pairs["train"] / plan.preparation_seconds
        details.append(f"prepared in {plan.preparation_seconds:,.0f} s, {speed:,.0f} {example}s per second")
    if plan.data.too_long:
        limit = plan.config.data.max_length
        details.append(
            f"train: skipped {pluralize(plan.data.too_long, example)} with a side of more than {limit} tokens"
        )
    return wrap_all(details, width, "  ", "    ")
