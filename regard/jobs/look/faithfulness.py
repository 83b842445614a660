"""What of a page may be trusted: each head's weights put to the test on the sentence that is shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from regard.inspection.flow.decompose import Terms, allowed
from regard.inspection.heads import faithfulness
from regard.inspection.heads.statistics import Numbers
from regard.inspection.trace import Look, Model, Trace
from regard.model.transformer import EncoderDecoder


def trusted(
    model: Model,
    seen: Trace,
    looks: Sequence[Look],
    terms: Sequence[Terms | None],
    slopes: Mapping[str, Tensor],
    shake: bool,
) -> tuple[Numbers, dict[str, dict[str, Any]]]:
    """How far apart the heads of one kind look, and what is known of each by its name: see docs/look_contract.md."""
    far = faithfulness.apart(looks)
    names = [str(head) for look in looks for head in look.site.heads]
    found: dict[str, dict[str, Any]] = {}
    for look, own in zip(looks, terms, strict=True):
        places, keep = None if own is None else faithfulness.from_places(look, own), allowed(look)
        tested = faithfulness.shaken(model, seen.example, look) if shake and isinstance(model, EncoderDecoder) else None
        for h, head in enumerate(look.site.heads):
            twin = _twin(far, len(found))
            slope = slopes.get(look.site.name)
            found[str(head)] = {
                "twin": None if twin is None else names[twin],
                "twin_apart": None if twin is None else float(far[len(found), twin]),
                "places_apart": None if places is None else float(places[h]),
                "gradient": None if slope is None else faithfulness.ranks_as(look.weights[h], slope[h], keep[h]),
                "shuffled": None if tested is None else tested[h].shuffled,
                "even": None if tested is None else tested[h].even,
            }
    return far, found


def _twin(far: Numbers, head: int) -> int | None:
    """The head that looks most like this one."""
    others = [other for other in range(len(far)) if other != head]
    return min(others, key=lambda other: float(far[head, other]), default=None)
