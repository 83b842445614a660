"""How many sentences half a point of BLEU needs."""

from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

import torch

from regard.data.corpora import CORPORA
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.metrics import Score, corpus_bleu
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table

CLAIM = "A BLEU of 38.5 on a usual test set is better than one of 38.0: the model with it is the best."
SOURCE = "a report on tuning a translator, which ranks sets by BLEU of 0.3745, 0.3796 and 0.3854, one seed each"
CLAIMS = (87,)
PREDICT = "1,000 test sentences: how wide is half of the 95% interval of BLEU, in points?"
CHANGE = "WRONG=0.1, then WRONG=0.6: is BLEU surer for better or for worse translations?"
TURN = {"WRONG": (0.1, 0.2, 0.35, 0.5, 0.6)}

SIZES, WRONG, POINTS, SEEDS = (100, 300, 1000, 3000, 16_000), 0.35, 0.5, 3

CorpusScore = Callable[[Sequence[str], Sequence[str]], Score]


def sample_pairs(sentences: Sequence[str], size: int, random: Random) -> tuple[list[str], list[str]]:
    """References, and translations that have a share of their words wrong."""
    generated = CORPORA["english-french"](size, random.randrange(2**31))
    references = random.choices(sentences, k=size) if sentences else [pair.target for pair in generated]
    words = [word for text in references for word in text.split()]

    def translate(text: str) -> str:
        return " ".join(random.choice(words) if random.random() < WRONG else word for word in text.split())

    return [translate(text) for text in references], references


def half_widths(sentences: Sequence[str], score: CorpusScore) -> list[float]:
    """Half of the interval of BLEU, for each size of the test set."""
    random = Random(int(torch.randint(2**31, ())))
    scores = [score(*sample_pairs(sentences, size, random)) for size in SIZES]
    return [(one.high - one.low) / 2 if one.high is not None and one.low is not None else 100.0 for one in scores]


def run(seeds: Sequence[int], sentences: tuple[str, ...] = (), corpus_bleu: CorpusScore = corpus_bleu) -> Finding:
    measured = over(seeds, lambda: half_widths(sentences, corpus_bleu))
    # half a point is the difference that is claimed; an interval that is wider does not show it
    parts = [
        Effect(f"half of the interval with {size:,} sentences", [one[n] for one in measured], most=POINTS)
        for n, size in enumerate(SIZES)
        if size in (1000, 3000, SIZES[-1])
    ]
    rows = ({"test sentences": size, "± BLEU": fmean(one[n] for one in measured)} for n, size in enumerate(SIZES))
    return Finding(parts, Table.from_rows(rows))


def draw(finding: Finding) -> Picture:
    return CurvePicture(finding.table, "test sentences", "± BLEU", log="xy", rules={"half a point": POINTS})


def control(seeds: Sequence[int]) -> Finding:
    """Scores that are known without any error, as if the test set held every sentence there is."""

    def without_error(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        value = corpus_bleu(hypotheses, references).value
        return Score("BLEU", value, value, value, "")

    return run(seeds, corpus_bleu=without_error)
