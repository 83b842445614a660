"""Beam search."""

from collections.abc import Callable

from torch import Tensor

from regard.decode.beam import BeamSearch
from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.assignments.search.greedy_search import BOS, EOS, greedy_search
from regard.labs.checker.assignments.search.language_model import (
    NO_LOOPS,
    FunctionStepper,
    LogProbs,
    RandomLanguageModel,
)
from regard.labs.checker.truths import equals_reference, returns

ONE, SUMS, MEANS, WIDE = "with a beam of 1", "with alpha = 0", "with alpha = 1", "with a beam as wide as all sentences"
Many = list[Observation]
Hypotheses = list[tuple[list[int], float]]


def beam_search(
    log_probs: Callable[[list[int]], Tensor], bos: int, eos: int, max_length: int, beam_size: int, alpha: float
) -> list[tuple[list[int], float]]:
    """The `beam_size` best prefixes are extended at each step; hypotheses that end in eos are finished.

    log_probs(tokens) is the model: the log-probabilities (V,) of the token that follows `tokens`, a list that begins
    with bos. A prefix is ranked by the sum of its log-probabilities, a finished hypothesis by its score, which is this
    sum / length^alpha; the length counts eos and not bos.

    Each step: all extensions of all active prefixes by one token are ranked together. Those among the best `beam_size`
    that end in eos are finished. The best `beam_size` that do not end in eos are the active prefixes of the next step.
    Of the finished hypotheses the best `beam_size` are kept. The search ends when `beam_size` are finished and none of
    them scores below the best active prefix (its sum / length^alpha), or when prefixes are max_length long.
    Returns the finished hypotheses as (tokens without bos and eos, score), best first; if the search ended by
    max_length and fewer than `beam_size` are finished, active prefixes follow, best first, up to `beam_size` in all.
    """
    search = BeamSearch(beam_size, alpha, nbest=beam_size, limits=NO_LOOPS)
    hypotheses = search.search(FunctionStepper(log_probs, bos, eos, max_length))[0]
    return [(list(one.ids), one.score) for one in hypotheses]


def plain(log_probs: LogProbs, bos: int, eos: int, max_length: int, beam_size: int, alpha: float) -> Hypotheses:
    """Written out, which known mistakes are edits of."""
    active: Hypotheses = [([bos], 0.0)]
    finished: Hypotheses = []
    cut: Hypotheses = []
    for length in range(1, max_length + 1):
        extensions = []
        for tokens, total in active:
            scores = log_probs(tokens)
            extensions += [([*tokens, token], total + score) for token, score in enumerate(scores.tolist())]
        extensions.sort(key=lambda one: -one[1])
        ended = [(tokens[1:-1], total / length**alpha) for tokens, total in extensions[:beam_size] if tokens[-1] == eos]
        active = [one for one in extensions if one[0][-1] != eos][:beam_size]
        finished = sorted(finished + ended, key=lambda one: -one[1])[:beam_size]
        cut = [(tokens[1:], total / length**alpha) for tokens, total in active]
        if len(finished) == beam_size and finished[-1][1] >= cut[0][1]:
            return finished
    return (finished + cut)[:beam_size]


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    seeds = draw.integers(1, 10**6, 24).tolist()
    models = iter([RandomLanguageModel(Draws(seed), 5) for seed in seeds])

    def inputs(max_length: int, beam_size: int, alpha: float) -> Inputs:
        lengths = {"bos": BOS, "eos": EOS, "max_length": max_length}
        return {"log_probs": next(models), **lengths, "beam_size": beam_size, "alpha": alpha}

    return {
        ONE: [inputs(length, 1, 0.0) for length in (2, 4, 5, 6)],
        SUMS: [inputs(length, size, 0.0) for length, size in ((2, 2), (3, 2), (4, 3), (5, 2), (6, 3))],
        MEANS: [inputs(length, size, 1.0) for length, size in ((2, 2), (3, 2), (4, 3), (5, 2), (6, 3), (6, 2))],
        WIDE: [inputs(2, 25, alpha) for alpha in (0.0, 1.0)],
    }


def _distinct(search: CheckedFunction, x: Inputs) -> Many:
    texts = [tuple(tokens) for tokens, _ in search(**x)]
    return [Observation(len(set(texts)), len(texts), "different hypotheses")]


def _count(search: CheckedFunction, x: Inputs) -> Many:
    return [Observation(len(search(**x)), x["beam_size"], "hypotheses")]


def _no_specials(search: CheckedFunction, x: Inputs) -> Many:
    specials = [tokens for tokens, _ in search(**x) if EOS in tokens]
    return [Observation(specials, [], "hypotheses with eos")]


def _scores(search: CheckedFunction, x: Inputs) -> Many:
    """The score of a hypothesis, from its tokens. Shorter ones have ended."""
    observations = []
    for tokens, score in search(**x):
        whole = tokens if len(tokens) == x["max_length"] else [*tokens, EOS]
        steps = [float(x["log_probs"]([BOS, *whole[:n]])[token]) for n, token in enumerate(whole)]
        observations.append(Observation(score, sum(steps) / len(whole) ** x["alpha"], f"score of {tokens}"))
    return observations


def _greedy(search: CheckedFunction, x: Inputs) -> Many:
    """Greedy search has neither alpha nor scores."""
    arguments = {name: x[name] for name in ("log_probs", "bos", "eos", "max_length")}
    return [Observation([tokens for tokens, _ in search(**x)], [greedy_search(**arguments)], "tokens")]


def _exhaustive(search: CheckedFunction, x: Inputs) -> Many:
    """All sentences of at most one token and eos, ranked."""
    model, alpha = x["log_probs"], x["alpha"]
    first = model([BOS])
    ranked: Hypotheses = [([], float(first[EOS]))]
    for token in range(model.vocab_size):
        if token != EOS:
            ranked.append(([token], float(first[token] + model([BOS, token])[EOS]) / 2**alpha))
    ranked.sort(key=lambda one: -one[1])
    return [Observation(search(**x)[: len(ranked)], ranked, "hypotheses")]


BEAM_SEARCH = Assignment(
    beam_search,
    outputs=("hypotheses as (tokens without bos and eos, score)",),
    steps=(
        "active = [([bos], 0)]; finished = []",
        "each step: all extensions of all active prefixes, with the sums of their log-probabilities, sorted",
        "of the best beam_size extensions, those with eos are finished: score = sum / length^alpha",
        "active = the best beam_size extensions without eos",
        "stop when beam_size are finished and the worst of them is not below the best active one",
        "at max_length: the finished ones, then the active ones, up to beam_size",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a list of hypotheses with scores", ONE, SUMS, MEANS),
        Truth("no hypothesis has eos", (ONE, SUMS, MEANS), _no_specials),
        Truth("no two hypotheses are alike", (SUMS, MEANS), _distinct),
        Truth("there are as many hypotheses as the beam is wide", (ONE, SUMS, MEANS), _count),
        Truth(
            "the score of a hypothesis is the sum of its log-probabilities / length^alpha", (ONE, SUMS, MEANS), _scores
        ),
        Truth("with a beam of 1, it is greedy search", (ONE,), _greedy),
        Truth("with a beam as wide as all sentences, it finds the best of all", (WIDE,), _exhaustive),
        equals_reference("the hypotheses with alpha = 0", ONE, SUMS),
        equals_reference("the hypotheses with alpha = 1", MEANS, WIDE),
    ),
    mistakes=edits(
        plain,
        ("ranks by the last log-probability instead of the sum", "total + score)", "score)"),
        (
            "has no length rule: alpha is ignored",
            "tokens[1:-1], total / length**alpha)",
            "tokens[1:-1], total)",
            "tokens[1:], total / length**alpha)",
            "tokens[1:], total)",
        ),
        (
            "does not count eos in the length",
            "tokens[1:-1], total / length**alpha)",
            "tokens[1:-1], total / max(length - 1, 1)**alpha)",
        ),
        (
            "counts bos in the length",
            "tokens[1:-1], total / length**alpha)",
            "tokens[1:-1], total / (length + 1)**alpha)",
            "tokens[1:], total / length**alpha)",
            "tokens[1:], total / (length + 1)**alpha)",
        ),
        (
            "extends finished hypotheses further",
            "active = [one for one in extensions if one[0][-1] != eos][:beam_size]",
            "active = extensions[:beam_size]",
        ),
        (
            "lets the beam shrink with each finished hypothesis",
            "extensions if one[0][-1] != eos][:beam_size]",
            "extensions[:beam_size] if one[0][-1] != eos][:beam_size]\n        if not active:\n            break",
        ),
        (
            "returns the hypotheses in the order in which they were finished",
            "sorted(finished + ended, key=lambda one: -one[1])[:beam_size]",
            "(finished + ended)[:beam_size]",
        ),
        (
            "returns the worst hypothesis first",
            "            return finished\n    return (finished + cut)[:beam_size]",
            "            return finished[::-1]\n    return (finished + cut)[:beam_size][::-1]",
        ),
        ("is greedy: only the best prefix is extended", "!= eos][:beam_size]", "!= eos][:1]"),
        (
            "begins with beam_size copies of bos, so that hypotheses are alike",
            "[([bos], 0.0)]",
            "[([bos], 0.0)] * beam_size",
        ),
        (
            "stops at the first finished hypothesis",
            "if len(finished) == beam_size and finished[-1][1] >= cut[0][1]:",
            "if finished:",
        ),
        (
            "stops as soon as beam_size are finished, even if an active prefix is better",
            " and finished[-1][1] >= cut[0][1]",
            "",
        ),
        ("adds probabilities instead of their logarithms", "log_probs(tokens)", "log_probs(tokens).exp()"),
        ("multiplies log-probabilities", "total + score)", "(total or -1.0) * -score)"),
        ("stops one token too early", "range(1, max_length + 1)", "range(1, max_length)"),
        ("goes on for one token too many", "range(1, max_length + 1)", "range(1, max_length + 2)"),
        ("keeps eos in the hypotheses", "(tokens[1:-1], total", "(tokens[1:], total"),
        (
            "keeps bos in the hypotheses",
            "(tokens[1:-1], total",
            "(tokens[:-1], total",
            "(tokens[1:], total",
            "(tokens, total",
        ),
        (
            "ranks active prefixes by their lowest probabilities",
            "extensions.sort(key=lambda one: -one[1])",
            "extensions.sort(key=lambda one: one[1])",
        ),
        (
            "finishes only what ends in eos as the very best extension",
            "extensions[:beam_size] if tokens",
            "extensions[:1] if tokens",
        ),
        (
            "finishes all that ends in eos, however improbable",
            "extensions[:beam_size] if tokens",
            "extensions if tokens",
        ),
        ("drops prefixes that reach max_length", "return (finished + cut)[:beam_size]", "return finished or cut[:1]"),
        (
            "multiplies by length^alpha instead of dividing",
            "tokens[1:-1], total / length**alpha)",
            "tokens[1:-1], total * length**alpha)",
            "tokens[1:], total / length**alpha)",
            "tokens[1:], total * length**alpha)",
        ),
        ("hands over the last token alone", "log_probs(tokens)", "log_probs(tokens[-1:])"),
        (
            "returns the best hypothesis without the others",
            "            return finished\n    return (finished + cut)[:beam_size]",
            "            return finished[:1]\n    return (finished + cut)[:1]",
        ),
        (
            "returns tokens without scores",
            "return finished\n",
            "return [tokens for tokens, _ in finished]\n",
            "return (finished + cut)[:beam_size]",
            "return [tokens for tokens, _ in (finished + cut)[:beam_size]]",
        ),
    ),
    differentiable=False,
)
