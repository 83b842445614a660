"""A student's functions as parts of labs and models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from regard.errors import LabError
from regard.labs.checker.assignment import Function
from regard.labs.checker.assignments import ASSIGNMENTS
from regard.labs.checker.process.student import defined_functions, describe_error, load_functions
from regard.model.attention import AttentionTaps


def load_assignment_functions(path: Path) -> dict[str, Callable[..., Any]]:
    """The functions of a file that are assignments, by name, with the arguments that Regard calls them with."""
    path = path.resolve()
    names = [name for name in ASSIGNMENTS if name in defined_functions(path)]
    if not names:
        raise LabError(f"{path} defines none of the functions of the assignments: {', '.join(ASSIGNMENTS)}")
    try:
        module = load_functions(path)
    except (Exception, SystemExit) as error:
        raise LabError(f"{path} cannot be loaded: {describe_error(path)(error)}") from error
    return {name: ADAPTERS.get(name, _as_it_is)(getattr(module, name)) for name in names}


def _as_it_is(function: Function) -> Function:
    return function


def adapt_attend(function: Function) -> Function:
    """An `attend` without dropout and taps as one that an `Attention` can be handed.

    Its scores are its own business, so that the tap of the scores does not see them.
    """

    def attend(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        attn_mask: Tensor | None = None,
        bias: Tensor | None = None,
        dropout: float = 0.0,
        taps: AttentionTaps = AttentionTaps(),
    ) -> tuple[Tensor, Tensor]:
        output, weights = function(q, k, v, attn_mask, bias)
        passed_on = F.dropout(taps.weights(weights), dropout) if dropout else taps.weights(weights)
        return (output if passed_on is weights else passed_on @ v), passed_on

    return attend


ADAPTERS = {"attend": adapt_attend}
