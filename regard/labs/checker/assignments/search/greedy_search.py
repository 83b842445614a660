"""Greedy search."""

from collections.abc import Callable

import torch
from torch import Tensor

from regard.decode.greedy import GreedySearch
from regard.labs.checker.assignment import Assignment, CheckedFunction, Draws, Inputs, Observation, Truth, edits
from regard.labs.checker.assignments.search.language_model import (
    NO_LOOPS,
    FunctionStepper,
    LogProbs,
    RandomLanguageModel,
)
from regard.labs.checker.truths import equals_reference, returns

SHORT, LONG, NO_END = "with a model that ends soon", "with a model that goes on", "where no end is ever likely"
BOS, EOS = 1, 2
Many = list[Observation]


def greedy_search(log_probs: Callable[[list[int]], Tensor], bos: int, eos: int, max_length: int) -> list[int]:
    """The most probable token at each step, given all tokens before.

    log_probs(tokens) is the model: the log-probabilities (V,) of the token that follows `tokens`, a list that begins
    with bos. The search ends with eos, or after max_length tokens, eos counted. Returns the tokens without bos and eos.
    """
    search = GreedySearch(NO_LOOPS)
    return list(search.search(FunctionStepper(log_probs, bos, eos, max_length))[0][0].ids)


def plain(log_probs: LogProbs, bos: int, eos: int, max_length: int) -> list[int]:
    """Written out, which known mistakes are edits of."""
    tokens = [bos]
    for _ in range(max_length):
        scores = log_probs(tokens)
        best = int(scores.argmax())
        if best == eos:
            break
        tokens.append(best)
    return tokens[1:]


class _Scripted:
    """A model that says one sentence, and nothing of sense after another prefix."""

    def __init__(self, tokens: list[int], vocab_size: int):
        self.tokens, self.vocab_size = [BOS, *tokens], vocab_size

    def __call__(self, tokens: list[int]) -> Tensor:
        n = len(tokens)
        follows = self.tokens[n] if list(tokens) == self.tokens[:n] and n < len(self.tokens) else EOS
        scores = torch.arange(self.vocab_size).double() / 10
        scores[follows] += 5
        return scores.log_softmax(dim=-1)

    def __str__(self) -> str:
        return f"a model of the sentence {self.tokens[1:]}"


class _Endless(RandomLanguageModel):
    """A model that never ends of itself."""

    def __call__(self, tokens: list[int]) -> Tensor:
        scores = super().__call__(tokens)
        scores[EOS] -= 50
        return scores.log_softmax(dim=-1)


def make_inputs(draw: Draws) -> dict[str, list[Inputs]]:
    sentences = [draw.integers(3, 11, n).tolist() for n in (1, 3, 7)]
    common = {"bos": BOS, "eos": EOS}
    seeds = draw.integers(1, 10**6, 8).tolist()
    random = [RandomLanguageModel(Draws(seed), 5) for seed in seeds]
    return {
        SHORT: [{"log_probs": _Scripted([*s, EOS], 11), **common, "max_length": len(s) + 5} for s in sentences],
        LONG: [{"log_probs": model, **common, "max_length": 9} for model in random],
        NO_END: [
            {"log_probs": _Endless(Draws(seed), 5), **common, "max_length": n}
            for seed, n in zip(seeds, (1, 3, 7), strict=False)
        ],
    }


def _sentence(search: CheckedFunction, x: Inputs) -> Many:
    return [Observation(search(**x), x["log_probs"].tokens[1:-1], "tokens")]


def _length(search: CheckedFunction, x: Inputs) -> Many:
    return [Observation(len(search(**x)), x["max_length"], "length")]


def _best_each(search: CheckedFunction, x: Inputs) -> Many:
    tokens = search(**x)
    best = [int(x["log_probs"]([BOS, *tokens[:n]]).argmax()) for n in range(len(tokens))]
    return [Observation(tokens, best, "tokens")]


def _no_specials(search: CheckedFunction, x: Inputs) -> Many:
    tokens = search(**x)
    return [Observation([token for token in tokens if token == EOS], [], "eos in the result")]


GREEDY_SEARCH = Assignment(
    greedy_search,
    outputs=("the tokens without bos and eos",),
    steps=(
        "begin with [bos]",
        "append the token of the highest log-probability, given all tokens before",
        "stop at eos, or when max_length tokens have been chosen",
        "leave out bos and eos",
    ),
    make_inputs=make_inputs,
    truths=(
        returns("a list of tokens", SHORT),
        Truth("the result has no eos", (SHORT, LONG), _no_specials),
        Truth("each token is the most probable one after those before it", (SHORT, LONG, NO_END), _best_each),
        Truth("a model of one sentence says this sentence", (SHORT,), _sentence),
        Truth("without an end, the result has max_length tokens", (NO_END,), _length),
        equals_reference("the tokens of random models", LONG, NO_END),
    ),
    mistakes=edits(
        plain,
        ("keeps bos in the result", "return tokens[1:]", "return tokens"),
        (
            "keeps eos in the result",
            "        if best == eos:\n            break\n        tokens.append(best)",
            "        tokens.append(best)\n        if best == eos:\n            break",
        ),
        ("does not stop at eos", "if best == eos:", "if best == -1:"),
        (
            "never chooses eos",
            "scores = log_probs(tokens)",
            "scores = log_probs(tokens)\n        scores[eos] = -torch.inf",
        ),
        ("stops one token too early", "range(max_length)", "range(max_length - 1)"),
        ("goes on for one token too many", "range(max_length)", "range(max_length + 1)"),
        ("takes the least probable token", "scores.argmax()", "scores.argmin()"),
        ("takes the second most probable token", "scores.argmax()", "scores.topk(2)[1][1]"),
        ("hands over the last token alone", "log_probs(tokens)", "log_probs(tokens[-1:])"),
        ("hands over the tokens without bos", "log_probs(tokens)", "log_probs(tokens[1:])"),
        ("hands over the tokens without the last", "log_probs(tokens)", "log_probs(tokens[:-1] or tokens)"),
        ("hands over the tokens in reverse order", "log_probs(tokens)", "log_probs(tokens[::-1])"),
        ("decides all tokens after the first by the first", "log_probs(tokens)", "log_probs(tokens[:2])"),
        ("stops at bos instead of eos", "best == eos", "best == bos"),
        (
            "never repeats the token before",
            "scores = log_probs(tokens)",
            "scores = log_probs(tokens)\n        scores[tokens[-1]] = -99.0",
        ),
        ("returns the number of tokens", "return tokens[1:]", "return len(tokens) - 1"),
    ),
    differentiable=False,
)
