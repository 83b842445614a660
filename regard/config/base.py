"""What all groups of settings share, and the largest values: what is larger is a slip, and would be allocated."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Mapping
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

MAX_DIM = 65_536
MAX_LAYERS = 1_000
MAX_HEADS = 4_096
MAX_POSITIONS = 10_000_000
MAX_STEPS = 1_000_000_000
MAX_MINUTES = 5_256_000  # ten years
MAX_EPOCHS = 1_000_000
MAX_TOKENS = 1e15
MAX_THREADS = 4_096


class Settings(BaseModel):
    """A group of settings: unknown names are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


@functools.cache
def meanings(group: type[Settings]) -> Mapping[str, str]:
    """What each setting of a group means: the string below it.

    Read when it is asked for: pydantic would read the source of every group whenever a run is opened.
    """
    texts: dict[str, str] = {}
    for base in reversed([base for base in group.__mro__ if issubclass(base, Settings)]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, below in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                text = ast.literal_eval(below.value)
                texts[field.target.id] = inspect.cleandoc(text) if isinstance(text, str) else ""
    return texts
