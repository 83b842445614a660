"""Which combination a trial tries: the set or grid point of its number, a random one, or the most promising."""

import random
from collections.abc import Collection
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.tuning.space import Plain, Point, Space, allows, key
from regard.tuning.study import Study, distribution

if TYPE_CHECKING:
    import optuna

STARTUP = 10  # trials drawn at random before TPE has something to learn from
TRIES = 200
Key = tuple[tuple[str, Plain], ...]


def propose(
    study: Study, number: int, past: "list[optuna.trial.FrozenTrial]", others: Collection[Key] = ()
) -> tuple[str, Point]:
    """The name and the combination of trial `number`, one that no other trial has.

    A function of the study and the number alone, except under TPE, which also looks at the past, and leaves alone what
    others have just taken.
    """
    points = study.fixed_points()
    if points is not None:
        return list(points.items())[number - 1]
    if study.sampler == "tpe":
        return f"{number}", _promising(study, number, past, others)
    return f"{number}", _random(study, number)


def _random(study: Study, number: int) -> Point:
    """The draw of this number, after those of all before it: whoever draws, and when, it is the same."""
    seen: set[Key] = set()
    point: Point = {}
    for earlier in range(1, number + 1):
        point = _fresh(study, earlier, seen)
        seen.add(key(point))
    return point


def _fresh(study: Study, number: int, seen: Collection[Key]) -> Point:
    """A random combination that was not seen; where chance does not find one, from a list of all."""
    rng = random.Random(f"{study.seed} {number}")  # one of its own, so that workers never draw the same
    space, valid = Space(study.choices(), study.conditions), allows(study.start(), study.conditions)
    allowed = lambda point: key(point) not in seen and valid(point)  # noqa: E731
    try:
        return space.draw(rng, allowed)
    except ConfigError:
        left = list(filter(allowed, space.every() or ()))
    if not left:
        raise ConfigError(
            f"trial {number}: no combination is left that was not tried, or none is found by chance; "
            f"widen the space, or take no more than {number - 1} trials"
        )
    return rng.choice(left)


def _promising(study: Study, number: int, past: "list[optuna.trial.FrozenTrial]", others: Collection[Key]) -> Point:
    """Ask TPE, in a copy of the study, until it names a combination that is allowed and new; trials see only that."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=study.seed * 100_003 + number, n_startup_trials=STARTUP)
    copy = optuna.create_study(direction="maximize" if study.up else "minimize", sampler=sampler)
    copy.add_trials([trial for trial in past if trial.params and trial.state != optuna.trial.TrialState.FAIL])
    distributions = {name: distribution(choice) for name, choice in study.choices().items()}
    allowed = allows(study.start(), study.conditions)
    seen = {key(trial.params or trial.system_attrs.get("fixed_params", {})) for trial in past} | set(others)
    for _ in range(TRIES):
        asked = copy.ask(distributions)
        if key(asked.params) not in seen and allowed(asked.params):
            return dict(asked.params)
        copy.tell(asked, state=optuna.trial.TrialState.FAIL)
    return _fresh(study, number, seen)  # what TPE likes best is forbidden or known: anything else, then
