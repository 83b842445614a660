"""Naming a mistake: which known one has the same results, compared on each kind of inputs by itself.

A function can be right on ordinary inputs and wrong where a query may see nothing, or hold two mistakes that show on
different inputs. So a known mistake explains inputs on which it differs from the reference and equals the function.
"""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from regard.labs.checker.assignment import Assignment, Function, Inputs
from regard.labs.checker.calls import assignment_inputs, copy_inputs, gradients_of, named_tensors
from regard.labs.checker.comparison import TOLERANCE, FormError, largest_error, match_form

MAX_NAMED = 2
Probe = tuple[str, int]
"""A kind of inputs, and which of them."""


class Outcome(NamedTuple):
    """All that one call shows of a function."""

    value: Any
    inputs_afterwards: Mapping[str, Any]
    gradients: Mapping[str, Any] | None
    """None where there are none, or where computing them raises."""


OutcomeOrError = Outcome | str | None
"""The complaint where a result has another form, None where the function raises."""
Outcomes = Mapping[Probe, OutcomeOrError]


def name_mistakes(assignment: Assignment, function: Function, seed: int) -> str:
    """A sentence with the known mistakes that explain what is wrong; empty if none does."""
    right, known = known_outcomes(assignment, seed)
    outcomes = outcomes_of(assignment, function, seed)
    wrong = {probe for probe in outcomes if not _equal(outcomes[probe], right[probe])}
    explained = {sentence: _explain(outcomes, one, right) for sentence, one in known.items()}
    shows = {name: [probe for probe in right if not _equal(one[probe], right[probe])] for name, one in known.items()}
    for sentence, one in known.items():
        if any(outcomes[probe] is not None for probe in wrong) and all(
            _alike(outcomes[probe], one[probe], right[probe]) for probe in outcomes
        ):
            return f"Its results equal those of an implementation that {sentence}."
    sentences: list[str] = []
    while len(sentences) < MAX_NAMED:
        # Of two that explain as much, the one that shows on fewer inputs: the other would have shown on more.
        best = max(explained, key=lambda sentence: (len(explained[sentence] & wrong), -len(shows[sentence])))
        probes = explained[best] & wrong
        if not probes:
            break
        where = _describe_kinds(list(dict.fromkeys(kind for kind, n in outcomes if (kind, n) in probes)))
        start = "Its results" if probes == wrong and not sentences else f"{where}, its results"
        sentences.append(f"{start} equal those of an implementation that {best}.")
        wrong -= probes
    return " ".join(sentences)


def _describe_kinds(kinds: Sequence[str]) -> str:
    """Where a mistake shows, as the beginning of a sentence."""
    text = (
        kinds[0] if len(kinds) == 1 else f"{kinds[0]} and {len(kinds) - 1} other kind{'s' * (len(kinds) > 2)} of inputs"
    )
    return text[0].upper() + text[1:]


@functools.lru_cache(maxsize=32)
def known_outcomes(assignment: Assignment, seed: int) -> tuple[Outcomes, dict[str, Outcomes]]:
    """What the reference, and every known mistake by its sentence, make of all inputs."""
    mistakes = {one.sentence: outcomes_of(assignment, one.function, seed) for one in assignment.mistakes}
    right = {
        probe: _outcome(assignment, assignment.reference, inputs, reference_values(assignment, seed)[probe])
        for probe, inputs in _probes(assignment, seed)
    }
    return right, mistakes


@functools.lru_cache(maxsize=32)
def reference_values(assignment: Assignment, seed: int) -> dict[Probe, Any]:
    """What the reference returns for all inputs."""
    return {probe: assignment.reference(**copy_inputs(inputs)) for probe, inputs in _probes(assignment, seed)}


@functools.lru_cache(maxsize=512)
def outcomes_of(assignment: Assignment, function: Function, seed: int) -> Outcomes:
    """The outcome of a function for all inputs."""
    right = reference_values(assignment, seed)
    return {probe: _outcome(assignment, function, inputs, right[probe]) for probe, inputs in _probes(assignment, seed)}


def _probes(assignment: Assignment, seed: int) -> Iterator[tuple[Probe, Inputs]]:
    for kind, cases in assignment_inputs(assignment, seed).items():
        yield from (((kind, n), inputs) for n, inputs in enumerate(cases))


def _outcome(assignment: Assignment, function: Function, inputs: Inputs, expected: Any) -> OutcomeOrError:
    copies = copy_inputs(inputs)
    try:
        value = match_form(function(**copies), expected, assignment.outputs)
    except FormError as error:
        return str(error)
    except Exception:
        return None
    gradients = None
    if assignment.differentiable:
        with contextlib.suppress(Exception):
            gradients = gradients_of(function, inputs)
    return Outcome(value, dict(named_tensors(copies)), gradients)


def _explain(outcomes: Outcomes, known: Outcomes, right: Outcomes) -> set[Probe]:
    """The inputs on which a known mistake shows, and the function has the same results."""
    return {
        probe
        for probe, outcome in outcomes.items()
        if isinstance(outcome, Outcome)
        and not _equal(outcome, right[probe])
        and not _equal(known[probe], right[probe])
        and _alike(outcome, known[probe], right[probe])
    }


def _alike(one: OutcomeOrError, known: OutcomeOrError, right: OutcomeOrError) -> bool:
    """Whether an outcome shows the same mistake as a known one: by value, or else by what it shows in."""
    if not (isinstance(one, Outcome) and isinstance(known, Outcome) and isinstance(right, Outcome)):
        return _equal(one, known)
    for shown, mistaken, correct in zip(one, known, right, strict=True):
        if not _same(mistaken, correct):
            return _same(shown, mistaken)
    return _equal(one, right)


def _equal(one: OutcomeOrError, other: OutcomeOrError) -> bool:
    if not (isinstance(one, Outcome) and isinstance(other, Outcome)):
        return not isinstance(one, Outcome) and not isinstance(other, Outcome) and one == other
    return all(_same(first, second) for first, second in zip(one, other, strict=True))


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, dict):
        return all(largest_error(one[name], other[name]) <= TOLERANCE for name in other)
    return largest_error(one, other) <= TOLERANCE
