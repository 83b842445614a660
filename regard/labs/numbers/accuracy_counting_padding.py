"""An accuracy that counts padding."""

from collections.abc import Callable, Sequence
from random import Random

import torch

from regard.data.corpora import CORPORA
from regard.evaluation import PadInclusiveScores, TeacherForcingResult, score_with_pads
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "A token accuracy of 63 to 90% in a training log says that most words are predicted correctly."
SOURCE = "a report on tuning a translator; lectures on Transformers"
CLAIMS = (86,)
PREDICT = "A model predicts no word right, only padding. What accuracy (%) does its log show, padded to the longest?"
CHANGE = "BATCH=128, then BATCH=8; or hand in your own text with --data."
TURN = {"BATCH": (4, 8, 32, 128, 400)}

SENTENCES, BATCH = 400, 32

Count = Callable[[Sequence[TeacherForcingResult]], PadInclusiveScores]


def draw_lengths(sentences: Sequence[str]) -> list[int]:
    """The words of each sentence and its end: of a sample of these sentences, or of generated ones."""
    seed = int(torch.randint(2**31, ()))
    texts = Random(seed).sample(sentences, min(SENTENCES, len(sentences)))
    texts = texts or [pair.target for pair in CORPORA["english-french"](SENTENCES, seed)]
    return [len(text.split()) + 1 for text in texts]


def shown_accuracy(lengths: Sequence[int], batch: int, count: Count) -> float:
    """The accuracy (%) of a model that is right about no word: that of each batch, weighted by its positions."""
    results = [TeacherForcingResult(tokens=length, correct=0, loss=0.0) for length in lengths]
    groups = [results[start : start + batch] for start in range(0, len(results), batch)]
    scores = [count(group) for group in groups]
    positions = [score.positions * len(group) for score, group in zip(scores, groups, strict=True)]
    return sum(s.accuracy * n for s, n in zip(scores, positions, strict=True)) / sum(positions)


def compare(sentences: Sequence[str], count: Count) -> dict[str, float]:
    lengths = draw_lengths(sentences)
    return {
        "padded to the longest of all": shown_accuracy(lengths, len(lengths), count),
        f"in batches of {BATCH}": shown_accuracy(lengths, BATCH, count),
        f"in batches of {BATCH} of similar length": shown_accuracy(sorted(lengths), BATCH, count),
    }


def run(seeds: Sequence[int], sentences: tuple[str, ...] = (), score_with_pads: Count = score_with_pads) -> Finding:
    measured = over(seeds, lambda: compare(sentences, score_with_pads))
    values = {how: [one[how] for one in measured] for how in measured[0]}
    # 10: what is not taken for a model that has learned something
    parts = [Effect(f"the accuracy (%) without one right word, {how}", v, most=10) for how, v in values.items()]
    return Finding(
        parts, Table.from_rows({"sentences": how, "accuracy (%)": sum(v) / len(v)} for how, v in values.items())
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "sentences", "accuracy (%)")


def control(seeds: Sequence[int]) -> Finding:
    """Counted over words alone, a model without one right word has an accuracy of 0."""

    def without_pads(results: Sequence[TeacherForcingResult]) -> PadInclusiveScores:
        tokens, correct = sum(r.tokens for r in results), sum(r.correct for r in results)
        return PadInclusiveScores(100 * correct / tokens, 0.0, max(r.tokens for r in results), 0.0)

    return run(seeds, score_with_pads=without_pads)
