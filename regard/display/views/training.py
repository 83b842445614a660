"""The end of a training: a verdict in one sentence, the scores, and what to do next."""

import math

from regard.display.layout import bind, wrap, wrap_command
from regard.display.numbers import format_score, pluralize
from regard.display.stages import format_duration
from regard.display.views.scores import describe_baseline, format_scores, is_above_chance
from regard.display.views.tasks.training import format_task_training
from regard.evaluation import Evaluation
from regard.jobs.train.events import TrainingFinished, TrainingInterrupted
from regard.training.alarms import TrainingHistory, check_source_use, had_steps_to_learn

ENDS = {
    "steps": "Trained {steps} in {time}",
    "time": "Trained {steps} in {time}, all of its time",
    "patience": "Stopped early after {steps} in {time}, since dev no longer improved",
}
COPYING_IS_THE_TASK = 50.0
"""BLEU of the source itself from which on a translation is expected to be like it."""


def format_training(event: TrainingFinished, width: int, verbose: bool = False) -> list[str]:
    """The verdict, the table of scores, the report, and commands to go on with."""
    if not isinstance(event.evaluation, Evaluation):
        return format_task_training(event, ENDS, width, verbose)
    folder = event.run.folder
    lines = wrap(describe_verdict(event), width)
    lines += ["", *format_scores(event.evaluation, width, verbose), *wrap(f"report: {event.run.report}", width)]
    lines.append("")
    if not translates(event.evaluation) and _find_undertraining(event):
        lines += ["Train it further:", *wrap_command(_resume_command(event), width)]
    lines += ["Translate, and see what it attends to:"]
    lines += wrap_command(f"regard translate {folder} < text", width)
    return [*lines, *wrap_command(f'regard look {folder} "a sentence" --out look.html', width)]


def format_interruption(event: TrainingInterrupted, width: int) -> list[str]:
    """Where training stopped, and how to continue."""
    lines = wrap(f"Interrupted: everything is saved at step {event.step:,}. Continue with:", width)
    return [*lines, *wrap_command(f"regard train --resume {event.run.folder}", width)]


def describe_verdict(event: TrainingFinished) -> str:
    """What has come out, in one sentence; a second one gives the reason where the model does not translate."""
    evaluation = event.evaluation
    trained = ENDS[event.end].format(steps=pluralize(event.step, "step"), time=format_duration(event.seconds))
    score = f"{bind(format_score(evaluation.scores['bleu']))} on {_describe_set(event)}"
    if translates(evaluation):
        return f"{trained}: {score} {describe_baseline(evaluation)}."
    return f"Does not translate yet. {trained}: {score}, {_compare(evaluation)}. {_explain(event)}"


def translates(evaluation: Evaluation) -> bool:
    """Whether BLEU is above that of systems that do not translate."""
    bleu, copied = evaluation.scores["bleu"], evaluation.baselines.copied_source
    return is_above_chance(evaluation) and (bleu.value > copied.value or copied.value >= COPYING_IS_THE_TASK)


def _describe_set(event: TrainingFinished) -> str:
    count = len(event.evaluation.sentences)
    config = event.run.load_config()
    if event.set_name == "dev":
        return f"{pluralize(count, 'dev sentence')}, which also selected its weights"
    is_new = not config.train.init_from and "overlap" not in config.data.keep
    return f"{pluralize(count, 'test sentence')}{' it has never seen' if is_new else ''}"


def _compare(evaluation: Evaluation) -> str:
    baselines = evaluation.baselines
    if not is_above_chance(evaluation):
        return f"no better than the translations of other sentences ({baselines.shuffled_translations.value:.1f})"
    return f"no better than copying the source ({baselines.copied_source.value:.1f})"


def _find_undertraining(event: TrainingFinished) -> str:
    """The sign that more steps would help; empty where there is none, or where many steps did not help."""
    validation, earlier = event.validation, event.earlier_loss
    if validation is None or _has_settled(event):
        return ""
    if validation.loss >= event.unigram_loss:
        return (
            f"its dev loss is {validation.loss:.2f}, and a model that knows only the frequency of each token has "
            f"{event.unigram_loss:.2f}"
        )
    if earlier is None:
        return f"its dev loss was {validation.loss:.2f} after {pluralize(event.step, 'step')}"
    return f"its dev loss was still falling, to {validation.loss:.2f}" if validation.loss < earlier else ""


def _has_settled(event: TrainingFinished) -> bool:
    """Whether more steps would hardly help."""
    warmup = event.run.load_config().train.warmup
    return event.end == "patience" or had_steps_to_learn(event.step, event.epochs, warmup)


def _explain(event: TrainingFinished) -> str:
    validation, advice = event.validation, "check the pairs with `regard doctor`."
    if validation is None:
        return f"Try another train.learning_rate, and {advice}"
    if sign := _find_undertraining(event):
        return f"It was not trained long enough: {sign}."
    history = TrainingHistory([validation], [0.0], event.unigram_loss, warmed_up=True)
    if _has_settled(event) and check_source_use(history):
        return (
            "It ignores its source: with the sources of other sentences its dev loss is nearly the same "
            f"({validation.shuffled_input_loss:.2f} instead of {validation.loss:.2f}). Check with `regard doctor` "
            "that the two sides are aligned, then train longer or with a lower train.learning_rate."
        )
    unigram = f"{event.unigram_loss:.2f} of a model that knows only the frequency of each token"
    if validation.loss >= event.unigram_loss:
        return f"Its dev loss {validation.loss:.2f} is not below the {unigram}. Lower train.learning_rate, and {advice}"
    return f"Its dev loss is {validation.loss:.2f}, below the {unigram}. Try another train.learning_rate, and {advice}"


def _resume_command(event: TrainingFinished) -> str:
    """The command that trains longer: it raises every limit that would stop it, since the first one reached counts."""
    train, factor = event.run.load_config().train, 2 if event.end == "time" else 10
    limits = []
    if train.last_step and factor * event.step > train.last_step:
        limits.append(f"--steps {factor * event.step}")
    if train.epochs and factor * (event.epochs + 1) > train.epochs:
        limits.append(f"--epochs {factor * train.epochs:g}")
    if train.tokens:
        limits.append(f"--set train.tokens={factor * train.tokens:.0f}")
    if train.minutes and (event.end == "time" or factor * event.seconds > 60 * train.minutes):
        # More than was used, which may be more than was asked for: preparing the data takes time, too.
        minutes = max(2 * train.minutes, math.ceil(0.75 * factor * event.seconds / 60))
        limits.append(f"--minutes {minutes:g}")
    return f"regard train --resume {event.run.folder} {' '.join(limits)}"
