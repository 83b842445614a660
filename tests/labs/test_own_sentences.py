"""Labs that take sentences measure those of the user."""

import pytest
import torch

from regard.errors import LabError
from regard.labs.catalog import find_lab
from regard.labs.lab import load_lab
from regard.labs.verdict import Verdict


@pytest.fixture
def lab():
    torch.set_num_threads(1)
    return load_lab(find_lab("bag_of_words_without_positions"))


def test_sentences_of_the_user_are_shuffled_instead_of_the_built_in_ones(lab):
    own = lab.run(sentences=("die Katze jagt den Hund", "der Hund jagt die Katze", ""))
    assert own.finding.verdict is Verdict.HOLDS
    assert own.finding.parts[2].values != lab.run().finding.parts[2].values


def test_only_sentences_whose_words_can_change_places_count(lab):
    few = ("one two three",)
    texts = lab.module.number(("", "word", "no no no", *few))
    assert [ids.tolist() for ids in texts] == [[[1, 2, 3]]]
    with pytest.raises(LabError, match="no sentence has two different words, separated by spaces"):
        lab.run(sentences=("", "word", "no no no"))


def test_a_long_text_is_cut(lab):
    (ids,) = lab.module.number((" ".join(f"word{n}" for n in range(5000)),))
    assert ids.shape == (1, lab.knobs["MAX_WORDS"])
    assert len(lab.module.number(("a b",) * 100)) == lab.knobs["MAX_SENTENCES"]
