"""A dead model does not stop."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from regard.data.corpora import CORPORA
from regard.data.tokenizers import tokenizer
from regard.decode.greedy import GreedySearch
from regard.decode.limits import Limits
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "A model that has learned nothing but padding takes several times as long to translate: it does not stop."
SOURCE = "a report on tuning a translator: 27 minutes for one set, 2 to 3 for the others"
CLAIMS = (92,)
PREDICT = (
    "How many tokens does it compute for each token of the references? (a search stops at twice the source plus 16)"
)
CHANGE = "FACTOR=5.0: what does a higher limit cost? Then look at the length of the output before its BLEU."
TURN = {"FACTOR": (1.2, 2.0, 5.0)}

SENTENCES, FACTOR = 400, 2.0


class UnigramStepper:
    """What a model has become that ignores all it reads: the same scores at every step."""

    bos, eos, max_output_length = tokenizer.BOS, tokenizer.EOS, 10**6

    def __init__(self, scores: Tensor, source_lengths: Sequence[int]):
        self.source_lengths = torch.tensor(source_lengths)
        self.global_indices = torch.arange(len(source_lengths))
        self.num_computed = 0
        self._scores, self._waiting = scores, len(source_lengths)

    def admit(self, rows_per_sentence: int) -> int:
        count, self._waiting = self._waiting, 0
        return count

    def step(self, last_tokens: Tensor) -> Tensor:
        self.num_computed += len(last_tokens)
        return self._scores.expand(len(last_tokens), -1)

    def select(self, rows: Tensor) -> None:
        """All rows are alike."""

    def tokens_at(self, columns: Tensor) -> Tensor:
        return columns

    def surface(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids)


def computed_tokens(pads_counted: bool, limits: Limits) -> float:
    """Tokens that a search computes for each token of the references."""
    pairs = list(CORPORA["english-french"](SENTENCES, int(torch.randint(2**31, ()))))
    sources = [len(pair.source.split()) + 1 for pair in pairs]
    references = [len(pair.target.split()) + 1 for pair in pairs]
    words = Counter(word for pair in pairs for word in pair.target.split())
    pads = max(references) * len(references) - sum(references) if pads_counted else 0
    counts = {
        tokenizer.PAD: pads,
        tokenizer.EOS: len(pairs),
        **{4 + n: count for n, count in enumerate(words.values())},
    }
    scores = torch.zeros(4 + len(words))
    scores[list(counts)] = torch.tensor(list(counts.values()), dtype=torch.float)
    stepper = UnigramStepper(scores.log(), sources)
    GreedySearch(limits, scored=False).search(stepper)
    return stepper.num_computed / sum(references)


def run(seeds: Sequence[int], pads_counted: bool = True) -> Finding:
    ways = {"the limit alone": Limits(FACTOR, loop_repeats=10**6), "also where it repeats itself": Limits(FACTOR)}
    values = {name: over(seeds, partial(computed_tokens, pads_counted, limits)) for name, limits in ways.items()}
    # 2: twice the time is more than sentences of other lengths explain
    parts = [Effect("computed tokens for each token of the references", values["the limit alone"], least=2)]
    return Finding(
        parts, Table.from_rows({"stopped by": name, "tokens per token": fmean(v)} for name, v in values.items())
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "stopped by", "tokens per token")


def broken(seeds: Sequence[int]) -> Finding:
    """Trained on words and ends alone, a model that has learned nothing says the end at once: it is most frequent."""
    return run(seeds, pads_counted=False)
