"""Which tokens translate each other, the lists that follow from it, and files that hold them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from regard.data.corpora import english_french
from regard.data.lexicon import count_lexicon, spread
from regard.data.shortlist import SPECIAL, Shortlist, build_shortlist, read_shortlist, write_shortlist
from regard.data.tokenizers.tokenizer import EOS, Tokenizers, train_tokenizer
from regard.errors import DataError

V_SOURCE, V_TARGET = 23, 41


def paired_rows(count: int, seed: int = 3) -> list[tuple[list[int], list[int]]]:
    """Every source token s is translated by s + 11, in any order; 37 comes now and then, for nothing."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        source = rng.integers(4, V_SOURCE, rng.integers(1, 7)).tolist()
        target = rng.permutation([token + 11 for token in source]).tolist()
        rows.append((source, target + [37] * bool(rng.random() < 0.2)))
    return rows


def test_a_token_is_aligned_with_its_translation():
    lexicon = count_lexicon(paired_rows(400), V_SOURCE, V_TARGET)
    assert (np.diff(lexicon.source) >= 0).all()
    for token in range(4, V_SOURCE):
        own = lexicon.source == token
        assert lexicon.target[own][lexicon.probability[own].argmax()] == token + 11
        assert lexicon.probability[own].max() > 0.9


def test_alignments_of_a_token_are_as_many_as_its_occurrences():
    """Each direction hands out one alignment for every token that it explains; the mean adds up to both counts."""
    rows = paired_rows(53)
    lexicon = count_lexicon(rows, V_SOURCE, V_TARGET)
    source_counts = np.bincount(np.concatenate([[*row[0], EOS] for row in rows]), minlength=V_SOURCE)
    total = (lexicon.probability * source_counts[lexicon.source]).sum()
    assert total == pytest.approx(sum(len(source) + len(target) + 2 for source, target in rows) / 2, rel=1e-4)
    assert lexicon.frequency[37] == pytest.approx(np.mean([37 in target for _, target in rows]))


def test_no_pairs_are_no_lexicon():
    assert len(count_lexicon([], V_SOURCE, V_TARGET).source) == 0


def test_a_sample_is_spread_and_leaves_out_long_pairs(monkeypatch):
    monkeypatch.setattr("regard.data.lexicon.MAX_CELLS", 1000)
    lengths = np.full((2, 90), 9)
    lengths[0, 5] = 500
    chosen = spread(lengths)
    assert 5 not in chosen and len(chosen) == 10 and chosen[-1] > 80


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    pairs = list(english_french.generate(200, seed=3))
    return Tokenizers(
        train_tokenizer([pair.source for pair in pairs], 350, "bpe"),
        train_tokenizer([pair.target for pair in pairs], 380, "bpe"),
    )


@pytest.fixture(scope="module")
def shortlist(tokenizers: Tokenizers) -> Shortlist:
    return shortlist_of(tokenizers, 0.01)


def shortlist_of(tokenizers: Tokenizers, threshold: float) -> Shortlist:
    pairs = list(english_french.generate(200, seed=3))
    sources = tokenizers.source.encode([pair.source for pair in pairs])
    targets = tokenizers.target.encode([pair.target for pair in pairs])
    rows = list(zip(sources, targets, strict=True))
    lexicon = count_lexicon(rows, tokenizers.source.vocab_size, tokenizers.target.vocab_size)
    return build_shortlist(lexicon, tokenizers, threshold)


def test_special_tokens_and_copies_are_always_there(tokenizers, shortlist):
    assert set(SPECIAL) <= set(shortlist.select([]).tolist())
    for text in ("zq", "é€", "x7"):  # unseen: letters, and bytes of letters
        ids = set(shortlist.select(tokenizers.source.encode([text])[0]).tolist())
        names = set(tokenizers.target.convert_ids_to_tokens(sorted(ids)))
        own = tokenizers.source.convert_ids_to_tokens(tokenizers.source.encode([text])[0])
        target_names = set(tokenizers.target.convert_ids_to_tokens(range(tokenizers.target.vocab_size)))
        assert target_names & set(own) <= names


def test_a_lower_threshold_makes_longer_lists(tokenizers):
    short, long = (set(shortlist_of(tokenizers, p).select([40, 50, EOS]).tolist()) for p in (0.05, 0.001))
    assert short < long < set(range(tokenizers.target.vocab_size))


def test_a_batch_has_the_tokens_of_all_of_its_sentences(shortlist):
    one, other = set(shortlist.select([40, 50]).tolist()), set(shortlist.select([60]).tolist())
    assert set(shortlist.select([40, 50, 60]).tolist()) == one | other


def test_what_is_written_is_read(tokenizers, shortlist, tmp_path: Path):
    write_shortlist(shortlist, tmp_path / "s")
    read = read_shortlist((tmp_path / "s").read_bytes(), tmp_path / "s", tokenizers)
    for name in ("candidates", "starts", "always"):
        np.testing.assert_array_equal(getattr(read, name), getattr(shortlist, name))


def tensors_of(shortlist: Shortlist) -> dict[str, np.ndarray]:
    return {name: getattr(shortlist, name) for name in ("candidates", "starts", "always")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": None}, "candidates is missing"),
        ({"always": lambda ids: ids.astype(np.int64)}, "always holds int64"),
        ({"candidates": lambda ids: ids[:, None]}, "not a row of int32"),
        ({"candidates": lambda ids: ids + 9999}, "candidates holds numbers beyond"),
        ({"starts": lambda ids: ids[:-1]}, "of other vocabularies"),
        ({"starts": lambda ids: ids[::-1].copy()}, "of other vocabularies"),
        ({"starts": lambda ids: ids - 1}, "starts holds numbers beyond"),
        ({"always": lambda ids: ids[ids != EOS]}, "lacks the special tokens"),
    ],
)
def test_a_damaged_file_is_refused(tokenizers, shortlist, changes, message):
    tensors = tensors_of(shortlist)
    for name, change in changes.items():
        if change is None:
            del tensors[name]
        else:
            tensors[name] = change(tensors[name])
    with pytest.raises(DataError, match=message):
        read_shortlist(save(tensors), Path("run/shortlist.safetensors"), tokenizers)


@pytest.mark.parametrize("raw", [b"", b"\x00" * 50, b"\xff" * 64, b"8\x00\x00\x00\x00\x00\x00\x00{]"])
def test_what_is_no_file_of_tensors_is_refused(tokenizers, raw: bytes):
    with pytest.raises(DataError, match=r"shortlist\.safetensors: not a safetensors file .* `regard shortlist`"):
        read_shortlist(raw, Path("run/shortlist.safetensors"), tokenizers)


def test_lists_of_another_vocabulary_are_refused(tokenizers, shortlist):
    swapped = Tokenizers(tokenizers.target, tokenizers.source)
    with pytest.raises(DataError, match=r"of other vocabularies|numbers beyond"):
        read_shortlist(save(tensors_of(replace(shortlist))), Path("s"), swapped)
