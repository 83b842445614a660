"""How the data of a run was prepared."""

from dataclasses import dataclass

from regard.training.planning.sizing import SuggestedSetting


@dataclass(frozen=True)
class Preparation:
    """How the data of a run was prepared."""

    notes: tuple[str, ...] = ()
    choices: tuple[SuggestedSetting, ...] = ()
    """The settings that the user had not set."""
    seconds: float = 0.0
