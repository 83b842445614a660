"""What is known of a training text: lengths, characters, sentences on a line, and how frequent tokens are."""

import json
import math
import random

import numpy as np
import pytest

from regard.data import text_statistics, unigram
from regard.data.sentences.splitter import fit_blank
from regard.data.store import open_corpus, write_ids, write_texts
from regard.data.text_statistics import (
    DEFAULT_MIN_LENGTH_RATIO,
    RATIO_RANGE,
    TextStatistics,
    _min_ratio,
    collect_characters,
    length_ratio,
    measure_texts,
    text_length,
)
from regard.data.tokenizers.tokenizer import EOS, UNK, Tokenizer, Tokenizers, subsample, train_tokenizer
from regard.data.tokenizers.wordpiece import WordPiece, from_vocab
from regard.data.unigram import unigram_loss
from regard.errors import DataError
from regard.formats import Pair


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("abc d", 5),
        ("été", 3),
        ("漢字", 6),
        ("かな", 4),
        ("カナ", 4),
        ("한글", 4),
        ("a漢 ", 5),
        ("मेज", 3),
        ("", 0),
        ("\ue000", 1),
    ],
)
def test_a_character_of_a_wide_script_counts_as_several(text: str, length: float):
    assert text_length(text) == length


def test_a_ratio_is_close_to_one_for_short_texts():
    assert length_ratio("a", "b") == 1 and length_ratio("", "12345678") == 2 and length_ratio("12345678", "") == 0.5
    assert length_ratio("漢字", "abcdef") == 1


def test_the_least_ratio_is_a_low_quantile_within_shares_of_the_median():
    rng = random.Random(3)
    sources = ["x" * 92] * 2000
    targets = ["y" * rng.randint(72, 112) for _ in range(2000)]  # ratios from 0.8 to 1.2
    found = measure_texts(sources, targets, "en").min_length_ratio
    ratios = sorted(length_ratio(s, t) for s, t in zip(sources, targets, strict=True))
    assert found == min(max(ratios[4], RATIO_RANGE[0]), RATIO_RANGE[1] * ratios[1000]) == pytest.approx(0.8, abs=0.02)
    wide = measure_texts(sources, ["y" * rng.randint(10, 180) for _ in range(2000)], "en").min_length_ratio
    assert wide == pytest.approx(RATIO_RANGE[0], abs=0.03)
    same = measure_texts(sources, ["y" * 92] * 2000, "en").min_length_ratio
    assert same == pytest.approx(RATIO_RANGE[1])
    middle = measure_texts(sources, ["y" * (52 if n < 100 else 92) for n in range(2000)], "en").min_length_ratio
    assert middle == pytest.approx(0.6)
    assert measure_texts([], [], "en").min_length_ratio == DEFAULT_MIN_LENGTH_RATIO


def test_lines_of_several_sentences_are_counted(monkeypatch: pytest.MonkeyPatch):
    lines = ["One sentence.", "One. Two of them.", "Mr. Smith came.", "Yes! No?"]
    found = measure_texts(lines, lines, "en")
    assert found.multi_sentence_share == 0.5 and found.source_characters == frozenset("".join(lines))
    monkeypatch.setattr(text_statistics, "SAMPLE", 2)
    assert measure_texts([lines[1], lines[0]] * 2, lines, "en").multi_sentence_share == 1  # every second line
    monkeypatch.setattr(text_statistics, "CHARACTER_CHUNK", 3)
    assert collect_characters(str(n) for n in range(10)) == frozenset("0123456789")


def test_statistics_are_read_as_they_were_written():
    for one in (TextStatistics(), TextStatistics(0.5, 0.25, frozenset("aéz")), TextStatistics(1, 0, frozenset())):
        table = json.loads(json.dumps(one.as_dict()))
        assert TextStatistics.from_dict(table) == one
    assert TextStatistics(0.5, 0.25, frozenset("zéa")).as_dict()["source_characters"] == "azé"
    good = TextStatistics().as_dict()
    for bad in ([], "x", None, {**good, "source_characters": 7}, {}, {**good, "min_length_ratio": True},
                {**good, "min_length_ratio": -1}, {**good, "multi_sentence_share": 1001},
                {**good, "multi_sentence_share": "1"}, {**good, "min_length_ratio": math.nan}):  # fmt: skip
        with pytest.raises(DataError, match="expected "):
            TextStatistics.from_dict(bad)
    assert TextStatistics.from_dict({**good, "multi_sentence_share": 1000}).multi_sentence_share == 1000


def test_the_loss_of_frequencies_is_its_formula(tmp_path, monkeypatch: pytest.MonkeyPatch):
    rows = ["a b", "a a a", "b", "a c"]
    joint = train_tokenizer(rows * 3, 280, "bpe")
    both = Tokenizers(joint, joint)
    for name, texts in (("train", rows), ("dev", ["a b a", "c"])):
        write_texts(tmp_path, name, [Pair(text, text) for text in texts])
        write_ids(tmp_path, name, both)
    train, dev = (open_corpus(tmp_path, name, both).target_ids for name in ("train", "dev"))

    def counts(texts: list[str]) -> np.ndarray:
        return np.bincount([i for ids in joint.encode(texts) for i in (*ids, EOS)], minlength=joint.vocab_size)

    smoothed = counts(rows) + 1
    expected = -(counts(["a b a", "c"]) * np.log(smoothed / smoothed.sum())).sum() / counts(["a b a", "c"]).sum()
    for chunk in (1, 3, 1 << 17):
        monkeypatch.setattr(unigram, "CHUNK", chunk)
        assert unigram_loss(train, dev, joint.vocab_size) == pytest.approx(expected)
    (first,) = joint.encode(rows[:1])
    monkeypatch.setattr(unigram, "MAX_TOKENS", len(first))  # the first text and its end
    few = counts(rows[:1])
    expected = -(few * np.log((few + 1) / (few + 1).sum())).sum() / few.sum()
    assert unigram_loss(train, train, joint.vocab_size) == pytest.approx(expected)


TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "king", "##s", "sleep", ".", "ete", "été", "", "漢"]


def test_a_wordpiece_tokenizer_from_a_vocabulary():
    pytest.importorskip("tokenizers")
    tokenizer = from_vocab(TOKENS, {})
    assert tokenizer.pad_id == 0 and tokenizer.vocab_size == 12
    assert tokenizer.encode(["Kings sleep.", "x"], 64) == [[2, 5, 6, 7, 8, 3], [2, 1, 3]]
    assert tokenizer.encode(["Kings sleep."], 4) == [[2, 5, 6, 3]]
    assert tokenizer.spans("Kings sleep.", 64) == [(0, 0), (0, 4), (4, 5), (6, 11), (11, 12), (0, 0)]
    assert tokenizer.spans("Kings sleep.", 3) == [(0, 0), (0, 4), (0, 0)]
    assert tokenizer.convert_ids_to_tokens([2, 5, 6]) == ["[CLS]", "king", "##s"]
    assert tokenizer.decode([2, 5, 6, 7, 8, 3]) == "kings sleep."
    assert tokenizer.encode(["Été"], 64) == [[2, 9, 3]]  # accents go with the capitals
    cased = from_vocab(TOKENS, {"do_lower_case": False})
    assert cased.encode(["été", "Kings"], 64) == [[2, 10, 3], [2, 1, 3]]
    assert from_vocab(TOKENS, {"strip_accents": False}).encode(["Été"], 64) == [[2, 10, 3]]
    assert from_vocab(TOKENS, {}).encode(["漢漢"], 64) == [[2, 12, 12, 3]]
    assert from_vocab(TOKENS, {"tokenize_chinese_chars": False}).encode(["漢漢"], 64) == [[2, 1, 3]]
    assert WordPiece(tokenizer.tokenizer_json).encode(["kings"], 64) == [[2, 5, 6, 3]]


def test_what_is_no_wordpiece_tokenizer_is_refused():
    pytest.importorskip("tokenizers")
    with pytest.raises(DataError, match=r"vocab\.txt: has no token \[UNK\]"):
        from_vocab([token for token in TOKENS if token != "[UNK]"], {})
    with pytest.raises(DataError, match=r"tokenizer\.json: not a valid tokenizer"):
        WordPiece(b"{}")
    without = json.loads(from_vocab(TOKENS, {}).tokenizer_json)
    without["added_tokens"] = [one for one in without["added_tokens"] if one["content"] != "[PAD]"]
    del without["model"]["vocab"]["[PAD]"]
    with pytest.raises(DataError, match=r"has no token \[PAD\]"):
        WordPiece(json.dumps(without).encode())


def test_a_vocabulary_covers_the_characters_that_it_has():
    tokenizer = train_tokenizer(["abc cab"] * 9, 270, "bpe")
    assert tokenizer.covers("a") and tokenizer.covers(" ") and not tokenizer.covers("é")
    assert UNK not in tokenizer.encode(["é"])[0]  # it is written in bytes
    for model in (b"", b"no model"):
        with pytest.raises(DataError, match="SentencePiece"):
            Tokenizer(model)
    assert list(subsample("abcdefg", 3)) == ["a", "d", "g"] and list(subsample("abc", 1)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("blank", "left", "right", "found"),
    [
        (" ", "One.", "Two", " "),
        ("", "One.", "Two", " "),
        (" ", "一。", "二", ""),
        ("", "一。", "Two", ""),
        ("  ", "一。", "二", "  "),
        ("\t", "One.", "Two", "\t"),
        (" ", "", "Two", " "),
        ("", "One.", "", ""),
    ],
)
def test_a_blank_between_sentences_is_that_of_their_language(blank: str, left: str, right: str, found: str):
    assert fit_blank(blank, left, right) == found


@pytest.mark.parametrize("median", [0.5, 1.0, 3.0])
def test_the_least_ratio_stays_within_shares_of_any_median(median: float):
    for lowest in (0.0, 0.34, 0.36, 0.5, 0.79, 0.81):
        ratios = sorted([lowest * median] * 3 + [median] * 997)
        assert _min_ratio(ratios) == pytest.approx(min(max(lowest, 0.35), 0.8) * median)
    ratios = sorted([0.5 * median] * 2 + [0.6 * median] * 3 + [median] * 995)
    assert _min_ratio(ratios) == pytest.approx(0.6 * median)  # the third of a thousand
