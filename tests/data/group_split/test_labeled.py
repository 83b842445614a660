"""Nothing that is held out is a part of what is learned from."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from regard.data.group_split import hold_out_sentences, hold_out_texts
from regard.data.label_doctor.parts import MIN_WORDS, PartIndex, compared_words
from regard.errors import DataError
from regard.formats.labeled import LabeledText, TaggedSentence, read_labeled_texts

FRACTIONS = {"dev": 0.2, "test": 0.1}
PHRASES = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9).map(" ".join), st.sampled_from("xy")),
    min_size=5,
    max_size=61,
)


def is_part(short: str, long: str) -> bool:
    return f" {short} " in f" {long} "


@settings(deadline=None, max_examples=200)
@given(PHRASES, st.integers(0, 9))
def test_no_text_of_a_set_is_part_of_a_text_of_another(pairs, seed):
    examples = [LabeledText(text, (label,)) for text, label in pairs]
    try:
        split = hold_out_texts(examples, seed, FRACTIONS)
    except DataError:  # all of them are parts of a few
        assume(False)
    rows = [*split.rows.values(), split.dropped]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(examples)))
    sets = {name: {examples[i].text for i in numbers} for name, numbers in split.rows.items()}
    for name, texts in sets.items():
        for other, others in sets.items():
            if name != other:
                leaks = [text for text in texts if any(is_part(text, longer) for longer in others)]
                assert all(len(text.split()) < MIN_WORDS for text in leaks)
                assert name == "train" or not leaks  # short texts that are in several sets are in train
    for text in {examples[i].text for i in split.dropped}:
        holders = {n for n, texts in sets.items() if any(is_part(text, longer) for longer in texts)}
        assert len(holders) > 1 and len(text.split()) >= MIN_WORDS


def make_examples(count: int = 211) -> list[LabeledText]:
    """Sentences of words of their own, each with its phrases, and a phrase that all of them have."""
    examples = [LabeledText("one of the best", ("good",)), LabeledText("the", ("good",))]
    for i in range(count):
        words = [f"w{i}a", f"w{i}b", "one", "of", "the", "best", f"w{i}c"]
        label = ("good",) if i % 3 else ("bad",)
        examples += [LabeledText(" ".join(part), label) for part in (words, words[:2], words[1:4], words[-2:])]
    return examples


def test_a_sentence_and_its_phrases_are_on_one_side():
    examples = make_examples()
    split = hold_out_texts(examples, 5, {"dev": 0.1})
    sides = {row: name for name, rows in split.rows.items() for row in rows.tolist()}
    assert split.num_groups == 211 and split.dropped.tolist() == [0]
    assert sides[1] == "train"  # a word alone is in everything
    for begin in range(2, len(examples), 4):
        assert len({sides[row] for row in range(begin, begin + 4)}) == 1
    shares = [Counter(examples[row].labels[0] for row in rows) for rows in split.rows.values()]
    assert len(split.rows["dev"]) == pytest.approx(0.1 * len(examples), rel=0.1)
    assert shares[0]["bad"] / shares[0]["good"] == pytest.approx(shares[1]["bad"] / shares[1]["good"], rel=0.15)


def test_the_split_is_a_function_of_texts_and_seed():
    examples = make_examples()
    order = np.random.default_rng(1).permutation(len(examples))

    def dev(rows, seed):
        split = hold_out_texts([examples[i] for i in rows], seed, {"dev": 0.1})
        return {examples[rows[i]].text for i in split.rows["dev"]}

    assert dev(range(len(examples)), 5) == dev(order, 5) != dev(order, 6)


def test_pairs_are_held_out_as_pairs():
    examples = [LabeledText(f"same text w{i // 2}", ("x",), f"other {i}") for i in range(40)]
    split = hold_out_texts(examples, 1, {"dev": 0.1})
    assert split.num_groups == 40 and len(split.rows["dev"]) == 4


def test_sentences_with_the_same_words_are_on_one_side():
    rng = np.random.default_rng(7)
    kinds = ("O", "B-person", "I-person", "B-place")
    sentences = [
        TaggedSentence(tuple(f"w{i}" for i in rng.integers(0, 5, 3)), tuple(rng.choice(kinds, 3))) for _ in range(401)
    ]
    sentences[1::7] = [TaggedSentence(tuple(w.upper() for w in s.words), s.tags) for s in sentences[::7]][
        : len(sentences[1::7])
    ]
    split = hold_out_sentences(sentences, 3, FRACTIONS)
    sets = {n: {tuple(w.lower() for w in sentences[i].words) for i in rows} for n, rows in split.rows.items()}
    assert not sets["dev"] & sets["train"] and not sets["dev"] & sets["test"] and not sets["test"] & sets["train"]
    assert split.num_groups == len(set.union(*sets.values())) and not len(split.dropped)
    assert sum(map(len, split.rows.values())) == 401
    for name, fraction in FRACTIONS.items():
        counts = [
            Counter(tag for i in rows for tag in sentences[i].tags)["B-place"]
            for rows in (split.rows[name], range(401))
        ]
        assert counts[0] == pytest.approx(fraction * counts[1], rel=0.25)


@pytest.mark.corpora
def test_the_phrases_of_sst2_do_not_leak(corpora: Path):
    examples = list(read_labeled_texts([corpora / "sst2" / "train.tsv"]))
    split = hold_out_texts(examples, 1, {"dev": 0.05})
    dev, train = ([examples[i].text for i in split.rows[name]] for name in ("dev", "train"))
    assert len(dev) == pytest.approx(0.05 * len(examples), rel=0.1) and len(split.dropped) < 0.005 * len(examples)
    for held, others in ((dev, train), (train, dev)):
        index = PartIndex(held)
        for text in others:
            index.add_longer(text, "other")
        assert [text for text in held if index.find(text)] == []
    assert not {compared_words(text) for text in dev} & {compared_words(text) for text in train}
