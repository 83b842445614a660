"""The best extract: no single sentence is better, and no further one would make it better."""

import itertools
import random

import pytest

from regard.data.corpora import english_french
from regard.metrics.summaries import EnglishWords, select_oracle
from regard.metrics.summaries.rouge import rouge_n

WORDS = EnglishWords()


def score(sentences: list[str], extract: tuple[int, ...], reference: str) -> float:
    words = [word for n in extract for word in WORDS.split(sentences[n])]
    return sum(rouge_n(words, WORDS.split(reference), n) for n in (1, 2)) / 2


def test_the_extract_is_a_summit():
    rng = random.Random(5)
    lines = [pair.source for pair in english_french.generate(80, 3)]
    for _ in range(17):
        sentences, reference = rng.sample(lines, 7), " ".join(rng.sample(lines, 2))
        extract = select_oracle(sentences, [reference], WORDS)
        best = score(sentences, extract, reference)
        others = [tuple(sorted((*extract, n))) for n in range(7) if n not in extract]
        assert best >= max(score(sentences, other, reference) for other in [*others, *((n,) for n in range(7))])
        assert list(extract) == sorted(set(extract))


def test_what_the_summary_was_made_of_is_extracted():
    lines = ["the cat sleeps", "a dog runs far away", "five birds sing songs", "old trees fall"]
    for chosen in itertools.combinations(range(4), 2):
        assert select_oracle(lines, [" ".join(lines[n] for n in chosen)], WORDS) == chosen


@pytest.mark.parametrize(("sentences", "references"), [([], ["a cat"]), (["a dog"], ["two cats"]), (["a dog"], ["?"])])
def test_nothing_in_common_is_nothing_extracted(sentences: list[str], references: list[str]):
    assert select_oracle(sentences, references, WORDS) == ()


def test_of_several_references_the_one_with_the_best_extract_counts():
    sentences = ["the cat sleeps", "a dog runs"]
    assert select_oracle(sentences, ["a dog and much else that is not there", "the cat sleeps"], WORDS) == (0,)
