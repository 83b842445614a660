"""Which combination a trial tries: the set or grid point of its number, a random one, or the most promising."""

import random
from typing import TYPE_CHECKING

from regard.tune.space import Point, Space, allows
from regard.tune.study import Study, distribution

if TYPE_CHECKING:
    import optuna

STARTUP = 10  # trials drawn at random before TPE has something to learn from
TRIES = 200


def propose(study: Study, number: int, past: "list[optuna.trial.FrozenTrial]") -> tuple[str, Point]:
    """The name and the combination of trial `number`.

    A function of the study and the number alone, except under TPE, which also looks at the past.
    """
    points = study.fixed_points()
    if points is not None:
        return list(points.items())[number - 1]
    if study.sampler == "tpe":
        return f"{number}", _promising(study, number, past)
    return f"{number}", _random(study, number)


def _random(study: Study, number: int) -> Point:
    rng = random.Random(f"{study.seed} {number}")  # one of its own, so that workers never draw the same
    return Space(study.choices(), study.conditions).draw(rng, allows(study.start(), study.conditions))


def _promising(study: Study, number: int, past: "list[optuna.trial.FrozenTrial]") -> Point:
    """Ask TPE, in a copy of the study, until it names a combination that is allowed; real trials see only that one."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=study.seed * 100_003 + number, n_startup_trials=STARTUP)
    copy = optuna.create_study(direction="maximize" if study.up else "minimize", sampler=sampler)
    copy.add_trials([trial for trial in past if trial.params and trial.state != optuna.trial.TrialState.FAIL])
    distributions = {name: distribution(choice) for name, choice in study.choices().items()}
    allowed = allows(study.start(), study.conditions)
    for _ in range(TRIES):
        asked = copy.ask(distributions)
        if allowed(asked.params):
            return dict(asked.params)
        copy.tell(asked, state=optuna.trial.TrialState.FAIL)
    return _random(study, number)  # what TPE likes best is forbidden: anything that is allowed, then
