"""The sentences of a document that are nearest to its summary: what an extract could be at best, and learns from.

Greedy, as Nallapati et al. 2017 do it: the sentence that raises the mean of ROUGE-1 and ROUGE-2 most is added, until
none raises it. Of several references, the one that gives the best extract counts.
"""

from collections.abc import Sequence

from regard.metrics.summaries.rouge import Words, rouge_n
from regard.metrics.summaries.words import WordSplitter

NO_SENTENCES: tuple[int, ...] = ()


def select_oracle(sentences: Sequence[str], references: Sequence[str], splitter: WordSplitter) -> tuple[int, ...]:
    """The numbers of the sentences of the best extract, in the order of the document."""
    split = [splitter.split(sentence) for sentence in sentences]
    extracts = [_extend_greedily(split, splitter.split(reference)) for reference in references]
    return max(extracts, key=lambda extract: extract[1], default=(NO_SENTENCES, 0.0))[0]


def _extend_greedily(sentences: Sequence[Words], reference: Words) -> tuple[tuple[int, ...], float]:
    chosen, best = NO_SENTENCES, 0.0
    while True:
        candidates = [tuple(sorted((*chosen, n))) for n in range(len(sentences)) if n not in chosen]
        scored = [(_score_extract(sentences, extract, reference), extract) for extract in candidates]
        score, extract = max(scored, key=lambda pair: pair[0], default=(0.0, NO_SENTENCES))
        if score <= best:
            return chosen, best
        chosen, best = extract, score


def _score_extract(sentences: Sequence[Words], extract: Sequence[int], reference: Words) -> float:
    words = [word for n in extract for word in sentences[n]]
    return (rouge_n(words, reference, 1) + rouge_n(words, reference, 2)) / 2
