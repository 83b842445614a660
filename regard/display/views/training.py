"""The end of a training: a verdict in one sentence, the scores, and what to do next."""

from regard.display.layout import bind, wrap, wrap_command
from regard.display.numbers import format_score, pluralize
from regard.display.stages import format_duration
from regard.display.views.scores import describe_baseline, format_scores, is_above_chance
from regard.evaluation import Evaluation
from regard.jobs.train.events import TrainingFinished, TrainingInterrupted
from regard.training.alarms import TrainingHistory, check_source_use

ENDS = {
    "steps": "Trained {steps} in {time}",
    "time": "Trained {steps} in {time}, all of its time",
    "patience": "Stopped early after {steps} in {time}, since dev no longer improved",
}
SETTLED_EPOCHS = 3
"""Epochs after which a model that still ignores its source will hardly begin to use it."""
COPYING_IS_THE_TASK = 50.0
"""BLEU of the source itself from which on a translation is expected to be like it."""


def format_training(event: TrainingFinished, width: int, verbose: bool = False) -> list[str]:
    """The verdict, the table of scores, the report, and commands to go on with."""
    folder = event.run.folder
    lines = wrap(describe_verdict(event), width)
    lines += ["", *format_scores(event.evaluation, width, verbose), *wrap(f"report: {event.run.report}", width)]
    lines.append("")
    if not translates(event.evaluation):
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


def _explain(event: TrainingFinished) -> str:
    validation = event.validation
    if validation is None:
        return "It was not trained long enough."
    history = TrainingHistory([validation], [0.0], event.unigram_loss, warmed_up=True)
    has_settled = event.end == "patience" or event.epochs >= SETTLED_EPOCHS
    if has_settled and check_source_use(history):
        return (
            "It ignores its source: with the sources of other sentences its dev loss is nearly the same "
            f"({validation.shuffled_source_loss:.2f} instead of {validation.loss:.2f}). Check with `regard doctor` "
            "that the two sides are aligned, then train longer or with a lower train.learning_rate."
        )
    return (
        f"It was not trained long enough: its dev loss is {validation.loss:.2f}, and a model that knows only the "
        f"frequency of each token has {event.unigram_loss:.2f}."
    )


def _resume_command(event: TrainingFinished) -> str:
    train = event.run.load_config().train
    longer = (
        f"--minutes {2 * train.minutes:g}" if event.end == "time" and train.minutes else f"--steps {10 * event.step}"
    )
    return f"regard train --resume {event.run.folder} {longer}"
