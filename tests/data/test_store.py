"""The memory-mapped store."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import store
from regard.data.store import RaggedArray, Texts, open_corpus, write_ids, write_sets, write_texts
from regard.data.tokenizers.tokenizer import Tokenizers, train_tokenizer
from regard.errors import DataError
from regard.formats import Pair

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.builds(Pair, TEXT, TEXT)))
def test_what_is_written_is_read(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("store")
    assert write_texts(folder, "x", iter(pairs)) == len(pairs)
    assert list(Texts(folder, "x.source")) == [pair.source for pair in pairs]
    assert Texts(folder, "x.target")[:] == [pair.target for pair in pairs]


def test_pairs_of_several_sets_go_where_they_belong(tmp_path):
    named = [("ab"[i % 3 == 0], Pair(f"{i}", f"-{i}")) for i in range(17)]
    assert write_sets(tmp_path, ("a", "b", "c"), iter(named)) == {"a": 11, "b": 6, "c": 0}
    for name in "abc":
        assert list(Texts(tmp_path, f"{name}.source")) == [pair.source for set_, pair in named if set_ == name]
        assert list(Texts(tmp_path, f"{name}.target")) == [pair.target for set_, pair in named if set_ == name]


def test_ids_are_those_of_the_tokenizer(tmp_path):
    pairs = [Pair(f"one {i} two", f"un {i} deux" * (i % 3)) for i in range(29)]
    one = train_tokenizer([p.source for p in pairs], 300, "bpe")
    two = train_tokenizer([p.target for p in pairs], 300, "unigram")
    write_texts(tmp_path, "x", pairs)
    write_ids(tmp_path, "x", Tokenizers(one, two))
    corpus = open_corpus(tmp_path, "x", Tokenizers(one, two))
    assert len(corpus) == 29 and corpus.pairs(5) == pairs[:5]
    for i, pair in enumerate(pairs):
        assert corpus.source_ids[i].tolist() == one.encode([pair.source])[0]
        assert corpus.target_ids[i].tolist() == two.encode([pair.target])[0]


def test_a_store_cut_short_is_noticed(tmp_path):
    write_texts(tmp_path, "x", [Pair("abc", "def"), Pair("ghi", "jkl")])
    (tmp_path / "x.source.text").write_bytes(b"abcg")
    with pytest.raises(DataError, match=r"x.source.text: half written or damaged"):
        Texts(tmp_path, "x.source")
    (tmp_path / "x.source.text").unlink()
    with pytest.raises(DataError, match=r"x.source.text: cannot be read"):
        Texts(tmp_path, "x.source")


def ragged(folder, values, starts, dtype) -> RaggedArray:
    (folder / "v").write_bytes(np.asarray(values, dtype).tobytes())
    (folder / "s").write_bytes(np.asarray(starts, np.int64).tobytes())
    return RaggedArray(folder / "v", folder / "s", dtype)


@pytest.mark.parametrize("starts", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3]])
def test_rows_begin_at_nothing_end_with_the_values_and_never_go_back(tmp_path, starts):
    with pytest.raises(DataError, match="v: half written or damaged"):
        ragged(tmp_path, [5, 6, 7], starts, np.uint16)
    rows = ragged(tmp_path, [5, 6, 7], [0, 2, 2, 3], np.uint16)
    assert [rows[n].tolist() for n in range(len(rows))] == [[5, 6], [], [7]]
    assert rows.lengths(np.array([2, 0, 1])).tolist() == [1, 2, 0]


def test_a_file_of_nothing_is_refused_without_reading_it(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "is_ascending", lambda starts: pytest.fail("its numbers were read"))
    (tmp_path / "v").touch()
    with (tmp_path / "s").open("wb") as file:
        file.truncate(8 * (store.MAX_ROWS + 1))  # takes no room on the disk
    with pytest.raises(DataError, match="v: half written or damaged"):
        RaggedArray(tmp_path / "v", tmp_path / "s", np.uint8)


@pytest.mark.parametrize("place", range(7))
def test_every_id_is_below_the_limit_and_not_below_zero(tmp_path, monkeypatch, place: int):
    monkeypatch.setattr(store, "BLOCK", 3)
    for value, is_sound in ((0, True), (10, True), (11, False), (-1, False)):
        values = [3] * 7
        values[place] = value
        rows = ragged(tmp_path, values, [0, 7], np.int32)
        if is_sound:
            rows.require_below(11, tmp_path / "v")
        else:
            with pytest.raises(DataError, match="v: damaged: it holds an id beyond the vocabulary"):
                rows.require_below(11, tmp_path / "v")


@pytest.mark.parametrize(("size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_ids_are_as_small_as_the_vocabulary_allows(tmp_path, size: int, dtype):
    both = Tokenizers(Numbers(size), Numbers(size))  # type: ignore[arg-type]
    write_texts(tmp_path, "x", [Pair("a", "b")] * 3)
    write_ids(tmp_path, "x", both)
    corpus = open_corpus(tmp_path, "x", both)
    assert corpus.source_ids.values.dtype == dtype and corpus.target_ids[2].tolist() == [size - 1, 0]
    assert corpus.pairs() == [Pair("a", "b")] * 3 == corpus.pairs(7) and corpus.pairs(0) == []
    assert corpus.source.num_bytes == 3 and corpus.source[1:] == ["a", "a"] and corpus.source[::-2] == ["a", "a"]


def test_files_of_different_rows_pipes_and_bytes_that_are_no_text_are_refused(tmp_path):
    tokenizer = train_tokenizer(["a b c"] * 9, 270, "bpe")
    both = Tokenizers(tokenizer, tokenizer)
    for name, count in (("x", 3), ("y", 2)):
        write_texts(tmp_path, name, [Pair("ä", "b")] * count)
        write_ids(tmp_path, name, both)
    for side in ("source", "target"):
        for kinds in (("text", "offsets"), ("ids", "starts")):
            kept = {kind: (tmp_path / f"x.{side}.{kind}").read_bytes() for kind in kinds}
            for kind in kinds:
                (tmp_path / f"x.{side}.{kind}").write_bytes((tmp_path / f"y.{side}.{kind}").read_bytes())
            with pytest.raises(DataError, match="x: its files have different numbers of rows"):
                open_corpus(tmp_path, "x", both)
            for kind in kinds:
                (tmp_path / f"x.{side}.{kind}").write_bytes(kept[kind])
    assert len(open_corpus(tmp_path, "x", both)) == 3
    (tmp_path / "x.source.text").write_bytes(b"\xff" * 6)
    with pytest.raises(DataError, match=r"x\.source\.text: damaged: text 1 is not UTF-8"):
        Texts(tmp_path, "x.source")[1]
    (tmp_path / "y.source.text").unlink()
    os.mkfifo(tmp_path / "y.source.text")
    with pytest.raises(DataError, match=r"y\.source\.text: cannot be read \(.*pipe"):
        Texts(tmp_path, "y.source")


class Numbers:
    """A tokenizer whose every text has the last id."""

    def __init__(self, vocab_size: int):
        self.vocab_size = vocab_size

    def encode(self, texts):
        return [[self.vocab_size - 1, 0] for _ in texts]


def test_ids_of_another_vocabulary_are_refused(tmp_path):
    large, small = Numbers(50), Numbers(49)
    write_texts(tmp_path, "x", [Pair("a", "b")])
    write_ids(tmp_path, "x", Tokenizers(large, large))
    for side, both in (("source", Tokenizers(small, large)), ("target", Tokenizers(large, small))):
        with pytest.raises(DataError, match=rf"x\.{side}\.ids: damaged: it holds an id beyond the vocabulary"):
            open_corpus(tmp_path, "x", both)
