"""The mean of sentence BLEU is not BLEU."""

from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

import torch

from regard.data.corpora import CORPORA
from regard.labs.effects import Effect
from regard.labs.finding import Finding
from regard.labs.seeds import over
from regard.metrics import corpus_bleu, sentence_bleu
from regard.report.pictures import BarPicture, Picture
from regard.report.table import Table

CLAIM = "The mean of the BLEU of single sentences is the BLEU of a test set."
SOURCE = "a report on tuning a translator: a set that had learned nothing was given 0.3154"
CLAIMS = (91,)
PREDICT = "Every sentence gets the translation of another one. By how many points is mean sentence BLEU too high?"
CHANGE = "WRONG=0.9: what do both say of a text with nine of ten words wrong? Or hand in your own text with --data."
TURN = {"WRONG": (0.2, 0.4, 0.6, 0.8, 0.9)}

SENTENCES, WRONG = 400, 0.6

SentenceScore = Callable[[str, str], float]


def sample_sentences(sentences: Sequence[str]) -> tuple[list[str], Random]:
    """References, of these sentences or of generated ones, and a generator for mistakes."""
    random = Random(int(torch.randint(2**31, ())))
    texts = random.sample(sentences, min(SENTENCES, len(sentences)))
    generated = CORPORA["english-french"](SENTENCES, random.randrange(2**31))
    return texts or [pair.target for pair in generated], random


def replace_words(text: str, words: Sequence[str], random: Random) -> str:
    """The text with a share of its words replaced by random ones."""
    return " ".join(random.choice(words) if random.random() < WRONG else word for word in text.split())


def score_both(hypotheses: Sequence[str], references: Sequence[str], score: SentenceScore) -> tuple[float, float]:
    """The mean over sentences, and the score of the corpus."""
    mean = fmean(score(*pair) for pair in zip(hypotheses, references, strict=True))
    return mean, corpus_bleu(hypotheses, references).value


def compare(sentences: Sequence[str], score: SentenceScore, size: int) -> tuple[tuple[float, float], ...]:
    """Both scores of the translations of other sentences, and of sentences with wrong words, `size` of them a line."""
    references, random = sample_sentences(sentences)
    words = [word for text in references for word in text.split()]
    others = references[len(references) // 2 :] + references[: len(references) // 2]
    wrong = [replace_words(text, words, random) for text in references]
    lines = [[" ".join(t[i : i + size]) for i in range(0, len(t), size)] for t in (references, others, wrong)]
    return score_both(lines[1], lines[0], score), score_both(lines[2], lines[0], score)


def run(
    seeds: Sequence[int], sentences: tuple[str, ...] = (), sentence_bleu: SentenceScore = sentence_bleu, size: int = 1
) -> Finding:
    measured = over(seeds, lambda: compare(sentences, sentence_bleu, size))
    cases = ("the translations of other sentences", f"{WRONG:.0%} of the words wrong")
    parts = [
        # 1: a difference of one point is discussed in papers
        Effect(f"the mean of sentence BLEU minus BLEU, {case}", [one[n][0] - one[n][1] for one in measured], most=1)
        for n, case in enumerate(cases)
    ]
    return Finding(
        parts,
        Table.from_rows(
            {"translations": case, "what": what, "BLEU": fmean(one[n][m] for one in measured)}
            for n, case in enumerate(cases)
            for m, what in enumerate(("mean over sentences", "of the corpus"))
        ),
    )


def draw(finding: Finding) -> Picture:
    return BarPicture(finding.table, "translations", "BLEU", "what")


def control(seeds: Sequence[int]) -> Finding:
    """The same text in lines of a hundred sentences, which have n-grams enough: both scores agree."""
    return run(seeds, size=100)
