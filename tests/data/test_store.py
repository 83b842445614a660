"""The memory-mapped store."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.store import Texts, open_corpus, write_ids, write_sets, write_texts
from regard.data.tokenizer import Tokenizers, train_tokenizer
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
