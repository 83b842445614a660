"""A classifier that was built to listen to few words is reported with these words."""

import numpy as np
import pytest

from regard.inspection.decisions import keywords
from regard.inspection.decisions.keywords import measure_keywords, select_keywords
from tests.inspection.decisions.conftest import make_linear_classifier

FILLERS = [f"filler{n}" for n in range(43)]
LOG_ODDS = {"refund": 5.0, "thanks": -2.0, "great": -1.5} | dict.fromkeys(FILLERS, -0.3)


def make_texts(num_texts: int = 83) -> list[str]:
    rng = np.random.default_rng(5)
    starts = ["Refund", "thanks", "thanks great", "great"]
    return [f"{starts[n % 4]} {' '.join(rng.choice(FILLERS, 5))}" for n in range(num_texts)]


def test_the_planted_keyword_decides_everything():
    no, yes = measure_keywords(make_linear_classifier(LOG_ODDS), make_texts(), 1)
    assert (yes.label, yes.keywords) == ("yes", ("refund",))
    assert yes.flipped.value == 100 == yes.containing  # without the word, every decision changes
    assert yes.random_flipped == 0 and yes.random_interval == (0, 0)  # and no other word does it
    assert no.label == "no" and no.flipped.value == 0  # fillers alone say no
    assert no.keywords == ("thanks",) and no.containing == pytest.approx(66.7, abs=5)


def test_keywords_are_selected_greedily_by_their_joint_effect():
    texts = [text for text in make_texts() if not text.startswith("Refund")]
    classifier = make_linear_classifier(LOG_ODDS)
    selected = select_keywords(classifier, "no", texts, 3)
    assert selected[:2] == ["thanks", "great"] and len(selected) == 3
    remaining = list(texts)
    column = 0
    for number, keyword in enumerate(selected):  # each one is the best of all, given those before
        words = {w.lower() for text in remaining for w in text.split()}
        without = {w: [" ".join(x for x in t.split() if x.lower() != w) for t in remaining] for w in words}
        sums = {w: float(classifier.log_probs(kept)[:, column].sum()) for w, kept in without.items()}
        assert sums[keyword] == pytest.approx(min(sums.values()), abs=1e-4), number
        remaining = without[keyword]


def test_words_that_lower_nothing_are_no_keywords():
    classifier = make_linear_classifier(LOG_ODDS)
    texts = ["refund filler1", "refund filler1", "refund filler2", "refund filler2"]
    assert select_keywords(classifier, "yes", texts, 7) == ["refund"]
    assert select_keywords(classifier, "yes", ["refund"], 7) == []  # once is no general keyword
    assert measure_keywords(classifier, texts[:3]) == []  # too few texts
    assert [entry.label for entry in measure_keywords(classifier, texts)] == ["yes"]


def test_only_the_other_half_of_the_texts_is_counted(monkeypatch):
    halves = []
    monkeypatch.setattr(keywords, "select_keywords", lambda c, label, texts, count: halves.append(texts) or ["refund"])
    classifier, texts = make_linear_classifier(LOG_ODDS), make_texts()
    yes = [text for text in texts if text.startswith("Refund")]
    result = next(entry for entry in measure_keywords(classifier, texts) if entry.label == "yes")
    assert yes[::2] in halves and f"n:{len(yes) - len(yes[::2])}" in result.flipped.signature
