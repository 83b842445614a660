"""A generated corpus is a published one: its name and seed stand for its text, on every machine and in every version.

The numbers of docs/results were measured on these texts. A better grammar is welcome; it is then a new corpus, whose
results are to be measured again, and the fingerprints here change with it.
"""

import hashlib
from collections.abc import Iterable

import pytest

from regard.data.corpora import algorithmic, english_french
from regard.data.corpora.gold import GoldPair

FINGERPRINTS = {
    "copy": "197b19ddb2564e2a",
    "reverse": "c650c0b6dbe5bb9a",
    "sort": "6775d98735df4ed6",
    "lookup": "d27167126b578398",
}


def fingerprint(pairs: Iterable[GoldPair]) -> str:
    """Of sentences, alignments and links."""
    sha = hashlib.sha256()
    for pair in pairs:
        sha.update(repr(pair).encode())
    return sha.hexdigest()[:16]


def test_the_english_french_corpus_is_the_one_that_was_measured():
    assert fingerprint(english_french.generate(3_000, 1)) == "9bfc509860b22d89"


def test_nothing_may_be_asked_for():
    assert list(english_french.generate(0, 1)) == list(algorithmic.generate("copy", 0, 1)) == []


@pytest.mark.parametrize("task", algorithmic.TASKS)
def test_a_task_is_the_one_that_was_measured(task):
    assert fingerprint(algorithmic.generate(task, 200, 1)) == FINGERPRINTS[task]
