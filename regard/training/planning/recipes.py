"""What translators learn best with, by the time and the text that there is: the table that measurements decide.

A size is chosen beside it (`sizing`): a recipe has what does not follow from the size, or differs from what would.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from regard.training.planning.sizing import SuggestedSetting


@dataclass(frozen=True)
class Recipe:
    """Settings for a training within limits of its minutes and its target tokens."""

    max_minutes: float
    max_target_tokens: float
    settings: tuple[SuggestedSetting, ...]

    def without(self, names: Collection[str]) -> "Recipe":
        """The recipe for a training that has no use for some settings."""
        return replace(self, settings=tuple(setting for setting in self.settings if setting.name not in names))


RECIPES = (
    Recipe(
        math.inf,
        math.inf,
        (SuggestedSetting("train.guided_alignment", 0.3, "guided alignment speeds up the first epochs"),),
    ),
)
"""By rising limits; the first row that covers a training is used, so the last one has none."""


def choose_recipe(recipes: Sequence[Recipe], minutes: float, target_tokens: float) -> tuple[SuggestedSetting, ...]:
    """The settings of the first recipe that covers this time and this text; nothing where there is none."""
    for recipe in recipes:
        if minutes <= recipe.max_minutes and target_tokens <= recipe.max_target_tokens:
            return recipe.settings
    return ()
