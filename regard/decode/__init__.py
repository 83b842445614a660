"""A step function -> ids. Searches know neither strings nor the model: they call a `Stepper`.

Every search is an object with `search(stepper) -> a list of hypotheses for each sentence, best first`.
"""

from regard.decode.beam import BeamSearch
from regard.decode.greedy import GreedySearch
from regard.decode.limits import Limits
from regard.decode.sample import SamplingSearch
from regard.decode.stepper import Hypothesis, Search, Stepper

__all__ = ["BeamSearch", "GreedySearch", "Hypothesis", "Limits", "SamplingSearch", "Search", "Stepper"]
