"""The combination of a trial: its set or grid point, a random one, or one that TPE proposes."""

import random
from collections.abc import Collection
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.tuning.space import Params, ParamsKey, params_key
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna

N_STARTUP_TRIALS = 10  # random trials before TPE starts
MAX_ATTEMPTS = 200


def propose_params(
    study: Study, number: int, past_trials: "list[optuna.trial.FrozenTrial]", reserved_keys: Collection[ParamsKey] = ()
) -> tuple[str, Params]:
    """The name and the combination of trial `number`, different from those of all other trials.

    A function of the study and the number alone, except under TPE, which also depends on past trials and avoids
    combinations that other workers have reserved.
    """
    predefined_params = study.predefined_params()
    if predefined_params is not None:
        return list(predefined_params.items())[number - 1]
    if study.sampler == "tpe":
        return f"{number}", _sample_tpe(study, number, past_trials, reserved_keys)
    return f"{number}", _sample_random(study, number)


def _sample_random(study: Study, number: int) -> Params:
    """The draw of this number after all draws before it: the same on every worker and at any time."""
    used_keys: set[ParamsKey] = set()
    params: Params = {}
    for earlier in range(1, number + 1):
        params = _sample_new(study, earlier, used_keys)
        used_keys.add(params_key(params))
    return params


def _sample_new(study: Study, number: int, used_keys: Collection[ParamsKey]) -> Params:
    """A random new combination; if sampling does not find one, a random element of the list of all new ones."""
    rng = random.Random(f"{study.seed} {number}")  # one per trial, so that workers never draw the same
    search_space, is_valid = study.search_space(), study.constraint()
    is_new = lambda params: params_key(params) not in used_keys and is_valid(params)  # noqa: E731
    try:
        return search_space.sample(rng, is_new)
    except ConfigError:
        remaining_params = list(filter(is_new, search_space.all_params() or ()))
    if not remaining_params:
        raise ConfigError(
            f"trial {number}: found no combination that is still untried; "
            f"widen the space, or use at most {number - 1} trials"
        )
    return rng.choice(remaining_params)


def _sample_tpe(
    study: Study, number: int, past_trials: "list[optuna.trial.FrozenTrial]", reserved_keys: Collection[ParamsKey]
) -> Params:
    """Ask TPE, in a copy of the study, until it proposes a combination that is valid and new."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=study.seed * 100_003 + number, n_startup_trials=N_STARTUP_TRIALS)
    scratch_study = optuna.create_study(direction=study.direction, sampler=sampler)
    scratch_study.add_trials(
        [trial for trial in past_trials if trial.params and trial.state != optuna.trial.TrialState.FAIL]
    )
    distributions = {name: one.to_optuna() for name, one in study.search_space().distributions.items()}
    is_valid = study.constraint()
    past_params = [trial.params or trial.system_attrs.get("fixed_params", {}) for trial in past_trials]
    used_keys = set(map(params_key, past_params)) | set(reserved_keys)
    for _ in range(MAX_ATTEMPTS):
        candidate = scratch_study.ask(distributions)
        if params_key(candidate.params) not in used_keys and is_valid(candidate.params):
            return dict(candidate.params)
        scratch_study.tell(candidate, state=optuna.trial.TrialState.FAIL)
    return _sample_new(study, number, used_keys)  # TPE proposes only invalid or used combinations
