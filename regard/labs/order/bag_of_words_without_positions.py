"""Without positions, a sentence is a bag of words."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from statistics import fmean

import torch
from torch import Tensor

from regard.config import ModelConfig, PositionsConfig
from regard.errors import LabError
from regard.labs.effects import Effect, Exact
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.model.build import build_encoder
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "Without positions an encoder reads a bag of words: because attention is symmetric, not because it is parallel."
SOURCE = "lectures on Transformers; discussion sheet of a course on deep learning"
CLAIMS = (30, 34, 35, 36)
PREDICT = "The words of a sentence are shuffled: how far does the mean of its states move without positions?"
CHANGE = "--data with sentences of your own; LAYERS=6: does depth restore order?"
TURN = {"LAYERS": (1, 2, 6)}

LAYERS, DIM, MAX_SENTENCES, MAX_WORDS = 2, 32, 32, 64
SENTENCES = (
    "the dog chased the man",
    "the cat saw a mouse before the mouse saw the cat",
    "only she said that he was late",
    "what you read is not what they wrote",
)

SCHEMES = ("bias", "learned", "t5", "alibi", "relative", "rotary", "concatenated", "sinusoidal")
Encode = Callable[[Tensor], Tensor]


def build_stack(kind: str, vocab_size: int) -> Encode:
    """An untrained encoder: ids (1, T) -> states (T, D)."""
    config = ModelConfig(dim=DIM, heads=4, layers=LAYERS, positions=PositionsConfig(kind=kind, width=8))
    model = build_encoder(config, vocab_size, pad=0).double().eval()
    return lambda ids: model(ids)[0]


def build_convolution(kind: str, vocab_size: int) -> Encode:
    """A convolution of width 3 over random vectors, of all words in parallel."""
    table, kernel = torch.randn(vocab_size, DIM), torch.nn.Conv1d(DIM, DIM, 3, padding=1)
    return lambda ids: kernel(table[ids[0]].T).T


def number(sentences: Sequence[str]) -> list[Tensor]:
    """Ids (1, T) of the words of the first sentences that have two different ones."""
    texts = [words for text in sentences if len(set(words := text.split()[:MAX_WORDS])) > 1][:MAX_SENTENCES]
    if not texts:
        raise LabError("no sentence has two different words, separated by spaces, that could change places")
    vocabulary = ["", *dict.fromkeys(chain(*texts))]
    return [torch.tensor([list(map(vocabulary.index, words))]) for words in texts]


def measure(build: Callable[[str, int], Encode], kind: str, texts: list[Tensor]) -> tuple[float, float]:
    """By shuffling: how far the mean state moves, as a share of it; how far a state moves that moved with its word."""
    encode = build(kind, 1 + max(int(ids.max()) for ids in texts))
    moved, beyond = [], []
    for ids in texts:
        while torch.equal(ids[:, (order := torch.randperm(ids.shape[1]))], ids):
            pass
        with torch.no_grad():
            states, shuffled = encode(ids), encode(ids[:, order])
        moved.append(float((states.mean(0) - shuffled.mean(0)).norm() / states.mean(0).norm()))
        beyond.append(float((states[order] - shuffled).abs().max()))
    return fmean(moved), max(beyond)


def run(seeds: Sequence[int], sentences: Sequence[str] = SENTENCES, kind: str = "none") -> Finding:
    texts = number(sentences)
    measured = {name: over(seeds, partial(measure, build_stack, name, texts)) for name in (kind, *SCHEMES)}
    convolution = over(seeds, partial(measure, build_convolution, "", texts))
    return Finding(
        [
            Exact("the change of the mean state when words are shuffled", [one for one, _ in measured[kind]]),
            Exact("the largest change of a state that is shuffled with its word", [one for _, one in measured[kind]]),
            # 0.01: a hundredth of the mean state can be read off, rounding is below a millionth
            Effect("the change with a convolution, which is parallel, too", [one for one, _ in convolution], 0.01),
            Effect("the change with sinusoids", [one for one, _ in measured["sinusoidal"]], least=0.01),
        ],
        Table.from_rows(
            {"positions": name, "change": fmean(one for one, _ in rows)}
            for name, rows in (measured | {"a convolution": convolution}).items()
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "positions", "change")


def broken(seeds: Sequence[int]) -> Finding:
    """With positions it is no bag."""
    return run(seeds, kind="rotary")
