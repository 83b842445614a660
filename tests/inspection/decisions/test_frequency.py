"""Random words are as frequent as those that they stand for."""

from collections import Counter

from regard.inspection.decisions.frequency import NUM_NEIGHBORS, count_texts, draw_equally_frequent

FREQUENCIES = Counter({f"w{n}": n for n in range(1, 211)})


def test_words_are_counted_once_a_text_without_marks_and_case():
    assert count_texts([["The", "the", "."], ["a", "THE"]]) == {"the": 2, "a": 1}


def test_random_words_have_the_nearest_frequencies():
    draws = draw_equally_frequent(FREQUENCIES, ["w100", "w201"], 53, seed=1)
    assert len(draws) == 53 and len(set(draws)) > 20
    for words in draws:
        low, high = sorted(FREQUENCIES[word] for word in words)
        assert abs(low - 100) <= NUM_NEIGHBORS // 2 and 201 - NUM_NEIGHBORS <= high <= 210
        assert not words & {"w100", "w201"}
    assert draws == draw_equally_frequent(FREQUENCIES, ["w201", "w100"], 53, seed=1)
    assert draws != draw_equally_frequent(FREQUENCIES, ["w201", "w100"], 53, seed=2)
    assert draw_equally_frequent(Counter({"a": 1}), ["a"], 3, seed=1) == []


def test_ties_are_broken_at_random():
    equal = Counter({f"w{n}": 1 for n in range(211)})
    drawn = {word for words in draw_equally_frequent(equal, list(equal)[:31], 101, seed=1) for word in words}
    assert len(drawn) > 5 * NUM_NEIGHBORS
