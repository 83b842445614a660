"""Which combination a trial tries: the set or grid point of its number, a random one, or the most promising."""

import random
from collections.abc import Collection
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.tuning.space import Params, ParamValue, SearchSpace, make_constraint, params_key
from regard.tuning.study import Study, to_optuna_distribution

if TYPE_CHECKING:
    import optuna

N_STARTUP_TRIALS = 10  # trials drawn at random before TPE has something to learn from
MAX_ATTEMPTS = 200
ParamsKey = tuple[tuple[str, ParamValue], ...]


def propose(
    study: Study, number: int, past_trials: "list[optuna.trial.FrozenTrial]", reserved_keys: Collection[ParamsKey] = ()
) -> tuple[str, Params]:
    """The name and the combination of trial `number`, one that no other trial has.

    A function of the study and the number alone, except under TPE, which also looks at the past, and leaves alone what
    others have just taken.
    """
    predefined_params = study.predefined_params()
    if predefined_params is not None:
        return list(predefined_params.items())[number - 1]
    if study.sampler == "tpe":
        return f"{number}", _sample_tpe(study, number, past_trials, reserved_keys)
    return f"{number}", _sample_random(study, number)


def _sample_random(study: Study, number: int) -> Params:
    """The draw of this number, after those of all before it: whoever draws, and when, it is the same."""
    used_keys: set[ParamsKey] = set()
    params: Params = {}
    for earlier in range(1, number + 1):
        params = _sample_new(study, earlier, used_keys)
        used_keys.add(params_key(params))
    return params


def _sample_new(study: Study, number: int, used_keys: Collection[ParamsKey]) -> Params:
    """A random combination that was not seen; where chance does not find one, from a list of all."""
    rng = random.Random(f"{study.seed} {number}")  # one of its own, so that workers never draw the same
    search_space, is_valid = (
        SearchSpace(study.search_space(), study.conditions),
        make_constraint(study.trial_base_config(), study.conditions),
    )
    is_new = lambda point: params_key(point) not in used_keys and is_valid(point)  # noqa: E731
    try:
        return search_space.sample(rng, is_new)
    except ConfigError:
        remaining_params = list(filter(is_new, search_space.all_params() or ()))
    if not remaining_params:
        raise ConfigError(
            f"trial {number}: no combination is left that was not tried, or none is found by chance; "
            f"widen the space, or take no more than {number - 1} trials"
        )
    return rng.choice(remaining_params)


def _sample_tpe(
    study: Study, number: int, past_trials: "list[optuna.trial.FrozenTrial]", reserved_keys: Collection[ParamsKey]
) -> Params:
    """Ask TPE, in a copy of the study, until it names a combination that is allowed and new; trials see only that."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=study.seed * 100_003 + number, n_startup_trials=N_STARTUP_TRIALS)
    scratch_study = optuna.create_study(direction="maximize" if study.maximize else "minimize", sampler=sampler)
    scratch_study.add_trials(
        [trial for trial in past_trials if trial.params and trial.state != optuna.trial.TrialState.FAIL]
    )
    distributions = {name: to_optuna_distribution(choice) for name, choice in study.search_space().items()}
    is_valid = make_constraint(study.trial_base_config(), study.conditions)
    used_keys = {params_key(trial.params or trial.system_attrs.get("fixed_params", {})) for trial in past_trials} | set(
        reserved_keys
    )
    for _ in range(MAX_ATTEMPTS):
        candidate = scratch_study.ask(distributions)
        if params_key(candidate.params) not in used_keys and is_valid(candidate.params):
            return dict(candidate.params)
        scratch_study.tell(candidate, state=optuna.trial.TrialState.FAIL)
    return _sample_new(study, number, used_keys)  # what TPE likes best is forbidden or known: anything else, then
